"""On which side of a threshold is a probability? Two sequential tests at once (Sobel and Wald 1949).

Wald's test (`solvers/sampling/sequential_ratio_test.py`) tells apart p <= a and p >= b for a < b, and may say
anything in between. One test with a = t and b = t + width says "above" wrongly (p <= t) with a risk of
delta / 2 at most; a second one with a = t - width and b = t says "below" wrongly (p >= t) with a risk of
delta / 2 at most. So either answer is about the threshold t itself. Outside of the indifference
region t ± width one of them is given with probability 1 - delta; inside it may be that neither is, and
then it is known with the same confidence that p is in the region, and that is said.

Runs that were cut off count against both answers. Where they alone keep the two apart (the share of successes
is below t without them and above t with them, and they are more than 2 width of all runs) it ends, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.plan import (
    ConfidenceInterval,
    CountedBatch,
    Progress,
    Stop,
    count_batch,
    first_true,
)
from surefoot.solvers.sampling.sequential_ratio_test import SequentialRatioTest

_STRICT = Fraction(1, 2**20)  # of the width: the intervals of answers do not touch the threshold
_ENOUGH = 1000  # runs before cut-off ones are held against it


@dataclass(frozen=True, slots=True)
class SobelWaldProgress:
    """What the upper and the lower test have consumed; an answer of one ends the other as well."""

    upper: Progress = field(default_factory=Progress)
    lower: Progress = field(default_factory=Progress)
    cut_off: bool = False

    @property
    def runs(self) -> int:
        return max(self.upper.runs, self.lower.runs)

    @property
    def counted(self) -> Progress:
        """Of the test that has gone on longer."""
        return max(self.upper, self.lower, key=lambda part: part.runs)

    @property
    def stop(self) -> Stop | None:
        if self.upper.low is not None or self.lower.high is not None:
            return Stop.DECIDED
        if self.cut_off:
            return Stop.TRUNCATION
        if self.upper.stop is None or self.lower.stop is None:
            return None
        return Stop.LIMIT if Stop.LIMIT in (self.upper.stop, self.lower.stop) else Stop.PRECISE


@dataclass(frozen=True, slots=True)
class SobelWaldTest:
    threshold: Fraction
    width: Fraction  # of the indifference region, on each side
    delta: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.threshold - self.width < self.threshold < self.threshold + self.width < 1:
            raise InvalidProblem(f"{self.threshold} ± {self.width} is not within 0 and 1")

    def tests(self) -> tuple[SequentialRatioTest, SequentialRatioTest]:
        inner = self.width * _STRICT
        middle, half, risk = (self.width + inner) / 2, (self.width - inner) / 2, self.delta / 2
        return SequentialRatioTest(self.threshold + middle, half, risk), SequentialRatioTest(
            self.threshold - middle, half, risk
        )

    def consume(self, progress: SobelWaldProgress, outcomes: ArrayLike) -> SobelWaldProgress:
        if progress.stop:
            return progress
        values = np.asarray(outcomes)
        active = progress.upper if progress.upper.stop is None else progress.lower
        cut_off = first_true(self._kept_apart(count_batch(active, values)))
        after = self._consume_both(progress, values[: cut_off + 1])
        answered = after.upper if after.upper.low is not None else after.lower
        if after.stop is Stop.DECIDED and answered.runs < after.runs:  # the other test has gone on beyond it
            after = self._consume_both(progress, values[: answered.runs - progress.runs])
        return after if after.stop or cut_off == len(values) else replace(after, cut_off=True)

    def _consume_both(self, progress: SobelWaldProgress, values: NDArray[np.uint8]) -> SobelWaldProgress:
        upper, lower = self.tests()
        return SobelWaldProgress(upper.consume(progress.upper, values), lower.consume(progress.lower, values))

    def _kept_apart(self, counted: CountedBatch) -> NDArray[np.bool_]:
        limit = float(self.threshold) * counted.runs
        many = counted.undecided > 2 * float(self.width) * counted.runs
        apart = (counted.successes < limit) & (counted.possible > limit)
        return np.asarray(many & apart & (counted.runs >= _ENOUGH))

    def interval(self, progress: SobelWaldProgress) -> ConfidenceInterval:
        """Everything that either test has said."""
        parts = (progress.upper, progress.lower)
        low = max((p.low for p in parts if p.low is not None), default=Fraction(0))
        high = min((p.high for p in parts if p.high is not None), default=Fraction(1))
        return ConfidenceInterval(low, high, 1 - self.delta)

    def ahead(self, progress: SobelWaldProgress) -> int:
        if progress.stop:
            return 0
        pairs = zip(self.tests(), (progress.upper, progress.lower), strict=True)
        return max(1, min(test.ahead(part) for test, part in pairs if part.stop is None))
