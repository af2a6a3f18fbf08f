"""Runs in a finite graph: the nearest state of a kind, ends and cycles without good states, late runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.solvers.markov.end_components import strongly_connected_components
from surefoot.solvers.markov.qualitative import csr_positions

MOST_ENTRIES = 50_000_000  # of the states on all levels of `within`
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class StateGraph:
    """States and arrows between them."""

    arrows: Numbers  # [states + 1]: the arrows of state s are arrows[s] .. arrows[s + 1] - 1
    targets: Numbers  # [arrows]
    initial: Numbers
    ends: Flags  # [states]: a run may end here

    @property
    def states(self) -> int:
        return len(self.arrows) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Lasso:
    """States one after the other; `loop`: to which of them the last one returns."""

    states: list[int]
    loop: int | None = None


def _outgoing_arrows(graph: StateGraph, states: Numbers) -> tuple[Numbers, Numbers]:
    """Every arrow out of these states: from where and to where."""
    arrows = csr_positions(graph.arrows, states)
    return np.repeat(states, graph.arrows[states + 1] - graph.arrows[states]), graph.targets[arrows]


def _breadth_first_search(graph: StateGraph, inside: Flags) -> tuple[Numbers, Numbers]:
    """Distance from the start states along states inside (-1: not reached), and the state before."""
    distance = np.full(graph.states, -1, dtype=np.int64)
    before = np.full(graph.states, -1, dtype=np.int64)
    frontier = graph.initial[inside[graph.initial]]
    distance[frontier] = 0
    level = 0
    while len(frontier):
        level += 1
        sources, targets = _outgoing_arrows(graph, frontier)
        fresh = (distance[targets] < 0) & inside[targets]
        frontier, first = np.unique(targets[fresh], return_index=True)
        distance[frontier] = level
        before[frontier] = sources[fresh][first]
    return distance, before


def _trace_back(before: Numbers, last: int) -> list[int]:
    path = [last]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]


def _nearest_state(distance: Numbers, wanted: Flags) -> int | None:
    candidates = np.flatnonzero(wanted & (distance >= 0))
    return int(candidates[np.argmin(distance[candidates])]) if len(candidates) else None


def distance_to(graph: StateGraph, wanted: Flags) -> int | None:
    distance, _ = _breadth_first_search(graph, np.ones(graph.states, dtype=np.bool_))
    found = _nearest_state(distance, wanted)
    return None if found is None else int(distance[found])


def shortest_violation(graph: StateGraph, bad: Flags, limit: int | None) -> Lasso | None:
    distance, before = _breadth_first_search(graph, np.ones(graph.states, dtype=np.bool_))
    found = _nearest_state(distance, bad)
    if found is None or (limit is not None and distance[found] > limit):
        return None
    return Lasso(_trace_back(before, found))


def find_avoiding_lasso(graph: StateGraph, quiet: Flags, *, everywhere: bool) -> Lasso | None:
    """A way to an end or a cycle of quiet states; `everywhere`: the way there need not be quiet."""
    distance, before = _breadth_first_search(
        graph, np.ones(graph.states, dtype=np.bool_) if everywhere else quiet
    )
    reached = quiet & (distance >= 0)
    if (end := _nearest_state(distance, graph.ends & reached)) is not None:
        return Lasso(_trace_back(before, end))
    sources, targets = _outgoing_arrows(graph, np.flatnonzero(reached))
    inner = reached[targets]
    sources, targets = sources[inner], targets[inner]
    part = strongly_connected_components(sources, targets, graph.states)
    circling = part[sources] == part[targets]
    on_cycle = np.zeros(graph.states, dtype=np.bool_)
    on_cycle[sources[circling]] = True
    start = _nearest_state(distance, on_cycle)
    if start is None:
        return None
    stem = _trace_back(before, start)
    return Lasso(stem + _shortest_cycle(start, sources[circling], targets[circling]), len(stem) - 1)


def _shortest_cycle(start: int, sources: Numbers, targets: Numbers) -> list[int]:
    """A shortest way round along these arrows, without the first state and with the last, which is it."""
    arrows: dict[int, list[int]] = {}
    for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
        arrows.setdefault(a, []).append(b)
    before: dict[int, int] = {}
    frontier = [start]
    while frontier:
        coming = []
        for state in frontier:
            for target in arrows.get(state, ()):
                if target == start:
                    path = [start, state] if state != start else [start]
                    while path[-1] != start:
                        path.append(before[path[-1]])
                    return path[-2::-1] if len(path) > 1 else [start]
                if target not in before:
                    before[target] = state
                    coming.append(target)
        frontier = coming
    raise ValueError("no cycle")


def find_avoiding_prefix(graph: StateGraph, quiet: Flags, after: int, limit: int) -> Lasso | None:
    """A run of `limit` steps, or one that ends before, whose states from `after` on are quiet."""
    levels: list[Numbers] = []
    here = graph.initial
    entries = 0
    for number in range(limit + 1):
        if number >= after:
            here = here[quiet[here]]
        levels.append(here)
        entries += len(here)
        if entries > MOST_ENTRIES:
            raise MemoryError
        if not len(here):
            return None
        ended = here[graph.ends[here]]
        if number == limit or len(ended):
            return Lasso(_path_through_levels(graph, levels, int(here[0] if number == limit else ended[0])))
        here = np.unique(_outgoing_arrows(graph, here)[1])
    return None


def _path_through_levels(graph: StateGraph, levels: list[Numbers], last: int) -> list[int]:
    path = [last]
    for level in reversed(levels[:-1]):
        sources, targets = _outgoing_arrows(graph, level)
        path.append(int(sources[np.flatnonzero(targets == path[-1])[0]]))
    return path[::-1]
