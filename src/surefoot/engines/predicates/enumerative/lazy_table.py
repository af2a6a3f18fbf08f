"""The abstraction of given predicates, wave by wave: only states of reached abstract states are looked at.

The finer the predicates, the fewer these are; with predicates that tell all states apart they are the states
that can be reached. The abstract states that are met, and the steps between them, are those of a whole table.
Where no two predicates share some variables only (bounds of single variables, say), an abstract state is a
product: its states are listed without sorting all that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.enumerative.partition import (
    Ids,
    Partition,
    group_offsets,
    partition_states,
    ranges_of,
)
from surefoot.engines.predicates.enumerative.table import (
    Indices,
    StateTable,
    TableBuilder,
    empty_table,
    table_starts,
)
from surefoot.term.term import Term, free_names
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True, eq=False)
class ScalarFactor:
    """Some scalars: the class of every combination of their values, and what it adds to a state's number."""

    classes: Ids  # an axis for every scalar of the table
    offsets: Indices  # the same places in a row, class by class ...
    first: Ids  # ... which begin here

    def __len__(self) -> int:
        return len(self.first) - 1


def reachable_part(
    dynamics: Dynamics, conditions: Sequence[Term], budget: Budget
) -> tuple[StateTable, Partition, int]:
    """A table of the states in reachable abstract states, the partition, and how many states these are."""
    begun = empty_table(dynamics)
    starts = table_starts(begun)
    parts, members = _partition_with_members(begun, conditions)
    look = TableBuilder(begun, budget)
    seen = np.zeros(len(parts), dtype=np.bool_)
    wave = np.unique(parts.cell[starts])
    while wave.size:
        seen[wave] = True
        targets = look.at(np.sort(members(wave)))
        after = np.unique(parts.cell[targets])
        wave = after[~seen[after]]
    return look.table(starts), parts, look.looked


def _partition_with_members(
    table: StateTable, conditions: Sequence[Term]
) -> tuple[Partition, Callable[[Ids], Indices]]:
    """The partition, and the states of some abstract states."""
    factors = factor_conditions(table, conditions)
    if factors is not None:
        return product_partition(table, factors), lambda cells: states_in(factors, cells)
    parts = partition_states(table, conditions)
    sorted_states, first = np.argsort(parts.cell, kind="stable"), group_offsets(parts.cell, len(parts))
    return parts, lambda cells: sorted_states[ranges_of(first[cells], first[cells + 1])]


def factor_conditions(table: StateTable, conditions: Sequence[Term]) -> list[ScalarFactor] | None:
    """Locations, conditions about the same scalars, and the scalars that are left; None: they overlap."""
    scalars, shape = table.dynamics.scalars, tuple(map(len, table.ranges))
    alike: dict[frozenset[str], list[Term]] = {}
    for condition in conditions:
        alike.setdefault(frozenset(free_names(condition)), []).append(condition)
    groups: list[tuple[frozenset[str], Ids, int]] = []
    for axis, name in enumerate(scalars):
        if name.startswith("@"):
            index = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
            groups.append((frozenset({name}), index, shape[axis]))
    groups += [(names, *table.classes(together)) for names, together in alike.items()]
    mentioned = [name for names, _, _ in groups for name in names]
    if len(mentioned) > len(set(mentioned)) or prod(count for *_, count in groups) > len(table):
        return None
    left = frozenset(scalars) - set(mentioned)
    sides = [side if name in left else 1 for name, side in zip(scalars, shape, strict=True)]
    groups.append((left, np.zeros(sides, dtype=np.int64), 1))
    return [_build_factor(scalars, shape, *group) for group in groups]


def _build_factor(
    scalars: Sequence[str], shape: tuple[int, ...], names: frozenset[str], classes: Ids, count: int
) -> ScalarFactor:
    offsets = np.zeros([1] * len(shape), dtype=np.int64)
    for axis, name in enumerate(scalars):
        if name in names:
            steps = np.arange(shape[axis]) * prod(shape[axis + 1 :])
            offsets = offsets + steps.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    flat = classes.reshape(-1)
    return ScalarFactor(
        classes, offsets.reshape(-1)[np.argsort(flat, kind="stable")], group_offsets(flat, count)
    )


def product_partition(table: StateTable, factors: Sequence[ScalarFactor]) -> Partition:
    """Every combination of classes occurs: the partition needs no sorting."""
    shape, span = tuple(map(len, table.ranges)), prod(map(len, factors))
    parts, member = [], np.zeros(1, dtype=np.int64)
    for factor in factors:
        span //= len(factor)
        parts.append(factor.classes * span)
        least = factor.offsets[factor.first[:-1]]  # offsets of a class ascend
        member = (member[:, None] + least).reshape(-1)
    cell = reduce(np.add, sorted(parts, key=lambda p: p.size))
    return Partition(np.broadcast_to(cell, shape).reshape(-1), member)


def states_in(factors: Sequence[ScalarFactor], cells: Ids) -> Indices:
    """All states of these abstract states."""
    places = np.unravel_index(cells, tuple(map(len, factors)))
    states, owner = np.zeros(len(cells), dtype=np.int64), np.arange(len(cells))
    for factor, place in zip(factors, places, strict=True):
        first, last = factor.first[place[owner]], factor.first[place[owner] + 1]
        states = np.repeat(states, last - first) + factor.offsets[ranges_of(first, last)]
        owner = np.repeat(owner, last - first)
    return states
