"""Interval iteration: bounds of a probability from below and from above, which hold whenever it is stopped.

`solve_until` (solver.py) answers with bounds of a given width, or not at all. Here the least value that is
possible is followed from 0 upwards and the greatest from 1 downwards, one step after the other, in floating
point that is rounded to the safe side: all numbers are >= 0, so that a step is off by a small factor. What is
left when the time is over is wide, but it contains the value. States that were cut off may do anything.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov, Until
from surefoot.work.deadline import Late

LEAST = 1e-290  # below it products may lose more than a factor
MOST_ROUNDS = 100_000
STILL = 1e-9  # bounds that move by less, relatively to their distance, are as good as they get

Floats = NDArray[np.float64]


def iterate_intervals(
    markov: Markov, asked: Until, seconds_left: Callable[[], float]
) -> tuple[Floats, Floats] | None:
    """Bounds of the value in every state; None: this question is not covered."""
    if asked.after:
        return None
    step = _BellmanOperator(markov, asked)
    bounds = step.known_low.astype(np.float64), step.known_high.astype(np.float64)
    took, before = 0.0, seconds_left()
    try:
        for _ in range(MOST_ROUNDS if asked.steps is None else asked.steps):
            if before <= took:  # the next round takes as long as the last one
                break
            (low, high), old = step.narrow_bounds(*bounds), bounds
            bounds = low, high
            now = seconds_left()
            took, before = before - now if now < inf else 0.0, now
            moved = max((low - old[0]).max(initial=0.0), (old[1] - high).max(initial=0.0))
            if moved <= STILL * (high - low).max(initial=0.0):
                break
    except Late:  # what was made before holds
        pass
    return bounds


class _BellmanOperator:
    """One step backwards; `error`: a factor by which it may be off."""

    def __init__(self, markov: Markov, asked: Until) -> None:
        self.markov, self.best = markov, np.maximum if asked.optimise == "max" else np.minimum
        self.weights = np.array([float(v) for v in markov.values])[markov.weights]
        longest = int(np.diff(markov.outcomes).max(initial=1))
        self.error = 2.0 * (longest + 3) * 2.0**-53
        self.acting = (np.diff(markov.choices) > 0) & asked.left & ~asked.right & ~markov.cut
        self.known_low = asked.right
        self.known_high = asked.right | (asked.left & (self.acting | markov.cut))

    def narrow_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return np.maximum(low, self.apply_backward(low, down=True)), np.minimum(
            high, self.apply_backward(high, down=False)
        )

    def apply_backward(self, values: Floats, *, down: bool) -> Floats:
        """The value of each state before a step into these; bounds stay on their side."""
        found = values.copy()
        if not self.acting.any():
            return found
        means = np.add.reduceat(self.weights * values[self.markov.targets], self.markov.outcomes[:-1])
        if down:
            means *= 1.0 - self.error
            means[means < LEAST] = 0.0
        else:
            means *= 1.0 + self.error
            means += LEAST
        first = self.markov.choices[:-1]
        filled = first < self.markov.choices[1:]
        best = np.zeros(len(values))
        best[filled] = self.best.reduceat(means, first[filled])
        found[self.acting] = np.minimum(best[self.acting], 1.0)
        return found
