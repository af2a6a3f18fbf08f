"""Expected values of bounded rewards.

`Betting` is the predictable plug-in empirical-Bernstein confidence sequence of Waudby-Smith and Ramdas
("Estimating means of bounded random variables by betting", JRSS B 2024, theorem 2): for values X_i in [0, 1]
with mean m, stakes l_i in [0, 1) and guesses g_i in [0, 1] that depend on earlier values only, the product of
exp(l_i (X_i - m) - (X_i - g_i)² (-ln(1 - l_i) - l_i)) is a supermartingale that begins with 1. So with
probability 1 - delta / 2, at all times, m >= (sum l_i X_i - ln(2 / delta) - sum (X_i - g_i)² (-ln(1 - l_i) -
l_i)) / sum l_i, and the same for 1 - X_i gives the upper end. Any stakes are sound; ours are
eps / (v + 2 eps / 3) with v the variance seen so far, which is nearly best for stopping at a half-width of
eps, after about 2 ln(2 / delta) v / eps² runs.

Without a stated range an expected value has no guarantee at any number of runs: one rare and large value is
enough to make the mean anything. That is refused. A run that was cut off has a reward in an interval: what it
has gathered so far, and that plus what could still come, or the ends of the range.

Sums are doubles. Their rounding, and 2^-40 for logarithms, is added to the half-width.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.solvers.sampling.binomial import MOST_RUNS
from surefoot.solvers.sampling.boundary.table import Floats
from surefoot.solvers.sampling.plan import ConfidenceInterval, Stop, first_true

_LARGEST_STAKE = 0.75


@dataclass(frozen=True, slots=True)
class RewardRange:
    """Between which values a reward always is; None: not known."""

    low: Fraction | None
    high: Fraction | None


def range_objection(within: RewardRange) -> str | None:
    """Why an expected value cannot be estimated with a guarantee."""
    if within.low is None or within.high is None:
        side = "lower" if within.low is None else "upper"
        return (
            f"the reward has no known {side} bound, so no number of runs guarantees anything about its mean"
        )
    if not within.low < within.high:
        return f"the reward's range from {within.low} to {within.high} is empty or a single value"
    return None


@dataclass(frozen=True, slots=True)
class BettingSums:
    """One side's sums after some runs: a lower bound of the mean of values scaled to [0, 1]."""

    total: float = 0.0  # of the values
    squares: float = 0.0  # of their distances from the guesses
    stakes: float = 0.0
    won: float = 0.0  # stakes times values
    paid: float = 0.0


@dataclass(frozen=True, slots=True)
class RewardProgress:
    """What has been consumed; `undecided` runs had a reward that is only known to be in an interval."""

    runs: int = 0
    undecided: int = 0
    lower: BettingSums = BettingSums()
    upper: BettingSums = BettingSums()  # of 1 - value
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Betting:
    """The mean of rewards within a range, to ± eps (in the reward's unit), valid at all times at once."""

    within: RewardRange
    eps: Fraction
    delta: Fraction
    most: int = MOST_RUNS

    def __post_init__(self) -> None:
        if reason := range_objection(self.within):
            raise Unsupported(reason, fix="state the range of the reward")
        if self.eps <= 0 or not 0 < self.delta < 1:
            raise InvalidProblem(f"a precision of {self.eps} with a risk of {self.delta}")

    def consume(
        self, progress: RewardProgress, lows: ArrayLike, highs: ArrayLike | None = None
    ) -> RewardProgress:
        """Take the rewards of the next runs; of those cut off, between which values they would be."""
        low = self._scale_rewards(lows)
        high = low if highs is None else self._scale_rewards(highs)
        if low.shape != high.shape or np.any(low > high):
            raise InvalidProblem("the lower ends of rewards are as many as the upper ones, and at most those")
        if progress.stop or not len(low):
            return progress
        runs = progress.runs + np.arange(1.0, len(low) + 1)
        undecided = progress.undecided + np.cumsum(low < high)
        lower, upper = self._bets(progress.lower, low, runs), self._bets(progress.upper, 1 - high, runs)
        width = 1 - (self._bounds(lower, runs) + self._bounds(upper, runs))
        precise = first_true(width <= 2 * self._precision())
        unknown = runs - lower[0] - upper[0]  # what the lengths of the intervals of rewards add up to
        cut_off = first_true(unknown > math.log(2 / float(self.delta)) / self._precision() + 2.0**-30 * runs)
        full = first_true(runs >= self.most)
        end = min(precise, cut_off, full)
        last = min(end, len(runs) - 1)
        stop = None
        if end == last:
            stop = Stop.PRECISE if precise == end else Stop.TRUNCATION if cut_off == end else Stop.LIMIT
        sides = [BettingSums(*(float(column[last]) for column in side)) for side in (lower, upper)]
        return RewardProgress(int(runs[last]), int(undecided[last]), sides[0], sides[1], stop)

    def interval(self, progress: RewardProgress) -> ConfidenceInterval:
        low, span = self._ends()
        if not progress.runs:
            return ConfidenceInterval(low, low + span, 1 - self.delta)
        runs = np.array([float(progress.runs)])
        lower, upper = (
            Fraction(float(self._bounds([np.array([value]) for value in astuple(side)], runs)[0]))
            for side in (progress.lower, progress.upper)
        )
        return ConfidenceInterval(low + span * lower, low + span * (1 - upper), 1 - self.delta)

    def _ends(self) -> tuple[Fraction, Fraction]:
        assert self.within.low is not None
        assert self.within.high is not None
        return self.within.low, self.within.high - self.within.low

    def _precision(self) -> float:
        return float(self.eps / self._ends()[1])

    def _scale_rewards(self, rewards: ArrayLike) -> Floats:
        values = np.asarray(rewards, dtype=float)
        low, span = self._ends()
        if values.ndim != 1 or not np.all((values >= float(low)) & (values <= float(low + span))):
            raise InvalidProblem(f"a reward is not within its range from {low} to {low + span}")
        return np.clip((values - float(low)) / float(span), 0.0, 1.0)

    def _bets(self, before: BettingSums, values: Floats, runs: Floats) -> list[Floats]:
        """The columns of `Side` after each of these values."""

        def running_sum(start: float, parts: Floats) -> Floats:  # one after the other: batches do not matter
            return np.cumsum(np.concatenate([[start], parts]))

        totals = running_sum(before.total, values)
        distances = (values - (0.5 + totals[:-1]) / runs) ** 2
        squares = running_sum(before.squares, distances)
        variance, precision = (0.25 + squares[:-1]) / runs, self._precision()
        stakes = np.minimum(precision / (variance + 2 / 3 * precision), _LARGEST_STAKE)
        prices = distances * (-np.log1p(-stakes) - stakes + 2.0**-50 * stakes)
        sums = (
            running_sum(before.stakes, stakes),
            running_sum(before.won, stakes * values),
            running_sum(before.paid, prices),
        )
        return [column[1:] for column in (totals, squares, *sums)]

    def _bounds(self, side: list[Floats], runs: Floats) -> Floats:
        _, _, stakes, won, paid = side
        low, span = self._ends()
        error = (runs + 64 + float((abs(low) + abs(low + span)) / span)) * 2.0**-50
        price = (math.log(2 / float(self.delta)) + paid) * (1 + error + 2.0**-40)
        return np.asarray(np.clip((won - price) / stakes - error, 0.0, 1.0), dtype=float)
