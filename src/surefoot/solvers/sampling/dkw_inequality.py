"""The whole distribution of a reward: quantiles without a range, means within one.

The inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 1990): after
n runs, n chosen beforehand, the empirical distribution function is within d = sqrt(ln(2 / delta) / (2 n)) of
the true one everywhere, with probability 1 - delta. From this follow at once, with the same confidence,

* quantiles: the true one lies between the empirical ones d lower and d higher. Where these fall off the
  sample the end is the end of the stated range, or open;
* the mean: at most that of the sample after the share d of its lowest values has been moved to the top of the
  range, at least that after the share d of the highest has been moved to its bottom. An end of the range that
  is not known leaves that end of the mean open.

Rewards of runs that were cut off are intervals, whose lower ends make the lower ends of the answers and whose
upper ends the upper ones: all answers can only rise with a value. Values are taken exactly, as fractions; d
is rounded up.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import fsum, inf, isqrt, nextafter

import numpy as np
from numpy.typing import ArrayLike

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.binomial import log_fraction
from surefoot.solvers.sampling.boundary.table import Floats
from surefoot.solvers.sampling.empirical_bernstein import RewardRange

_SCALE = 10**15


def dkw_band(runs: int, delta: Fraction) -> Fraction:
    """How far the empirical distribution function may be off after so many runs."""
    if runs < 1 or not 0 < delta < 1:
        raise InvalidProblem(f"{runs} runs with a risk of {delta}")
    square = Fraction(log_fraction(2 / delta) + Decimal("1e-30")) / (2 * runs)
    return Fraction(isqrt(int(square * _SCALE**2) + 1) + 1, _SCALE)


def dkw_runs(width: Fraction, delta: Fraction) -> int:
    """The least number of runs whose band is not wider."""
    runs = max(1, int(Fraction(log_fraction(2 / delta)) / (2 * width * width)))
    while dkw_band(runs, delta) > width:
        runs += 1
    return runs


def dkw_mean(
    lows: ArrayLike, delta: Fraction, within: RewardRange, highs: ArrayLike | None = None
) -> tuple[Fraction | None, Fraction | None]:
    """Between which values the expected reward is; None where the range leaves it open."""
    low, high = _check_rewards(lows, within), _check_rewards(lows if highs is None else highs, within)
    moved = dkw_band(len(low), delta)
    return _lower_mean(low, moved, within.low), _negate_optional(
        _lower_mean(-high, moved, _negate_optional(within.high))
    )


def dkw_quantile(
    level: Fraction, lows: ArrayLike, delta: Fraction, within: RewardRange, highs: ArrayLike | None = None
) -> tuple[Fraction | None, Fraction | None]:
    """Between which values the least v with P(reward <= v) >= level is; None where that end is open."""
    if not 0 < level < 1:
        raise InvalidProblem(f"a quantile of {level} is not between 0 and 1")
    low, high = _check_rewards(lows, within), _check_rewards(lows if highs is None else highs, within)
    moved, count = dkw_band(len(low), delta), len(low)
    below = -(-(level - moved) * count // 1)  # so many values lie below it at least, up to this one
    above = -(-(level + moved) * count // 1)
    lower = Fraction(np.sort(low)[int(below) - 1]) if below >= 1 else within.low
    upper = Fraction(np.sort(high)[int(above) - 1]) if above <= count else within.high
    return lower, upper


def _check_rewards(values: ArrayLike, within: RewardRange) -> Floats:
    array = np.asarray(values, dtype=float)
    low = -np.inf if within.low is None else float(within.low)
    high = np.inf if within.high is None else float(within.high)
    if array.ndim != 1 or not len(array) or not np.all((array >= low) & (array <= high) & np.isfinite(array)):
        raise InvalidProblem("rewards are a list of numbers within the stated range")
    return array


def _lower_mean(values: Floats, moved: Fraction, bottom: Fraction | None) -> Fraction | None:
    """The mean after a share of the highest values has been moved to the bottom."""
    if bottom is None:
        return None
    count, ordered = len(values), np.sort(values)
    kept = max(1 - moved, Fraction(0)) * count
    whole = int(kept)
    total = Fraction(nextafter(fsum(ordered[:whole].tolist()), -inf))  # fsum is correctly rounded
    if whole < count:
        total += (kept - whole) * Fraction(float(ordered[whole]))
    return max(total / count + bottom * min(moved, Fraction(1)), bottom)


def _negate_optional(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value
