"""A run in continuous time that was seen to violate a property, followed again in validated enclosures.

The cell is one start, what the environment chooses is held from one control time to the next, and the network
is known up to its rounding: what is left of the set is what series leave out. Where all of it violates the
property the run does, and the way there is the content of a certificate. The finer the sub-steps the narrower
the set, so they are made finer until it is decided, or until that does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.engines.reach.certificate_tree import BITS, options_to_json
from surefoot.engines.reach.decision_forms import enumerate_decisions
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.flow_step import FlowSystem, SubStep, take_sub_step
from surefoot.engines.reach.form_series import bounds_of
from surefoot.engines.reach.symbols import absorb_radii, add_symbols, reduce_symbols
from surefoot.engines.reach.walk import LoopWalk, prepare_walk
from surefoot.engines.reach.walk_options import WalkOptions
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State
from surefoot.reductions.closed_loop import ClosedLoop, read_closed_loop
from surefoot.reductions.expand import tree_leaves
from surefoot.reductions.loop_question import read_question
from surefoot.reductions.scalar_layout import invert_value, lay_out_scalars
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var
from surefoot.term.value_types import Arithmetic, Real
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Certificate, Trace, Violated

# What series leave out of a period, relative to 1 and the state; its sub-steps at least, and at most in order
# to end one at the suspected moment; symbols of a variable: many where networks are steep.
LADDER = ((1e-5, 1, 1, 2), (1e-8, 1, 4, 24), (1e-8, 4, 64, 4), (1e-12, 16, 256, 8))
# After the suspected moment the run may be further inside the bad states: periods, or this share of its time.
LONGER, LATER = 3, Fraction(1, 4)
ORDERS = range(3, 13)  # of series
MOST_SYMBOLS = 2048  # that come new in a period, one for each variable and sub-step


class NotShown(Exception):
    """Why the run is not shown to violate the property; finer sub-steps may help."""


class OutOfTime(Exception):
    """A walk was not finished."""


@dataclass(frozen=True, slots=True, eq=False)
class PointWalk:
    """One start and what is chosen in each period; after the last of these the last goes on."""

    walk: LoopWalk
    system: FlowSystem
    start: Mapping[str, Fraction]
    chosen: Sequence[Sequence[Fraction]]

    def values_in(self, period: int) -> Sequence[Fraction]:
        return self.chosen[min(period, len(self.chosen) - 1)]

    def choose(self, period: int) -> FlowSystem:
        """The flow of a period: values that are held disturb nothing.

        A value that is no double is off by its rounding here; the checker has it exactly.
        """
        if not len(self.system.chosen):
            return self.system
        held = np.array([float(w) for w in self.values_in(period)])
        return replace(self.system, chosen_low=held, chosen_high=held, jacobian=None)


@dataclass(frozen=True, slots=True, eq=False)
class RunMoment:
    """The end of a sub-step; before the first one there is none."""

    period: int
    piece: int
    time: Fraction
    forms: Array
    step: SubStep | None = None
    begin: Fraction = Fraction(0)


def confirm_suspicion(
    problem: Problem, suspected: SuspectedRun, stop: Callable[[], bool] = lambda: False
) -> Violated | str:
    """The violation that a suspected run is, with the content of its certificate; or why it is not shown."""
    try:
        point = _prepare_point(problem, suspected)
    except SurefootError as why:
        return str(why)
    if isinstance(point, str):
        return point
    why_not = ""
    for tolerance, least, most, order in LADDER:
        if stop():
            break
        try:
            grid = _moment_grid(point, Fraction(suspected.time), most)
            options = fit_point_options(point, tolerance, grid * -(-least // grid), order)
            if options is None:
                return why_not or "a sub-step cannot be enclosed"
            moments = _follow_to_violation(point, options, suspected, stop)
        except NotShown as why:
            why_not = str(why)
            continue
        except OutOfTime:
            why_not += ", and there was no time to follow it more finely" if why_not else ""
            break
        trace = _trace_of_run(problem, suspected, point, moments)
        content = _run_to_json(point, options, moments[-1])
        return Violated(trace, Certificate("reach-violation", content), artifact=suspected)
    return why_not or "there was no time to follow it in enclosures"


def enclose_run_states(
    problem: Problem,
    start: Mapping[str, Fraction],
    chosen: Sequence[Sequence[Fraction]],
    walked: Mapping[str, Any],
) -> Iterator[tuple[list[float], list[float]]]:
    """Of a run that is told as a certificate has it: bounds of its states at control times and at its end."""
    loop = read_closed_loop(problem)
    walk = prepare_walk(loop, read_question(problem, loop.scope, loop.period))
    assert walk.flow is not None
    point = PointWalk(walk, walk.flow, start, chosen)
    for moment in follow_point(point, WalkOptions(walked["order"], walked["taylor"], walked["pieces"])):
        ended = [moment.period, moment.piece] == list(walked["at"])
        if ended or moment.piece == 0:
            low, high = bounds_of(moment.forms)
            yield low[0].tolist(), high[0].tolist()
        if ended:
            return


def _run_to_json(point: PointWalk, options: WalkOptions, last: RunMoment) -> dict[str, Any]:
    periods = range(last.period + 1) if len(point.system.chosen) else ()
    return {
        "bits": BITS,
        **options_to_json(options),
        "start": {name: str(value) for name, value in point.start.items()},
        "chosen": [[str(w) for w in point.values_in(n)] for n in periods],
        "at": [last.period, last.piece],
    }


def _prepare_point(problem: Problem, suspected: SuspectedRun) -> PointWalk | str:
    loop = read_closed_loop(problem)
    walk = prepare_walk(loop, read_question(problem, loop.scope, loop.period))
    if walk.flow is None:
        return "enclosures of single runs are for continuous time"
    start = scalars_of_state(problem, suspected.start)
    if evaluate_term(loop.initial, start) is not True:
        return "its start, in exact numbers, is none of the problem"
    held = [_held_values(loop, move.chosen) for move in suspected.moves]
    return PointWalk(walk, walk.flow, start, held or [_held_values(loop, {})])


def scalars_of_state(problem: Problem, state: State) -> dict[str, Fraction]:
    """A state by the names of its scalars, in exact numbers."""
    layout = lay_out_scalars(problem.environment, set())
    found = {}
    for name, tree in layout.trees.items():
        for leaf, value in zip(tree_leaves(tree), _flatten_value(state[name]), strict=True):
            assert isinstance(leaf, Var)
            found[leaf.name] = Fraction(value)
    return found


def _flatten_value(value: Any) -> list[Any]:
    return [v for part in value for v in _flatten_value(part)] if isinstance(value, tuple) else [value]


def _held_values(loop: ClosedLoop, chosen: Mapping[str, Any]) -> list[Fraction]:
    """In exact numbers, within their ranges: the double that is nearest to an end may be outside.

    What nobody chose, because the run violates the property where it starts, is the lower end.
    """
    found = []
    for name, kind in loop.edges[0].chosen:
        if not isinstance(kind, Real) or kind.low is None or kind.high is None:
            raise Unsupported(f"`{name}` is chosen, and is no real number between two ends")
        value = Fraction(chosen.get(name, kind.low))
        found.append(min(max(value, Fraction(kind.low)), Fraction(kind.high)))
    return found


def fit_point_options(point: PointWalk, tolerance: float, least: int, order: int) -> WalkOptions | None:
    """The cheapest order of series and multiple of so many sub-steps that leave so little out of a period."""
    forms, controls = _decide_controls(point, _start_forms(point))
    system, period = point.choose(0), float(point.walk.loop.period)
    more = [least * p for p in (2, 4, 8, 16, 32, 64, 128)]
    several = {least} | {pieces for pieces in more if pieces <= _most_pieces(point)}
    for _, taylor, pieces in sorted((p * k * k, k, p) for p in several for k in ORDERS):
        step = take_sub_step(system, forms, controls, period / pieces, taylor)
        if step.good.all():
            size = 1 + np.abs(step.forms[..., 0])
            if float((step.remainder / size).max()) * pieces <= tolerance:
                return WalkOptions(order, taylor, pieces)
    return None


def _moment_grid(point: PointWalk, suspected: Fraction, most: int) -> int:
    """Into how many parts a period is cut so that one of them ends at a moment that matters.

    That is one within a short time that is asked about, or the suspected one, if the parts are not too many.
    """
    question, period = point.walk.question, point.walk.loop.period
    if question.bad is None:
        return 1
    if question.until is not None and question.until - question.since < period:
        grid = (question.since / period).denominator
        return grid if grid <= _most_pieces(point) else 1
    grid = (suspected / period).limit_denominator(4096).denominator  # it is told as a double
    return grid if grid <= min(most, _most_pieces(point)) else 1


def _most_pieces(point: PointWalk) -> int:
    return max(1, MOST_SYMBOLS // len(point.start))


def _start_forms(point: PointWalk) -> Array:
    """The start, with what doubles are off."""
    values = [float(value) for value in point.start.values()]
    forms = np.zeros((1, len(values), 2))
    forms[0, :, 0] = values
    off = [abs(float(Fraction(v) - exact)) for v, exact in zip(values, point.start.values(), strict=True)]
    forms[0, :, 1] = np.array(off) * (1 + 2.0**-50)
    return absorb_radii(forms)


def _decide_controls(point: PointWalk, forms: Array) -> tuple[Array, Array]:
    """State and controls over the same symbols; there has to be one decision."""
    decisions = list(enumerate_decisions(point.walk.decisions, forms))
    if len(decisions) != 1 or not decisions[0].good.all():
        raise NotShown("it is not sure what the policy decides, or whether that is within the model")
    count = forms.shape[1]
    both = absorb_radii(np.concatenate([forms, decisions[0].controls], 1))
    return both[:, :count], both[:, count:]


def follow_point(point: PointWalk, options: WalkOptions) -> Iterator[RunMoment]:
    """The run, moment by moment, without end."""
    loop, period, forms = point.walk.loop, 0, _start_forms(point)
    length, count = loop.period / options.pieces, len(loop.kinds)
    yield RunMoment(0, 0, Fraction(0), forms)
    while True:
        forms, controls = _decide_controls(point, forms)
        system, begin = point.choose(period), period * loop.period
        for piece in range(1, options.pieces + 1):
            step = take_sub_step(system, forms, controls, float(length), options.taylor)
            if not step.good.all():
                raise NotShown(f"no enclosure after time {float(begin + (piece - 1) * length):.6g}")
            forms = absorb_radii(step.forms)
            controls = add_symbols(controls, forms.shape[-1] - controls.shape[-1])
            place = (period, piece) if piece < options.pieces else (period + 1, 0)
            earlier = begin + (piece - 1) * length
            yield RunMoment(*place, earlier + length, forms, step, earlier)
        forms = reduce_symbols(forms, options.order * count, 0)
        period += 1


def _follow_to_violation(
    point: PointWalk, options: WalkOptions, suspected: SuspectedRun, stop: Callable[[], bool]
) -> list[RunMoment]:
    """Moments at control times and the one at which the violation is shown; `NotShown` if there is none."""
    question, kept = point.walk.question, list[RunMoment]()
    time = Fraction(suspected.time)
    latest = time + max(LONGER * point.walk.loop.period, LATER * time) if suspected.moves else time
    if question.until is not None:
        latest = question.until if question.bad is None else min(latest, question.until)
    for moment in follow_point(point, options):
        if question.bad is not None and moment.time > latest:
            raise NotShown("its enclosure is nowhere wholly inside the bad states")
        if stop():
            raise OutOfTime
        shown = _judge_moment(point, options, moment)
        if shown or moment.piece == 0:
            kept.append(moment)
        if shown:
            return kept
    raise AssertionError("a run goes on")


def _judge_moment(point: PointWalk, options: WalkOptions, moment: RunMoment) -> bool:
    """Is the violation shown at this moment? `NotShown` where it can no longer be."""
    question, walk = point.walk.question, point.walk
    counts = question.since <= moment.time and (question.until is None or moment.time <= question.until)
    if moment.step is not None:
        low, high = moment.step.enclosure
        if not ((low >= walk.least) & (high <= walk.most)).all():
            raise NotShown("a variable may leave its range")
    if question.bad is not None:
        assert walk.bad is not None
        if walk.goal is not None and moment.step is not None:
            over = (0.0, moment.step.length)
            if not walk.goal.decide_over(moment.step, point.system, options.taylor, over)[1].all():
                raise NotShown("the goal may be met before")
        if counts and bool(walk.bad.decide(moment.forms)[0].all()):
            return True
        if walk.goal is not None and not walk.goal.decide(moment.forms)[1].all():
            raise NotShown("the goal may be met before")
        return False
    assert walk.goal is not None
    assert question.until is not None
    if moment.step is not None:
        first, last = max(question.since, moment.begin), min(question.until, moment.time)
        if first <= last:
            over = float(first - moment.begin) * (1 - 2.0**-52), float(last - moment.begin) * (1 + 2.0**-52)
            if not walk.goal.decide_over(moment.step, point.system, options.taylor, over)[1].all():
                raise NotShown(f"its enclosure after time {float(first):.6g} may meet the goal")
    if counts and not walk.goal.decide(moment.forms)[1].all():
        raise NotShown(f"its enclosure at time {float(moment.time):.6g} may meet the goal")
    return moment.time >= question.until


def _trace_of_run(
    problem: Problem, suspected: SuspectedRun, point: PointWalk, moments: Sequence[RunMoment]
) -> Trace:
    """The run at control times; its states after the start are the middles of what encloses them."""
    layout, environment = lay_out_scalars(problem.environment, set()), problem.environment
    in_float64 = environment.arithmetic is Arithmetic.FLOAT64
    states: list[State] = [suspected.start]
    for moment in moments[1:]:
        low, high = bounds_of(moment.forms)
        middle = (0.5 * (low[0] + high[0])).tolist()
        values = dict(zip(point.walk.loop.kinds, middle, strict=True))
        states.append(
            {
                v.name: invert_value(v.kind, layout.trees[v.name], values, in_float64)
                for v in environment.variables
            }
        )
    names = [name for name, _ in point.walk.loop.edges[0].chosen]
    moves = tuple(
        replace(
            suspected.moves[min(n, len(suspected.moves) - 1)],
            chosen=dict(zip(names, point.values_in(n), strict=True)),
        )
        for n in range(len(states) - 1)
    )
    return Trace(tuple(states), moves, times=tuple(moment.time for moment in moments))
