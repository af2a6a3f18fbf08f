"""Boxes with real inputs or too many integers: sampled, bounded, shrunk and halved, many questions at once.

Depth first over batches of boxes. A box of few integers is taken point by point. A question that has used up
its boxes, or has one too narrow to halve, is left to the search for single queries.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.bounding.layout import Layout, layout
from surefoot.solve.native.cells.arrange import Arranged, contracted
from surefoot.solve.native.cells.grid import Table
from surefoot.solve.native.cells.leaves import Boxes, enumerate_boxes, joined, look
from surefoot.solve.native.cells.ledger import Ledger
from surefoot.solve.native.cells.planes import bound
from surefoot.solve.native.cells.questions import Mask, Numbers
from surefoot.work.budget import Budget

LEAF = 256  # integer points: fewer are looked at one by one
BATCH = 512  # boxes at a time
SAMPLES = 16  # random points of each box at the start, besides centre and ends


def search(
    work: Arranged, ledger: Ledger, members: Numbers, table: Table | None, budget: Budget, most: int
) -> Numbers:
    """Halve the boxes of these questions, about `most` of each at most; the questions that need more."""
    plan = layout(work.questions.network)
    start = Boxes(work.low[members], work.high[members], members)
    sample(work, ledger, start, table, budget.seed)
    stack = [start.pick(ledger.unsettled(members))]
    used = np.zeros(len(work.questions), dtype=np.int64)
    beyond = np.zeros(len(work.questions), dtype=np.bool_)
    while stack:
        if budget.spent():
            rest = joined(stack).question
            ledger.leave_open(rest[~beyond[rest]], "time ran out while its box was searched")
            break
        boxes = _popped(stack)
        boxes = boxes.pick(ledger.unsettled(boxes.question) & ~beyond[boxes.question])
        np.add.at(used, boxes.question, 1)
        beyond |= used > most
        boxes = _round(work, ledger, boxes, plan, table, beyond)
        if len(boxes):
            stack.append(boxes)
        budget.progress(f"{sum(map(len, stack))} boxes of {len(members)} questions are open")
    return np.flatnonzero(beyond & ledger.unsettled(np.arange(len(beyond))))


def _popped(stack: list[Boxes]) -> Boxes:
    taken: list[Boxes] = []
    room = BATCH
    while stack and room > 0:
        last = stack.pop()
        if len(last) > room:
            stack.append(last.pick(slice(0, len(last) - room)))
            last = last.pick(slice(len(last) - room, None))
        taken.append(last)
        room -= len(last)
    return joined(taken[::-1])


def _round(
    work: Arranged, ledger: Ledger, boxes: Boxes, plan: Layout, table: Table | None, beyond: Mask
) -> Boxes:
    """The halves of what is left of some boxes; `beyond` notes questions with a box too narrow to halve."""
    whole = work.questions.whole
    low, high, alive, _ = contracted(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes = Boxes(low, high, boxes.question).pick(alive)
    boxes = boxes.pick(_many(work, ledger, boxes, table))
    if not len(boxes):
        return boxes
    look(work, ledger, _snapped(whole, boxes, 0.5 * (boxes.low + boxes.high)), boxes.question, table)
    boxes = boxes.pick(ledger.unsettled(boxes.question))
    if not len(boxes):
        return boxes
    found = bound(work, plan, boxes)
    left = ~found.closed
    boxes, best = found.boxes.pick(left), found.best[left]
    look(work, ledger, _snapped(whole, boxes, best), boxes.question, table)
    open_ = ledger.unsettled(boxes.question)
    boxes, influence = boxes.pick(open_), found.influence[left][open_]
    many = _many(work, ledger, boxes, table)  # shrinking may have left few points
    return _cut(work, boxes.pick(many), influence[many], beyond)


def _many(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table | None) -> Mask:
    """Take boxes with few integer points one by one; which are left."""
    fixed = ((boxes.low == boxes.high) | work.questions.whole).all(axis=1)
    few: Mask = fixed & (boxes.sizes() <= LEAF)
    enumerate_boxes(work, ledger, boxes.pick(few), table)
    return ~few


def _snapped(whole: Mask, boxes: Boxes, points: Array) -> Array:
    """The points moved into their boxes and onto integers."""
    nearest: Array = np.clip(np.where(whole, np.round(points), points), boxes.low, boxes.high)
    return nearest


def _cut(work: Arranged, boxes: Boxes, influence: Array, beyond: Mask) -> Boxes:
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
    axis, rows = score.argmax(axis=1), np.arange(len(boxes))
    middle = 0.5 * (boxes.low[rows, axis] + boxes.high[rows, axis])
    is_whole = whole[axis]
    first, second = boxes.high.copy(), boxes.low.copy()
    first[rows, axis] = np.where(is_whole, np.floor(middle), middle)
    second[rows, axis] = np.where(is_whole, np.floor(middle) + 1.0, middle)
    return joined([Boxes(boxes.low, first, boxes.question), Boxes(second, boxes.high, boxes.question)])


def sample(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table | None, seed: int) -> None:
    """Centre, ends and a few random points of each box; the same places of every box."""
    whole = work.questions.whole
    low, high, alive, _ = contracted(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes = Boxes(low, high, boxes.question).pick(alive)
    inputs = work.low.shape[1]
    places = np.random.default_rng(seed).random((SAMPLES, inputs))
    corners = np.concatenate([np.full((1, inputs), 0.5), np.zeros((1, inputs)), np.ones((1, inputs))])
    for place in np.concatenate([corners, places]):
        boxes = boxes.pick(ledger.unsettled(boxes.question))
        if not len(boxes):
            return
        points = boxes.low + place * (boxes.high - boxes.low)
        look(work, ledger, _snapped(whole, boxes, points), boxes.question, table)
