"""Abstraction refinement over a table (after Vinzent, Sharma, Hoffmann, AAAI 2023): none need be given.

The abstraction is searched for a path to an unsafe abstract state. The states that really run along it are
followed; where none is left the path is spurious, for one of three reasons: the guard of the next step is not
satisfied (guard), the policy picks another action (policy), or the step leads elsewhere (transition). A
predicate that separates the dead end from the states that do go on is added, and the search starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from surefoot.engines.predicates.separating_predicate import best_separating_predicate, weakest_precondition
from surefoot.term.term import Term
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late


@dataclass(frozen=True, slots=True, eq=False)
class TableAbstraction:
    """Predicates (as the model writes them, and over scalars) and the partition they make."""

    table: StateTable
    unsafe: Mask
    shown: tuple[Term, ...]
    conditions: tuple[Term, ...]
    parts: Partition
    reached: ReachedCells
    refinements: tuple[tuple[str, Term], ...] = ()

    @property
    def is_safe(self) -> bool:
        return not self.reached.unsafe.size

    def refine(self, why: str, condition: Term) -> TableAbstraction:
        """The same with one more predicate."""
        shown = self.table.dynamics.model_term(condition)
        parts = refine_partition(self.table, self.parts, condition)
        return replace(
            self,
            shown=(*self.shown, shown),
            conditions=(*self.conditions, condition),
            parts=parts,
            reached=reach_cells(self.table, parts, self.unsafe),
            refinements=(*self.refinements, (why, shown)),
        )


def abstract_table(
    table: StateTable, unsafe: Mask, shown: Sequence[Term], known: Partition | None = None
) -> TableAbstraction:
    """`known`: the partition that these predicates make, if it was made before."""
    conditions = tuple(table.dynamics.expand_predicate(p) for p in shown)
    parts = partition_states(table, conditions) if known is None else known
    return TableAbstraction(table, unsafe, tuple(shown), conditions, parts, reach_cells(table, parts, unsafe))


def refine_until_interrupted(
    found: TableAbstraction, budget: Budget, most: int
) -> tuple[TableAbstraction, str | None, bool]:
    """Add predicates until no unsafe abstract state can be reached.

    The last abstraction that was finished; why that was given up, or None; was it interrupted by the user?
    """
    try:
        while not found.is_safe:
            if budget.is_spent():
                return found, "the budget ended during refinement", False
            if len(found.shown) >= most:
                return found, f"there are {len(found.shown)} predicates", False
            sizes = f"{len(found.shown)} predicates, {len(found.reached.states)} abstract states"
            budget.progress(f"predicates: {sizes}")
            finer = _remove_spurious_path(found)
            if finer is None:
                return found, "no predicate removes a spurious path", False
            found = finer
    except Late:
        return found, "the budget ended during refinement", False
    except KeyboardInterrupt:
        return found, "refinement was interrupted", True
    return found, None, False


def _remove_spurious_path(found: TableAbstraction) -> TableAbstraction | None:
    """With a predicate against a path to the nearest unsafe abstract state; None: nothing separates."""
    table, cell = found.table, found.parts.cell
    goal = min(found.reached.unsafe.tolist(), key=lambda s: (found.reached.distance[s], s))
    path = shortest_abstract_path(found.reached, goal)
    here = np.unique(table.starts[cell[table.starts] == path[0]])
    for place, following in pairwise(path):
        out = np.flatnonzero((cell[table.sources] == place) & (cell[table.targets] == following))
        going = np.intersect1d(np.unique(table.sources[out]), here)
        if not going.size:
            return _separate_dead_end(found, here, out)
        kept = out[np.isin(table.sources[out], going)]
        here = np.unique(table.targets[kept])
    unsafe = np.flatnonzero(found.unsafe & (cell == goal))
    return _add_separating_predicate(found, "unsafe", here, unsafe, table.dynamics.bad_conditions)


def _separate_dead_end(found: TableAbstraction, here: Indices, out: Indices) -> TableAbstraction | None:
    """States that cannot go on, against those of the same abstract state that can."""
    table, steps = found.table, np.unique(found.table.steps[out]).tolist()
    dynamics = table.dynamics
    used = [dynamics.steps[s] for s in steps]
    why = _spurious_reason(found, here, [s.label for s in used])
    terms = [s.guard for s in used]
    terms += [weakest_precondition(c, s.after) for s in used for c in found.conditions]
    return _add_separating_predicate(found, why, here, np.unique(table.sources[out]), terms)


def _spurious_reason(found: TableAbstraction, here: Indices, labels: list[str]) -> str:
    """Why none of these states goes on: no action (guard), others (policy), or these lead elsewhere."""
    table = found.table
    inside = np.isin(table.sources, here)
    taken = {table.dynamics.steps[s].label for s in np.unique(table.steps[inside]).tolist()}
    if taken & set(labels):
        return "transition"
    return "policy" if taken else "guard"


def _add_separating_predicate(
    found: TableAbstraction, why: str, here: Indices, there: Indices, terms: list[Term]
) -> TableAbstraction | None:
    table = found.table
    first, second = (table.scalar_rows(_sample_states(few)) for few in (here, there))
    condition = best_separating_predicate(table.dynamics, first, second, terms)
    return None if condition is None else found.refine(why, condition)


def _sample_states(states: Indices) -> Indices:
    """At most a thousand of them, evenly spread."""
    return states[np.linspace(0, len(states) - 1, min(len(states), 1000)).astype(np.int64)]
