"""Stop at a boundary and report k / n ± eps: the default way to estimate a probability.

The boundary is that of Clopper and Pearson's interval (Biometrika 1934) at a level alpha: stop as soon as
both sides of the interval are within eps of the estimate. Looking after every run is not covered by their
theorem, so the coverage is proved for the boundary itself, for all p (`boundary/coverage.py`), and alpha is
lowered until the proof goes through. Chen and Xu's rule (2013) is another boundary under the same proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.boundary.coverage import ProvedBoundary
from surefoot.solvers.sampling.boundary.table import Boundary
from surefoot.solvers.sampling.plan import (
    ConfidenceInterval,
    CountedBatch,
    Counts,
    Progress,
    Stop,
    advance_progress,
    clip_interval,
    count_batch,
    first_true,
)


@dataclass(frozen=True, slots=True)
class Sequential:
    """Runs until the boundary of a proved rule is met, for undecided runs taken either way."""

    proved: ProvedBoundary
    delta: Fraction

    def __post_init__(self) -> None:
        if not Fraction(self.proved.miss) <= self.delta:
            raise InvalidProblem(f"the boundary may miss with {self.proved.miss:.6g}, more than {self.delta}")

    @property
    def boundary(self) -> Boundary:
        return self.proved.boundary

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        counted = count_batch(progress, outcomes)
        if progress.stop or not len(counted.runs):
            return progress
        least = _boundary_array(self.boundary)
        low_end = _first_meeting(least, counted, counted.successes) if progress.low is None else -1
        high_end = _first_meeting(least, counted, counted.possible) if progress.high is None else -1
        cut_off = first_true(counted.undecided > int(2 * self.boundary.eps * self.boundary.most))
        end = min(max(low_end, high_end), cut_off)
        last = min(end, len(counted.runs) - 1)
        stop = None if end > last else Stop.TRUNCATION if cut_off < max(low_end, high_end) else Stop.PRECISE
        if 0 <= low_end <= last:
            progress = replace(
                progress, low=_success_share(counted, counted.successes, low_end) - self.boundary.eps
            )
        if 0 <= high_end <= last:
            progress = replace(
                progress, high=_success_share(counted, counted.possible, high_end) + self.boundary.eps
            )
        return advance_progress(progress, counted, last, stop)

    def interval(self, progress: Progress) -> ConfidenceInterval:
        """Runs that were not made are taken as failures for the lower end, as successes for the upper one."""
        least, eps = _boundary_array(self.boundary), self.boundary.eps
        low, high = progress.low, progress.high
        if low is None:
            low = _all_failures(least, progress.runs, progress.successes) - eps
        if high is None:
            high = 1 - _all_failures(least, progress.runs, progress.failures) + eps
        return clip_interval(low, high, self.delta)

    def ahead(self, progress: Progress) -> int:
        if progress.stop:
            return 0
        paths = []
        if progress.low is None:
            paths.append(progress.successes)
        if progress.high is None:
            paths.append(progress.successes + progress.undecided)
        return max(_earliest_stop(self.boundary.least, progress.runs, k) for k in paths) - progress.runs


@lru_cache(8)
def _boundary_array(boundary: Boundary) -> Counts:
    return np.array(boundary.least, dtype=np.int64)


def _first_meeting(least: Counts, counted: CountedBatch, successes: Counts) -> int:
    """The first index at which this way of counting meets the boundary, or the length."""
    rarer = np.minimum(np.minimum(successes, counted.runs - successes), len(least) - 1)
    met: NDArray[np.bool_] = counted.runs >= least[rarer]
    return first_true(met)


def _success_share(counted: CountedBatch, successes: Counts, index: int) -> Fraction:
    return Fraction(int(successes[index]), int(counted.runs[index]))


def _all_failures(least: Counts, runs: int, successes: int) -> Fraction:
    """The estimate if nothing but failures follows."""
    later = np.arange(runs + 1, least[-1] + 1)
    rarer = np.minimum(np.minimum(successes, later - successes), len(least) - 1)
    met = first_true(later >= least[rarer])
    if met == len(later):
        raise InvalidProblem(f"{successes} successes in {runs} runs are beyond the boundary")
    return Fraction(successes, int(later[met]))


def _earliest_stop(least: tuple[int, ...], runs: int, successes: int) -> int:
    """After how many runs a path from here may stop at the earliest: more of the same is quickest."""
    quickest = least[-1]
    for rarer in {successes, runs - successes}:
        if rarer < len(least):
            quickest = min(quickest, max(least[rarer], runs + 1))
    return quickest
