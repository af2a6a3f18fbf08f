"""Ways around unsafe states: rules one after the other, each with a convex set (linear systems).

No ellipsoid contains states on both sides of an obstacle and not the obstacle. So the way to the goal is made
of legs, as Burridge, Rizzi and Koditschek compose controllers (IJRR 1999): the set of a leg rests at a state
that lies in the set of the next one, and the rule of the last leg that is possible decides. For each leg a
gain and an ellipsoid are found together by linear matrix inequalities (Boyd et al., 1994, section 7.2):
with Q the ellipsoid and Y = K Q they are linear. Nothing here decides anything: a rule counts only with a
proved set, which may be another one than the ellipsoid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

import numpy as np

from surefoot.engines.barrier.polyhedron.linear_loop import coefficient_matrix
from surefoot.reductions.barrier import ControlSystem, relaxed_dnf
from surefoot.shields.linear_controllers import Floats, Gain, Range
from surefoot.shields.linear_system import LinearSystem, box_corners, linear_system
from surefoot.solvers.sos.semidefinite_program import solve_lmi
from surefoot.work.budget import Budget

GRID = 5  # resting states that are tried, in each variable
MOST_STATES, MOST_SIDES, MOST_WAYS = 200, 64, 3
SHRINKING = 0.999  # of the ellipsoid in a step
LEAST, MOST = 0.25, 0.8  # how large the starts are in the ellipsoid: wanted, and allowed (squared)
SPARE = 0.9  # of the distance to unsafe states and of the controls
NEAR = 0.02  # of the way: the half width of the box around a resting state that the next set contains

Plane = tuple[Floats, float]  # normal and offset: states with normal * x + offset < 0 are on the safe side


@dataclass(frozen=True, slots=True)
class Leg:
    """A rule, and the states that its set has to contain."""

    gain: Gain
    box: tuple[Range, ...]


def is_obstructed(system: ControlSystem) -> bool:
    """Safe states are not convex: an unsafe case has several comparisons."""
    return any(len(case) > 1 for case in relaxed_dnf(system.unsafe))


def enumerate_routes(
    system: ControlSystem, starts: Sequence[Range], budget: Budget
) -> Iterator[tuple[Leg, ...]]:
    """Legs from these starts, the last leg first; the most promising ways first."""
    linear, points, sides = linear_system(system), box_corners(starts), _safe_side_choices(system)
    goal = None if linear is None else linear.equilibrium(np.zeros(len(system.variables)))
    if linear is None or goal is None or not len(points) or not sides:
        return
    far = 2 * float(np.abs(np.vstack([points, goal[0]]) - goal[0]).max()) or 1.0
    look = _Look(linear, sides, far, budget)
    whole = tuple(starts)
    straight = look.best(goal, points)
    if straight is not None:
        yield (Leg(straight[1], whole),)
    firsts = []
    for station in _enumerate_resting_states(linear, points.mean(axis=0), goal[0]):
        if (found := look.best(station, points)) is not None:
            firsts.append((station, *found))
    found_ways: list[tuple[float, int, tuple[Leg, ...]]] = []
    for station, size, gain in firsts:
        box = tuple((_as_fraction(x - NEAR * far), _as_fraction(x + NEAR * far)) for x in station[0])
        if (last := look.best(goal, box_corners(box))) is not None:
            found_ways.append((max(size, last[0]), len(found_ways), (Leg(last[1], box), Leg(gain, whole))))
    yield from islice((legs for _, _, legs in sorted(found_ways, key=lambda w: w[:2])), MOST_WAYS)
    nearest = sorted(firsts, key=lambda first: float(np.abs(first[0][0] - goal[0]).max()))
    yield from islice(((Leg(gain, whole),) for _, _, gain in nearest), MOST_WAYS)


def _as_fraction(value: float) -> Fraction:
    return Fraction(float(value))


def _safe_side_choices(system: ControlSystem) -> list[tuple[Plane, ...]]:
    """Choices of one comparison of each unsafe case that is to fail; none if one is not linear."""
    cases = system.unsafe_polynomials()
    if any(gap.degree > 1 for case in cases for gap in case):
        return []
    sides = [
        [(row[1:], float(row[0])) for row in coefficient_matrix(case, len(system.variables))]
        for case in cases
    ]
    return list(islice(product(*sides), MOST_SIDES))


def _enumerate_resting_states(
    linear: LinearSystem, start: Floats, goal: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Resting states on a grid between the starts and the goal."""
    axes = [np.linspace(a, b, GRID) if abs(a - b) > 1e-9 else [a] for a, b in zip(start, goal, strict=True)]
    for point in islice(product(*axes), MOST_STATES):
        if (found := linear.equilibrium(np.array(point))) is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Look:
    linear: LinearSystem
    sides: list[tuple[Plane, ...]]
    far: float
    budget: Budget

    def best(self, rest: tuple[Floats, Floats], points: Floats) -> tuple[float, Gain] | None:
        """The gain whose ellipsoid around a resting state contains these points with most room."""
        found: tuple[float, Gain] | None = None
        for planes in self.sides:
            distances = [-(float(normal @ rest[0]) + offset) for normal, offset in planes]
            if min(distances, default=1.0) <= 0 or self.budget.is_spent():
                continue
            normals = [(n, SPARE * d) for (n, _), d in zip(planes, distances, strict=True)]
            one = _invariant_ellipsoid(self.linear, rest, points, normals, self.far, self.budget)
            if one is not None and (found is None or one[0] < found[0]):
                found = one
        return found


def _invariant_ellipsoid(
    linear: LinearSystem,
    rest: tuple[Floats, Floats],
    points: Floats,
    normals: Sequence[tuple[Floats, float]],
    far: float,
    budget: Budget,
) -> tuple[float, Gain] | None:
    """{z: z' Q^-1 z <= 1} around the resting state: the points' largest z' Q^-1 z, and the gain."""
    count, inputs = linear.control.shape
    places = [(i, j) for j in range(count) for i in range(j + 1)]
    total = len(places) + inputs * count + 2  # the constant, Q, Y = K Q, the size of the points
    shape, reply = np.zeros((total, count, count)), np.zeros((total, inputs, count))
    for k, (i, j) in enumerate(places, start=1):
        shape[k, i, j] = shape[k, j, i] = 1
    for k in range(inputs * count):
        reply[1 + len(places) + k, k // count, k % count] = 1
    one, size = np.eye(total)[0], np.eye(total)[-1]
    found = [(size - LEAST * one)[:, None, None], (MOST * one - size)[:, None, None]]
    for point in points:
        column = np.zeros((total, count, 1))
        column[0, :, 0] = point - rest[0]
        found.append(_block_matrix(size[:, None, None], column, shape))
    for normal, distance in [*normals, *((row, far) for row in np.eye(count))]:
        found.append((distance**2 * one - np.einsum("i,kij,j->k", normal, shape, normal))[:, None, None])
    for j, room in enumerate(SPARE * np.minimum(rest[1] - linear.least, linear.most - rest[1])):
        if np.isfinite(room):
            found.append(_block_matrix((room**2 * one)[:, None, None], reply[:, j, :, None], shape))
    found.append(_block_matrix(SHRINKING * shape, linear.state @ shape + linear.control @ reply, shape))
    numbers = solve_lmi(found, size[1:], budget)
    if numbers is None:
        return None
    whole = np.concatenate([[1.0], numbers])
    matrix = np.linalg.solve(np.tensordot(whole, shape, 1), np.tensordot(whole, reply, 1).T).T
    return float(numbers[-1]), Gain(matrix, rest[1] - matrix @ rest[0])


def _block_matrix(first: Floats, across: Floats, last: Floats) -> Floats:
    """[[first, across'], [across, last]] for each matrix."""
    above = np.concatenate([first, across.transpose(0, 2, 1)], axis=2)
    return np.concatenate([above, np.concatenate([across, last], axis=2)], axis=1)
