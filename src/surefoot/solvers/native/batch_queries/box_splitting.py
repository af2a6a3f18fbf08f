"""Boxes with real inputs or too many integers: sampled, bounded, shrunk and halved, many questions at once.

Depth first over batches of boxes. A box of few integers is taken point by point. A question that has used up
its boxes, or has one too narrow to halve, is left to the search for single queries.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.batches import BatchStack
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.batch_queries.box_bounds import bound_query_boxes
from surefoot.solvers.native.batch_queries.output_table import OutputTable
from surefoot.solvers.native.batch_queries.point_enumeration import (
    QueryBoxes,
    check_query_points,
    enumerate_boxes,
    halve_query_boxes,
)
from surefoot.solvers.native.batch_queries.queries import Mask, Numbers, OutcomeRecord
from surefoot.solvers.native.batch_queries.query_rows import ArrangedQueries, contract_by_guards
from surefoot.solvers.native.bounding.network_bounds import BoundingPlan, build_bounding_plan
from surefoot.work.budget import Budget

LEAF = 256  # integer points: fewer are looked at one by one
BATCH = 512  # boxes at a time
SAMPLES = 16  # random points of each box at the start, besides centre and ends


def split_query_boxes(
    work: ArrangedQueries,
    ledger: OutcomeRecord,
    members: Numbers,
    table: OutputTable | None,
    budget: Budget,
    most: int,
) -> Numbers:
    """Halve the boxes of these questions, about `most` of each at most; the questions that need more."""
    plan = build_bounding_plan(work.questions.network)
    start = QueryBoxes(work.low[members], work.high[members], members)
    sample_query_boxes(work, ledger, start, table, budget.seed)
    stack = BatchStack(start.pick(ledger.lacks_witness(members)))
    used = np.zeros(len(work.questions), dtype=np.int64)
    beyond = np.zeros(len(work.questions), dtype=np.bool_)
    while stack:
        if budget.is_spent():
            rest = stack.pop(len(stack)).question
            ledger.leave_open(rest[~beyond[rest]], "time ran out while its box was searched")
            break
        boxes = stack.pop(BATCH)
        boxes = boxes.pick(ledger.lacks_witness(boxes.question) & ~beyond[boxes.question])
        np.add.at(used, boxes.question, 1)
        beyond |= used > most
        stack.push(_process_batch(work, ledger, boxes, plan, table, beyond))
        budget.progress(f"{len(stack)} boxes of {len(members)} questions are open")
    return np.flatnonzero(beyond & ledger.lacks_witness(np.arange(len(beyond))))


def _process_batch(
    work: ArrangedQueries,
    ledger: OutcomeRecord,
    boxes: QueryBoxes,
    plan: BoundingPlan,
    table: OutputTable | None,
    beyond: Mask,
) -> QueryBoxes:
    """The halves of what is left of some boxes; `beyond` notes questions with a box too narrow to halve."""
    whole = work.questions.whole
    low, high, alive, _ = contract_by_guards(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes = QueryBoxes(low, high, boxes.question).pick(alive)
    boxes = boxes.pick(_enumerate_small_boxes(work, ledger, boxes, table))
    if not len(boxes):
        return boxes
    check_query_points(
        work, ledger, _snap_points(whole, boxes, 0.5 * (boxes.low + boxes.high)), boxes.question, table
    )
    boxes = boxes.pick(ledger.lacks_witness(boxes.question))
    if not len(boxes):
        return boxes
    found = bound_query_boxes(work, plan, boxes)
    left = ~found.closed
    boxes, best = found.boxes.pick(left), found.best[left]
    check_query_points(work, ledger, _snap_points(whole, boxes, best), boxes.question, table)
    open_ = ledger.lacks_witness(boxes.question)
    boxes, influence = boxes.pick(open_), found.influence[left][open_]
    many = _enumerate_small_boxes(work, ledger, boxes, table)  # shrinking may have left few points
    return _halve_boxes(work, boxes.pick(many), influence[many], beyond)


def _enumerate_small_boxes(
    work: ArrangedQueries, ledger: OutcomeRecord, boxes: QueryBoxes, table: OutputTable | None
) -> Mask:
    """Take boxes with few integer points one by one; which are left."""
    fixed = ((boxes.low == boxes.high) | work.questions.whole).all(axis=1)
    few: Mask = fixed & (boxes.sizes() <= LEAF)
    enumerate_boxes(work, ledger, boxes.pick(few), table)
    return ~few


def _snap_points(whole: Mask, boxes: QueryBoxes, points: Array) -> Array:
    """The points moved into their boxes and onto integers."""
    nearest: Array = np.clip(np.where(whole, np.round(points), points), boxes.low, boxes.high)
    return nearest


def _halve_boxes(work: ArrangedQueries, boxes: QueryBoxes, influence: Array, beyond: Mask) -> QueryBoxes:
    """Halves across the input that moves the planes most."""
    whole, width = work.questions.whole, boxes.high - boxes.low
    size = np.maximum(np.abs(boxes.low), np.abs(boxes.high))
    able = width > np.where(whole, 0.0, 2.0**-40 * size + 2.0**-200)
    splits: Mask = np.asarray(able.any(axis=1))
    beyond[boxes.question[~splits]] = True  # real inputs so narrow that only exact methods help
    boxes, influence, able, width = boxes.pick(splits), influence[splits], able[splits], width[splits]
    first_width = (work.high - work.low)[boxes.question]
    share = influence / np.maximum(influence.max(axis=1, keepdims=True, initial=0.0), 1e-300)
    score = np.where(able, share + 0.2 * width / np.maximum(first_width, 1e-300), -1.0)
    return halve_query_boxes(boxes, score.argmax(axis=1), whole)


def sample_query_boxes(
    work: ArrangedQueries, ledger: OutcomeRecord, boxes: QueryBoxes, table: OutputTable | None, seed: int
) -> None:
    """Centre, ends and a few random points of each box; the same places of every box."""
    whole = work.questions.whole
    low, high, alive, _ = contract_by_guards(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes = QueryBoxes(low, high, boxes.question).pick(alive)
    inputs = work.low.shape[1]
    places = np.random.default_rng(seed).random((SAMPLES, inputs))
    corners = np.concatenate([np.full((1, inputs), 0.5), np.zeros((1, inputs)), np.ones((1, inputs))])
    for place in np.concatenate([corners, places]):
        boxes = boxes.pick(ledger.lacks_witness(boxes.question))
        if not len(boxes):
            return
        points = boxes.low + place * (boxes.high - boxes.low)
        check_query_points(work, ledger, _snap_points(whole, boxes, points), boxes.question, table)
