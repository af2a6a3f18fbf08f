"""A run that violates `eventually` or `recurs` for ever (docs/certificates.md, section 10).

The claim has two parts. The stem is a run of so many steps, made here once more, step by step, in exact
arithmetic and with the reference evaluation of the network. It ends in the first of a ring of regions, sets
of states. From every state of a region one and the same step, with values picked as terms of the state, is
surely possible and leads to the next region, from the last one to the first; and no state of a region is
good. So the run goes on for ever without a good state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...kernel.float32 import is_float32_number
from ...kernel.inference import reference_outputs
from ...kernel.query import Ends, Formula
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from ...kernel.term import Term, read_term
from .canonical_problem import DEEPEST, MOST_STEPS, CanonicalProblem
from .formula import FALSE, TRUE, form_range, formula_or, simplify_by_bounds
from .obligations import RunObligation
from .term import FormulaScope, number_cases, truth_formula
from .time_frame import TimeFrame
from .unroll import bind_terms, range_violation, range_violations, run_query, successor_scope

_STEP = frozenset({"edge", "outcome", "chosen"})
_SET = frozenset({"set"})
Point = dict[str, Ends]  # every name has one value


@dataclass(frozen=True, slots=True)
class RecurrenceStep:
    """Which edge is taken with which outcome, and what is picked, as terms of state and controls."""

    edge: int
    outcome: int
    chosen: dict[str, Term]


@dataclass(frozen=True, slots=True)
class ClaimedRecurrence:
    start: dict[str, Fraction]
    moves: tuple[RecurrenceStep, ...]
    regions: tuple[tuple[Term, RecurrenceStep], ...]  # each a set of states, and the step to the next set


def read_recurrence_claim(claim: Mapping[str, object]) -> ClaimedRecurrence:
    start = claim["start"]
    if type(start) is not dict:
        raise BadCertificate("start: not an object")
    moves = tuple(_read_step(expect_object(m, _STEP, "move")) for m in expect_list(claim["moves"], "moves"))
    entries = [expect_object(r, _STEP | _SET, "region") for r in expect_list(claim["regions"], "regions")]
    if not entries or len(entries) > MOST_STEPS or len(moves) > MOST_STEPS:
        raise BadCertificate(f"from 1 to {MOST_STEPS} regions and at most {MOST_STEPS} moves are allowed")
    regions = tuple((read_term(entry["set"], deepest=DEEPEST), _read_step(entry)) for entry in entries)
    return ClaimedRecurrence({name: expect_number(v, "start") for name, v in start.items()}, moves, regions)


def _read_step(entry: Mapping[str, object]) -> RecurrenceStep:
    form = "chosen: not a list of pairs of name and term"
    pairs = [expect_list(pair, "chosen", 2, form) for pair in expect_list(entry["chosen"], "chosen")]
    chosen = {expect_text(name, "chosen"): read_term(term, deepest=DEEPEST) for name, term in pairs}
    if len(chosen) < len(pairs):
        raise BadCertificate("chosen: a name occurs twice")
    most = 1 << 30
    return RecurrenceStep(
        expect_integer(entry["edge"], 0, most, "edge"),
        expect_integer(entry["outcome"], 0, most, "outcome"),
        chosen,
    )


def region_obligations(problem: CanonicalProblem, claimed: ClaimedRecurrence) -> list[RunObligation]:
    """What has to be shown about the regions, one after the other."""
    return [
        o for place in range(len(claimed.regions)) for o in _one_region_obligations(problem, claimed, place)
    ]


def _one_region_obligations(
    problem: CanonicalProblem, claimed: ClaimedRecurrence, place: int
) -> Iterator[RunObligation]:
    where, step = claimed.regions[place]
    following = claimed.regions[(place + 1) % len(claimed.regions)][0]
    moment = TimeFrame(problem, 0)
    inside, trouble = truth_formula(where, True, moment.plain), _failure_formulas(moment, step)
    outside = truth_formula(following, False, _state_after(moment, step))
    asked = {"good": moment.condition(True), **trouble, "outside": formula_or((trouble["outside"], outside))}
    for name, what in asked.items():
        query = run_query(problem, 0, (inside, what), f"region {place}: {name}")
        yield RunObligation(name, place, query)


def check_stem(problem: CanonicalProblem, claimed: ClaimedRecurrence) -> None:
    """Make the run of the stem; refuse unless every step is possible and the last state is in region 0."""
    if problem.property.kind not in ("eventually", "recurs"):
        raise Refused("a run without an end violates `eventually` and `recurs` only")
    moment = TimeFrame(problem, 0)
    point = _start_point(moment, claimed.start)
    _refuse_if_holds(
        truth_formula(problem.initial, False, moment.plain), point, "the first state is not initial"
    )
    good = moment.condition(True) if problem.property.kind == "eventually" else FALSE
    for count, step in enumerate(claimed.moves):
        _refuse_if_holds(good, point, f"state {count} is good")
        ranked = _rank_outputs(moment, point)
        for name, what in _failure_formulas(moment, step).items():
            _refuse_if_holds(what, ranked, f"step {count} cannot be made, or has no value: {name}")
        point = _successor_point(moment, point, _state_after(moment, step))
    _refuse_if_holds(good, point, "the last state is good")
    outside = truth_formula(claimed.regions[0][0], False, moment.plain)
    _refuse_if_holds(outside, point, "the last state is not in region 0")


# One step from any state.


def _failure_formulas(moment: TimeFrame, step: RecurrenceStep) -> dict[str, Formula]:
    """Where the step may be impossible, or an outcome of its edge lead out of the range of a variable."""
    problem = moment.problem
    if step.edge >= len(problem.edges) or step.outcome >= len(problem.edges[step.edge].outcomes):
        raise Refused("a step takes an edge or an outcome that does not exist")
    edge, scope = problem.edges[step.edge], _with_chosen(moment, step)
    unfit = [
        range_violation(moment, c, number_cases(step.chosen[c.name], moment.scope))
        for c in edge.chosen
        if c.kind != "boolean"
    ]
    leaving = [range_violations(moment, updates, scope) for updates in edge.outcomes]
    return {
        "blocked": moment.edge_blocked(step.edge),
        "assumption": formula_or((*unfit, truth_formula(edge.assuming, False, scope))),
        "outside": formula_or(leaving),
    }


def _with_chosen(moment: TimeFrame, step: RecurrenceStep) -> FormulaScope:
    """State, controls, and what is picked."""
    edge = moment.problem.edges[step.edge]
    if {c.name for c in edge.chosen} != step.chosen.keys():
        raise Refused("a step picks other values than its edge leaves open")
    more = [(c, step.chosen[c.name]) for c in edge.chosen]
    return bind_terms(moment.scope, more, moment.scope)


def _state_after(moment: TimeFrame, step: RecurrenceStep) -> FormulaScope:
    """The names of the next state, as terms of this one."""
    updates = moment.problem.edges[step.edge].outcomes[step.outcome]
    return successor_scope(moment, updates, _with_chosen(moment, step))


# One state.


def _refuse_if_holds(excluded: Formula, point: Point, otherwise: str) -> None:
    if _holds_at_point(excluded, point):
        raise Refused(otherwise)


def _holds_at_point(formula: Formula, point: Point) -> bool:
    found = simplify_by_bounds(formula, point, frozenset())
    if found not in (TRUE, FALSE):
        raise Refused("a condition about the run has no value")
    return found == TRUE


def _rank_outputs(moment: TimeFrame, point: Point) -> Point:
    """With ranks instead of outputs where actions are picked by them: of equal ones the first is the best.

    Nothing else in a step depends on the outputs then.
    """
    if moment.problem.choose == "value":
        return point
    best_first = sorted(moment.outputs, key=lambda name: point[name][0] or Fraction(0), reverse=True)
    ranks = (Fraction(-rank) for rank in range(len(best_first)))
    return {**point, **{name: (rank, rank) for name, rank in zip(best_first, ranks, strict=True)}}


def _start_point(moment: TimeFrame, values: Mapping[str, Fraction]) -> Point:
    declared = {v.name: v for v in moment.problem.variables}
    if declared.keys() != values.keys():
        raise Refused("the first state has other names than the problem has variables")
    for name, found in values.items():
        v = declared[name]
        beyond = (v.low is not None and found < v.low) or (v.high is not None and found > v.high)
        broken = v.kind in ("integer", "boolean") and found.denominator != 1
        if beyond or broken or (v.kind == "float32" and not is_float32_number(found)):
            raise Refused(f"`{name[:60]}` starts outside its range")
    return _add_outputs(moment, {moment.at(name): (found, found) for name, found in values.items()})


def _successor_point(moment: TimeFrame, point: Point, after: FormulaScope) -> Point:
    found: Point = {}
    for v in moment.problem.variables:
        lines = [line for where, line in after.numbers[v.name] if _holds_at_point(where, point)]
        if not lines:
            raise Refused("the next state has no value")
        found[moment.at(v.name)] = form_range(lines[0], point)
    return _add_outputs(moment, found)


def _add_outputs(moment: TimeFrame, point: Point) -> Point:
    """With what the network says in this state."""
    problem = moment.problem
    if problem.network is None:
        return point
    observed = []
    for term in problem.observe:
        lines = [line for where, line in number_cases(term, moment.plain) if _holds_at_point(where, point)]
        low = form_range(lines[0], point)[0] if lines else None
        if low is None:
            raise Refused("an observed term has no value")
        observed.append(low)
    said = reference_outputs(problem.network, observed)
    return {**point, **{name: (o, o) for name, o in zip(moment.outputs, said, strict=True)}}
