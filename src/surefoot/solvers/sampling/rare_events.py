"""The mean of values in [0, 1] that may be tiny: bounds by betting, valid at all times at once.

(Waudby-Smith and Ramdas, JRSS B 2024, section 4.) If the mean of X is at most m, the product of
1 - c + c X / m is a supermartingale that begins with 1, for every c in [0, 1]; so is the average over several
c. By Ville's inequality it ever reaches 2 / delta with probability delta / 2 at most, and every m for which
it has is too low. Stakes in units of 1 / m make this bound follow the mean down to 10^-12 and below. In the
same way the product of 1 + c (m - X) shows that m is too high. There the stakes cannot be larger than 1,
because X might be 1 at any time: an upper bound falls no faster than ln(2 / delta) / runs, however small the
values. No method that only looks at runs can do better: one in that many might behave altogether differently.

A value that is only known to be in an interval enters the lower bound with its lower end and the upper bound
with its upper end. Sums are doubles; a bound of their rounding errors is added to the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.boundary.table import Floats
from surefoot.solvers.sampling.plan import ConfidenceInterval, Counts, Stop

_STAKES = 2.0 ** -np.arange(0, 33)  # c
_HALVINGS = 64
_SMALLEST = 1e-300
_ROUNDING = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """Different values, and how often each of them was seen."""

    values: Floats
    counts: Counts

    def with_more(self, more: Floats) -> ValueCounts:
        values, where = np.unique(np.concatenate([self.values, more]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, np.ones(len(more), dtype=np.int64)]))
        return ValueCounts(values, counts)

    def total(self) -> Fraction:
        pairs = zip(self.values.tolist(), self.counts.tolist(), strict=True)
        return sum((Fraction(value) * count for value, count in pairs), Fraction(0))


NOTHING = ValueCounts(np.empty(0), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class RareProgress:
    runs: int = 0
    lows: ValueCounts = NOTHING
    highs: ValueCounts = NOTHING
    stop: Stop | None = None

    def mean(self) -> Fraction | None:
        """Of the values so far, if all of them are known but for rounding."""
        low, high = self.lows.total(), self.highs.total()
        return (low + high) / (2 * self.runs) if self.runs and high - low <= low * _ROUNDING else None


@dataclass(frozen=True, slots=True)
class RareEventPlan:
    """A set number of values; the bounds are valid before that, too."""

    delta: Fraction
    runs: int

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1 or self.runs < 1:
            raise InvalidProblem(f"{self.runs} runs with a risk of {self.delta}")

    def consume(self, progress: RareProgress, lows: ArrayLike, highs: ArrayLike) -> RareProgress:
        left = self.runs - progress.runs
        low, high = np.asarray(lows, dtype=float)[:left], np.asarray(highs, dtype=float)[:left]
        if low.shape != high.shape or not np.all((low >= 0) & (low <= high) & (high <= 1)):
            raise InvalidProblem("values are between 0 and 1")
        runs = progress.runs + len(low)
        stop = Stop.PLANNED if runs == self.runs else None
        return RareProgress(runs, progress.lows.with_more(low), progress.highs.with_more(high), stop)

    def ahead(self, progress: RareProgress) -> int:
        return self.runs - progress.runs

    def interval(self, progress: RareProgress) -> ConfidenceInterval:
        return ConfidenceInterval(self._low(progress.lows), self._high(progress.highs), 1 - self.delta)

    def _low(self, seen: ValueCounts) -> Fraction:
        """The largest m that is shown to be too low, or a little less."""
        if not seen.values.any():
            return Fraction(0)
        stakes = _STAKES[1:]  # with a stake of 1 a single 0 would lose everything

        def is_refuted(m: float) -> bool:
            with np.errstate(over="ignore"):
                gains = seen.values[None, :] / m * (1 - 2.0**-50) - 1
            return self._wins(np.log1p(stakes[:, None] * gains), seen.counts)

        below, above = _SMALLEST, 1.0
        if not is_refuted(below):
            return Fraction(0)
        for _ in range(_HALVINGS):
            middle = math.sqrt(below * above)
            below, above = (middle, above) if is_refuted(middle) else (below, middle)
        return Fraction(below)

    def _high(self, seen: ValueCounts) -> Fraction:
        """The least m that is shown to be too high, or a little more."""

        def is_refuted(m: float) -> bool:
            losses = m * (1 - 2.0**-50) - seen.values[None, :] * (1 + 2.0**-50)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log1p(_STAKES[:, None] * losses)
            return self._wins(np.where(np.isnan(logs), -np.inf, logs), seen.counts)

        below, above = 0.0, 1.0
        if not len(seen.values) or not is_refuted(above):
            return Fraction(1)
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            below, above = (below, middle) if is_refuted(middle) else (middle, above)
        return Fraction(above)

    def _wins(self, logs: Floats, counts: Counts) -> bool:
        """Has the average of the products reached 2 / delta? One row per stake, one column per value."""
        parts = logs * counts[None, :]
        error = 2.0**-45 * (np.abs(parts).sum(axis=1) + 1)
        sums = np.where(np.isfinite(error), parts.sum(axis=1) - error, -np.inf)
        best = sums.max()
        if not np.isfinite(best):
            return bool(best > 0)
        average = best + math.log(float(np.exp(sums - best).sum()) / len(sums)) - 2.0**-40
        return bool(average >= math.log(2 / float(self.delta)) * (1 + 2.0**-40))
