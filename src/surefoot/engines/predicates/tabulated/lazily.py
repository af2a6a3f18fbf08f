"""The abstraction of given predicates, wave by wave: only states of reached abstract states are looked at.

The finer the predicates, the fewer these are; with predicates that tell all states apart they are the states
that can be reached. The abstract states that are met, and the steps between them, are those of a whole table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.engines.predicates.moves import Dynamics
from surefoot.engines.predicates.tabulated.partition import Partition, begins, by_number, partition, ranges_of
from surefoot.engines.predicates.tabulated.table import Looking, Table, empty, starts_of
from surefoot.problem.term import Term
from surefoot.work.budget import Budget


def reachable_part(
    dynamics: Dynamics, conditions: Sequence[Term], budget: Budget
) -> tuple[Table, Partition, int]:
    """A table of the states in reachable abstract states, the partition, and how many states these are."""
    begun = empty(dynamics)
    starts = starts_of(begun)
    parts = partition(begun, conditions)
    members = by_number(parts.cell)
    first = begins(parts.cell, len(parts))
    look = Looking(begun, budget)
    seen = np.zeros(len(parts), dtype=np.bool_)
    wave = np.unique(parts.cell[starts])
    while wave.size:
        seen[wave] = True
        targets = look.at(np.sort(members[ranges_of(first[wave], first[wave + 1])]))
        after = np.unique(parts.cell[targets])
        wave = after[~seen[after]]
    return look.table(starts), parts, look.looked
