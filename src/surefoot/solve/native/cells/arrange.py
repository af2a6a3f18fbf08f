"""Questions put in order for batches: rows over outputs shared by many questions, rows over inputs apart.

A `Demand` is what several questions ask of the outputs, word for word; `Guards` are the rows over inputs
alone, whose offsets differ from question to question. Boxes of integers are rounded inward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.outward import TINY, Array, gamma
from surefoot.solve.native.cells.questions import Mask, Numbers, Questions, System

_EXACT = 2.0**52  # sums of integers up to this size are exact in float64


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
class Guards:
    """Rows over inputs: `coefficients` and `strict` per system, `offsets` per question."""

    coefficients: Array  # (systems, guards, inputs)
    strict: Mask  # (systems, guards)
    offsets: Array  # (questions, guards)
    system: Numbers

    def rows(self, question: Numbers) -> tuple[Array, Array, Mask]:
        system = self.system[question]
        return self.coefficients[system], self.offsets[question], self.strict[system]


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    questions: Questions
    low: Array
    high: Array
    demands: tuple[Demand, ...]
    demand: Numbers  # of each question
    guards: Guards


def arranged(questions: Questions) -> Arranged:
    low, high = questions.low + 0.0, questions.high + 0.0
    whole = questions.whole
    low[:, whole], high[:, whole] = np.ceil(low[:, whole]), np.floor(high[:, whole])
    demands: dict[bytes, tuple[int, Demand]] = {}
    demand = np.zeros(len(questions), dtype=np.int64)
    most = max((int((~_reads(questions, s)).sum()) for s in questions.systems), default=0)
    width, count = questions.network.width, len(questions.systems)
    coefficients, strict = np.zeros((count, most, width)), np.zeros((count, most), dtype=np.bool_)
    offsets = np.full((len(questions), most), np.inf)
    for number, system in enumerate(questions.systems):
        members = np.flatnonzero(questions.system == number)
        reads = _reads(questions, system)
        of_system = questions.offsets[members][:, : len(reads)]
        demand[members] = _demands(system, reads, of_system, width, demands)
        guards = system.coefficients[~reads, :width]
        coefficients[number, : len(guards)] = guards
        sharp, strict[number, : len(guards)] = _sharpened(
            guards, of_system[:, ~reads], system.strict[~reads], whole
        )
        offsets[members, : len(guards)] = sharp
    return Arranged(
        questions,
        low,
        high,
        tuple(d for _, d in demands.values()),
        demand,
        Guards(coefficients, strict, offsets, questions.system),
    )


def _reads(questions: Questions, system: System) -> Mask:
    reads: Mask = (system.coefficients[:, questions.network.width :] != 0).any(axis=1)
    return reads


def _demands(
    system: System, reads: Mask, offsets: Array, width: int, known: dict[bytes, tuple[int, Demand]]
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


def _sharpened(rows: Array, offsets: Array, strict: Mask, whole: Mask) -> tuple[Array, Mask]:
    """Rows with integer coefficients on integer inputs: the next integer below, and no longer strict."""
    integral = (rows == np.round(rows)).all(axis=1) & ((rows == 0) | whole).all(axis=1)
    small = (np.abs(offsets) < _EXACT) | np.isinf(offsets)
    integral &= small.all(axis=0) if len(offsets) else True
    lowered = np.where(strict, np.ceil(offsets) - 1.0, np.floor(offsets))
    return np.where(integral, lowered, offsets), strict & ~integral


def contracted(
    guards: Guards, whole: Mask, question: Numbers, low: Array, high: Array
) -> tuple[Array, Array, Mask, Mask]:
    """Boxes shrunk to where each guard can hold; which are left, and where all guards surely hold."""
    alive: Mask = np.asarray((low <= high).all(axis=1))
    if not guards.offsets.shape[1]:
        return low, high, alive, np.ones(len(low), dtype=np.bool_)
    rows, offsets, strict = guards.rows(question)
    at_low, at_high = rows * low[:, None], rows * high[:, None]
    least, most = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
    size = np.maximum(np.abs(at_low), np.abs(at_high)).sum(axis=2)
    error = gamma(2 * rows.shape[2] + 4) * (size + np.where(np.isinf(offsets), 0.0, np.abs(offsets))) + TINY
    bottom, top = least.sum(axis=2), most.sum(axis=2)
    alive &= np.where(strict, bottom - offsets < error, bottom - offsets <= error).all(axis=1)
    inside = np.where(strict, top - offsets < -error, top - offsets <= -error)
    integral = ~strict & (size < _EXACT) & _integral(rows, whole)
    inside |= integral & (top <= offsets)
    room = (offsets - bottom + error)[..., None] + least
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = room / rows
        slack = np.abs(limit) * 2.0**-50 + TINY
        above = np.where(rows > 0, limit + slack, np.inf).min(axis=1)
        below = np.where(rows < 0, limit - slack, -np.inf).max(axis=1)
    above, below = np.where(whole, np.floor(above), above), np.where(whole, np.ceil(below), below)
    low, high = np.maximum(low, below), np.minimum(high, above)
    alive &= (low <= high).all(axis=1)
    return low, high, alive, inside.all(axis=1)


def _integral(rows: Array, whole: Mask) -> Mask:
    """Rows that multiply integers with integers: their sums are exact."""
    exact: Mask = ((rows == np.round(rows)) & (whole | (rows == 0))).all(axis=2)
    return exact


def held(guards: Guards, whole: Mask, question: Numbers, points: Array) -> tuple[Mask, Mask]:
    """Which points surely satisfy the guards of their question, and which surely do not."""
    if not guards.offsets.shape[1]:
        every = np.ones(len(points), dtype=np.bool_)
        return every, ~every
    rows, offsets, strict = guards.rows(question)
    products = rows * points[:, None]
    total, size = products.sum(axis=2), np.abs(products).sum(axis=2)
    error = gamma(rows.shape[2] + 4) * (size + np.where(np.isinf(offsets), 0.0, np.abs(offsets))) + TINY
    gap = total - offsets
    exact = (size < _EXACT) & _integral(rows, whole)
    error = np.where(exact, 0.0, error)
    # Of exact sums the sign of the difference is right, as float64 subtraction never rounds to zero.
    holds = np.where(strict, gap < -error, gap <= -error)
    fails = np.where(strict, gap >= error, gap > error)
    return holds.all(axis=1), fails.any(axis=1)
