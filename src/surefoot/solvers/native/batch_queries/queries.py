"""Many small questions over one network: is there a point of box i that satisfies row system i?

All numbers are float64 and meant exactly; a system with fractions is multiplied up to whole numbers.
"""

from __future__ import annotations

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

Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]


LARGEST = 1e100  # of a number in a question: products stay in range
LARGEST_WHOLE = 2.0**52


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
