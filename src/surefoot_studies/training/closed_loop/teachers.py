"""Who is imitated: linear-quadratic regulators, computed torques and rules, each on a region of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot_studies.closed_loop.plants import Columns, StudyPlant, read_plant

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Teacher:
    """Observations are drawn from a box; `act` gives the outputs that are wanted there.

    `observe`: what a network reads in a drawn state, if that is not the state itself.
    """

    region: tuple[Ends, ...]
    act: Callable[[Columns], Columns]
    observe: Callable[[Columns], Columns] = lambda drawn: drawn

    def draw_lesson(self, count: int, generator: np.random.Generator) -> tuple[Columns, Columns]:
        low, high = np.array(self.region).T
        drawn = generator.uniform(low, high, (count, len(low)))
        return self.observe(drawn), self.act(drawn)


def _box(*sides: float) -> tuple[Ends, ...]:
    return tuple((-side, side) for side in sides)


def linearise_plant(plant: StudyPlant) -> tuple[Columns, Columns]:
    """A and B of x' = A x + B u near 0."""
    n, m, small = len(plant.variables), len(plant.controls), 1e-6
    points = np.concatenate([np.eye(n + m), -np.eye(n + m)]) * small
    rates = plant.rates(points[:, :n], points[:, n:], np.zeros((len(points), len(plant.disturbances))))
    slopes = (rates[: n + m] - rates[n + m :]).T / (2 * small)
    return slopes[:, :n], slopes[:, n:]


def regulator_gain(
    plant: StudyPlant, weights: tuple[float, ...], effort: tuple[float, ...], used: tuple[int, ...] = ()
) -> Columns:
    """u = -K x of the linear-quadratic regulator with controls held for a period, of the variables `used`."""
    from scipy.linalg import expm, solve_discrete_are

    a, b = linearise_plant(plant)
    kept = list(used or range(len(a)))
    a, b = a[np.ix_(kept, kept)], b[kept]
    n, m = b.shape
    both: Any = expm(np.block([[a, b], [np.zeros((m, n + m))]]) * plant.period)
    a, b = both[:n, :n], both[:n, n:]
    cost = np.diag(effort)
    p = solve_discrete_are(a, b, np.diag(np.array(weights)[kept]), cost)
    gain = np.zeros((m, len(plant.variables)))
    gain[:, kept] = np.linalg.solve(cost + b.T @ p @ b, b.T @ p @ a)
    return gain


def _cruise_teacher() -> Teacher:
    """The smaller of what reaches 30 m/s and what keeps 10 m and 1.4 s, between -3 and 2 m/s2."""

    def act(seen: Columns) -> Columns:
        speed, distance, faster = seen.T
        wanted = np.minimum(0.5 * (30 - speed), 0.7 * faster + 0.15 * (distance - 15 - 1.4 * speed))
        limited: Columns = np.clip(wanted, -3, 2)
        return limited[:, None]

    return Teacher(((12.0, 36.0), (20.0, 120.0), (-16.0, 12.0)), act)


def _quadrotor_teacher() -> Teacher:
    """Altitude 1 with two equal poles; roll and pitch bring the horizontal place and speed to 0."""
    plant = read_plant("quadrotor")
    weights = (0.5, 0.5, 4.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 1.0)
    gain = regulator_gain(plant, weights, (0.4, 60.0, 60.0), (0, 1, 2, 3, 4, 5, 6, 7, 9, 10))
    wanted = np.zeros(12)
    wanted[2] = 1.0
    region = list(_box(0.8, 0.8, 1.0, 0.8, 0.8, 1.5, 0.4, 0.4, 0.3, 1.2, 1.2, 0.5))
    region[2] = (-0.6, 1.4)
    return Teacher(tuple(region), lambda seen: (wanted - seen) @ gain.T)


def _docking_teacher() -> Teacher:
    """Towards the target at 60 % of the speed limit there."""

    def act(seen: Columns) -> Columns:
        place, speed = seen[:, :2], seen[:, 2:]
        far = np.maximum(np.hypot(*place.T), 1.0)[:, None]
        wanted = -0.6 * (0.2 + 2 * 0.001027 * far) * place / far
        force: Columns = np.clip(12 * 0.06 * (wanted - speed), -1, 1)
        return force

    return Teacher(((50.0, 110.0), (50.0, 110.0), (-0.35, 0.35), (-0.35, 0.35)), act)


def _attitude_teacher() -> Teacher:
    """Gyroscopic moments cancelled, then both poles of each axis at -1.5."""

    def act(seen: Columns) -> Columns:
        rates, place = seen[:, :3], seen[:, 3:]
        w1, w2, w3 = rates.T
        cancelled = np.stack([-w2 * w3, 3 * w1 * w3, -2 * w1 * w2], axis=1)
        return cancelled + np.array([4.0, 2.0, 1.0]) * (-3 * rates - 4.5 * place)

    return Teacher(_box(1.5, 1.5, 1.5, 1.0, 1.0, 1.0), act)


def _cart_teacher() -> Teacher:
    gain = regulator_gain(read_plant("cartpole"), (1.0, 0.5, 10.0, 1.0), (1.0,))
    return Teacher(_box(0.4, 0.6, 0.15, 0.8), lambda seen: -seen @ gain.T)


def _parking_teacher() -> Teacher:
    """Slower towards x = 0; the curvature brings y and the heading to 0 along the way."""

    def act(seen: Columns) -> Columns:
        x, y, heading, speed = seen.T
        wanted = 1.2 * np.tanh(-0.7 * x)
        return np.stack([2 * (wanted - speed), speed * (-y - 2 * heading)], axis=1)

    return Teacher(((-6.5, 0.6), (-0.4, 1.2), (-0.7, 0.3), (-0.2, 1.5)), act)


def _double_pendulum_teacher() -> Teacher:
    """The torques that bring both angles to 0 with poles at -3 (computed torque)."""

    def act(seen: Columns) -> Columns:
        a1, a2, w1, w2 = seen.T
        sine, cosine = np.sin(a1 - a2), np.cos(a1 - a2)
        v1, v2 = -9 * a1 - 6 * w1, -9 * a2 - 6 * w2
        one = 2 * v1 + cosine * v2 - 4 * np.sin(a1) + sine * w2**2
        two = cosine * v1 + v2 - 2 * np.sin(a2) - sine * w1**2
        return np.stack([one, two], axis=1) / 8

    return Teacher(((-0.3, 0.8), (-0.3, 0.8), (-2.0, 1.0), (-2.0, 1.0)), act)


def _oscillator_teacher() -> Teacher:
    gain = regulator_gain(read_plant("tora-relu"), (1.0, 1.0, 0.3, 0.3), (1.0,))
    return Teacher(_box(1.5, 1.5, 1.5, 1.5), lambda seen: np.clip(-seen @ gain.T, -3, 3))


def _pick_score(score: Columns, *others: float) -> Columns:
    """Outputs of which the first is largest where the score is negative, the last where it is positive."""
    middle = [np.full_like(score, other) for other in others]
    return np.stack([-score, *middle, score], axis=1)


def _gym_cart_teacher() -> Teacher:
    """Push to where a linear combination points: the regulator's direction, with a large force."""
    towards = np.array([0.15, 0.4, 4.0, 1.0])
    return Teacher(_box(1.0, 1.5, 0.21, 2.0), lambda seen: _pick_score(np.clip(seen @ towards, -2.0, 2.0)))


def _read_pendulum(drawn: Columns) -> Columns:
    return np.stack([np.cos(drawn[:, 0]), np.sin(drawn[:, 0]), drawn[:, 1]], axis=1)


def _brake_teacher() -> Teacher:
    """A torque against the motion: the pendulum comes to hang still."""
    return Teacher(
        ((-np.pi, np.pi), (-8.0, 8.0)), lambda drawn: 2 * np.tanh(-0.8 * drawn[:, 1:]), _read_pendulum
    )


def _swing_teacher() -> Teacher:
    """The energy of upright is pumped in, then a regulator balances (Åström and Furuta, 2000)."""

    def act(drawn: Columns) -> Columns:
        angle, speed = drawn.T
        energy = speed**2 / 2 + 15 * (np.cos(angle) - 1)
        pumped = 2 * np.tanh(-0.5 * energy * np.tanh(4 * speed + 0.4 * np.sin(angle)))
        near = 1 / (1 + np.exp(-8 * (np.cos(angle) - 0.85) + 0.5 * np.abs(speed)))
        balanced = -12 * np.sin(angle) - 3 * speed
        torque: Columns = np.clip(near * balanced + (1 - near) * pumped, -2, 2)
        return torque[:, None]

    return Teacher(((-np.pi, np.pi), (-8.0, 8.0)), act, _read_pendulum)


def _gym_car_teacher() -> Teacher:
    """Push where the car goes already, to the right where it stands."""
    region = ((-1.2, 0.6), (-0.07, 0.07))
    return Teacher(region, lambda seen: _pick_score(np.clip(60 * seen[:, 1] + 0.02, -1.0, 1.0), -1.5))


def _gym_car_value_teacher() -> Teacher:
    region = ((-1.2, 0.6), (-0.07, 0.07))
    return Teacher(region, lambda seen: np.tanh(60 * seen[:, 1:] + 0.02) * 1.2)


TEACHERS: dict[str, Callable[[], Teacher]] = {
    "acc": _cruise_teacher,
    "quadrotor": _quadrotor_teacher,
    "docking": _docking_teacher,
    "attitude": _attitude_teacher,
    "cartpole": _cart_teacher,
    "parking": _parking_teacher,
    "double-pendulum": _double_pendulum_teacher,
    "tora": _oscillator_teacher,
    "gym-cartpole": _gym_cart_teacher,
    "gym-pendulum-brake": _brake_teacher,
    "gym-pendulum-swing": _swing_teacher,
    "gym-mountaincar": _gym_car_teacher,
    "gym-mountaincar-continuous": _gym_car_value_teacher,
}
