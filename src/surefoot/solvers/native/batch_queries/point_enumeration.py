"""Boxes of integers taken point by point: all points of many boxes at once, in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from surefoot.network.batches import join_batches
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.batch_queries.output_table import OutputTable
from surefoot.solvers.native.batch_queries.point_evaluation import (
    CHUNK,
    EITHER,
    NO,
    UNCLEAR,
    YES,
    Codes,
    evaluate_with_radius,
    fractions_from_array,
    judge_point_exactly,
    judge_points,
    judge_points_by_demand,
    judge_points_closely,
)
from surefoot.solvers.native.batch_queries.queries import Mask, Numbers
from surefoot.solvers.native.batch_queries.query_rows import ArrangedQueries, QueryBoxes, evaluate_guards
from surefoot.solvers.native.bounding.open_boxes import halve_boxes

POINTS = 1 << 16  # looked at together
_GROUP = 64  # points with the same demand that are worth a call of their own


def halve_query_boxes(boxes: QueryBoxes, axis: Numbers, whole: Mask) -> QueryBoxes:
    """The first halves of all boxes, then the second ones."""
    box, question = join_batches(halve_boxes(boxes, axis, whole)), np.tile(boxes.question, 2)
    return QueryBoxes(box.low, box.high, question)


def split_by_points(boxes: QueryBoxes) -> Iterator[QueryBoxes]:
    """Cuts of a batch, each with about `POINTS` points."""
    ends = np.cumsum(boxes.sizes())
    start, count = 0, len(boxes)
    while start < count:
        before = ends[start - 1] if start else 0.0
        end = max(int(np.searchsorted(ends, before + POINTS, side="right")), start + 1)
        yield boxes.pick(slice(start, end))
        start = end


def integer_box_points(boxes: QueryBoxes) -> tuple[Array, Numbers]:
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


def enumerate_boxes(work: ArrangedQueries, boxes: QueryBoxes, table: OutputTable | None = None) -> None:
    """Settle the questions of these boxes as far as their points can."""
    for part in split_by_points(boxes.pick(work.ledger.lacks_witness(boxes.question))):
        if work.ledger.budget.is_spent():
            work.ledger.leave_open(part.question, "time ran out before all its points were looked at")
            continue
        part = part.pick(work.ledger.lacks_witness(part.question))
        points, owner = integer_box_points(part)
        check_query_points(work, points, part.question[owner], table)


def check_query_points(
    work: ArrangedQueries,
    points: Array,
    question: Numbers,
    table: OutputTable | None = None,
) -> None:
    """Note what some points say about their questions."""
    holds, fails = evaluate_guards(work.guards, question, points)
    kept = ~fails
    points, question, holds = points[kept], question[kept], holds[kept]
    if not len(points):
        return
    codes = _point_codes(work, points, question, table)
    record_point_codes(work, points, question, codes, holds)


def record_point_codes(
    work: ArrangedQueries, points: Array, question: Numbers, codes: Codes, holds: Mask
) -> None:
    """Enter points with their codes; `holds`: their guards surely hold, else that is looked at exactly."""
    ledger = work.ledger
    codes = np.where(holds | (codes == NO), codes, UNCLEAR)
    sure = codes == YES
    ledger.record_witnesses(question[sure], points[sure])
    either = codes == EITHER
    ledger.record_possible(question[either], points[either])
    for i in np.flatnonzero(codes == UNCLEAR):
        if ledger.budget.is_spent():
            ledger.leave_open(question[i : i + 1], "time ran out before a tie was looked at exactly")
        elif ledger.lacks_witness(question[i : i + 1])[0]:
            code = _exact_code(work, int(question[i]), points[i])
            if code == YES:
                ledger.record_witnesses(question[i : i + 1], points[i : i + 1])
            elif code == EITHER:
                ledger.record_possible(question[i : i + 1], points[i : i + 1])


def _exact_code(work: ArrangedQueries, question: int, point: Array) -> int:
    """Guards and demand of one question at one point, without any doubt left but that of rounding."""
    if not satisfies_guards(work, question, fractions_from_array(point)):
        return NO
    key = int(work.demand[question]), point.tobytes()
    asked, looked_at = work.questions, work.ledger.looked_at
    if key not in looked_at:
        looked_at[key] = judge_point_exactly(asked.network, work.demands[key[0]], point, asked.float32)
    return looked_at[key]


def satisfies_guards(work: ArrangedQueries, question: int, point: Sequence[Fraction]) -> bool:
    """Whether a point satisfies the guards of a question, exactly."""
    rows, offsets, strict = (a[0].tolist() for a in work.guards.rows(np.array([question])))
    for row, offset, is_strict in zip(rows, offsets, strict, strict=True):
        if offset != np.inf:
            total = sum((Fraction(c) * x for c, x in zip(row, point, strict=True)), Fraction(0))
            if not (total < Fraction(offset) if is_strict else total <= Fraction(offset)):
                return False
    return True


def _point_codes(work: ArrangedQueries, points: Array, question: Numbers, table: OutputTable | None) -> Codes:
    network, float32 = work.questions.network, work.questions.float32
    if table is not None:
        outputs, radius = table.at(table.numbers(points))
    else:
        unique, inverse = _distinct_points(points)
        outputs, radius = evaluate_with_radius(network, points[unique], float32)
        outputs, radius = outputs[:, inverse], radius[:, inverse]
    demand = work.demand[question]
    codes = np.empty(len(points), dtype=np.uint8)
    groups = _group_equal_demands(demand)
    if len(groups) * _GROUP > len(points):
        for start in range(0, len(points), CHUNK):
            part = slice(start, start + CHUNK)
            asked = work.stacked.pick(demand[part])
            codes[part] = judge_points_by_demand(asked, points[part], outputs[:, part], radius[:, part])
    else:
        for group in groups:
            same = work.demands[demand[group[0]]]
            codes[group] = judge_points(same, points[group], outputs[:, group], radius[:, group])
    unclear = np.flatnonzero(codes == UNCLEAR)
    for some in _group_equal_demands(demand[unclear]):
        group = unclear[some]
        codes[group] = judge_points_closely(network, work.demands[demand[group[0]]], points[group], float32)
    return codes


def _group_equal_demands(demand: Numbers) -> list[Numbers]:
    """Positions of equal demands."""
    order = np.argsort(demand, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(demand[order])) + 1) if len(demand) else []


def _distinct_points(points: Array) -> tuple[Numbers, Numbers]:
    """Positions of the different points, and for each point the position among these."""
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low + 1.0
    if (points != np.round(points)).any() or extents.prod() >= 2.0**52:
        every = np.arange(len(points))
        return every, every
    places = np.concatenate([np.cumprod(extents[:0:-1])[::-1], [1.0]])
    _, first, inverse = np.unique((points - low) @ places, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
