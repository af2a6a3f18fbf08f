"""The abstraction of an end-cell race by looking at every state, written without the engine.

A state is a place (drive, moved, crashed, finished), a position and a velocity. The network is evaluated in
float64 beside the textbook bound of what float32 sums in any order may differ by (Higham, section 3.1): an
action whose output may be the best one counts as possible.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np

from surefoot.formats.track import GOAL, WALL
from surefoot.problem.network import Activation, Affine
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.term import Apply, Const, Term, Var
from surefoot.studies.racetrack.abstraction import Instance, starts
from surefoot.studies.racetrack.model import ACCELERATIONS
from surefoot.studies.racetrack.track import shipped_track
from surefoot.verdict.artifact import AbstractGraph

UNIT = 2.0**-24
FASTEST = 5
DRIVE, MOVED, CRASHED, FINISHED = range(4)
PLACES = {"drive": DRIVE, "moved": MOVED, "crashed": CRASHED, "finished": FINISHED}
Cell = tuple[int, ...]
Array = np.ndarray


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


@lru_cache(maxsize=2)
def _relation(
    width: int, predicates: int
) -> tuple[dict[int, list[int]], dict[int, set[int]], tuple[Array, ...]]:
    """Which cells a drive leads to, the places that a movement ends in, and the bounds of each variable."""
    instance, track = Instance(width, predicates, 1), shipped_track("small")
    policy = instance.problem().policy
    assert isinstance(policy, NeuralPolicy)
    assert [t.name for t in policy.observe if isinstance(t, Var)] == ["car_x", "car_y", "car_dx", "car_dy"]
    bounds = [np.sort(b) for b in _bounds(instance.given()).values()]
    xs = np.arange(-FASTEST, track.width + FASTEST)
    ys = np.arange(-FASTEST, track.height + FASTEST)
    speeds = np.arange(-FASTEST, FASTEST + 1)
    states = np.stack(np.meshgrid(xs, ys, speeds, speeds, indexing="ij"), -1).reshape(-1, 4)
    classes = np.stack([np.searchsorted(b, states[:, i], "right") for i, b in enumerate(bounds)], 1)
    places = np.full(len(states), CRASHED)
    for x in range(track.width):
        for y in range(track.height):
            kind = track.cells[y][x]
            if kind != WALL:
                here = (states[:, 0] == x) & (states[:, 1] == y)
                places[here] = FINISHED if kind == GOAL else DRIVE
    outputs, errors = _outputs(policy, states.astype(np.float64))
    possible = outputs + errors >= (outputs - errors).max(axis=0)
    after: list[tuple[Array, Array]] = []  # per action: states in which it may be picked, and the next ones
    for number, (ax, ay) in enumerate(ACCELERATIONS):
        rows = np.flatnonzero(possible[number])
        velocity = np.clip(states[rows, 2:] + (ax, ay), -FASTEST, FASTEST)
        place = states[rows, :2] + velocity
        inside = (
            (place[:, 0] >= xs[0])
            & (place[:, 0] <= xs[-1])
            & (place[:, 1] >= ys[0])
            & (place[:, 1] <= ys[-1])
        )
        after.append((rows[inside], np.concatenate([place, velocity], 1)[inside]))
    sizes = [len(b) + 1 for b in bounds]
    code = np.ravel_multi_index(tuple(classes.T), sizes)
    edges = np.unique(
        np.concatenate(
            [
                np.stack(
                    [
                        code[rows],
                        np.ravel_multi_index(
                            tuple(np.searchsorted(b, new[:, i], "right") for i, b in enumerate(bounds)), sizes
                        ),
                    ],
                    1,
                )
                for rows, new in after
            ]
        ),
        axis=0,
    )
    driving: dict[int, list[int]] = {}
    for source, target in edges.tolist():
        driving.setdefault(source, []).append(target)
    ends: dict[int, set[int]] = {}
    for cell, place in np.unique(np.stack([code, places], 1), axis=0).tolist():
        ends.setdefault(cell, set()).add(place)
    return driving, ends, tuple(bounds)


def abstract_states(instance: Instance) -> set[Cell]:
    """The reachable abstract states: a place, and how many bounds of each variable are met."""
    driving, ends, bounds = _relation(instance.width, instance.predicates)
    sizes = [len(b) + 1 for b in bounds]
    first = np.array(starts()[: instance.starts])
    begun = np.ravel_multi_index(
        tuple(np.searchsorted(b, first[:, i], "right") for i, b in enumerate(bounds)), sizes
    )
    found = {(DRIVE, int(c)) for c in begun}
    waiting = list(found)
    while waiting:
        place, cell = waiting.pop()
        nexts = (
            [(MOVED, t) for t in driving.get(cell, ())]
            if place == DRIVE
            else [(p, cell) for p in ends[cell]]
            if place == MOVED
            else []
        )
        for one in nexts:
            if one not in found:
                found.add(one)
                waiting.append(one)
    return {(place, *map(int, np.unravel_index(cell, sizes))) for place, cell in found}


def counted_states(graph: AbstractGraph) -> set[Cell]:
    """The abstract states of a graph in the same form."""
    names = [p.args[1].name for p in graph.predicates]  # type: ignore[union-attr]
    found = set()
    for state in graph.states:
        met = Counter(name for name, value in zip(names, state.values, strict=True) if value)
        counts = (met[n] for n in ("car_x", "car_y", "car_dx", "car_dy"))
        found.add((PLACES[state.locations[0][1]], *counts))
    return found
