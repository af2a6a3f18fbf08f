"""Guessing solutions: corners, random points and gradient descent on what is violated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.bounding.gradients import forward_values, input_gradient
from surefoot.solvers.native.compiled_query import CompiledQuery, tree_violation

T = TypeVar("T")
STEPS = 60
_FEW, _FEW_STEPS = 32, 8  # starts and steps that find most solutions to which gradients lead
_RESTARTS = 192
_SAMPLES = 96  # points that are looked at before anything else
_CORNERS = 64


def snap_to_input_domain(problem: CompiledQuery, points: Array) -> Array:
    """The points moved into the box and onto whole or float32 numbers."""
    low, high = problem.low, problem.high
    points = np.minimum(np.maximum(points, low), high)
    if problem.whole.any():
        points = np.where(problem.whole, np.round(points), points)
    if problem.single.any():
        at = problem.single
        points[:, at] = np.minimum(np.maximum(points[:, at].astype(np.float32), low[at]), high[at])
    if not problem.free.all():
        points[:, ~problem.free] = 0.0  # what these stand for is decided by exact evaluation
    return points


def _sample_attack_starts(problem: CompiledQuery, random: np.random.Generator, count: int) -> Array:
    """The centre, some corners, and random points."""
    width = problem.high - problem.low
    share = random.random((count, len(width)))
    corners = min(_CORNERS, count)
    share[:corners] = random.integers(0, 2, size=(corners, len(width)))
    share[0] = 0.5
    return problem.low + share * width


def formula_violation(problem: CompiledQuery, outputs: Array) -> Array:
    """Per point, by how much the formula fails; negative where it holds with room to spare."""
    return tree_violation(problem.tree, np.where(problem.equal, np.abs(outputs), outputs))


def replace_nan_violations(violations: Array) -> Array:
    """What is no number counts as the worst."""
    return np.where(np.isnan(violations), np.inf, violations)


def descend_violation(
    points: Array,
    look: Callable[[Array], tuple[Array, Array, T]],
    move: Callable[[Array, T, int], Array],
    steps: int,
    enough: Callable[[Array, Array], bool],
) -> tuple[Array, Array]:
    """The best points on the way down and by how much each fails there; ends as soon as that is `enough`.

    `look`: the points as they would be tried, how far these fail, and what else `move` needs for a step.
    """
    best, worst = points.copy(), np.full(len(points), np.inf)
    for step in range(steps):
        tried, fails, seen = look(points)
        better = fails < worst
        best[better], worst[better] = tried[better], fails[better]
        if enough(best, worst):
            break
        points = move(points, seen, step)
    return best, worst


def descend_atom_violation(
    problem: CompiledQuery,
    sets: Sequence[tuple[int, ...]],
    points: Array,
    low: Array,
    high: Array,
    *,
    steps: int = STEPS,
    first_rate: float = 0.25,
    enough: Callable[[Array, Array], bool] = lambda points, room: False,
) -> tuple[Array, Array]:
    """Move each point to where the atoms of one set hold, point i for set i modulo their number.

    The step is a share of the width of each input, by the sign of the gradient, and shrinks.
    """
    wanted = np.zeros((len(sets), len(problem.strict)))
    for number, several in enumerate(sets):
        wanted[number, list(several)] = 1.0
    wanted = wanted[np.arange(len(points)) % len(sets)]
    width = high - low
    scale = np.ones(len(problem.strict))
    momentum = np.zeros_like(points)
    far = bool(problem.whole.any()) or not problem.free.all()
    moves = far or bool(problem.single.any())

    def look(points: Array) -> tuple[Array, Array, list[Array]]:
        values = forward_values(problem.network, points)
        rounded = snap_to_input_domain(problem, points) if moves else points
        # That inputs are float32 numbers hardly changes the outputs, and solutions are checked exactly.
        outputs = forward_values(problem.network, rounded)[-1] if far else values[-1]
        return rounded, replace_nan_violations(formula_violation(problem, outputs)), values

    def move(points: Array, values: list[Array], step: int) -> Array:
        nonlocal scale, momentum
        if step == 0:
            scale = np.nan_to_num(np.median(np.abs(values[-1]), axis=0), nan=1.0) + 1e-9
        seeds = wanted * _atom_weights(problem, values[-1] / scale) / scale
        slope = input_gradient(problem.network, values, seeds) * width
        momentum = 0.7 * momentum + slope / (np.abs(slope).max(axis=1, keepdims=True, initial=0.0) + 1e-300)
        rate = first_rate * (1.0 - step / steps) ** 2 + 1e-4
        moved: Array = np.clip(points - rate * width * np.clip(momentum, -1, 1), low, high)
        return moved

    return descend_violation(points, look, move, steps, enough)


def atom_values_at(problem: CompiledQuery, points: Array) -> Array:
    """The atoms at some points."""
    return forward_values(problem.network, points)[-1]


def sample_solution(problem: CompiledQuery, random: np.random.Generator) -> Array | None:
    """The best of some points, if it satisfies the formula in floats."""
    points = snap_to_input_domain(problem, _sample_attack_starts(problem, random, _SAMPLES))
    found = replace_nan_violations(formula_violation(problem, atom_values_at(problem, points)))
    best = int(np.argmin(found))
    return points[best] if found[best] <= 0 else None


def _atom_weights(problem: CompiledQuery, outputs: Array) -> Array:
    """How much each atom pulls: the worst one most, those that hold with some room not at all."""
    size = np.where(problem.equal, np.abs(outputs), outputs)
    share = np.exp(np.clip(8.0 * (size - size.max(axis=1, keepdims=True)), -50, 0))
    share = np.where(size > -0.05, share, 0.1 * share)
    pull: Array = share * np.where(problem.equal, np.sign(outputs), 1.0)
    return pull


def attack_whole_box(
    problem: CompiledQuery,
    sets: Sequence[tuple[int, ...]],
    random: np.random.Generator,
    enough: Callable[[Array, Array], bool],
    thorough: bool,
) -> tuple[Array, Array]:
    """Candidates from the whole box, best first; unless `thorough`, a few steps from the best starts only."""
    count = max(_RESTARTS, min(4 * len(sets), 1024))
    first, steps = _sample_attack_starts(problem, random, count), STEPS
    if not thorough:
        found = replace_nan_violations(formula_violation(problem, forward_values(problem.network, first)[-1]))
        first, steps = first[np.argsort(found, kind="stable")[:_FEW]], _FEW_STEPS
    points, worst = descend_atom_violation(
        problem, sets, first, problem.low, problem.high, steps=steps, enough=enough
    )
    order = np.argsort(worst, kind="stable")
    return points[order], worst[order]
