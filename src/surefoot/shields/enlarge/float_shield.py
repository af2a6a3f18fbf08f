"""A shield in plain floats: how often it overrules a network, to compare shields with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial, float_system
from surefoot.engines.barrier.polyhedron.linear_loop import coefficient_matrix
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import ControlSystem, barrier_rows
from surefoot.shields.linear_controllers import Oracle
from surefoot.shields.linear_system import LinearSystem
from surefoot.shields.program import SetPermit, permits_of
from surefoot.shields.synthesis import ShieldRule, Synthesis
from surefoot.work.budget import Budget

Truths = NDArray[np.bool_]
LIMIT = 1e9


@dataclass(frozen=True, slots=True, eq=False)
class FloatRule:
    """A rule with its set: `highest` is the largest row of the barrier."""

    low: Floats
    high: Floats
    highest: Callable[[Floats], Floats]
    permit: tuple[Floats, Floats, float]  # where predicted states have to be, and the margin
    controls: Callable[[Floats], Floats]

    def contains(self, states: Floats) -> Truths:
        return self._below(states, self.low, self.high, 0.0)

    def permits(self, states: Floats) -> Truths:
        return self._below(states, *self.permit)

    def _below(self, states: Floats, low: Floats, high: Floats, margin: float) -> Truths:
        found: Truths = np.asarray(((states >= low) & (states <= high)).all(axis=1))
        if found.any():
            found[found] = self.highest(states[found]) <= -margin
        return found


def linear_rows(normals: Floats, offsets: Floats) -> Callable[[Floats], Floats]:
    """The largest of normals * x - offsets."""

    def highest(states: Floats) -> Floats:
        found: Floats = (states @ normals.T - offsets).max(axis=1, initial=-LIMIT)
        return found

    return highest


def float_rules(system: ControlSystem, branches: Sequence[ShieldRule]) -> list[FloatRule]:
    """Of branches with their proofs."""
    permits = permits_of(system, Synthesis(tuple(branches), ())) if branches else ()
    return [_float_rule(system, branch, permit) for branch, permit in zip(branches, permits, strict=True)]


def _float_rule(system: ControlSystem, branch: ShieldRule, permit: SetPermit) -> FloatRule:
    rows = [system.state_polynomial(row) for row in barrier_rows(branch.set.barrier)]
    rule = [system.state_polynomial(then) for then in branch.then]
    ends = float_system(system, branch.then)

    def controls(states: Floats) -> Floats:
        return ends.clip_controls(np.column_stack([evaluate_polynomial(value, states) for value in rule]))

    inside = [np.array([float(r[i]) for r in permit.inside]) for i in (0, 1)]
    low, high = (np.array([float(r[i]) for r in branch.set.domain]) for i in (0, 1))
    return FloatRule(
        low, high, _largest_row(rows, len(low)), (inside[0], inside[1], float(permit.margin)), controls
    )


def _largest_row(rows: Sequence[Polynomial], count: int) -> Callable[[Floats], Floats]:
    if any(row.degree > 1 for row in rows):
        return lambda states: np.max([evaluate_polynomial(row, states) for row in rows], axis=0)
    matrix = coefficient_matrix(rows, count)
    return linear_rows(matrix[:, 1:], -matrix[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class InterventionCount:
    """Steps at which a shield intervened, and the runs in which it did."""

    count: int
    runs: Truths


def count_interventions(
    moving: LinearSystem,
    shield: Sequence[FloatRule],
    oracle: Oracle,
    states: Floats,
    steps: int,
    budget: Budget,
    most: float = np.inf,
) -> InterventionCount:
    """Runs of the network behind the shield from these states, until there are more than `most`."""
    generator = np.random.default_rng(budget.seed)
    total, runs = 0, np.zeros(len(states), dtype=bool)
    for step in range(steps):
        if total > most or (step % 100 == 0 and budget.is_spent()):
            break
        controls = oracle(states)
        following = moving.step(states, controls)
        stopped = np.flatnonzero(~_permitted_by(shield, following))
        if len(stopped):
            total += len(stopped)
            runs[stopped] = True
            controls = _fallback_controls(shield, states[stopped], controls[stopped])
            following[stopped] = moving.step(states[stopped], controls)
        states = moving.disturb(following, generator)
    return InterventionCount(total, runs)


def _permitted_by(shield: Sequence[FloatRule], states: Floats) -> Truths:
    """Which predicted states are permitted."""
    found: Truths = np.zeros(len(states), dtype=bool)
    for piece in shield:
        rest = np.flatnonzero(~found)
        if not len(rest):
            break
        found[rest] = piece.permits(states[rest])
    return found


def _fallback_controls(shield: Sequence[FloatRule], states: Floats, otherwise: Floats) -> Floats:
    """The rule of the first set that contains a state."""
    found, left = otherwise.copy(), np.arange(len(states))
    for piece in shield:
        inside = piece.contains(states[left])
        if inside.any():
            found[left[inside]] = piece.controls(states[left[inside]])
        left = left[~inside]
        if not len(left):
            break
    return found
