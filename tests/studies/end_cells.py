"""The abstraction of an end-cell race by looking at every state, written without the engine.

A state is a place (drive, moved, crashed, finished), a position and a velocity. The network is evaluated in
float64 beside the textbook bound of what float32 sums in any order may differ by (Higham, section 3.1): an
action whose output may be the best one counts as possible.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from surefoot.problem.network import Activation, Affine
from surefoot.problem.policy import NeuralPolicy
from surefoot.term.term import Apply, Const, Term, Var
from surefoot.verdict.artifact import AbstractGraph
from surefoot_studies.racetrack.abstraction_instances import FASTEST, AbstractionInstance, abstraction_starts
from surefoot_studies.racetrack.model import ACCELERATIONS
from surefoot_studies.racetrack.track import GOAL, WALL, shipped_track

UNIT = 2.0**-24
DRIVE, MOVED, CRASHED, FINISHED = range(4)
PLACES = {"drive": DRIVE, "moved": MOVED, "crashed": CRASHED, "finished": FINISHED}
Cell = tuple[int, ...]
Array = np.ndarray
CHUNK = 1 << 16


def _bounds(predicates: tuple[Term, ...]) -> dict[str, list[int]]:
    """Per variable the bounds c of its predicates `c <= v`."""
    found: dict[str, list[int]] = {n: [] for n in ("car_x", "car_y", "car_dx", "car_dy")}
    for predicate in predicates:
        match predicate:
            case Apply(_, (Const(int(bound)), Var(name))):
                found[name].append(bound)
            case _:
                raise AssertionError(predicate)
    return found


def _outputs(policy: NeuralPolicy, points: Array) -> tuple[Array, Array]:
    """The outputs and their errors."""
    value, error = points.T, np.zeros_like(points.T)
    for node in policy.network.nodes:
        match node:
            case Affine(_, weights, bias):
                matrix, offset = weights.astype(np.float64), bias.astype(np.float64)[:, None]
                terms = matrix.shape[1] + 1
                gamma = terms * UNIT / (1 - terms * UNIT)
                size = np.abs(matrix) @ (np.abs(value) + error) + np.abs(offset)
                value, error = matrix @ value + offset, np.abs(matrix) @ error + gamma * size
            case Activation():
                value = np.maximum(value, 0.0)
            case _:
                raise AssertionError(node)
    return value, error


@dataclass(frozen=True, eq=False)
class Moves:
    """Every state but for its place: where a movement ends, and where all drives lead."""

    values: tuple[Array, ...]  # per variable, in the order of the states' axes
    places: Array  # per state: what its cell is
    sources: Array  # a drive leads from here ...
    targets: Array  # ... to here


@lru_cache(maxsize=1)
def _moves(width: int) -> Moves:
    """All states that there are, one by one."""
    track, policy = shipped_track("small"), AbstractionInstance(width, 4, 1).problem().policy
    assert isinstance(policy, NeuralPolicy)
    assert [t.name for t in policy.observe if isinstance(t, Var)] == ["car_x", "car_y", "car_dx", "car_dy"]
    most = np.array(FASTEST)
    xs = np.arange(-FASTEST[0], track.width + FASTEST[0])
    ys = np.arange(-FASTEST[1], track.height + FASTEST[1])
    across, down = (np.arange(-limit, limit + 1) for limit in FASTEST)
    shape = (len(xs), len(ys), len(across), len(down))
    states = np.stack(np.meshgrid(xs, ys, across, down, indexing="ij"), -1).reshape(-1, 4)
    cells = np.full(shape, CRASHED)
    for x in range(track.width):
        for y in range(track.height):
            kind = track.cells[y][x]
            if kind != WALL:
                cells[x - xs[0], y - ys[0]] = FINISHED if kind == GOAL else DRIVE
    sources, targets = [], []
    for first in range(0, len(states), CHUNK):
        some = states[first : first + CHUNK]
        outputs, errors = _outputs(policy, some.astype(np.float64))
        possible = outputs + errors >= (outputs - errors).max(axis=0)
        for number, (ax, ay) in enumerate(ACCELERATIONS):
            rows = np.flatnonzero(possible[number])
            velocity = np.clip(some[rows, 2:] + (ax, ay), -most, most)
            after = np.concatenate([some[rows, :2] + velocity, velocity], 1) - states[0]
            inside = ((after >= 0) & (after < shape)).all(axis=1)  # others are outside of all ranges
            sources.append(first + rows[inside])
            targets.append(np.ravel_multi_index(tuple(after[inside].T), shape))
    return Moves((xs, ys, across, down), cells.reshape(-1), np.concatenate(sources), np.concatenate(targets))


@lru_cache(maxsize=1)
def _relation(width: int, predicates: int) -> tuple[Array, Array, tuple[Array, ...]]:
    """Which cells drives lead to (pairs), what is in each cell (by place), the bounds of each variable."""
    moves = _moves(width)
    bounds = tuple(
        np.sort(b) for b in _bounds(AbstractionInstance(width, predicates, 1).predicate_set()).values()
    )
    sizes = [len(b) + 1 for b in bounds]
    classes = [np.searchsorted(b, values, "right") for b, values in zip(bounds, moves.values, strict=True)]
    code = np.ravel_multi_index(tuple(np.meshgrid(*classes, indexing="ij")), sizes).reshape(-1)
    count = int(np.prod(sizes))
    pairs = np.unique(code[moves.sources] * count + code[moves.targets])
    ends = np.zeros((4, count), dtype=np.bool_)
    ends[moves.places, code] = True
    return np.stack(np.divmod(pairs, count)), ends, bounds


def abstract_states(instance: AbstractionInstance) -> set[Cell]:
    """The reachable abstract states: a place, and how many bounds of each variable are met."""
    (sources, targets), ends, bounds = _relation(instance.width, instance.predicates)
    sizes = [len(b) + 1 for b in bounds]
    first = np.array(abstraction_starts()[: instance.starts])
    met = tuple(np.searchsorted(b, first[:, i], "right") for i, b in enumerate(bounds))
    found = np.zeros_like(ends)
    found[DRIVE, np.ravel_multi_index(met, sizes)] = True
    while True:
        before = found.sum()
        found[MOVED, targets[found[DRIVE, sources]]] = True
        for place in (DRIVE, CRASHED, FINISHED):
            found[place] |= found[MOVED] & ends[place]
        if found.sum() == before:
            break
    places, cells = np.nonzero(found)
    return set(zip(places.tolist(), *(c.tolist() for c in np.unravel_index(cells, sizes)), strict=True))


def counted_states(graph: AbstractGraph) -> set[Cell]:
    """The abstract states of a graph in the same form."""
    names = [p.args[1].name for p in graph.predicates]  # type: ignore[union-attr]
    found = set()
    for state in graph.states:
        met = Counter(name for name, value in zip(names, state.values, strict=True) if value)
        counts = (met[n] for n in ("car_x", "car_y", "car_dx", "car_dy"))
        found.add((PLACES[state.locations[0][1]], *counts))
    return found
