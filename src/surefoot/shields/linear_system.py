"""Linear systems x' = A x + B u + c: their resting states, and the gain whose runs stay furthest inside.

Quadratic costs, which regulators weigh, know nothing of limits. Where the limits are tight the gain is chosen
for them: the largest share of a limit that any run from a corner of the starts takes, of a variable or of a
control, is made as small as possible (Nelder and Mead's search). A share below 1 means that no such run is
unsafe and no control at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from scipy import linalg, optimize

from surefoot.engines.barrier.domain import limits_of
from surefoot.engines.barrier.float_system import control_limits, float_system
from surefoot.engines.barrier.polyhedron.linear_loop import LinearLoop, linear_loop
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.reductions.barrier import ControlSystem
from surefoot.shields.linear_controllers import (
    Floats,
    Gain,
    Range,
    enumerate_regulators,
    linearise_system,
)
from surefoot.term.term import Const
from surefoot.work.budget import Budget

MOST_CORNERS = 64
STEPS, ITERATIONS, SEARCHES, WORST = 400, 400, 4, 50.0
REST = 1e-9  # how little a resting state moves in one step


@dataclass(frozen=True, slots=True)
class LinearSystem:
    """x' = state x + control u + drift + noise d, where |d| <= widest."""

    state: Floats
    control: Floats
    drift: Floats  # with the middle of the disturbances
    least: Floats  # ends of the controls; infinite where there are none
    most: Floats
    noise: Floats
    widest: Floats

    def step(self, states: Floats, controls: Floats) -> Floats:
        """The next states, for the middle of the disturbances."""
        found: Floats = states @ self.state.T + controls @ self.control.T + self.drift
        return found

    def disturb(self, states: Floats, generator: np.random.Generator) -> Floats:
        if not len(self.widest):
            return states
        drawn = np.where(generator.random((len(states), len(self.widest))) < 0.5, self.widest, -self.widest)
        found: Floats = states + drawn @ self.noise.T
        return found

    def loop(self, gain: Gain) -> LinearLoop:
        """The system under a rule."""
        return LinearLoop(self.state, self.control, self.noise, self.drift, gain.matrix, gain.offset,
                          self.least, self.most, self.widest)  # fmt: skip

    def equilibrium(self, near: Floats) -> tuple[Floats, Floats] | None:
        """A state close to this one, and controls strictly between their ends that keep it there."""
        count = len(near)
        moves = np.hstack([self.state - np.eye(count), self.control])
        one = np.linalg.lstsq(moves, -self.drift, rcond=None)[0]
        free = linalg.null_space(moves)
        steps = np.linalg.lstsq(free[:count], near - one[:count], rcond=None)[0] if free.size else []
        both = one + (free @ steps if free.size else 0)
        state, controls = both[:count], both[count:]
        if np.abs(moves @ both + self.drift).max() > REST:
            return None
        return (state, controls) if np.all((controls > self.least) & (controls < self.most)) else None

    def resting_directions(self) -> Floats:
        """In columns: along these a resting state can be moved."""
        count = len(self.state)
        found: Floats = linalg.null_space(np.hstack([self.state - np.eye(count), self.control]))[:count]
        return found


def linear_system(system: ControlSystem) -> LinearSystem | None:
    """None: the system is not linear, or it is disturbed, or nothing controls it."""
    maps = float_system(system).next
    straight = all(sum(m) <= 1 for polynomial in maps for m in polynomial.terms)
    if not system.controls or system.disturbances or not straight:
        return None
    nothing = np.zeros((len(system.variables), 0))
    return LinearSystem(*linearise_system(system), *control_limits(system), nothing, nothing[0])


def disturbed_linear_system(system: ControlSystem) -> LinearSystem:
    """Of a system that is known to be linear, with its disturbances."""
    box = [(Fraction(-1), Fraction(1))] * len(system.variables)
    loop = linear_loop(scale_system(system, tuple(Const(0) for _ in system.controls), box))
    assert loop is not None
    return LinearSystem(loop.state, loop.control, loop.drift, loop.least, loop.most, loop.noise, loop.widest)


def box_corners(box: Sequence[Range]) -> Floats:
    """One in each row; none if there are too many."""
    ends = [sorted({float(low), float(high)}) for low, high in box]
    count = int(np.prod([len(e) for e in ends]))
    return np.array(list(product(*ends)) if count <= MOST_CORNERS else [], dtype=np.float64)


def furthest_inside(system: ControlSystem, starts: Sequence[Range], budget: Budget) -> Gain | None:
    """The gain with the smallest peak; None if the system is not linear or every one exceeds a limit."""
    linear, points = linear_system(system), box_corners(starts)
    if linear is None or not len(points):
        return None
    rest = linear.equilibrium(np.zeros(len(system.variables)))
    if rest is None:
        return None
    ends = [limits_of(system, name) for name in system.variables]
    low, high = (
        np.array([_end_or_infinity(pair[i], at) for pair in ends]) for i, at in ((0, -np.inf), (1, np.inf))
    )
    room = (low - rest[0], high - rest[0], linear.least - rest[1], linear.most - rest[1])
    if any(np.any(r >= 0) for r in room[::2]) or any(np.any(r <= 0) for r in room[1::2]):
        return None

    def peak(entries: Floats) -> float:
        return _peak_share(linear, entries.reshape(linear.control.T.shape), points - rest[0], room)

    found = min((g.matrix.ravel() for g in enumerate_regulators(system)), key=peak, default=None)
    for _ in range(SEARCHES):
        if found is None or budget.is_spent():
            break
        budget.progress(f"shield: runs take {peak(found):.1%} of a limit")
        found = optimize.minimize(peak, found, method="Nelder-Mead", options={"maxiter": ITERATIONS}).x
    if found is None or peak(found) >= 1:
        return None
    matrix: Floats = found.reshape(linear.control.T.shape)
    return Gain(matrix, rest[1] - matrix @ rest[0])


def _end_or_infinity(end: Fraction | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)


def _peak_share(linear: LinearSystem, matrix: Floats, points: Floats, room: tuple[Floats, ...]) -> float:
    """The largest share of a limit that is taken; more where runs have not come to rest at the end."""
    power, states = (linear.state + linear.control @ matrix).T, points
    with np.errstate(all="ignore"):
        while len(states) < STEPS * len(points):  # all steps so far, and as many more
            states, power = np.concatenate([states, states @ power]), power @ power
        controls = states @ matrix.T
        shares = [states / room[0], states / room[1], controls / room[2], controls / room[3]]
        worst = max(float(s.max()) for s in shares)
        left = float(np.abs(states[-len(points) :]).max()) / max(float(np.abs(points).max()), 1e-12)
    return worst + left if worst + left < WORST else WORST
