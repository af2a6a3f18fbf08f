"""Boxes of integers taken point by point: all points of many boxes at once, in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.cells.arrange import Arranged, held
from surefoot.solve.native.cells.grid import Table
from surefoot.solve.native.cells.ledger import Ledger
from surefoot.solve.native.cells.points import (
    CHUNK,
    EITHER,
    NO,
    UNCLEAR,
    YES,
    Codes,
    closer,
    evaluated,
    exactly,
    fractions,
    judged,
    judged_each,
)
from surefoot.solve.native.cells.questions import Mask, Numbers

POINTS = 1 << 16  # looked at together
_GROUP = 64  # points with the same demand that are worth a call of their own


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """A batch of boxes, each with the number of its question."""

    low: Array
    high: Array
    question: Numbers

    def __len__(self) -> int:
        return len(self.question)

    def pick(self, index: Mask | Numbers | slice) -> Boxes:
        return Boxes(self.low[index], self.high[index], self.question[index])

    def sizes(self) -> Array:
        """How many integer points each has; as float64, for there may be very many."""
        counts: Array = np.maximum(self.high - self.low + 1.0, 0.0).prod(axis=1)
        return counts


def joined(several: list[Boxes]) -> Boxes:
    if len(several) == 1:
        return several[0]
    return Boxes(
        np.concatenate([b.low for b in several]),
        np.concatenate([b.high for b in several]),
        np.concatenate([b.question for b in several]),
    )


def pieces(boxes: Boxes, most: int = POINTS) -> Iterator[Boxes]:
    """Cuts of a batch, each with about `most` points."""
    ends = np.cumsum(boxes.sizes())
    start, count = 0, len(boxes)
    while start < count:
        before = ends[start - 1] if start else 0.0
        end = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
        yield boxes.pick(slice(start, end))
        start = end


def every_point(boxes: Boxes) -> tuple[Array, Numbers]:
    """All integer points of all boxes, box by box, and the position of the box of each."""
    extents = np.maximum(boxes.high - boxes.low + 1.0, 0.0).astype(np.int64)
    sizes = extents.prod(axis=1)
    owner = np.repeat(np.arange(len(boxes)), sizes)
    rest = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    points = np.empty((len(owner), boxes.low.shape[1]))
    for axis in range(points.shape[1] - 1, -1, -1):
        extent = extents[:, axis]
        if (extent == 1).all():
            points[:, axis] = boxes.low[owner, axis]
            continue
        extent = extent[owner]
        rest, place = np.divmod(rest, extent)
        points[:, axis] = boxes.low[owner, axis] + place
    return points, owner


def enumerate_boxes(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table | None) -> None:
    """Settle the questions of these boxes as far as their points can."""
    for part in pieces(boxes.pick(ledger.unsettled(boxes.question))):
        if ledger.budget.spent():
            ledger.leave_open(part.question, "time ran out before all its points were looked at")
            continue
        part = part.pick(ledger.unsettled(part.question))
        points, owner = every_point(part)
        look(work, ledger, points, part.question[owner], table)


def look(
    work: Arranged, ledger: Ledger, points: Array, question: Numbers, table: Table | None = None
) -> None:
    """Note what some points say about their questions."""
    holds, fails = held(work.guards, question, points)
    kept = ~fails
    points, question, holds = points[kept], question[kept], holds[kept]
    if not len(points):
        return
    codes = _codes(work, points, question, table)
    note(work, ledger, points, question, codes, holds)


def note(work: Arranged, ledger: Ledger, points: Array, question: Numbers, codes: Codes, holds: Mask) -> None:
    """Enter points with their codes; `holds`: their guards surely hold, else that is looked at exactly."""
    codes = np.where(holds | (codes == NO), codes, UNCLEAR)
    sure = codes == YES
    ledger.satisfied(question[sure], points[sure])
    either = codes == EITHER
    ledger.possible(question[either], points[either])
    for i in np.flatnonzero(codes == UNCLEAR):
        if ledger.budget.spent():
            ledger.leave_open(question[i : i + 1], "time ran out before a tie was looked at exactly")
        elif ledger.unsettled(question[i : i + 1])[0]:
            code = _exact_code(work, ledger, int(question[i]), points[i])
            if code == YES:
                ledger.satisfied(question[i : i + 1], points[i : i + 1])
            elif code == EITHER:
                ledger.possible(question[i : i + 1], points[i : i + 1])


def _exact_code(work: Arranged, ledger: Ledger, question: int, point: Array) -> int:
    """Guards and demand of one question at one point, without any doubt left but that of rounding."""
    if not guarded(work, question, fractions(point)):
        return NO
    key = int(work.demand[question]), point.tobytes()
    if key not in ledger.looked_at:
        asked = work.questions
        ledger.looked_at[key] = exactly(asked.network, work.demands[key[0]], point, asked.float32)
    return ledger.looked_at[key]


def guarded(work: Arranged, question: int, point: Sequence[Fraction]) -> bool:
    """Whether a point satisfies the guards of a question, exactly."""
    rows, offsets, strict = (a[0].tolist() for a in work.guards.rows(np.array([question])))
    for row, offset, is_strict in zip(rows, offsets, strict, strict=True):
        if offset != np.inf:
            total = sum((Fraction(c) * x for c, x in zip(row, point, strict=True)), Fraction(0))
            if not (total < Fraction(offset) if is_strict else total <= Fraction(offset)):
                return False
    return True


def _codes(work: Arranged, points: Array, question: Numbers, table: Table | None) -> Codes:
    network, float32 = work.questions.network, work.questions.float32
    if table is not None:
        outputs, radius = table.at(table.numbers(points))
    else:
        unique, inverse = _distinct(points)
        outputs, radius = evaluated(network, points[unique], float32)
        outputs, radius = outputs[:, inverse], radius[:, inverse]
    demand = work.demand[question]
    codes = np.empty(len(points), dtype=np.uint8)
    groups = _alike(demand)
    if len(groups) * _GROUP > len(points):
        for start in range(0, len(points), CHUNK):
            part = slice(start, start + CHUNK)
            asked = work.stacked.pick(demand[part])
            codes[part] = judged_each(asked, points[part], outputs[:, part], radius[:, part])
    else:
        for group in groups:
            same = work.demands[demand[group[0]]]
            codes[group] = judged(same, points[group], outputs[:, group], radius[:, group])
    unclear = np.flatnonzero(codes == UNCLEAR)
    for some in _alike(demand[unclear]):
        group = unclear[some]
        codes[group] = closer(network, work.demands[demand[group[0]]], points[group], float32)
    return codes


def _alike(demand: Numbers) -> list[Numbers]:
    """Positions of equal demands."""
    order = np.argsort(demand, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(demand[order])) + 1) if len(demand) else []


def _distinct(points: Array) -> tuple[Numbers, Numbers]:
    """Positions of the different points, and for each point the position among these."""
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low + 1.0
    if (points != np.round(points)).any() or extents.prod() >= 2.0**52:
        every = np.arange(len(points))
        return every, every
    places = np.concatenate([np.cumprod(extents[:0:-1])[::-1], [1.0]])
    _, first, inverse = np.unique((points - low) @ places, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
