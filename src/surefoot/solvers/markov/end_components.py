"""Maximal end components: states that a scheduler can stay in for ever, visiting each again and again.

The usual refinement: strongly connected parts, then without the choices that leave their part, until nothing
changes (de Alfaro 1997, section 3.3; Baier and Katoen, algorithm 47).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.solvers.markov.qualitative import MarkovGraph


def maximal_end_components(
    graph: MarkovGraph, states: NDArray[np.bool_], allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """[states]: number of the maximal end component within `states` and the allowed choices, -1 for none."""
    markov, count = graph.markov, graph.markov.states
    live = states[graph.owners] & graph.closed_choices(states)
    if allowed is not None:
        live &= allowed
    while True:
        edges = live[graph.rows]
        sources, targets = graph.owners[graph.rows[edges]], markov.targets[edges]
        part = strongly_connected_components(sources, targets, count)
        leaving = np.zeros(len(live), dtype=np.bool_)
        leaving[graph.rows[edges][part[sources] != part[targets]]] = True
        kept = live & ~leaving
        lively = np.zeros(count, dtype=np.bool_)
        lively[graph.owners[kept]] = True
        kept &= graph.closed_choices(lively)
        if (kept == live).all():
            break
        live = kept
    number = np.full(count, np.int64(-1))
    inside = np.zeros(count, dtype=np.bool_)
    inside[graph.owners[live]] = True
    number[inside] = np.unique(part[inside], return_inverse=True)[1]
    return number


def strongly_connected_components(
    sources: NDArray[np.int64], targets: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """[count]: the strongly connected component of each state."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(sources), dtype=np.int32)
    arrows = csr_matrix((ones, (sources, targets)), shape=(count, count))
    found: NDArray[np.int64] = connected_components(arrows, directed=True, connection="strong")[1]
    return found.astype(np.int64)
