"""Guessing solutions: descent by the sign of the gradient of the most violated rows, in batches."""

from __future__ import annotations

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import ChainProblem, evaluate_chain_rows


def violation_gradient(problem: ChainProblem, before: list[Array], shares: Array) -> Array:
    """The gradient at each point of the rows' violations, weighted by its shares (points, rows)."""
    back = shares @ problem.rows
    for w, value in zip(problem.weights[::-1], before[::-1], strict=True):
        back = (back.reshape(-1, len(w)) @ w).reshape(value.shape) * (value > 0.0)
    slopes: Array = back @ problem.first + shares @ problem.direct
    return slopes


def sample_chain_starts(problem: ChainProblem, random: np.random.Generator, count: int) -> Array:
    """Random points, a quarter of them corners."""
    share = random.random((count, len(problem.low)))
    share[: count // 4] = np.rint(share[: count // 4])
    points: Array = problem.low + share * (problem.high - problem.low)
    return points


def descend_chain_violation(
    problem: ChainProblem,
    points: Array,
    random: np.random.Generator,
    turns: int,
    first: float = 0.3,
    enough: float = 0.0,
) -> tuple[Array, Array]:
    """The best points on the way down and their largest violations; ends where all rows hold with room.

    Steps are a random share of the box, the same for all inputs of a point, and get shorter.
    """
    width = problem.high - problem.low
    best, least = points, np.full(len(points), np.inf)
    size = np.abs(problem.offsets) + np.abs(problem.rows).sum(axis=1)
    sharpness = 20.0 / max(float(size.mean()), 1e-300)
    for turn in range(turns):
        points = np.where(problem.whole, np.rint(points), points)
        violation, before = evaluate_chain_rows(problem, points)
        worst = violation.max(axis=1)
        better = worst < least
        best, least = np.where(better[:, None], points, best), np.where(better, worst, least)
        if least.min() < -enough:
            break
        share = np.exp((violation - worst[:, None]) * sharpness)
        slopes = violation_gradient(problem, before, share / share.sum(axis=1, keepdims=True))
        length = first * (1.0 - turn / turns) + 0.002
        points = points - length * width * np.sign(slopes) * random.random((len(points), 1))
        points = np.minimum(np.maximum(points, problem.low), problem.high)
    return best, least
