"""Many small questions over one network: is there a point of box i that satisfies row system i?

All numbers are float64 and meant exactly; a system with fractions is multiplied up to whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.network.directed_rounding import Array
from surefoot.problem.network import Network
from surefoot.work.budget import Budget

Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]


LARGEST = 1e100  # of a number in a question: products stay in range
LARGEST_WHOLE = 2.0**52
ROUNDING = "rounding decides at this point: the reference evaluation does not satisfy the rows, another may"


class QueryOutcome(IntEnum):
    UNSAT = 0  # no point of the box satisfies all rows, in any order of summation
    SAT = 1  # the witness does: in exact arithmetic, or in the reference float32 evaluation
    POSSIBLE = (
        2  # at the witness rounding decides: some evaluation may satisfy the rows, the reference does not
    )
    OPEN = 3  # not decided; `reasons` says why


@dataclass(frozen=True, slots=True, eq=False)
class RowSystem:
    """Rows over [inputs, outputs], each at most (strict: less than) an offset that the question gives."""

    coefficients: Array  # (rows, inputs + outputs)
    strict: Mask  # (rows,)

    def and_also(self, coefficients: object, strict: object = False) -> RowSystem:
        """More rows below these; rows that are only as long as the inputs do not read the outputs."""
        more = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
        width = self.coefficients.shape[1]
        padded = np.zeros((len(more), width))
        padded[:, : more.shape[1]] = more
        strictness = np.broadcast_to(np.asarray(strict, dtype=np.bool_), (len(more),))
        return RowSystem(
            np.concatenate([self.coefficients, padded]), np.concatenate([self.strict, strictness])
        )


def argmax_row_system(network: Network, action: int, among: Sequence[int] | None = None) -> RowSystem:
    """Output `action` is the largest, the lowest index of equals: a row for each other one, offset 0."""
    others = [j for j in (range(network.outputs) if among is None else among) if j != action]
    rows = np.zeros((len(others), network.width + network.outputs))
    rows[np.arange(len(others)), network.width + np.array(others, dtype=np.int64)] = 1.0
    rows[:, network.width + action] = -1.0
    return RowSystem(rows, np.array([j < action for j in others], dtype=np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class BatchQueries:
    """Question i: box low[i] .. high[i], rows of systems[system[i]] against offsets[i].

    Shorter systems use the first offsets of their line. An offset of infinity takes its row out.
    """

    network: Network
    low: Array  # (questions, inputs)
    high: Array
    whole: Mask  # (inputs,): those that are integers; the others are real numbers
    systems: tuple[RowSystem, ...]
    system: Numbers  # (questions,)
    offsets: Array  # (questions, rows of the longest system)
    float32: bool = True  # outputs of float32 inference, inputs rounded first; False: real arithmetic

    def __len__(self) -> int:
        return len(self.low)

    def __post_init__(self) -> None:
        width, count = self.network.width, len(self.low)
        longest = max((len(s.coefficients) for s in self.systems), default=0)
        rows = width + self.network.outputs
        fits = (
            self.low.shape == self.high.shape == (count, width)
            and self.whole.shape == (width,)
            and self.system.shape == (count,)
            and self.offsets.ndim == 2
            and len(self.offsets) == count
            and self.offsets.shape[1] >= longest
            and all(s.coefficients.shape == (len(s.strict), rows) for s in self.systems)
        )
        if not fits:
            raise InvalidProblem("boxes, systems and offsets of the questions do not fit together")
        if count and not ((self.system >= 0) & (self.system < len(self.systems))).all():
            raise InvalidProblem("a question names a row system that does not exist")
        asked = self.offsets[self.offsets != np.inf]
        numbers = (self.low, self.high, asked, *(s.coefficients for s in self.systems))
        if not all((np.abs(n) <= LARGEST).all() for n in numbers):
            raise InvalidProblem(
                f"a bound, coefficient or offset of a question is not a number up to {LARGEST:g}"
            )
        if not all((np.abs(b[:, self.whole]) <= LARGEST_WHOLE).all() for b in (self.low, self.high)):
            raise InvalidProblem("an integer input of a question is too large for float64")


@dataclass(frozen=True, slots=True, eq=False)
class BatchAnswers:
    """One outcome per question; the same for any order of the questions unless time ran out."""

    outcomes: NDArray[np.int8]
    points: Array  # (questions, inputs): the witness of SAT and POSSIBLE, NaN elsewhere
    exact: Mapping[int, tuple[Fraction, ...]]  # witnesses that are not float64 numbers
    reasons: Mapping[int, str]  # of OPEN and POSSIBLE
    means: Mapping[str, int] = field(default_factory=dict)  # how many questions each means settled

    @property
    def possible(self) -> Mask:
        """What a sound over-approximation has to keep: everything but UNSAT."""
        kept: Mask = self.outcomes != QueryOutcome.UNSAT
        return kept

    def witness(self, question: int) -> tuple[Fraction, ...] | None:
        if question in self.exact:
            return self.exact[question]
        if self.outcomes[question] not in (QueryOutcome.SAT, QueryOutcome.POSSIBLE):
            return None
        return tuple(Fraction(x) for x in self.points[question].tolist())


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
