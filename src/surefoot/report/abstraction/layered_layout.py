"""Where the states of a graph are drawn, how far each is from what is unsafe, and which are shown.

Layers are the steps from a start, from top to bottom; a layer with many states takes several rows. Within a
layer states are ordered by the mean place of their neighbours in the layer before (Sugiyama, Tagawa and Toda
1981: the barycentre heuristic).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, sqrt

Place = tuple[float, float]
Edge = tuple[int, str, int]
SWEEPS = 4
GAP = 1.0  # between layers, in rows
SHAPE, WIDEST = 1.45, 4.0  # wanted width of the picture for its height; how far apart columns may be


def adjacent_states(edges: Iterable[Edge], *, backwards: bool = False) -> dict[int, list[int]]:
    """Per state the states that one step leads to, or comes from; each once."""
    found: dict[int, dict[int, None]] = {}
    for source, _, target in edges:
        a, b = (target, source) if backwards else (source, target)
        found.setdefault(a, {})[b] = None
    return {state: list(others) for state, others in found.items()}


def distances_to_goals(goals: Iterable[int], edges: Iterable[Edge]) -> dict[int, int]:
    """Steps to the nearest of the goals, for every state from which one can be reached."""
    before = adjacent_states(edges, backwards=True)
    found = dict.fromkeys(goals, 0)
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        for state in before.get(here, ()):
            if state not in found:
                found[state] = found[here] + 1
                waiting.append(state)
    return found


def nearest_states(from_start: Sequence[int], to_unsafe: Mapping[int, int], most: int) -> list[int]:
    """At most so many states, those nearest to a start or to an unsafe state."""
    far = max(from_start, default=0) + 1
    order = sorted(
        range(len(from_start)), key=lambda s: (min(from_start[s], to_unsafe.get(s, far)), from_start[s], s)
    )
    return sorted(order[:most])


def place_states(layers: Sequence[int], edges: Sequence[Edge]) -> list[Place]:
    """A place for every state, in units of rows and columns; `layers`: the layer of each state."""
    if not layers:
        return []
    members: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for state, number in enumerate(layers):
        members[number].append(state)
    members = [m for m in members if m]
    after, before = adjacent_states(edges), adjacent_states(edges, backwards=True)
    width = max(6, ceil(sqrt(len(layers) * 1.8)))
    rank: dict[int, float] = {}
    for layer in members:
        rank |= _even_ranks(layer)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = before if down else after
        for layer in members if down else reversed(members):
            layer.sort(key=lambda s: (_mean_rank(near.get(s, ()), rank, rank[s]), rank[s]))
            rank |= _even_ranks(layer)
    found = [(0.0, 0.0)] * len(layers)
    y = 0.0
    for layer in members:
        rows = ceil(len(layer) / width)
        for position, state in enumerate(layer):
            column, row = divmod(position, rows)  # neighbours in order stay near each other
            columns = ceil(len(layer) / rows)
            found[state] = (column - (columns - 1) / 2, y + row)
        y += rows + GAP
    extent = max(x for x, _ in found) - min(x for x, _ in found) + 1
    apart = min(max(SHAPE * y / extent, 1.0), WIDEST)
    return [(x * apart, at) for x, at in found]


def _even_ranks(layer: Sequence[int]) -> dict[int, float]:
    return {state: (i + 0.5) / len(layer) for i, state in enumerate(layer)}


def _mean_rank(states: Sequence[int], rank: Mapping[int, float], otherwise: float) -> float:
    return sum(rank[s] for s in states) / len(states) if states else otherwise
