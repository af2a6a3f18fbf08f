"""Rules that stop a linear system fast and bring it to a resting state slowly.

A rule that stops where it is keeps a large set: all states from which it comes to a stop before a limit. Here
every direction of the closed loop has one of two speeds: K is the gain with which A + B K has the value
`slow` on the states that controls can make shrink by it alone, and `fast` on those of the other speed. Then
sets need two rows for each limit (`polyhedron.slow`). This is possible for at most two variables for each
control.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from surefoot.engines.barrier.float_system import Floats

FAST = tuple(float(x) for x in np.geomspace(0.9, 0.002, 32))  # how much of a distance a step takes away
SLOWER = (0.3, 0.1, 0.03, 0.01, 0.003)  # the slow speed, of the fast one
WORST = 1e9  # the condition of a matrix of directions


def two_speed_gain(state: Floats, control: Floats, fast: float, slow: float) -> Floats | None:
    """The gain; None: there is none, or hardly."""
    count = len(state)
    slowly, fastly = (_eigen_directions(state, control, 1 - speed) for speed in (slow, fast))
    if slowly.shape[1] > count or slowly.shape[1] + fastly.shape[1] < count:
        return None
    both = np.hstack([slowly, fastly[:, : count - slowly.shape[1]]])
    if np.linalg.cond(both[:count]) > WORST:
        return None
    return np.linalg.solve(both[:count].T, both[count:].T).T.astype(np.float64)


def _eigen_directions(state: Floats, control: Floats, value: float) -> Floats:
    """Pairs of a state x and controls u, in columns, with A x + B u = value * x."""
    found: Floats = linalg.null_space(np.hstack([state - value * np.eye(len(state)), control]))
    return found


def two_speed_gains(state: Floats, control: Floats) -> list[list[Floats]]:
    """For each ratio of the speeds the gains, the fastest first."""
    found = [[two_speed_gain(state, control, fast, ratio * fast) for fast in FAST] for ratio in SLOWER]
    return [[gain for gain in several if gain is not None] for several in found]


def fastest_gains(
    gains: list[list[Floats]], room: tuple[Floats, Floats], states: Floats, wanted: float
) -> Iterator[Floats]:
    """For each ratio of the speeds the fastest gain that needs no control beyond `room` at most states.

    `states`: from the resting state; `room`: how far controls may be below and above what keeps it.
    """
    for several in gains:
        for gain in several:
            controls = states @ gain.T
            if float(((controls >= room[0]) & (controls <= room[1])).all(axis=1).mean()) >= wanted:
                yield gain
                break
