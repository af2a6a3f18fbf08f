"""Lassos of the graph that many runs make together: one run goes where another one came from.

States of all runs of a batch are nodes, their steps are edges. Where nodes that are not good are strongly
connected, a run can come there as one of them did and go round for ever, by steps of others. There is no
fairness: what may happen may happen again and again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.watch import Watch
from surefoot.problem.property import Eventually
from surefoot.problem.semantics import Move
from surefoot.simulate.batch.runs import BatchRuns, moves_of_run

MOST_LASSOS = 4
MOST_EDGES = 2**21


def join_runs(watch: Watch, runs: BatchRuns) -> Iterator[tuple[int, list[Move]]]:
    """Runs with the moves of a lasso: those of the run up to a state, and round to it by moves of others."""
    if len(watch.hashes) < 2 or watch.count * len(watch.hashes) > MOST_EDGES:
        return
    table, open_states = np.array(watch.hashes), ~np.array(watch.good)
    if isinstance(watch.problem.property, Eventually):
        met = np.where(watch.first_good < 0, len(table), watch.first_good)
        open_states &= np.arange(len(table))[:, None] < met
    nodes, numbers = np.unique(table, return_inverse=True)
    if len(nodes) == table.size:
        return  # no state is met twice
    numbers = numbers.reshape(table.shape)
    steps, rows = np.nonzero(open_states[:-1] & open_states[1:])
    before, after = numbers[steps, rows], numbers[steps + 1, rows]
    for cycle in _find_cycles(before, after, len(nodes)):
        first = int(cycle[0])
        moves = moves_of_run(runs, int(rows[first]), int(steps[first]))
        for edge in cycle:
            moves += moves_of_run(runs, int(rows[edge]), int(steps[edge]) + 1)[int(steps[edge]) :]
        yield int(rows[first]), moves


def _find_cycles(before: NDArray[np.int64], after: NDArray[np.int64], count: int) -> Iterator[list[int]]:
    """Cycles as numbers of edges, one for each strong component, those that are met first first."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(before), dtype=np.int8), (before, after)), shape=(count, count))
    _, parts = connected_components(graph, directed=True, connection="strong")
    inside = np.flatnonzero(parts[before] == parts[after])
    _, firsts = np.unique(parts[before[inside]], return_index=True)
    for edge in sorted(inside[firsts].tolist())[:MOST_LASSOS]:
        mine = inside[parts[before[inside]] == parts[before[edge]]]
        leaving: dict[int, dict[int, int]] = {}
        for other in mine.tolist():
            leaving.setdefault(int(before[other]), {}).setdefault(int(after[other]), other)
        yield [edge, *_shortest_path(leaving, int(after[edge]), int(before[edge]))]


def _shortest_path(leaving: dict[int, dict[int, int]], start: int, goal: int) -> list[int]:
    """Edges from one node to another of the same strong component."""
    came: dict[int, tuple[int, int]] = {}
    front = [start]
    for node in front:
        if node == goal:
            break
        for other, edge in leaving.get(node, {}).items():
            if other not in came and other != start:
                came[other] = (node, edge)
                front.append(other)
    path = list[int]()
    while goal != start:
        goal, edge = came[goal]
        path.append(edge)
    return path[::-1]
