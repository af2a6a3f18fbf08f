"""What every plan has in common: how runs are consumed, and what is known afterwards.

A plan is a frozen value. It takes the outcomes of runs strictly in the order of their indices, in batches of
any size, and after each batch gives a new `Progress`; `runs` in it says exactly with which run it stopped,
and whatever comes after that run is ignored. So the answer depends neither on how runs were cut into batches
nor on which worker was faster.

A run ends as a success, a failure, or undecided (cut off). Nobody knows what an undecided run would have
become, so the lower end of an interval takes all of them as failures and the upper end as successes. In every
plan the ends can only rise if a failure becomes a success (at the same look, for plans whose looks are all
valid at once), so the interval contains the one that the unknown outcomes would have given and is right at
least as often. Runs that have not been made can be seen in the same way: an experiment that is broken off has
an interval, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InvalidProblem

FAILURE, SUCCESS, UNDECIDED = 0, 1, 2
Counts: TypeAlias = NDArray[np.int64]


class Stop(Enum):
    """Why no more runs are needed."""

    PRECISE = "precise enough"
    DECIDED = "on one side of the threshold"
    TRUNCATION = "too many runs were cut off"
    LIMIT = "as many runs as the plan allows"
    PLANNED = "as many runs as were asked for"


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    low: Fraction
    high: Fraction
    confidence: Fraction


@dataclass(frozen=True, slots=True)
class Progress:
    """What has been consumed. `low` and `high` are ends of the interval that are settled; None: not yet."""

    runs: int = 0
    successes: int = 0
    undecided: int = 0
    low: Fraction | None = None
    high: Fraction | None = None
    stop: Stop | None = None

    @property
    def failures(self) -> int:
        return self.runs - self.successes - self.undecided

    @property
    def counted(self) -> Progress:
        """What all runs so far have come to."""
        return self


class SamplingPlan(Protocol):
    """A method of estimating a probability."""

    def consume(self, progress: Progress, outcomes: ArrayLike) -> Progress:
        """Take the outcomes of the next runs, up to the one with which the plan stops."""

    def interval(self, progress: Progress) -> ConfidenceInterval:
        """What is known about the probability; valid at any time, precise once the plan has stopped."""

    def ahead(self, progress: Progress) -> int:
        """So many runs more are needed in any case (0 once stopped): a batch of this size wastes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedBatch:
    """The next runs after some progress, counted up: entry i is after i + 1 of them."""

    runs: Counts
    successes: Counts
    undecided: Counts

    @property
    def possible(self) -> Counts:
        """Successes if every undecided run is one."""
        return self.successes + self.undecided


def count_batch(progress: Progress, outcomes: ArrayLike) -> CountedBatch:
    values = np.asarray(outcomes)
    known = (
        values.max(initial=0) <= UNDECIDED if values.dtype == np.uint8 else np.isin(values, (0, 1, 2)).all()
    )
    if values.ndim != 1 or not known:
        raise InvalidProblem("outcomes of runs are a list of 0 (failure), 1 (success) and 2 (undecided)")
    return CountedBatch(
        progress.runs + np.arange(1, len(values) + 1),
        progress.successes + np.cumsum(values == SUCCESS),
        progress.undecided + np.cumsum(values == UNDECIDED),
    )


def advance_progress(progress: Progress, counted: CountedBatch, index: int, stop: Stop | None) -> Progress:
    """The progress after entry `index` of a batch."""
    if not len(counted.runs):
        return progress
    return replace(
        progress,
        runs=int(counted.runs[index]),
        successes=int(counted.successes[index]),
        undecided=int(counted.undecided[index]),
        stop=stop,
    )


def first_true(found: NDArray[np.bool_]) -> int:
    """The index of the first True, or the length."""
    return int(np.argmax(found)) if found.any() else len(found)


def clip_interval(low: Fraction, high: Fraction, delta: Fraction) -> ConfidenceInterval:
    return ConfidenceInterval(max(low, Fraction(0)), min(high, Fraction(1)), 1 - delta)


def bonferroni_share(delta: Fraction, questions: int) -> Fraction:
    """The risk of each of many questions if the risk that any answer is wrong is to be delta (Bonferroni)."""
    if questions < 1:
        raise InvalidProblem(f"a family of {questions} questions")
    return delta / questions
