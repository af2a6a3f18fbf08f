"""What is known about each question while the answers are being found."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.batch_queries.queries import BatchAnswers, Mask, Numbers, QueryOutcome
from surefoot.work.budget import Budget

ROUNDING = "rounding decides at this point: the reference evaluation does not satisfy the rows, another may"


class OutcomeRecord:
    """Questions start as UNSAT; they end so unless a point is noted or something stays open."""

    def __init__(self, count: int, inputs: int, budget: Budget) -> None:
        self.budget = budget
        self.outcomes = np.full(count, QueryOutcome.UNSAT, dtype=np.int8)
        self.points = np.full((count, inputs), np.nan)
        self.exact: dict[int, tuple[Fraction, ...]] = {}
        self.reasons: dict[int, str] = {}
        self.looked_at: dict[tuple[int, bytes], int] = {}  # codes of a demand at a point, found exactly
        self.means: Counter[str] = Counter()

    def lacks_witness(self, question: Numbers) -> Mask:
        """Which of these have no witness yet."""
        without: Mask = self.outcomes[question] != QueryOutcome.SAT
        return without

    def record_witnesses(self, question: Numbers, points: Array) -> None:
        """Witnesses; of several for one question the first counts."""
        fresh = np.flatnonzero(self.lacks_witness(question))
        number, first = np.unique(question[fresh], return_index=True)
        self.outcomes[number] = QueryOutcome.SAT
        self.points[number] = points[fresh[first]]

    def record_possible(self, question: Numbers, points: Array) -> None:
        """Points where only rounding decides; the first of a question is kept."""
        fresh = np.flatnonzero(np.isin(self.outcomes[question], (QueryOutcome.UNSAT, QueryOutcome.OPEN)))
        number, first = np.unique(question[fresh], return_index=True)
        self.outcomes[number] = QueryOutcome.POSSIBLE
        self.points[number] = points[fresh[first]]

    def leave_open(self, question: Numbers, reason: str) -> None:
        for number in np.unique(question).tolist():
            if self.outcomes[number] == QueryOutcome.UNSAT:
                self.outcomes[number] = QueryOutcome.OPEN
                self.reasons[number] = reason

    def answers(self) -> BatchAnswers:
        reasons = {i: r for i, r in self.reasons.items() if self.outcomes[i] == QueryOutcome.OPEN}
        for i in np.flatnonzero(self.outcomes == QueryOutcome.POSSIBLE).tolist():
            reasons[i] = ROUNDING
        exact = {
            i: x
            for i, x in self.exact.items()
            if self.outcomes[i] in (QueryOutcome.SAT, QueryOutcome.POSSIBLE)
        }
        for array in (self.outcomes, self.points):
            array.setflags(write=False)
        return BatchAnswers(self.outcomes, self.points, exact, reasons, dict(self.means))
