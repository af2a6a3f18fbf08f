"""The exact policy predicate abstraction of a tabulated system: numbers are sorted, nothing is asked.

Abstract states are the combinations of locations and truth values of predicates that some state has. A step
leads from one to another exactly if it does for some states of theirs (Vinzent and Hoffmann 2021, the paper's
policy-restricted abstraction), whether these states are reachable or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import PolicyStep
from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.table import Indices, StateTable
from surefoot.term.term import Term, free_names

Ids: TypeAlias = NDArray[np.int64]
_WIDEST = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Which abstract state each state belongs to, and a state of each."""

    cell: Ids  # per state
    member: Indices  # per abstract state, the first of its states

    def __len__(self) -> int:
        return len(self.member)


@dataclass(frozen=True, slots=True, eq=False)
class ReachedCells:
    """The reachable abstract states in the order in which a search from the starts meets them."""

    states: Ids
    distance: dict[int, int]
    starts: Ids
    unsafe: Ids  # those of `states` that contain a state of trouble
    edges: NDArray[np.int64]  # (edges, 3): source, label, target


def partition_states(table: StateTable, predicates: Sequence[Term]) -> Partition:
    """Group the states by location and truth values."""
    shape = tuple(map(len, table.ranges))
    key, span = np.zeros([1] * len(shape), dtype=np.int64), 1  # an axis for every scalar
    for axis, name in enumerate(table.dynamics.scalars):
        if name.startswith("@"):
            index = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
            key, span = key * shape[axis] + index, span * shape[axis]
    alike: dict[frozenset[str], list[Term]] = {}  # predicates about the same scalars are evaluated together
    for predicate in predicates:
        alike.setdefault(frozenset(free_names(predicate)), []).append(predicate)
    for together in alike.values():
        numbers, count = table.classes(together)
        if span > _WIDEST // count:
            _, places = np.unique(key, return_inverse=True)
            key, span = places.reshape(key.shape), int(places.max()) + 1
        key, span = key * count + numbers, span * count
    return _group_by_key(np.broadcast_to(key, shape).reshape(-1))


def refine_partition(table: StateTable, parts: Partition, predicate: Term) -> Partition:
    """The same with one more predicate."""
    return _group_by_key(parts.cell * 2 + table.evaluate(predicate))


def _group_by_key(key: Ids) -> Partition:
    span = int(key.max(initial=0)) + 1
    if span <= 4 * len(key):  # counting is quicker than sorting
        first = np.full(span, len(key))
        first[key[::-1]] = np.arange(len(key))[::-1]
        there = first < len(key)
        return Partition((np.cumsum(there) - 1)[key], first[there])
    _, member, cell = np.unique(key, return_index=True, return_inverse=True)
    return Partition(cell.reshape(-1).astype(np.int64), member)


def step_labels(steps: Sequence[PolicyStep]) -> tuple[list[str], Ids]:
    """The distinct labels, and the number of each step's."""
    names = list(dict.fromkeys(s.label for s in steps))
    return names, np.array([names.index(s.label) for s in steps], dtype=np.int64)


def reach_cells(table: StateTable, parts: Partition, unsafe: Mask) -> ReachedCells:
    """A search from the abstract starts."""
    count, (_, labels) = len(parts), step_labels(table.dynamics.steps)
    source, target, label = parts.cell[table.sources], parts.cell[table.targets], labels[table.steps]
    kinds = int(labels.max(initial=0)) + 1
    distinct = np.unique((source * kinds + label) * count + target) if count < 2**20 else None
    if distinct is None:
        edges = np.unique(np.stack([source, label, target], axis=1), axis=0)
    else:
        rest, to = np.divmod(distinct, count)
        edges = np.stack([*np.divmod(rest, kinds), to], axis=1)
    first = group_offsets(edges[:, 0], count)
    starts = np.unique(parts.cell[table.starts])
    distance = dict.fromkeys(starts.tolist(), 0)
    frontier, depth, order = starts, 0, [starts]
    seen = np.zeros(count, dtype=np.bool_)
    seen[starts] = True
    while frontier.size:
        depth += 1
        after = np.unique(edges[ranges_of(first[frontier], first[frontier + 1]), 2])
        frontier = after[~seen[after]]
        seen[frontier] = True
        distance.update(dict.fromkeys(frontier.tolist(), depth))
        order.append(frontier)
    states = np.concatenate(order)
    broken = np.zeros(count, dtype=np.bool_)
    broken[parts.cell[unsafe]] = True
    return ReachedCells(states, distance, starts, states[broken[states]], edges[seen[edges[:, 0]]])


def group_offsets(numbers: Ids, count: int) -> Ids:
    """Where each number below the count begins among these if they are sorted, and where the last ends."""
    found = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(numbers, minlength=count), out=found[1:])
    return found


def ranges_of(first: Ids, last: Ids) -> Ids:
    """All numbers of many ranges, one range after the other."""
    lengths = last - first
    offsets = np.repeat(first - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    numbers: Ids = np.arange(int(lengths.sum())) + offsets
    return numbers


def shortest_abstract_path(reached: ReachedCells, goal: int) -> list[int]:
    """A shortest abstract path from a start to a state."""
    before: dict[int, list[int]] = {}
    for source, _, target in reached.edges.tolist():
        before.setdefault(target, []).append(source)
    path = [goal]
    while (steps := reached.distance[path[-1]]) > 0:
        path.append(next(s for s in before[path[-1]] if reached.distance[s] == steps - 1))
    return path[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class ConcreteReach:
    """Which states can be reached, and from where each was first."""

    reached: Mask
    before: Ids  # one more than the edge by which a state was first reached; 0: a start, or not reached

    def path(self, table: StateTable, goal: int) -> tuple[int, list[int]]:
        """The start and the edges that lead to a state."""
        edges: list[int] = []
        here = goal
        while self.before[here]:
            edges.append(int(self.before[here]) - 1)
            here = int(table.sources[edges[-1]])
        return here, edges[::-1]


def nothing_reached(table: StateTable) -> ConcreteReach:
    return ConcreteReach(np.zeros(len(table), dtype=np.bool_), np.zeros(len(table), dtype=np.int64))


def enumerate_levels(
    table: StateTable, found: ConcreteReach, select: Callable[[Ids], Mask] | None = None
) -> Iterator[Ids]:
    """The states at each distance from the starts, noted in `found`; `select`: which edges count."""
    edges, first = np.argsort(table.sources, kind="stable"), group_offsets(table.sources, len(table))
    frontier = table.starts
    found.reached[frontier] = True
    while frontier.size:
        yield frontier
        out = edges[ranges_of(first[frontier], first[frontier + 1])]
        new = out[~found.reached[table.targets[out]]]
        new = new if select is None else new[select(new)]
        frontier, places = np.unique(table.targets[new], return_index=True)
        found.before[frontier] = new[places] + 1
        found.reached[frontier] = True


def reach_states(table: StateTable, select: Callable[[Ids], Mask] | None = None) -> ConcreteReach:
    """All reachable states; only along the edges that are selected."""
    found = nothing_reached(table)
    for _ in enumerate_levels(table, found, select):
        pass
    return found
