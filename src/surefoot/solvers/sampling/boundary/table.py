"""Stopping rules for counting successes, as tables.

A boundary says when enough runs have been seen: after n runs with k successes, stop as soon as n >=
least[min(k, n - k)]. It reads the same with successes and failures exchanged, and it closes: after `most`
runs every count stops. What is reported then is k / n ± eps. Whether that is right often enough is a property
of the table, shown by `coverage.py`; how the table was made up does not matter for it.

So the numbers of scipy are good enough here, although they are not rigorous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from surefoot.errors import InvalidProblem, Unsupported

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
StoppingRule: TypeAlias = Callable[[Floats, Floats], NDArray[np.bool_]]  # (runs, rarer outcomes): stop here?

LONGEST = 80_000  # runs of a table that is made and proved on demand: some seconds


@dataclass(frozen=True, slots=True)
class Boundary:
    """`least[j]`: from how many runs on j outcomes of the rarer kind are enough to stop."""

    eps: Fraction
    least: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.eps < Fraction(1, 2):
            raise InvalidProblem(f"a precision of {self.eps} is not between 0 and 1/2")
        if not self.least or self.least[0] < 1 or any(a > b for a, b in pairwise(self.least)):
            raise InvalidProblem("the numbers of runs of a boundary begin with 1 or more and never decrease")
        early = any(n <= 2 * j + 1 for j, n in enumerate(self.least[:-1]))
        if early or self.least[-1] // 2 != len(self.least) - 1:
            raise InvalidProblem("a boundary ends with the first number of runs at which every count stops")

    @property
    def most(self) -> int:
        """No experiment is longer."""
        return self.least[-1]

    @property
    def is_ordered(self) -> bool:
        """Later stops on the lower side have higher estimates.

        Then the estimate can only grow if some failures are replaced by successes: the path with more
        successes lies above, cannot meet the lower side before the other one does, and not after the other
        one has met the upper side. This is what undecided runs rest on (`plan.py`).
        """
        return all(i * n <= (i + 1) * m for i, (m, n) in enumerate(pairwise(self.least)))


def tabulate_rule(eps: Fraction, enough: StoppingRule, longest: int) -> Boundary:
    """The table of a rule that stops at (n, j) and, with the same j, at every larger n.

    Where a rule would have a lower count wait for a higher one to stop, the lower one stops as well: the
    proof is about the table, not about the rule.
    """
    if longest > LONGEST:
        raise Unsupported(
            f"a precision of {float(eps):g} may take {longest:,} runs, too many for a table of when to stop",
            fix="a larger eps, or the method `spending`, which looks less often",
        )
    rarer = np.arange(longest // 2 + 1, dtype=float)
    before, after = np.maximum(2 * rarer, 1) - 1, np.full(len(rarer), 2.0 * longest + 2)
    while np.any(after - before > 1):
        middle = np.floor((before + after) / 2)
        stops = enough(middle, rarer)
        after, before = np.where(stops, middle, after), np.where(stops, before, middle)
    least = np.minimum.accumulate(after[::-1])[::-1].astype(np.int64)
    runs = np.arange(1, longest + 1)
    closed = np.nonzero(least[runs // 2] <= runs)[0]
    if not len(closed):
        raise Unsupported(f"the rule does not stop within {longest:,} runs")
    most = int(runs[closed[0]])
    return Boundary(eps, tuple(np.minimum(least[: most // 2 + 1], most).tolist()))


def clopper_pearson_half_width(runs: Floats, rarer: Floats, alpha: float) -> Floats:
    """The larger side of the Clopper-Pearson interval around its estimate, not rigorous."""
    share = rarer / runs
    low = np.where(rarer == 0, 0.0, betaincinv(np.maximum(rarer, 1), runs - rarer + 1, alpha / 2))
    high = betaincinv(rarer + 1, np.maximum(runs - rarer, 1e-9), 1 - alpha / 2)
    return np.asarray(np.maximum(share - low, high - share), dtype=float)


def _hoeffding_runs(eps: Fraction, delta: Fraction) -> int:
    """About ln(2 / delta) / (2 eps²): more runs than any good rule needs."""
    return int(np.log(2 / float(delta)) / (2 * float(eps) ** 2)) + 2


def clopper_pearson_boundary(eps: Fraction, alpha: Fraction) -> Boundary:
    """Stop as soon as the interval at level 1 - alpha is within eps of the estimate on both sides."""

    def enough(runs: Floats, rarer: Floats) -> NDArray[np.bool_]:
        return np.asarray(clopper_pearson_half_width(runs, rarer, float(alpha)) <= float(eps))

    quantile = float(ndtri(1 - float(alpha) / 2))
    about = 1.05 * (quantile / (2 * float(eps))) ** 2 + 10 / float(eps) + 50
    return tabulate_rule(eps, enough, int(about))


def chen_boundary(eps: Fraction, delta: Fraction) -> Boundary:
    """Chen and Xu 2013: n >= (2 / eps²) ln(2 / delta) (1/4 - (|k/n - 1/2| - 2 eps / 3)²).

    The rule that the simulator `modes` calls adaptive, looked at after every run.
    """
    precision = float(eps)
    factor = 2 / precision**2 * np.log(2 / float(delta))

    def enough(runs: Floats, rarer: Floats) -> NDArray[np.bool_]:
        distance = np.abs(rarer / runs - 0.5) - 2 * precision / 3
        return np.asarray(runs >= factor * (0.25 - distance**2))

    return tabulate_rule(eps, enough, _hoeffding_runs(eps, delta) + 8)
