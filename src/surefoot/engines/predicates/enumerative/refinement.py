"""Abstraction refinement over a table (after Vinzent, Sharma, Hoffmann, AAAI 2023): none need be given.

The abstraction is searched for a path to an unsafe abstract state. The states that really run along it are
followed; where none is left the path is spurious, for one of three reasons: the guard of the next step is not
satisfied (guard), the policy picks another action (policy), or the step leads elsewhere (transition). A
predicate that separates the dead end from the states that do go on is added, and the search starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.partition import (
    Partition,
    ReachedCells,
    partition_states,
    reach_cells,
    refine_partition,
    shortest_abstract_path,
)
from surefoot.engines.predicates.enumerative.table import Indices, StateTable
from surefoot.engines.predicates.graph import step_labels
from surefoot.engines.predicates.separating_predicate import (
    best_separating_predicate,
    enumerate_comparisons,
    filter_state_conditions,
    weakest_precondition,
)
from surefoot.term.term import Term
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late


@dataclass(slots=True)
class TableAbstraction:
    """Predicates (as the model writes them, and over scalars) and the partition they make."""

    table: StateTable
    unsafe: Mask
    shown: list[Term]
    conditions: list[Term]
    parts: Partition
    reached: ReachedCells
    refinements: list[tuple[str, Term]] = field(default_factory=list)

    @property
    def is_safe(self) -> bool:
        return not self.reached.unsafe.size

    def add(self, why: str, shown: Term, condition: Term) -> None:
        self.refinements.append((why, shown))
        self.shown.append(shown)
        self.conditions.append(condition)
        self.parts = refine_partition(self.table, self.parts, condition)
        _, labels = step_labels(self.table.dynamics.steps)
        self.reached = reach_cells(self.table, self.parts, labels, self.unsafe)

    def copy(self) -> TableAbstraction:
        """What later predicates do not change."""
        lists = [*self.shown], [*self.conditions]
        return TableAbstraction(
            self.table, self.unsafe, *lists, self.parts, self.reached, [*self.refinements]
        )


def abstract_table(
    table: StateTable, unsafe: Mask, shown: Sequence[Term], known: Partition | None = None
) -> TableAbstraction:
    """`known`: the partition that these predicates make, if it was made before."""
    conditions = [table.dynamics.expand_predicate(p) for p in shown]
    parts = partition_states(table, conditions) if known is None else known
    _, labels = step_labels(table.dynamics.steps)
    return TableAbstraction(
        table, unsafe, list(shown), conditions, parts, reach_cells(table, parts, labels, unsafe), []
    )


def refine_until_interrupted(
    found: TableAbstraction, budget: Budget, most: int
) -> tuple[TableAbstraction, str | None, bool]:
    """As `refine`, and the last abstraction that was finished; was it interrupted by the user?"""
    finished = [found.copy()]
    try:
        return found, _refine_abstraction(found, budget, most, finished), False
    except Late:
        return finished[-1], "the budget ended during refinement", False
    except KeyboardInterrupt:
        return finished[-1], "refinement was interrupted", True


def _refine_abstraction(
    found: TableAbstraction, budget: Budget, most: int, finished: list[TableAbstraction] | None = None
) -> str | None:
    """Add predicates until no unsafe abstract state can be reached; why that was given up, or None."""
    while not found.is_safe:
        if budget.is_spent():
            return "the budget ended during refinement"
        if len(found.shown) >= most:
            return f"there are {len(found.shown)} predicates"
        budget.progress(
            f"predicates: {len(found.shown)} predicates, {len(found.reached.states)} abstract states"
        )
        if not _refine_once(found):
            return "no predicate removes a spurious path"
        if finished is not None:
            finished[:] = [found.copy()]
    return None


def _refine_once(found: TableAbstraction) -> bool:
    """Remove one spurious path to the nearest unsafe abstract state."""
    table, cell = found.table, found.parts.cell
    goal = min(found.reached.unsafe.tolist(), key=lambda s: (found.reached.distance[s], s))
    path = shortest_abstract_path(found.reached, goal)
    here = np.unique(table.starts[cell[table.starts] == path[0]])
    for place, following in pairwise(path):
        out = np.flatnonzero((cell[table.sources] == place) & (cell[table.targets] == following))
        going = np.intersect1d(np.unique(table.sources[out]), here)
        if not going.size:
            return _separate_dead_end(found, here, out, following)
        kept = out[np.isin(table.sources[out], going)]
        here = np.unique(table.targets[kept])
    unsafe = np.flatnonzero(found.unsafe & (cell == goal))
    return _add_separating_predicate(found, "unsafe", here, unsafe, list(table.dynamics.bad))


def _separate_dead_end(found: TableAbstraction, here: Indices, out: Indices, following: int) -> bool:
    """States that cannot go on, against those of the same abstract state that can."""
    table, steps = found.table, np.unique(found.table.steps[out]).tolist()
    dynamics = table.dynamics
    used = [dynamics.steps[s] for s in steps]
    why = _spurious_reason(found, here, [s.label for s in used], following)
    terms = [s.guard for s in used]
    terms += [weakest_precondition(c, s.after) for s in used for c in found.conditions]
    return _add_separating_predicate(found, why, here, np.unique(table.sources[out]), terms)


def _spurious_reason(found: TableAbstraction, here: Indices, labels: list[str], following: int) -> str:
    """Why none of these states goes on: no action (guard), others (policy), or these lead elsewhere."""
    table = found.table
    inside = np.isin(table.sources, here)
    taken = {table.dynamics.steps[s].label for s in np.unique(table.steps[inside]).tolist()}
    if taken & set(labels):
        return "transition"
    return "policy" if taken else "guard"


def _add_separating_predicate(
    found: TableAbstraction, why: str, here: Indices, there: Indices, terms: list[Term]
) -> bool:
    dynamics = found.table.dynamics
    parts = [c for t in terms for c in enumerate_comparisons(t)]
    rows = [
        np.array([list(found.table.state(int(s)).values()) for s in _sample_states(few)])
        for few in (here, there)
    ]
    made = best_separating_predicate(dynamics, rows[0], rows[1], filter_state_conditions(dynamics, parts))
    if made is None:
        return False
    found.add(why, made.shown, made.condition)
    return True


def _sample_states(states: Indices) -> Indices:
    """At most a thousand of them, evenly spread."""
    return states[np.linspace(0, len(states) - 1, min(len(states), 1000)).astype(np.int64)]
