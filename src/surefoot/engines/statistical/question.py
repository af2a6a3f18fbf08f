"""What is asked about the runs from one start, and how runs become an answer.

A question is a frozen value, and so is its state. It takes batches of runs in the order of their numbers and
says exactly how many of a batch it took: whatever comes after the run with which it stops is ignored. So the
answer depends neither on how runs were cut into batches nor on who made them.

`Share`: how likely is `left U right`, or its opposite, or on which side of a threshold is that. A run that
failed, stalled or ended has not reached `right`; a run that was cut off is undecided. `Mean`: what is the
expected reward, if it has known bounds.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.statistical.sobel_wald import SobelWaldProgress, SobelWaldTest
from surefoot.errors import SurefootError
from surefoot.simulate.path_property import ENDED, FAILED, STALLED, UNDECIDED, RunOutcomes
from surefoot.solvers.sampling import plan as codes
from surefoot.solvers.sampling.empirical_bernstein import Betting, RewardProgress
from surefoot.solvers.sampling.interruptible import Interruptible
from surefoot.solvers.sampling.plan import ConfidenceInterval, Progress

_REACHED = np.array([codes.FAILURE, codes.SUCCESS, codes.UNDECIDED, codes.FAILURE, codes.FAILURE], np.uint8)
_AVOIDED = np.array([codes.SUCCESS, codes.FAILURE, codes.UNDECIDED, codes.SUCCESS, codes.SUCCESS], np.uint8)


class Infinite(Exception):
    """A run ended without ever reaching the goal, so that what is expected until then is infinite."""


class RunQuestion(Protocol):
    """A state is what has been consumed: it has `runs`, and `stop` once no more are needed."""

    def begin(self) -> Any: ...

    def consume(self, state: Any, runs: RunOutcomes) -> Any: ...

    def ahead(self, state: Any) -> int:
        """So many runs more are needed in any case."""
        ...

    def interval(self, state: Any) -> ConfidenceInterval:
        """What is known; valid at any time."""
        ...


@dataclass(frozen=True, slots=True)
class ProbabilityQuestion:
    """A probability, by a plan of `solvers/sampling`, or its side of a threshold."""

    plan: Any  # a SamplingPlan with Progress, or one around a SobelWaldTest with SobelWaldProgress
    negated: bool = False

    def begin(self) -> Progress | SobelWaldProgress:
        inner = self.plan.plan if isinstance(self.plan, Interruptible) else self.plan
        return SobelWaldProgress() if isinstance(inner, SobelWaldTest) else Progress()

    def consume(self, state: Any, runs: RunOutcomes) -> Any:
        return self.plan.consume(state, run_outcomes(runs, self.negated))

    def ahead(self, state: Any) -> int:
        found: int = self.plan.ahead(state)
        return found

    def interval(self, state: Any) -> ConfidenceInterval:
        found: ConfidenceInterval = self.plan.interval(state)
        return found


@dataclass(frozen=True, slots=True)
class RewardQuestion:
    """An expected reward. `endless`: it is summed until a goal that every run must reach. `grows`: no step
    takes anything away, so that a run that was cut off has at least what it has gathered."""

    plan: Betting
    endless: bool
    grows: bool = False

    def begin(self) -> RewardProgress:
        return RewardProgress()

    def consume(self, state: RewardProgress, runs: RunOutcomes) -> RewardProgress:
        lows, highs = self._rewards(runs)
        lost = np.isin(runs.outcome, (FAILED, STALLED, ENDED))
        if self.endless and lost.any():
            until = int(np.argmax(lost))
            after = self.plan.consume(state, lows[:until], highs[:until])
            if after.stop is None:
                raise Infinite(f"run {state.runs + until} never comes there")
            return after
        return self.plan.consume(state, lows, highs)

    def _rewards(self, runs: RunOutcomes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which values the reward of each run is; a run that was cut off may still gain anything."""
        assert self.plan.within.low is not None
        assert self.plan.within.high is not None
        low, high = float(self.plan.within.low), float(self.plan.within.high)
        open_ended = runs.outcome == UNDECIDED
        at_least = runs.reward_low if self.grows else np.where(open_ended, low, runs.reward_low)
        at_most = np.where(open_ended, high, runs.reward_high)
        gathered = runs.reward_low if self.grows else runs.reward_low[~open_ended]
        if np.any(gathered > high) or np.any(runs.reward_high[~open_ended] < low):
            return runs.reward_low, runs.reward_high  # outside of a stated range: the plan refuses it
        return np.clip(at_least, low, high), np.clip(at_most, low, high)

    def ahead(self, state: RewardProgress) -> int:
        return 0 if state.stop else max(1, state.runs // 8)

    def interval(self, state: RewardProgress) -> ConfidenceInterval:
        return self.plan.interval(state)


def run_outcomes(runs: RunOutcomes, negated: bool) -> NDArray[np.uint8]:
    """Success, failure or undecided, of the path formula that was asked about."""
    table = _AVOIDED if negated else _REACHED
    return table[runs.outcome]


@dataclass(slots=True)
class StartCell:
    """One start, its question, what has been consumed, and what has arrived too early."""

    start: int | None  # None: each run draws its own
    question: RunQuestion
    state: Any
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(5, dtype=np.int64))
    waiting: list[tuple[int, RunOutcomes]] = field(default_factory=list)  # by their first runs, in order
    errors: dict[int, SurefootError] = field(default_factory=dict)  # by the run that cannot be made
    assigned: int = 0  # runs below this number have been made or given to somebody

    @property
    def open(self) -> bool:
        return self.state.stop is None

    @property
    def runs(self) -> int:
        found: int = self.state.runs
        return found

    def arrive(self, first: int, runs: RunOutcomes) -> None:
        """Take in a batch, and whatever was waiting for it."""
        self.keep(first, runs)
        self.advance()

    def keep(self, first: int, runs: RunOutcomes) -> None:
        """Batches may overlap: run number r is the same in all of them."""
        insort(self.waiting, (first, runs), key=itemgetter(0))

    def advance(self) -> None:
        while self.open and self.waiting and self.waiting[0][0] <= self.runs:
            first, runs = self.waiting.pop(0)
            before = self.runs
            if (new := runs.since(before - first)).outcome.size:
                self.state = self.question.consume(self.state, new)
                taken = new.outcome[: self.runs - before]
                self.counts = self.counts + np.bincount(taken, minlength=5)
        if self.open and (error := self.errors.get(self.runs)) is not None:
            raise error
        if not self.open:
            self.waiting.clear()

    def next_gap(self) -> tuple[int, int | None]:
        """The first run that nobody has made yet, and how many there are up to one that is known.

        What has been consumed counts as made, whether or not it was ever given to anybody: batches of a run
        directory are consumed as soon as those before them arrive.
        """
        self.assigned = max(self.assigned, self.runs)
        place = max(0, bisect_right(self.waiting, self.assigned, key=itemgetter(0)) - 1)
        for first, runs in islice(self.waiting, place, None):
            if first > self.assigned:
                return self.assigned, first - self.assigned
            self.assigned = max(self.assigned, first + len(runs.outcome))
        return self.assigned, None


def total_counts(cells: Sequence[StartCell]) -> NDArray[np.int64]:
    found = np.zeros(5, dtype=np.int64)
    for cell in cells:
        found = found + cell.counts
    return found


def named_counts(counts: NDArray[np.int64], negated: bool) -> dict[str, int]:
    """For the verdict, about the path formula as it was asked: `succeeded`, `failed` and `undecided` are all
    runs. `stalled` and `ended` say how many of the first two ended that way, without what was watched for.
    """
    failed, reached, undecided, stalled, ended = (int(n) for n in counts)
    missed = failed + stalled + ended
    return {
        "runs": int(counts.sum()),
        "succeeded": missed if negated else reached,
        "failed": reached if negated else missed,
        "undecided": undecided,
        "stalled": stalled,
        "ended": ended,
    }


def combine_intervals(intervals: Sequence[ConfidenceInterval], over: str) -> tuple[Fraction, Fraction]:
    """The least or the greatest of several values that are known to be in intervals."""
    pick = min if over == "min" else max
    return pick(i.low for i in intervals), pick(i.high for i in intervals)
