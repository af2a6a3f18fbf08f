"""Is a probability above or below a threshold? Wald's sequential probability ratio test.

The threshold t has an indifference region t ± width, in which either answer is accepted. The likelihood ratio
of t + width against t - width is a martingale with mean 1 if p = t - width, and below that it only falls in
the mean; by Ville's inequality it ever reaches 1 / delta with probability delta at most. So whoever answers
"above" there is wrong with probability delta at most if p <= t - width, and the same holds for "below" with
the inverse ratio. These limits (1 / delta and delta) are a little further out than Wald's, whose errors are
only approximately the stated ones.

Successes raise the ratio. So with undecided runs the answer is "above" only if the ratio with all of them as
failures says so, and "below" only if the ratio with all of them as successes does.

Logarithms are doubles; what they and their sums may be off by is added to the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.binomial import MOST_RUNS, log_fraction
from surefoot.solvers.sampling.boundary.table import Floats
from surefoot.solvers.sampling.plan import (
    ConfidenceInterval,
    Counts,
    Progress,
    Stop,
    advance_progress,
    clip_interval,
    count_batch,
    first_true,
)


@dataclass(frozen=True, slots=True)
class SequentialRatioTest:
    """Above: p > threshold - width; below: p < threshold + width; each wrong with a risk of delta at most."""

    threshold: Fraction
    width: Fraction
    delta: Fraction
    most: int = MOST_RUNS

    def __post_init__(self) -> None:
        if self.width <= 0 or not 0 < self.threshold - self.width < self.threshold + self.width < 1:
            raise InvalidProblem(
                f"the indifference region {self.threshold} ± {self.width} is not within 0 and 1",
                fix="a smaller width; for a threshold of 0 or 1 ask for an interval",
            )
        if not 0 < self.delta < 1:
            raise InvalidProblem(f"a risk of {self.delta} is not between 0 and 1")

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        counted = count_batch(progress, outcomes)
        if progress.stop or not len(counted.runs):
            return progress
        limit = self._limit(counted.runs)
        above = first_true(self._ratio(counted.successes, counted.runs) >= limit)
        below = first_true(-self._ratio(counted.possible, counted.runs) >= limit)
        full = first_true(counted.runs >= self.most)
        end = min(above, below, full)
        if end == len(counted.runs):
            return advance_progress(progress, counted, -1, None)
        if above == end:
            progress = replace(progress, low=self.threshold - self.width)
        elif below == end:
            progress = replace(progress, high=self.threshold + self.width)
        return advance_progress(progress, counted, end, Stop.DECIDED if end in (above, below) else Stop.LIMIT)

    def _steps(self) -> tuple[float, float]:
        """By how much a success raises the logarithm of the ratio and a failure lowers it."""
        low, high = self.threshold - self.width, self.threshold + self.width
        return float(log_fraction(high / low)), float(log_fraction((1 - low) / (1 - high)))

    def _ratio(self, successes: Counts, runs: Counts) -> Floats:
        up, down = self._steps()
        return np.asarray(successes * up - (runs - successes) * down, dtype=float)

    def _limit(self, runs: Counts) -> Floats:
        """ln(1 / delta), and what the ratio of so many runs may be off by."""
        limit = -float(log_fraction(self.delta))
        return np.asarray(limit + 2.0**-45 * (limit + max(self._steps()) * runs), dtype=float)

    def interval(self, progress: Progress) -> ConfidenceInterval:
        low = Fraction(0) if progress.low is None else progress.low
        high = Fraction(1) if progress.high is None else progress.high
        return clip_interval(low, high, self.delta)

    def ahead(self, progress: Progress) -> int:
        if progress.stop:
            return 0
        (up, down), runs = self._steps(), np.array([progress.runs])
        limit = -float(log_fraction(self.delta))
        rise = limit - float(self._ratio(np.array([progress.successes]), runs)[0])
        fall = limit + float(self._ratio(np.array([progress.successes + progress.undecided]), runs)[0])
        return max(1, min(int(rise / up), int(fall / down), self.most - progress.runs))
