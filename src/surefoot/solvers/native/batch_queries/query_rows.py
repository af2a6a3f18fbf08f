"""Questions put in order for batches: rows over outputs shared by many questions, rows over inputs apart.

A `Demand` is what several questions ask of the outputs, word for word; `Guards` are the rows over inputs
alone, whose offsets differ from question to question. Boxes of integers are rounded inward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor
from surefoot.solvers.native.batch_queries.queries import (
    BatchQueries,
    Mask,
    Numbers,
    OutcomeRecord,
    RowSystem,
)
from surefoot.work.budget import Budget

_EXACT = 2.0**52  # sums of integers up to this size are exact in float64
_PLACES = 20  # binary places of coefficients that are multiplied up


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """inputs . x + outputs . y <= offsets (strict: <)."""

    inputs: Array  # (rows, inputs)
    outputs: Array  # (rows, outputs)
    offsets: Array
    strict: Mask

    def key(self) -> bytes:
        parts = (self.inputs, self.outputs, self.offsets, self.strict)
        return b"".join(a.tobytes() for a in parts)


@dataclass(frozen=True, slots=True, eq=False)
class StackedDemands(BatchRecord):
    """All demands in one array; shorter ones end with rows of zeros whose offset is infinity."""

    inputs: Array  # (demands, rows, inputs)
    outputs: Array  # (demands, rows, outputs)
    offsets: Array  # (demands, rows)


def _stack_demands(demands: Sequence[Demand], inputs: int, outputs: int) -> StackedDemands:
    most = max((len(d.offsets) for d in demands), default=0)
    found = StackedDemands(
        np.zeros((len(demands), most, inputs)),
        np.zeros((len(demands), most, outputs)),
        np.full((len(demands), most), np.inf),
    )
    for number, demand in enumerate(demands):
        rows = len(demand.offsets)
        found.inputs[number, :rows], found.outputs[number, :rows] = demand.inputs, demand.outputs
        found.offsets[number, :rows] = demand.offsets
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _InputGuard:
    """One row over inputs: its factors per input that it reads, its offsets per question."""

    factors: tuple[tuple[int, float | Array], ...]  # of an input; an array if systems differ
    offsets: Array  # (questions,)
    strict: bool | Mask  # likewise
    exact: bool  # integers times integers, all sums exact in float64, never strict


@dataclass(frozen=True, slots=True, eq=False)
class InputGuards:
    """Rows over inputs: `coefficients` and `strict` per system, `offsets` per question."""

    coefficients: Array  # (systems, guards, inputs)
    strict: Mask  # (systems, guards)
    offsets: Array  # (questions, guards)
    system: Numbers
    each: tuple[_InputGuard, ...]

    def rows(self, question: Numbers) -> tuple[Array, Array, Mask]:
        system = self.system[question]
        return self.coefficients[system], self.offsets[question], self.strict[system]


@dataclass(frozen=True, slots=True, eq=False)
class QueryBoxes(BoxArray):
    """A batch of boxes, each with the number of its question."""

    question: Numbers

    def __len__(self) -> int:
        return len(self.question)

    def sizes(self) -> Array:
        """How many integer points each has; as float64, for there may be very many."""
        counts: Array = np.maximum(self.high - self.low + 1.0, 0.0).prod(axis=1)
        return counts

    def integral(self, whole: Mask) -> Mask:
        """Which have integer points only: their real inputs, if any, are fixed."""
        fixed: Mask = ((self.low == self.high) | whole).all(axis=1)
        return fixed


@dataclass(frozen=True, slots=True, eq=False)
class ArrangedQueries:
    """Questions in the order of their demands and guards; `ledger`: what is known of each so far."""

    questions: BatchQueries
    low: Array
    high: Array
    demands: tuple[Demand, ...]
    demand: Numbers  # of each question
    stacked: StackedDemands
    guards: InputGuards
    ledger: OutcomeRecord

    def boxes(self, members: Numbers) -> QueryBoxes:
        """The boxes of these questions."""
        return QueryBoxes(self.low[members], self.high[members], members)


def arrange_queries(questions: BatchQueries, budget: Budget) -> ArrangedQueries:
    low, high = questions.low + 0.0, questions.high + 0.0
    whole = questions.whole
    low[:, whole], high[:, whole] = np.ceil(low[:, whole]), np.floor(high[:, whole])
    demands: dict[bytes, tuple[int, Demand]] = {}
    demand = np.zeros(len(questions), dtype=np.int64)
    most = max((int((~_rows_reading_outputs(questions, s)).sum()) for s in questions.systems), default=0)
    width, count = questions.network.width, len(questions.systems)
    coefficients, strict = np.zeros((count, most, width)), np.zeros((count, most), dtype=np.bool_)
    offsets = np.full((len(questions), most), np.inf)
    for number, system in enumerate(questions.systems):
        members = np.flatnonzero(questions.system == number)
        reads = _rows_reading_outputs(questions, system)
        of_system = questions.offsets[members][:, : len(reads)]
        demand[members] = _number_demands(system, reads, of_system, width, demands)
        guards, limits = _scale_to_integers(system.coefficients[~reads, :width], of_system[:, ~reads])
        coefficients[number, : len(guards)] = guards
        sharp, strict[number, : len(guards)] = _sharpen_offsets(guards, limits, system.strict[~reads], whole)
        offsets[members, : len(guards)] = sharp
    distinct = tuple(d for _, d in demands.values())
    return ArrangedQueries(
        questions,
        low,
        high,
        distinct,
        demand,
        _stack_demands(distinct, width, questions.network.outputs),
        _build_guards(
            coefficients, strict, offsets, questions.system, whole, np.maximum(np.abs(low), np.abs(high))
        ),
        OutcomeRecord(len(questions), width, budget),
    )


def _rows_reading_outputs(questions: BatchQueries, system: RowSystem) -> Mask:
    reads: Mask = (system.coefficients[:, questions.network.width :] != 0).any(axis=1)
    return reads


def _number_demands(
    system: RowSystem, reads: Mask, offsets: Array, width: int, known: dict[bytes, tuple[int, Demand]]
) -> Numbers:
    """The number of each question's demand; new ones are noted in `known`."""
    distinct, inverse = np.unique(offsets[:, reads], axis=0, return_inverse=True)
    numbers = []
    for line in distinct:
        asked = np.flatnonzero(reads)[np.isfinite(line)]
        rows = system.coefficients[asked]
        demand = Demand(
            np.ascontiguousarray(rows[:, :width]),
            np.ascontiguousarray(rows[:, width:]),
            line[np.isfinite(line)] + 0.0,
            system.strict[asked],
        )
        numbers.append(known.setdefault(demand.key(), (len(known), demand))[0])
    return np.array(numbers, dtype=np.int64)[inverse.reshape(-1)]


def _scale_to_integers(rows: Array, offsets: Array) -> tuple[Array, Array]:
    """Rows of small binary fractions multiplied up to integers, which costs nothing."""
    factors = np.ones(len(rows))
    for _ in range(_PLACES):
        factors = np.where(
            (rows * factors[:, None] == np.round(rows * factors[:, None])).all(axis=1), factors, 2 * factors
        )
    integral = (rows * factors[:, None] == np.round(rows * factors[:, None])).all(axis=1)
    factors = np.where(integral, factors, 1.0)
    return rows * factors[:, None], offsets * factors


def _sharpen_offsets(rows: Array, offsets: Array, strict: Mask, whole: Mask) -> tuple[Array, Mask]:
    """Rows with integer coefficients on integer inputs: the next integer below, and no longer strict."""
    integral = (rows == np.round(rows)).all(axis=1) & ((rows == 0) | whole).all(axis=1)
    small = (np.abs(offsets) < _EXACT) | np.isinf(offsets)
    integral &= small.all(axis=0) if len(offsets) else True
    lowered = np.where(strict, np.ceil(offsets) - 1.0, np.floor(offsets))
    return np.where(integral, lowered, offsets), strict & ~integral


def _build_guards(
    coefficients: Array, strict: Mask, offsets: Array, system: Numbers, whole: Mask, reach: Array
) -> InputGuards:
    largest = reach.max(axis=0, initial=0.0)
    each = []
    for number in range(offsets.shape[1]):
        rows, asked = coefficients[:, number], offsets[:, number]
        factors = tuple(
            (axis, float(column[0]) if (column == column[0]).all() else column)
            for axis, column in enumerate(rows.T)
            if column.any()
        )
        strictness = strict[:, number]
        integral = (rows == np.round(rows)).all() and ((rows == 0) | whole).all()
        small = (np.abs(rows) @ largest < _EXACT).all() and (np.abs(asked[asked != np.inf]) < _EXACT).all()
        exact = bool(integral and small and not strictness.any())
        one = bool(strictness[0]) if (strictness == strictness[0]).all() else strictness
        each.append(_InputGuard(factors, np.ascontiguousarray(asked), one, exact))
    return InputGuards(coefficients, strict, offsets, system, tuple(each))


def _value_of_system(value: float | bool | Array | Mask, system: Numbers) -> Any:
    """What a value per system is for each question."""
    return value[system] if isinstance(value, np.ndarray) else value


def contract_by_guards(work: ArrangedQueries, boxes: QueryBoxes) -> tuple[QueryBoxes, Mask]:
    """What is left of boxes where each guard can hold, and in which of those all guards surely hold.

    Bounds are outside of the exact ones by more than all roundings; of exact guards there are none.
    """
    guards, whole, question = work.guards, work.questions.whole, boxes.question
    low, high, alive = boxes.low, boxes.high, ~boxes.empty
    inside = np.ones(len(low), dtype=np.bool_)
    system = guards.system[question]
    columns, ends = [low[:, i] for i in range(low.shape[1])], [high[:, i] for i in range(low.shape[1])]
    for guard in guards.each:
        offset, strict = guard.offsets[question], _value_of_system(guard.strict, system)
        bottom, top, size = np.zeros(len(low)), np.zeros(len(low)), np.zeros(len(low))
        terms = []
        for axis, factor in guard.factors:
            by = _value_of_system(factor, system)
            first, second = by * columns[axis], by * ends[axis]
            least, most = np.minimum(first, second), np.maximum(first, second)
            terms.append((axis, by, least))
            bottom, top = bottom + least, top + most
            if not guard.exact:
                size += np.maximum(np.abs(least), np.abs(most))
        if guard.exact:
            alive &= bottom <= offset
            inside &= top <= offset
            room = offset - bottom
        else:
            error = (
                gamma_factor(2 * len(terms) + 6) * (size + np.where(np.isinf(offset), 0.0, np.abs(offset)))
                + TINY
            )
            gap = bottom - offset
            alive &= np.where(strict, gap < error, gap <= error)
            inside &= np.where(strict, top - offset < -error, top - offset <= -error)
            room = error - gap
        for axis, by, least in terms:
            columns[axis], ends[axis] = _limit_input(
                columns[axis], ends[axis], room + least, by, bool(whole[axis])
            )
    left = QueryBoxes(np.stack(columns, axis=1), np.stack(ends, axis=1), question)
    alive &= ~left.empty
    return left.pick(alive), inside[alive]


def _limit_input(low: Array, high: Array, room: Array, by: float | Array, whole: bool) -> tuple[Array, Array]:
    """The bounds of an input whose multiple is at most `room`; a little wider, or inward to integers."""
    if isinstance(by, float) and abs(by) == 1.0:
        limit = room * by
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = room / by
            limit = limit + np.where(by > 0, 1.0, -1.0) * np.where(
                np.isinf(limit), 0.0, np.abs(limit) * 2.0**-50 + TINY
            )
    if isinstance(by, float):
        if by > 0:
            return low, np.minimum(high, np.floor(limit) if whole else limit)
        return np.maximum(low, np.ceil(limit) if whole else limit), high
    lower, upper = np.where(by < 0, limit, -np.inf), np.where(by > 0, limit, np.inf)
    if whole:
        lower, upper = np.ceil(lower), np.floor(upper)
    return np.maximum(low, lower), np.minimum(high, upper)


def evaluate_guards(guards: InputGuards, question: Numbers, points: Array) -> tuple[Mask, Mask]:
    """Which points surely satisfy the guards of their question, and which surely do not."""
    holds, fails = np.ones(len(points), dtype=np.bool_), np.zeros(len(points), dtype=np.bool_)
    system = guards.system[question]
    for guard in guards.each:
        offset, total, size = guard.offsets[question], np.zeros(len(points)), np.zeros(len(points))
        for axis, factor in guard.factors:
            product = _value_of_system(factor, system) * points[:, axis]
            total = total + product
            if not guard.exact:
                size += np.abs(product)
        if guard.exact:
            holds &= total <= offset
            fails |= total > offset
            continue
        error = (
            gamma_factor(len(guard.factors) + 6) * (size + np.where(np.isinf(offset), 0.0, np.abs(offset)))
            + TINY
        )
        gap = total - offset
        holds &= gap < -error
        fails |= gap > error
    return holds, fails
