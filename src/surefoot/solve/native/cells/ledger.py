"""What is known about each question while the answers are being found."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.cells.questions import Answers, Mask, Numbers, Outcome
from surefoot.work.budget import Budget

ROUNDING = "rounding decides at this point: the reference evaluation does not satisfy the rows, another may"


class Ledger:
    """Questions start as UNSAT; they end so unless a point is noted or something stays open."""

    def __init__(self, count: int, inputs: int, budget: Budget) -> None:
        self.budget = budget
        self.outcomes = np.full(count, Outcome.UNSAT, dtype=np.int8)
        self.points = np.full((count, inputs), np.nan)
        self.exact: dict[int, tuple[Fraction, ...]] = {}
        self.reasons: dict[int, str] = {}
        self.looked_at: dict[tuple[int, bytes], int] = {}  # codes of a demand at a point, found exactly
        self.means: Counter[str] = Counter()

    def unsettled(self, question: Numbers) -> Mask:
        """Which of these have no witness yet."""
        without: Mask = self.outcomes[question] != Outcome.SAT
        return without

    def satisfied(self, question: Numbers, points: Array) -> None:
        """Witnesses; of several for one question the first counts."""
        fresh = np.flatnonzero(self.unsettled(question))
        number, first = np.unique(question[fresh], return_index=True)
        self.outcomes[number] = Outcome.SAT
        self.points[number] = points[fresh[first]]

    def possible(self, question: Numbers, points: Array) -> None:
        """Points where only rounding decides; the first of a question is kept."""
        fresh = np.flatnonzero(np.isin(self.outcomes[question], (Outcome.UNSAT, Outcome.OPEN)))
        number, first = np.unique(question[fresh], return_index=True)
        self.outcomes[number] = Outcome.POSSIBLE
        self.points[number] = points[fresh[first]]

    def leave_open(self, question: Numbers, reason: str) -> None:
        for number in np.unique(question).tolist():
            if self.outcomes[number] == Outcome.UNSAT:
                self.outcomes[number] = Outcome.OPEN
                self.reasons[number] = reason

    def answers(self) -> Answers:
        reasons = {i: r for i, r in self.reasons.items() if self.outcomes[i] == Outcome.OPEN}
        for i in np.flatnonzero(self.outcomes == Outcome.POSSIBLE).tolist():
            reasons[i] = ROUNDING
        exact = {i: x for i, x in self.exact.items() if self.outcomes[i] in (Outcome.SAT, Outcome.POSSIBLE)}
        for array in (self.outcomes, self.points):
            array.setflags(write=False)
        return Answers(self.outcomes, self.points, exact, reasons, dict(self.means))
