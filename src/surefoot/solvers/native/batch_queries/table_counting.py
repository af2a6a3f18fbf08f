"""Questions over a tabulated grid: boxes are counted, halved where guards cut through them, never searched.

A box without YES or doubtful points is done, and so is one with a YES point in which all guards hold. The
others shrink to what their guards leave and are halved; small ones are taken point by point.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.batches import join_batches
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.batch_queries.output_table import OutputTable, most_slots, tally_demands
from surefoot.solvers.native.batch_queries.point_enumeration import (
    halve_query_boxes,
    integer_box_points,
    record_point_codes,
    split_by_points,
)
from surefoot.solvers.native.batch_queries.point_evaluation import NO
from surefoot.solvers.native.batch_queries.queries import Numbers
from surefoot.solvers.native.batch_queries.query_rows import (
    ArrangedQueries,
    QueryBoxes,
    contract_by_guards,
    evaluate_guards,
)

LEAF = 32  # points: fewer are looked at one by one
BATCH = 1 << 13  # questions at a time


def answer_by_counting(work: ArrangedQueries, members: Numbers, table: OutputTable) -> None:
    """Answer all these questions from the table, as many demands at a time as may be remembered."""
    demand = work.demand[members]
    distinct = np.unique(demand)
    slots = np.zeros(len(work.demands), dtype=np.int64)
    most = most_slots(table)
    for first in range(0, len(distinct), most):
        some = distinct[first : first + most]
        if not work.ledger.budget.is_spent():
            slots[some] = tally_demands(table, [work.demands[d] for d in some.tolist()])
        of_these = members[np.isin(demand, some)]
        for start in range(0, len(of_these), BATCH):
            _count_batch(work, of_these[start : start + BATCH], table, slots)


def _count_batch(work: ArrangedQueries, members: Numbers, table: OutputTable, slots: Numbers) -> None:
    boxes = work.boxes(members)
    found: list[QueryBoxes] = []
    while len(boxes):
        if work.ledger.budget.is_spent():
            work.ledger.leave_open(boxes.question, "time ran out before its box was counted")
            break
        boxes = _count_round(work, boxes, table, slots, found)
    if found:
        _descend_to_witness(work, join_batches(found), table, slots)


def _count_round(
    work: ArrangedQueries,
    boxes: QueryBoxes,
    table: OutputTable,
    slots: Numbers,
    found: list[QueryBoxes],
) -> QueryBoxes:
    """Settle what can be settled; the halves of the rest. `found` collects boxes whose YES points count."""
    boxes = boxes.pick(work.ledger.lacks_witness(boxes.question))
    boxes, inside = contract_by_guards(work, boxes)
    yes, doubtful = _table_counts(work, boxes, table, slots)
    done = inside & (yes > 0)
    if done.any():
        _, first = np.unique(boxes.question[done], return_index=True)
        witnesses = boxes.pick(done).pick(first)
        found.append(witnesses)
        # The points themselves come from `_descend_to_witness`.
        work.ledger.record_witnesses(witnesses.question, witnesses.low)
    open_ = ((yes > 0) | (doubtful > 0)) & work.ledger.lacks_witness(boxes.question)
    boxes = boxes.pick(open_)
    small = boxes.sizes() <= LEAF
    _check_small_boxes(work, boxes.pick(small), table, slots)
    return _halve_integer_boxes(boxes.pick(~small))


def _table_counts(
    work: ArrangedQueries, boxes: QueryBoxes, table: OutputTable, slots: Numbers
) -> tuple[Numbers, Numbers]:
    slot = slots[work.demand[boxes.question]]
    return table.tallies.counts(slot, _table_places(table, boxes.low), _table_places(table, boxes.high))


def _table_places(table: OutputTable, corner: Array) -> Numbers:
    return (corner - table.low).astype(np.int64)


def _halve_integer_boxes(boxes: QueryBoxes) -> QueryBoxes:
    """Both halves of boxes of integers, across the longest axis."""
    inputs = boxes.low.shape[1]
    return halve_query_boxes(boxes, (boxes.high - boxes.low).argmax(axis=1), np.ones(inputs, dtype=np.bool_))


def _check_small_boxes(work: ArrangedQueries, boxes: QueryBoxes, table: OutputTable, slots: Numbers) -> None:
    for part in split_by_points(boxes):
        points, owner = integer_box_points(part)
        question = part.question[owner]
        codes = table.tallies.codes[slots[work.demand[question]], table.numbers(points)]
        kept = codes != NO
        points, question, codes = points[kept], question[kept], codes[kept]
        holds, fails = evaluate_guards(work.guards, question, points)
        record_point_codes(work, points[~fails], question[~fails], codes[~fails], holds[~fails])


def _descend_to_witness(work: ArrangedQueries, boxes: QueryBoxes, table: OutputTable, slots: Numbers) -> None:
    """A YES point of each box: go to the first half as long as that has one."""
    while True:
        wide = np.flatnonzero(boxes.sizes() > 1)
        if not len(wide):
            break
        halves = _halve_integer_boxes(boxes.pick(wide))
        first, second = halves.pick(slice(0, len(wide))), halves.pick(slice(len(wide), None))
        yes, _ = _table_counts(work, first, table, slots)
        here = (yes > 0)[:, None]
        boxes.low[wide] = np.where(here, first.low, second.low)
        boxes.high[wide] = np.where(here, first.high, second.high)
    work.ledger.points[boxes.question] = boxes.low
