"""The abstraction of given predicates, wave by wave: only states of reached abstract states are looked at.

The finer the predicates, the fewer these are; with predicates that tell all states apart they are the states
that can be reached. The abstract states that are met, and the steps between them, are those of a whole table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.engines.predicates.moves import Dynamics
from surefoot.engines.predicates.tabulated.partition import Partition, partition
from surefoot.engines.predicates.tabulated.table import Indices, Looking, Table, empty, starts_of
from surefoot.problem.term import Term
from surefoot.work.budget import Budget


def reachable_part(
    dynamics: Dynamics, conditions: Sequence[Term], budget: Budget
) -> tuple[Table, Partition, int]:
    """A table of the states in reachable abstract states, the partition, and how many states these are."""
    begun = empty(dynamics)
    starts = starts_of(begun)
    parts = partition(begun, conditions)
    members = np.argsort(parts.cell, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(parts.cell, minlength=len(parts)))])
    look = Looking(begun, budget)
    seen = np.zeros(len(parts), dtype=np.bool_)
    wave = np.unique(parts.cell[starts])
    while wave.size:
        seen[wave] = True
        targets = look.at(np.sort(_of(members, first, wave)))
        after = np.unique(parts.cell[targets])
        wave = after[~seen[after]]
    return look.table(starts), parts, look.looked


def _of(members: Indices, first: Indices, cells: Indices) -> Indices:
    """All states of these abstract states."""
    return np.concatenate([members[first[c] : first[c + 1]] for c in cells.tolist()])
