"""Which starts of a tabulated system are safe: the largest safe subset of its start condition, exactly.

A start from which no bad state can be reached, whatever rounding decides, is safe. One from which a bad state
is reached along steps that the reference semantics makes is refuted: where rounding leaves a choice between
actions, as on a tie, the reference is asked which one it picks, as `violations` does for `check`. What
remains is open: only another evaluation than the reference, or an error of the model, decides there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.engines.predicates.dynamics import build_dynamics, count_states, scalar_terms
from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.partition import Ids, reach_states
from surefoot.engines.predicates.enumerative.table import Indices, StateTable, tabulate_states
from surefoot.engines.predicates.graph import state_from_scalars, trace_along
from surefoot.engines.predicates.violations import (
    find_unclear_states,
    is_bad_by_reference,
    select_reference_steps,
)
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import holds_in_state
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import TRUE, Term, conjunction_of, disjunction_of, equal, free_names
from surefoot.term.value_types import Bool
from surefoot.verdict.verdict import Refused, Trace
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

TABULATED = 5_000_000
MOST_PARTS = 40  # of refuted starts, each with a run
NEVER, HERE = -2, -1  # instead of an edge


@dataclass(frozen=True, slots=True)
class StartPart:
    """Starts that satisfy a condition (and the start condition), all with the same answer."""

    condition: Term
    count: int
    trace: Trace | None = None  # from one of them, of refuted ones


@dataclass(frozen=True, slots=True)
class SortedStarts:
    """All starts: no two parts have one in common."""

    count: int
    safe: tuple[StartPart, ...]
    refuted: tuple[StartPart, ...]
    open: tuple[StartPart, ...]
    interrupted: bool = False  # by the user: some that are open might have been refuted


def start_sorting_objection(problem: Problem) -> str | None:
    """Why its starts cannot be sorted in a table."""
    if not isinstance(problem.property, Never) or problem.property.steps is not None:
        return "starts are sorted by what is never met, in runs of any length"
    if any(len(c.initial) > 1 for c in problem.environment.components):
        return "a component may start in several locations"
    try:
        count = count_states(build_dynamics(problem).layout)
    except Unsupported as why:
        return str(why)
    return None if count <= TABULATED else f"there are more than {TABULATED} states"


def sort_starts(problem: Problem, budget: Budget) -> SortedStarts:
    """Every start with its answer; refuted ones that the budget, or the user, does not wait for are open."""
    model = build_dynamics(problem)
    if model.doubt:
        raise Unsupported(model.doubt.detail)
    table = tabulate_states(model, budget)
    starts = table.starts
    reaching = _backward_reach(table, table.bad | table.trouble)[starts] != NEVER
    towards = _ways_of_reference(table, budget)
    refuted, interrupted = _replay_starts(table, starts[towards[starts] != NEVER], towards, budget)
    unsure = np.setdiff1d(starts[reaching], refuted)
    bad = []
    for part, some in _split_into_parts(table, refuted, np.setdiff1d(starts, refuted)):
        run = _path_to_trace(table, _path_to_goal(table, int(some[0]), towards), towards)
        assert isinstance(run, Trace)  # it was made before, step by step
        bad.append(replace(part, trace=run))
    safe, left = (_as_one_part(table, s, np.setdiff1d(starts, s)) for s in (starts[~reaching], unsure))
    return SortedStarts(len(starts), safe, tuple(bad), left, interrupted)


def _ways_of_reference(table: StateTable, budget: Budget) -> Ids:
    """For every state the first edge of a shortest way to a bad state along steps of the reference."""
    reached = reach_states(table).reached
    matters = reached & (_backward_reach(table, table.bad) != NEVER)
    unclear = find_unclear_states(table, np.flatnonzero(matters))
    edges = np.flatnonzero(matters[table.sources] & matters[table.targets])
    made = np.zeros(len(table.sources), dtype=np.bool_)
    made[edges] = select_reference_steps(table, edges, unclear, budget)
    bad = table.bad & reached
    if _asks_policy(table.dynamics.problem):
        numbers = np.flatnonzero(bad).tolist()
        bad[numbers] = [not budget.is_spent() and is_bad_by_reference(table, n) for n in numbers]
    return _backward_reach(table, bad, made)


def _asks_policy(problem: Problem) -> bool:
    """Does what is bad depend on what the policy does, and so perhaps on rounding?"""
    assert isinstance(problem.property, Never)
    own = {v.name for v in problem.environment.variables}
    return any(n not in own and location_parts(n) is None for n in free_names(problem.property.bad))


def _backward_reach(table: StateTable, goal: Mask, usable: Mask | None = None) -> Ids:
    """For every state the first edge of a shortest way to the goal; `HERE` in it, `NEVER` without a way."""
    back = replace(table, sources=table.targets, targets=table.sources, starts=np.flatnonzero(goal))
    found = reach_states(back, None if usable is None else usable.__getitem__)
    return np.where(found.reached, found.before - 1, NEVER)


def _replay_starts(table: StateTable, starts: Indices, towards: Ids, budget: Budget) -> tuple[Indices, bool]:
    """Those whose run to a bad state the reference semantics makes, step by step; every step is made once.

    Also whether the user put an end to it.
    """
    known, interrupted = dict[int, bool](), False
    try:
        for number, start in enumerate(starts.tolist()):
            if budget.is_spent():
                break
            if number % 100 == 0:
                budget.progress(f"predicates: {number} of {len(starts)} starts replayed")
            _replay_start(table, start, towards, known)
    except Late:
        pass
    except KeyboardInterrupt:
        interrupted = True
    return np.array([s for s in starts.tolist() if known.get(s)], dtype=np.int64), interrupted


def _replay_start(table: StateTable, start: int, towards: Ids, known: dict[int, bool]) -> None:
    """Adds to what is known: of which states the reference semantics makes the way to a bad one."""
    problem = table.dynamics.problem
    assert isinstance(problem.property, Never)
    way = _path_to_goal(table, start, towards, known)
    if way[-1] not in known:
        known[way[-1]] = holds_in_state(
            problem, state_from_scalars(table.dynamics, table.state(way[-1])), problem.property.bad
        )
    good = known[way[-1]] and isinstance(_path_to_trace(table, way, towards), Trace)
    known.update(dict.fromkeys(way[:-1], good))


def _path_to_goal(table: StateTable, start: int, towards: Ids, known: Container[int] = ()) -> list[int]:
    """The states on the way to the goal, or to one that is known."""
    way = [start]
    while way[-1] not in known and towards[way[-1]] != HERE:
        way.append(int(table.targets[towards[way[-1]]]))
    return way


def _path_to_trace(table: StateTable, way: Sequence[int], towards: Ids) -> Trace | Refused:
    steps = [table.dynamics.steps[int(table.steps[towards[s]])] for s in way[:-1]]
    return trace_along(table.dynamics, [table.state(s) for s in way], steps)


def _split_into_parts(
    table: StateTable, some: Indices, others: Indices
) -> Iterator[tuple[StartPart, Indices]]:
    """Parts with conditions that these starts satisfy, and none of the others; the last one has the rest."""
    places, against = _scalar_places(table, some), _scalar_places(table, others)
    boxes = list(_separate_by_boxes(places, against))
    groups = [[box] for box in boxes]
    if len(boxes) > MOST_PARTS:
        groups = [*groups[: MOST_PARTS - 1], boxes[MOST_PARTS - 1 :]]
    for group in groups:
        mine = some[np.concatenate(group)]
        yield StartPart(_one_of(table, places, group, against), len(mine)), mine


def _as_one_part(table: StateTable, some: Indices, others: Indices) -> tuple[StartPart, ...]:
    """All of these starts as one part, by what they have or by what the others have, whichever is shorter."""
    places, against = _scalar_places(table, some), _scalar_places(table, others)
    mine, theirs = list(_separate_by_boxes(places, against)), list(_separate_by_boxes(against, places))
    if not len(some):
        return ()
    if not len(others):
        return (StartPart(TRUE, len(some)),)
    if len(theirs) < len(mine):
        return (StartPart(~_one_of(table, against, theirs, places), len(some)),)
    return (StartPart(_one_of(table, places, mine, against), len(some)),)


def _scalar_places(table: StateTable, states: Indices) -> Indices:
    """The scalars of states, counted from the least value of each."""
    found: Indices = np.stack(np.unravel_index(states, tuple(map(len, table.ranges))), axis=1)
    return found


def _one_of(table: StateTable, places: Indices, groups: Sequence[Indices], others: Indices) -> Term:
    everything = np.concatenate([places, others])
    return disjunction_of(tuple(_box_condition(table, places[rows], everything) for rows in groups))


def _separate_by_boxes(places: Indices, against: Indices) -> Iterator[Indices]:
    """Numbers of rows, in groups whose boxes have none of the others in them: halved until that is so."""
    todo = [np.arange(len(places))] if len(places) else []
    while todo:
        rows = todo.pop()
        low, high = places[rows].min(axis=0), places[rows].max(axis=0)
        if not ((against >= low) & (against <= high)).all(axis=1).any():
            yield rows
            continue
        axis = int(np.argmax(high - low))
        below = places[rows, axis] <= (low[axis] + high[axis]) // 2
        todo += [rows[~below], rows[below]]


def _box_condition(table: StateTable, mine: Indices, everything: Indices) -> Term:
    """The box around these starts; bounds that all starts keep are left out."""
    parts: list[Term] = []
    named = scalar_terms(table.dynamics.layout)
    for axis, (name, kind) in enumerate(table.dynamics.layout.kinds.items()):
        low, high = int(mine[:, axis].min()), int(mine[:, axis].max())
        least, most = int(everything[:, axis].min()), int(everything[:, axis].max())
        begin = table.ranges[axis].start
        if isinstance(kind, Bool):
            if low == high and least != most:
                parts.append(named[name] if low else ~named[name])
        elif low == high and least != most:
            parts.append(equal(named[name], low + begin))
        else:
            parts += [named[name] >= low + begin] if low > least else []
            parts += [named[name] <= high + begin] if high < most else []
    return conjunction_of(tuple(parts)) if parts else TRUE
