"""Plans that look at the counts after set numbers of runs.

`FixedRuns` looks once. Clopper and Pearson (1934): their interval contains p with probability 1 - delta for
every p, whatever the number of runs, if that was chosen beforehand. Okamoto (1958): so does k / n ± eps after
ln(2 / delta) / (2 eps²) runs.

`Spending` looks several times, at numbers of runs that grow geometrically, and gives each look an equal part
of delta. By the union bound all its intervals contain p at once with probability 1 - delta, so that it may
stop whenever it likes and report their intersection. The fallback for precisions too fine for a proved
boundary.

`Mixture` is valid at every number of runs at once, however the decision to stop is made: the confidence
sequence of `binomial.mixture_interval`. It looks whenever 5 % more runs have been made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from surefoot.errors import Unsupported
from surefoot.solvers.sampling.binomial import MOST_RUNS, log_fraction, lower_limit, mixture_limit
from surefoot.solvers.sampling.boundary.table import clopper_pearson_half_width
from surefoot.solvers.sampling.plan import (
    ConfidenceInterval,
    Progress,
    Stop,
    advance_progress,
    clip_interval,
    count_batch,
    first_true,
)

_GROWTH = Fraction(3, 2)
_CHECKED = 200_000  # runs up to which every possible count is looked at


@dataclass(frozen=True, slots=True)
class FixedRuns:
    """So many runs, then an interval: exact, or `hoeffding`: k / n ± eps."""

    eps: Fraction
    delta: Fraction
    runs: int
    hoeffding: bool = False

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        counted = count_batch(progress, outcomes)
        if progress.stop or not len(counted.runs):
            return progress
        done = first_true(counted.runs >= self.runs)
        cut_off = first_true(counted.undecided > int(2 * self.eps * self.runs))
        end = min(done, cut_off)
        last = min(end, len(counted.runs) - 1)
        stop = None if end > last else Stop.TRUNCATION if cut_off < done else Stop.PRECISE
        return advance_progress(progress, counted, last, stop)

    def interval(self, progress: Progress) -> ConfidenceInterval:
        """Runs that were not made are undecided, too."""
        low, high = self._limit(progress.successes), 1 - self._limit(progress.failures)
        return clip_interval(low, high, self.delta)

    def _limit(self, count: int) -> Fraction:
        if self.hoeffding:
            return Fraction(count, self.runs) - self.eps
        return lower_limit(count, self.runs, self.delta / 2)

    def ahead(self, progress: Progress) -> int:
        return 0 if progress.stop else self.runs - progress.runs


@dataclass(frozen=True, slots=True)
class Spending:
    """Looks after set numbers of runs, each with an equal part of delta."""

    eps: Fraction
    delta: Fraction
    looks: tuple[int, ...]

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        counted = count_batch(progress, outcomes)
        if progress.stop or not len(counted.runs):
            return progress
        cut_off = first_true(counted.undecided > int(2 * self.eps * self.looks[-1]))
        for look in self.looks:
            index = look - progress.runs - 1
            if not 0 <= index < min(len(counted.runs), cut_off + 1):
                continue
            seen = advance_progress(progress, counted, index, None)
            low, high = self._look(seen)
            if high - low <= 2 * self.eps:
                return replace(seen, low=low, high=high, stop=Stop.PRECISE)
            if look == self.looks[-1]:
                return replace(seen, low=low, high=high, stop=Stop.LIMIT)
            progress = replace(progress, low=low, high=high)
        last = min(cut_off, len(counted.runs) - 1)
        return advance_progress(progress, counted, last, Stop.TRUNCATION if cut_off == last else None)

    def _look(self, seen: Progress) -> tuple[Fraction, Fraction]:
        """The intersection of what was known and what this look shows."""
        risk = self.delta / (2 * len(self.looks))
        new_low = lower_limit(seen.successes, seen.runs, risk)
        new_high = 1 - lower_limit(seen.failures, seen.runs, risk)
        known = self.interval(seen)
        low, high = max(new_low, known.low), min(new_high, known.high)
        return (
            (low, high) if low <= high else (new_low, new_high)
        )  # an empty one has probability delta at most

    def interval(self, progress: Progress) -> ConfidenceInterval:
        low = Fraction(0) if progress.low is None else progress.low
        high = Fraction(1) if progress.high is None else progress.high
        return clip_interval(low, high, self.delta)

    def ahead(self, progress: Progress) -> int:
        return (
            0 if progress.stop else min(look for look in self.looks if look > progress.runs) - progress.runs
        )


@dataclass(frozen=True, slots=True)
class Mixture:
    """A confidence sequence: the interval is valid at all times at once."""

    eps: Fraction
    delta: Fraction
    most: int = MOST_RUNS

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        counted = count_batch(progress, outcomes)
        if progress.stop or not len(counted.runs):
            return progress
        look = progress.runs
        while (look := next_look(look)) <= counted.runs[-1]:
            seen = advance_progress(progress, counted, look - progress.runs - 1, None)
            known = self.interval(seen)
            if known.high - known.low <= 2 * self.eps:
                return replace(seen, stop=Stop.PRECISE)
            if mixture_limit(seen.undecided, seen.runs, self.delta) > 2 * self.eps:  # of all runs to come
                return replace(seen, stop=Stop.TRUNCATION)
            if look >= self.most:
                return replace(seen, stop=Stop.LIMIT)
        return advance_progress(progress, counted, -1, None)

    def interval(self, progress: Progress) -> ConfidenceInterval:
        if not progress.runs:
            return clip_interval(Fraction(0), Fraction(1), self.delta)
        low = mixture_limit(progress.successes, progress.runs, self.delta)
        return clip_interval(low, 1 - mixture_limit(progress.failures, progress.runs, self.delta), self.delta)

    def ahead(self, progress: Progress) -> int:
        return 0 if progress.stop else next_look(progress.runs) - progress.runs


def next_look(runs: int) -> int:
    """The looks of `Mixture`: 1, 2, …, 20, 21, 23, …: a twentieth more, the same for every experiment."""
    look = 1
    while look <= runs:
        look = max(look + 1, look * 21 // 20)
    return look


def _okamoto_runs(eps: Fraction, delta: Fraction) -> int:
    """ln(2 / delta) / (2 eps²), rounded up."""
    exact = Fraction(log_fraction(2 / delta) + Decimal("1e-30")) / (2 * eps * eps)
    return _check_affordable(-(-exact.numerator // exact.denominator), eps)


def okamoto_plan(eps: Fraction, delta: Fraction) -> FixedRuns:
    return FixedRuns(eps, delta, _okamoto_runs(eps, delta), hoeffding=True)


def fixed_clopper_pearson(eps: Fraction, delta: Fraction) -> FixedRuns:
    """The least number of runs after which no interval is wider than eps on either side of its estimate."""
    runs = _enough_at_half(eps, delta)
    if runs > _CHECKED:
        return FixedRuns(eps, delta, runs + 10)  # the widest interval is near one half
    while True:
        counts = np.arange(runs // 2 + 1, dtype=float)
        if np.all(
            clopper_pearson_half_width(np.full(len(counts), float(runs)), counts, float(delta)) <= float(eps)
        ):
            return FixedRuns(eps, delta, runs)
        runs += 1


def spending_plan(eps: Fraction, delta: Fraction) -> Spending:
    """Looks from the first that may be enough (if there is no success) to one that always is."""
    count = 2
    while True:
        part = delta / count
        start = int(np.log(2 / float(part)) / (2 * float(eps))) + 1
        looks = [_enough_at_half(eps, part) + 10]
        while looks[-1] > _GROWTH * start:
            looks.append(int(looks[-1] / _GROWTH))
        if len(looks) <= count:
            return Spending(eps, delta, tuple(reversed(looks)))
        count = len(looks)


def _enough_at_half(eps: Fraction, delta: Fraction) -> int:
    """The least number of runs at which half of them successes are precise enough."""
    low, high = 1, _okamoto_runs(eps, delta) + 8
    while low < high:
        middle = (low + high) // 2
        width = clopper_pearson_half_width(
            np.array([float(middle)]), np.array([float(middle // 2)]), float(delta)
        )
        low, high = (low, middle) if width[0] <= float(eps) else (middle + 1, high)
    return low


def _check_affordable(runs: int, eps: Fraction) -> int:
    if runs > MOST_RUNS:
        raise Unsupported(f"a precision of {float(eps):g} needs {runs:,} runs", fix="a larger eps")
    return runs
