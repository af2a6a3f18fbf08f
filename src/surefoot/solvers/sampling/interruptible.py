"""An experiment may be broken off at any time: by a clock, by a person, by too many runs that were cut off.

A plan is proved for the run with which it stops. What is known before that is another matter, because the
time at which somebody breaks off may depend on what the runs were like. So a twentieth of the risk is laid by
for a confidence sequence: an interval for every number of runs, such that all of them at once contain the
probability, except with that risk. The plan has the rest of it. If the plan comes to its end its
interval counts, otherwise the confidence sequence does, and what the plan could still have said: by
the union bound the answer is wrong with probability delta at most, whoever breaks off for whatever reason.

The sequence is that of `binomial.mixture_limit` with a quarter of its weight at 0 and at 1: a mixture of
likelihoods against p is a martingale whatever is mixed (Ville 1939, Robbins 1970), and that one pays no
price for the number of runs where all of them agree.

Runs that were cut off are failures for the lower end and successes for the upper one. For a given p the ratio
is a sum of exponentials in the number of successes, so convex in it, and its mean is 1; hence where it has
reached 1 / risk at a number of successes above n p, it has for every larger number, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from surefoot.solvers.sampling.binomial import mixture_limit
from surefoot.solvers.sampling.plan import ConfidenceInterval, Stop, clip_interval

SPARE = Fraction(1, 20)  # of the risk


@dataclass(frozen=True, slots=True)
class Interruptible:
    """A plan with the rest of the risk, and an interval that is valid however it is broken off."""

    plan: Any  # a SamplingPlan, or a test with a progress of its own that knows its `counted` runs
    delta: Fraction  # of both together

    def consume(self, progress: Any, outcomes: ArrayLike) -> Any:
        return self.plan.consume(progress, outcomes)

    def ahead(self, progress: Any) -> int:
        found: int = self.plan.ahead(progress)
        return found

    def interval(self, progress: Any) -> ConfidenceInterval:
        known: ConfidenceInterval = self.plan.interval(progress)
        counted = progress.counted
        if progress.stop not in (None, Stop.TRUNCATION, Stop.LIMIT) or not counted.runs:
            return clip_interval(known.low, known.high, self.delta)
        risk = self.delta * SPARE
        low = mixture_limit(counted.successes, counted.runs, risk, ends=True)
        high = 1 - mixture_limit(counted.failures, counted.runs, risk, ends=True)
        both = max(low, known.low), min(high, known.high)
        # they contradict each other with probability delta at most
        return clip_interval(*(both if both[0] <= both[1] else (low, high)), self.delta)


def plan_share(delta: Fraction) -> Fraction:
    """What is left of a risk for the plan."""
    return delta * (1 - SPARE)
