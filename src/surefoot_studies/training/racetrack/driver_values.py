"""How good a driver is, for the learning curve: all starts at once, by iteration of its Markov chain.

Not a verdict: plain value iteration from below, ended when little changes. Verdicts come from the engines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot_studies.training.racetrack.track_tables import (
    ACCELERATIONS,
    ARRIVED,
    CRASHED,
    Course,
    Floats,
    Numbers,
)
from surefoot_studies.training.rollout import Layers, forward_dense

ENOUGH = 1e-7
MOST_ROUNDS = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class DriverValues:
    """Per cell, for a car at rest there: probability of the goal, of a crash, and the discounted return."""

    goal: Floats
    crash: Floats
    gain: Floats


def _greedy_actions(course: Course, layers: Layers) -> Numbers:
    """The action in every state [cell, velocity x, velocity y]."""
    shape = course.moved.shape
    state = np.indices(shape).reshape(3, -1).T
    outputs = forward_dense(layers, "relu", course.observe(state, layers[0][0].shape[1]).astype(np.float64))
    return np.asarray(np.argmax(outputs, axis=1).reshape(shape))


def evaluate_driver(
    course: Course, layers: Layers, noise: float, rewards: tuple[float, float], discount: float
) -> DriverValues:
    """`rewards`: of the goal and of a crash, when it happens."""
    change = ACCELERATIONS[_greedy_actions(course, layers)]
    shape = course.moved.shape
    _, vx, vy = np.indices(shape)
    table = course.moved.reshape(shape[0], -1)
    fast = 2 * course.speed
    ways = []
    for chance, ax, ay in ((1 - noise, change[..., 0], change[..., 1]), (noise, 0, 0)):
        wx, wy = np.clip(vx + ax, 0, fast), np.clip(vy + ay, 0, fast)
        pair = (wx * (fast + 1) + wy).reshape(shape[0], -1)
        cell = np.take_along_axis(table, pair, 1).reshape(shape)
        ways.append((chance, cell, (np.maximum(cell, 0) * (fast + 1) + wx) * (fast + 1) + wy))

    def value(goal: float, crash: float, less: float) -> Floats:
        once = sum(p * (goal * (cell == ARRIVED) + crash * (cell == CRASHED)) for p, cell, _ in ways)
        found = np.asarray(once, dtype=np.float64)
        parts = [(p * less * (cell >= 0), index) for p, cell, index in ways]
        for _ in range(MOST_ROUNDS):
            flat = found.ravel()
            following = once + sum(p * flat[index] for p, index in parts)
            done = np.abs(following - found).max() < ENOUGH
            found = following
            if done:
                break
        return np.asarray(found[:, course.speed, course.speed])

    return DriverValues(value(1, 0, 1), value(0, 1, 1), value(*rewards, discount))
