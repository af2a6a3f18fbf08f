"""Following cells from period to period: the reachable sets of a closed loop, as far as they are safe.

Cells are rows of arrays. A row that may have several successors (another branch of the policy, another
action, another edge) becomes several rows; where one of them fails its cell fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask
from surefoot.engines.reach.decision_forms import (
    LoopDecisions,
    PossibleDecision,
    arithmetic_nodes,
    enumerate_decisions,
    list_decisions,
)
from surefoot.engines.reach.edge_step import EdgeTerms, enumerate_edge_successors, list_edges
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.enabled_edges import EdgeGuards, list_guards, surely_go_on
from surefoot.engines.reach.flow_step import (
    FlowJacobian,
    FlowSystem,
    SubStep,
    WatchedCondition,
    bound_over_time,
    measure_remainder,
    take_sub_step,
    watch_condition,
)
from surefoot.engines.reach.form_series import bounds_of, spread_of
from surefoot.engines.reach.start_regions import range_inside
from surefoot.engines.reach.symbols import absorb_radii, add_symbols, reduce_symbols
from surefoot.engines.reach.term_levels import (
    ANY_SIGN,
    Linear,
    TermNodes,
    arrange_levels,
)
from surefoot.engines.reach.tubes import TubeRecorder
from surefoot.engines.reach.walk_options import WalkOptions, adapt_halvings, adapt_pieces
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.reductions.closed_loop import ClosedLoop, is_discrete
from surefoot.reductions.loop_question import LoopQuestion
from surefoot.term.term import Term

MAY_BE_BAD, CROWDED = "it may be bad", "too many successors"  # why a cell was given up
NO_TIME, NO_ROOM = LATER = "no time left", "no room beside others"  # why one has to be followed again
MOST_ROWS, MOST_ROWS_TOGETHER = 4096, 16384  # that a cell may have become at a time, and all of a batch
NOT_MET, NOT_BACK = "the goal is not surely met in time", "sets do not come back into the starts"


@dataclass(frozen=True, slots=True, eq=False)
class LoopWalk:
    """Everything that is listed once for a problem."""

    loop: ClosedLoop
    question: LoopQuestion
    decisions: LoopDecisions
    bad: WatchedCondition | None
    goal: WatchedCondition | None
    flow: FlowSystem | None
    edges: tuple[EdgeTerms, ...]  # of steps
    guards: EdgeGuards | None  # where runs have to go on until a goal is met
    discrete: Mask
    least: Array  # of the variables
    most: Array


def prepare_walk(loop: ClosedLoop, question: LoopQuestion) -> LoopWalk:
    bad = None if question.bad is None else watch_condition(loop, question.bad)
    goal = None if question.goal is None else watch_condition(loop, question.goal)
    flow = None if loop.derivatives is None else _flow_system(loop, loop.derivatives)
    ends = [range_inside(kind) for kind in loop.kinds.values()]
    least, most = (np.array(side) for side in zip(*ends, strict=True))
    edges = list_edges(loop) if flow is None else ()
    guards = list_guards(loop) if flow is None and bad is None else None
    discrete = np.array([is_discrete(kind) for kind in loop.kinds.values()])
    decisions = list_decisions(loop)
    return LoopWalk(loop, question, decisions, bad, goal, flow, edges, guards, discrete, least, most)


def _flow_system(loop: ClosedLoop, derivatives: tuple[Term, ...]) -> FlowSystem:
    nodes = arithmetic_nodes(loop)
    variables = np.array([nodes.name(v) for v in loop.variables], dtype=np.intp)
    controls = np.array([nodes.name(c.name) for c in loop.controls], dtype=np.intp)
    (edge,) = loop.edges
    chosen = np.array([nodes.name(name) for name, _ in edge.chosen], dtype=np.intp)
    slopes = np.array([nodes.value(t) for t in derivatives], dtype=np.intp)
    low = np.array([rounded_down(kind.low) for _, kind in edge.chosen])  # type: ignore[union-attr, arg-type]
    high = np.array([rounded_up(kind.high) for _, kind in edge.chosen])  # type: ignore[union-attr, arg-type]
    system = FlowSystem(arrange_levels(nodes), variables, controls, chosen, slopes, low, high)
    return system if not edge.chosen else replace(system, jacobian=_list_jacobian(nodes, system))


def _list_jacobian(nodes: TermNodes, system: FlowSystem) -> FlowJacobian:
    """Derivatives of the derivatives by the state and by what is chosen."""
    known: dict[tuple[int, int], Linear] = {}

    def by(names: NDArray[np.intp]) -> NDArray[np.intp]:
        found = [
            [nodes.node(nodes.partial(int(f), int(x), known)) for x in names] for f in system.derivatives
        ]
        return np.array(found, dtype=np.intp)

    sign = nodes.name(ANY_SIGN)
    by_state, by_chosen = by(system.variables), by(system.chosen)
    return FlowJacobian(arrange_levels(nodes), by_state, by_chosen, sign)


@dataclass(slots=True, eq=False)
class TreeNode:
    """A part of a cell's way: periods that were followed, then its end."""

    begins: int  # number of the first period
    periods: int = 0
    end: str = ""  # "done", "return", "fork"; "" while it goes on or where it failed
    region: int = 0
    forks: dict[str, TreeNode] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Failure:
    """Where a cell was given up: when, and which symbols of the start matter for it."""

    time: Fraction
    why: str
    weights: Array | None = None  # of the start symbols
    between: bool = False  # inside of a sub-step, whose end is not bad


@dataclass(slots=True, eq=False)
class Batch:
    """Rows that are followed together; `cell` says which start each belongs to."""

    forms: Array
    cell: NDArray[np.intp]
    nodes: list[TreeNode]

    def take(self, keep: Mask | NDArray[np.intp]) -> Batch:
        places = np.flatnonzero(keep) if keep.dtype == bool else keep
        return Batch(self.forms[places], self.cell[places], [self.nodes[i] for i in places])


@dataclass(slots=True, eq=False)
class WalkRecord:
    """One walk of several cells: options of each period, which cells failed, what was passed through."""

    options: list[WalkOptions] = field(default_factory=list)
    failures: dict[int, Failure] = field(default_factory=dict)
    remainder: float = 0.0  # of the last period, relative to the sets
    first_spread: Array = field(default_factory=lambda: np.zeros((0, 0)))  # of the starts
    looseness: float = 0.0  # of what networks made of sets in the last period
    tubes: TubeRecorder | None = None
    stop: Callable[[], bool] = lambda: False


# of forms, and the cells that they belong to: the number of a region around each row, or -1
Closing = Callable[[Array, NDArray[np.intp]], NDArray[np.intp]]


def walk_cells(
    walk: LoopWalk,
    forms: Array,
    options: WalkOptions,
    *,
    closing: Closing | None = None,
    most_periods: int = 10_000,
    most_rows: int = MOST_ROWS,
    tubes: TubeRecorder | None = None,
    tolerance: float | None = None,
    loosest: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[WalkRecord, list[TreeNode]]:
    """Follow cells until all are done or failed; the roots of their trees, and what happened."""
    question = walk.question
    record = WalkRecord(first_spread=spread_of(forms), tubes=tubes, stop=stop)
    roots = [TreeNode(0) for _ in range(len(forms))]
    batch = Batch(forms, np.arange(len(forms)), list(roots))
    period, now, number = walk.loop.period, Fraction(0), 0
    if tubes is not None:
        tubes.add_states(batch.cell, now, batch.forms)
    batch = _look_at_starts(walk, batch, record)
    while len(batch.cell):
        if closing is not None and number:
            batch = _close_rows(batch, closing(batch.forms, batch.cell))
            if not len(batch.cell):
                break
        if (question.until is not None and now >= question.until) or number >= most_periods:
            done = question.until is not None and now >= question.until and question.bad is not None
            _finish(batch, "done" if done else "", record, now, NOT_MET if walk.bad is None else NOT_BACK)
            break
        if stop():
            _finish(batch, "", record, now, NO_TIME)
            break
        batch = _leave_crowds(batch, most_rows, record, now)
        if not len(batch.cell):
            break
        record.options.append(options)
        record.remainder = record.looseness = 0.0
        batch = take_period(walk, batch, now, options, record)
        options = adapt_pieces(options, record.remainder, tolerance)
        options = adapt_halvings(options, record.looseness, len(batch.cell), loosest)
        now, number = now + period, number + 1
    return record, roots


def measure_looseness(forms: Array, columns: slice, first: Array) -> float:
    """How much of the spread of a state (or of its start) comes from what a network has just added."""
    if not len(forms) or columns.start == columns.stop:
        return 0.0
    floor = np.maximum(0.5 * first, 1e-6 * (1 + np.abs(forms[..., 0])))
    return float((np.abs(forms[..., columns]).sum(-1) / np.maximum(spread_of(forms), floor)).max())


def _leave_crowds(batch: Batch, most_rows: int, record: WalkRecord, now: Fraction) -> Batch:
    """Without cells that have become too many rows: their halves become fewer. The last cells wait where all
    together are too many."""
    several = np.bincount(batch.cell)
    crowded = several > most_rows
    if crowded.any():
        _finish(batch.take(crowded[batch.cell]), "", record, now, CROWDED)
    waits = np.cumsum(np.where(crowded, 0, several)) > max(MOST_ROWS_TOGETHER, most_rows)
    waits &= ~crowded
    if waits.any():
        _finish(batch.take(waits[batch.cell]), "", record, now, NO_ROOM)
    return batch.take(~(crowded | waits)[batch.cell])


def _finish(batch: Batch, end: str, record: WalkRecord, now: Fraction, why: str) -> None:
    for node in batch.nodes:
        node.end = end
    if not end:
        _note_failures(record, batch.cell, np.ones(len(batch.cell), bool), now, why)


def _close_rows(batch: Batch, region: NDArray[np.intp]) -> Batch:
    for row in np.flatnonzero(region >= 0):
        batch.nodes[row].end, batch.nodes[row].region = "return", int(region[row])
    return batch.take(region < 0)


def _look_at_starts(walk: LoopWalk, batch: Batch, record: WalkRecord) -> Batch:
    """Rows that may be bad at once fail, and rows where the goal holds at once are done."""
    risky, met = _judge_states(walk, batch.forms, Fraction(0))
    if risky.any():
        assert walk.bad is not None
        weights = _start_weights(walk.bad, batch.forms)
        _note_failures(record, batch.cell, risky, Fraction(0), MAY_BE_BAD, weights)
    for row in np.flatnonzero(met):
        batch.nodes[row].end = "done"
    return batch.take(~(risky | met))


def _judge_states(walk: LoopWalk, forms: Array, now: Fraction) -> tuple[Mask, Mask]:
    """Rows that may be bad at this moment, and those where the goal surely holds."""
    none = np.zeros(len(forms), bool)
    question = walk.question
    if question.until is not None and now > question.until:
        return none, none
    counts = now >= question.since
    risky = ~walk.bad.decide(forms)[1] if walk.bad is not None and counts else none
    met = walk.goal.decide(forms)[0] if walk.goal is not None and (counts or walk.bad is not None) else none
    return risky, met & ~risky


def _start_weights(watched: WatchedCondition, state: Array) -> Array:
    """How much each symbol of the start matters for what is compared, relative to how far it is decided."""
    forms, spread = watched.terms.evaluate(state)
    count = state.shape[1]
    total = np.zeros((len(state), count))
    for node in watched.nodes:
        margin = np.abs(forms[node, :, 0]) - spread[node]
        share = np.abs(forms[node, :, 1 : count + 1]) / np.maximum(spread[node], 1e-300)[:, None]
        total += np.where(np.isfinite(share), share, 0.0) * ~(margin > 0)[:, None]
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    """Successors of some rows by one decision: forms after a period, and which of them are done."""

    key: str
    rows: NDArray[np.intp]
    forms: Array
    done: Mask


def take_period(
    walk: LoopWalk,
    batch: Batch,
    now: Fraction,
    options: WalkOptions,
    record: WalkRecord,
) -> Batch:
    """All successors of all rows after one period."""
    moved = list(_successors(walk, batch, now, options, record))
    nodes = _extend_trees(batch, moved)
    _end_runs(walk, batch, moved, now, record)
    failed = np.array(sorted(record.failures), dtype=np.intp)
    parts: list[Batch] = []
    for found, own in zip(moved, nodes, strict=True):
        for place in np.flatnonzero(found.done):
            own[place].end = "done"
        cell = batch.cell[found.rows]
        parts.append(Batch(found.forms, cell, own).take(~found.done & ~np.isin(cell, failed)))
    parts = [part for part in parts if len(part.cell)]
    if not parts:
        return batch.take(np.zeros(len(batch.cell), bool))
    width = max(part.forms.shape[-1] for part in parts)
    count = len(walk.loop.kinds)
    forms = np.concatenate([add_symbols(part.forms, width - part.forms.shape[-1]) for part in parts])
    forms = reduce_symbols(forms, options.order * count, count)
    return Batch(
        forms, np.concatenate([part.cell for part in parts]), [n for part in parts for n in part.nodes]
    )


def _end_runs(walk: LoopWalk, batch: Batch, moved: list[_Moved], now: Fraction, record: WalkRecord) -> None:
    """Rows without successors: their runs end, which is fine unless a goal has to be met."""
    ended = np.ones(len(batch.cell), bool)
    for found in moved:
        ended[found.rows] = False
    if walk.bad is None and walk.flow is None:
        _note_failures(record, batch.cell, ended, now, "a run may end before its goal")
    for row in np.flatnonzero(ended):
        batch.nodes[row].end = "done"


def _extend_trees(batch: Batch, moved: list[_Moved]) -> list[list[TreeNode]]:
    """The nodes of all successors: the row's own where there is one, else a new one for each."""
    several = np.zeros(len(batch.cell), dtype=int)
    for found in moved:
        several[found.rows] += 1
    for row in np.flatnonzero(several <= 1):  # none: its runs end there, which one more period shows
        batch.nodes[row].periods += 1
    for row in np.flatnonzero(several > 1):
        batch.nodes[row].end = "fork"
    nodes: list[list[TreeNode]] = []
    for found in moved:
        own: list[TreeNode] = []
        for row in found.rows:
            node = batch.nodes[row]
            if several[row] > 1:
                child = node.forks[found.key] = TreeNode(node.begins + node.periods, 1)
                node = child
            own.append(node)
        nodes.append(own)
    return nodes


def _successors(
    walk: LoopWalk,
    batch: Batch,
    now: Fraction,
    options: WalkOptions,
    record: WalkRecord,
) -> Iterator[_Moved]:
    for decision in enumerate_decisions(walk.decisions, batch.forms, options.halvings):
        why = "the policy may decide something beyond the model"
        _note_failures(record, batch.cell[decision.rows], ~decision.good, now, why)
        failed = np.array(sorted(record.failures), dtype=np.intp)
        keep = decision.good & ~np.isin(batch.cell[decision.rows], failed)
        rows = decision.rows[keep]
        if not len(rows):
            continue
        count = batch.forms.shape[1]
        both = absorb_radii(np.concatenate([decision.state[keep], decision.controls[keep]], 1))
        added = slice(batch.forms.shape[-1] - 1, both.shape[-1] - 1)
        if walk.flow is not None:
            follow = _FlowPeriod(walk, walk.flow, options, record)
            moved: Iterable[_Moved] = (
                follow.follow(
                    f"{decision.key}/0/0/", rows, batch.cell[rows], both[:, :count], both[:, count:], now
                ),
            )
        else:
            moved = _edge_steps(walk, batch, decision, rows, both[:, :count], both[:, count:], now, record)
        for found in moved:
            first = record.first_spread[batch.cell[found.rows[~found.done]]]
            loose = measure_looseness(found.forms[~found.done], added, first)
            record.looseness = max(record.looseness, loose)
            yield found


def _edge_steps(
    walk: LoopWalk,
    batch: Batch,
    decision: PossibleDecision,
    rows: NDArray[np.intp],
    state: Array,
    controls: Array,
    now: Fraction,
    record: WalkRecord,
) -> Iterator[_Moved]:
    """One decision for all rows: the edges of its action, and those that are the environment's own."""
    if walk.guards is not None:
        ends = ~surely_go_on(walk.guards, decision.action, state, controls)
        _note_failures(record, batch.cell[rows], ends, now, "a run may end before its goal")
    for edge in walk.edges:
        if edge.action != decision.action and edge.action is not None:
            continue
        for found in enumerate_edge_successors(edge, walk.discrete, state, controls):
            cell, after = batch.cell[rows[found.rows]], absorb_radii(found.forms)
            if record.tubes is not None:
                record.tubes.add_states(cell[found.good], now + walk.loop.period, after[found.good])
            inside = _stay_in_range(walk, after, found.changed)
            risky, met = _judge_states(walk, after, now + walk.loop.period)
            _note_failures(record, cell, ~found.good, now, "a discrete variable may have several values")
            _note_failures(record, cell, ~inside, now, "a variable may leave its range")
            if risky.any():
                assert walk.bad is not None
                weights = _start_weights(walk.bad, after)
                _note_failures(record, cell, risky, now + walk.loop.period, MAY_BE_BAD, weights)
            who = decision.key if edge.action is not None or walk.loop.controls else "-"
            yield _Moved(f"{who}/{found.key}", rows[found.rows], after, met)


def _stay_in_range(walk: LoopWalk, after: Array, changed: Mask) -> Mask:
    """Rows in which every variable that changes surely stays in its declared range."""
    low, high = bounds_of(after)
    low[:, walk.discrete] = high[:, walk.discrete] = after[:, walk.discrete, 0]  # nothing is rounded there
    inside: Mask = np.asarray(((low >= walk.least) & (high <= walk.most) | ~changed).all(1))
    return inside


def _round_times(first: Fraction, last: Fraction) -> tuple[float, float]:
    return float(first) * (1 - 2.0**-52), float(last) * (1 + 2.0**-52)


def _note_failures(
    record: WalkRecord,
    cell: NDArray[np.intp],
    failed: Mask,
    now: Fraction,
    why: str,
    weights: Array | None = None,
    between: Mask | None = None,
) -> None:
    for row in np.flatnonzero(failed):
        inside = between is not None and bool(between[row])
        failure, own = Failure(now, why, None if weights is None else weights[row], inside), int(cell[row])
        known = record.failures.get(own)
        if known is None or now < known.time:  # another branch of the same cell may have got further
            record.failures[own] = failure


@dataclass(frozen=True, slots=True, eq=False)
class _FlowPeriod:
    """One decision for all rows: sub-steps of the flow."""

    walk: LoopWalk
    system: FlowSystem
    options: WalkOptions
    record: WalkRecord

    def follow(
        self,
        key: str,
        rows: NDArray[np.intp],
        cell: NDArray[np.intp],
        state: Array,
        controls: Array,
        now: Fraction,
    ) -> _Moved:
        done: list[NDArray[np.intp]] = []
        piece = self.walk.loop.period / self.options.pieces
        for number in range(self.options.pieces):
            begin, end = now + number * piece, now + (number + 1) * piece
            if self.record.stop():
                _note_failures(self.record, cell, np.ones(len(rows), bool), begin, NO_TIME)
                rows, cell, controls, state = rows[:0], cell[:0], controls[:0], state[:0]
                break
            step = take_sub_step(self.system, state, controls, float(piece), self.options.taylor)
            fine = self._judge_sub_step(step, cell, begin, end)
            self.record.remainder += measure_remainder(step)
            if self.record.tubes is not None:
                self.record.tubes.add_sub_step(cell, (begin, end), self.system, step, self.options.taylor)
            if (last_met := fine & self._met_at_last(step, begin, end)).any():
                done.append(rows[last_met])
                fine &= ~last_met
            rows, cell, controls = rows[fine], cell[fine], controls[fine]
            state = absorb_radii(step.forms[fine])
            risky, met = _judge_states(self.walk, state, end)
            if risky.any():
                assert self.walk.bad is not None
                _note_failures(
                    self.record, cell, risky, end, MAY_BE_BAD, _start_weights(self.walk.bad, state)
                )
            done.append(rows[met])
            go_on = ~(risky | met)
            rows, cell, controls, state = rows[go_on], cell[go_on], controls[go_on], state[go_on]
            controls = add_symbols(controls, state.shape[-1] - controls.shape[-1])
            if not len(rows):
                break
        finished = np.concatenate([*done, rows[:0]])
        forms = np.concatenate([state, np.zeros((len(finished), *state.shape[1:]))])
        ended = np.concatenate([np.zeros(len(rows), bool), np.ones(len(finished), bool)])
        return _Moved(key, np.concatenate([rows, finished]), forms, ended)

    def _judge_sub_step(self, step: SubStep, cell: NDArray[np.intp], begin: Fraction, end: Fraction) -> Mask:
        """Rows that are enclosed, in their ranges and not bad between its ends; others have failed."""
        question, fine = self.walk.question, step.good.copy()
        _note_failures(self.record, cell, ~fine, begin, "no enclosure of a sub-step")
        out = fine & self._may_leave(step)
        _note_failures(self.record, cell, out, begin, "a variable may leave its range")
        fine &= ~out
        last = end if question.until is None else min(end, question.until)
        first = max(begin, question.since)
        if self.walk.bad is None or last < first or last <= begin or first >= end or not fine.any():
            return fine  # its ends are looked at as moments
        times = _round_times(first - begin, last - begin)
        _, fails = self.walk.bad.decide_over(step, self.system, self.options.taylor, times)
        if (bad := fine & ~fails).any():
            weights, (_, ends) = _start_weights(self.walk.bad, step.forms), self.walk.bad.decide(step.forms)
            _note_failures(self.record, cell, bad, begin, MAY_BE_BAD, weights, ends)
        return fine & fails

    def _met_at_last(self, step: SubStep, begin: Fraction, end: Fraction) -> Mask:
        """Rows where the goal surely holds up to the last moment that counts, which is inside a sub-step."""
        question, until = self.walk.question, self.walk.question.until
        if self.walk.goal is None or question.bad is not None or until is None or not begin < until < end:
            return np.zeros(len(step.good), bool)
        times = _round_times(max(question.since, begin) - begin, until - begin)
        return self.walk.goal.decide_over(step, self.system, self.options.taylor, times)[0]

    def _may_leave(self, step: SubStep) -> Mask:
        """Rows in which a variable may be outside of its range at some time.

        Runs begin in it, so they do not leave at an end that the derivative never points to.
        """
        low, high = step.enclosure
        if ((low >= self.walk.least) & (high <= self.walk.most)).all():
            return np.zeros(len(low), bool)
        down, up = bound_over_time(
            step.series,
            step.rest,
            self.system.variables,
            self.options.taylor,
            (0.0, step.length),
            closely=True,
        )
        down, up = down.T - step.error, up.T + step.error
        inside_low, inside_high = down >= self.walk.least, up <= self.walk.most
        if not len(self.system.chosen):
            slowest, fastest = step.rest.at(self.system.derivatives)
            inside_low, inside_high = inside_low | (slowest.T >= 0), inside_high | (fastest.T <= 0)
        outside: Mask = ~np.asarray((inside_low & inside_high).all(1))
        return outside
