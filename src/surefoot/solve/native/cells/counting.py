"""Questions over a tabulated grid: boxes are counted, halved where guards cut through them, never searched.

A box without YES or doubtful points is done, and so is one with a YES point in which all guards hold. The
others shrink to what their guards leave and are halved; small ones are taken point by point.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.cells.arrange import Arranged, contracted, held
from surefoot.solve.native.cells.grid import Table, Tally, tallied
from surefoot.solve.native.cells.leaves import Boxes, every_point, joined, note, pieces
from surefoot.solve.native.cells.ledger import Ledger
from surefoot.solve.native.cells.points import NO
from surefoot.solve.native.cells.questions import Numbers
from surefoot.work.budget import Budget

LEAF = 32  # points: fewer are looked at one by one
BATCH = 1 << 13  # questions at a time


def count(work: Arranged, ledger: Ledger, members: Numbers, table: Table, budget: Budget) -> None:
    """Answer all these questions, which share one demand, from the table."""
    tally = tallied(table, work.demands[work.demand[members[0]]])
    for start in range(0, len(members), BATCH):
        some = members[start : start + BATCH]
        if budget.spent():
            ledger.leave_open(some, "time ran out before its box was counted")
            continue
        boxes = Boxes(work.low[some], work.high[some], some)
        found: list[Boxes] = []
        while len(boxes):
            boxes = _round(work, ledger, boxes, table, tally, found)
            if budget.spent():
                ledger.leave_open(boxes.question, "time ran out while its box was counted")
                break
        if found:
            _descend(ledger, joined(found), table, tally)


def _round(
    work: Arranged, ledger: Ledger, boxes: Boxes, table: Table, tally: Tally, found: list[Boxes]
) -> Boxes:
    """Settle what can be settled; the halves of the rest. `found` collects boxes whose YES points count."""
    boxes = boxes.pick(ledger.unsettled(boxes.question))
    whole = work.questions.whole
    low, high, alive, inside = contracted(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes, inside = Boxes(low, high, boxes.question).pick(alive), inside[alive]
    yes, doubtful = tally.counts(_places(table, boxes.low), _places(table, boxes.high))
    done = inside & (yes > 0)
    if done.any():
        _, first = np.unique(boxes.question[done], return_index=True)
        witnesses = boxes.pick(done).pick(first)
        found.append(witnesses)
        ledger.satisfied(witnesses.question, witnesses.low)  # the point itself comes from `_descend`
    open_ = ((yes > 0) | (doubtful > 0)) & ledger.unsettled(boxes.question)
    boxes = boxes.pick(open_)
    small = boxes.sizes() <= LEAF
    _leaves(work, ledger, boxes.pick(small), table, tally)
    return halved(boxes.pick(~small))


def _places(table: Table, corner: Array) -> Numbers:
    return (corner - table.low).astype(np.int64)


def halved(boxes: Boxes) -> Boxes:
    """Both halves of boxes of integers, across the longest axis."""
    rows = np.arange(len(boxes))
    axis = (boxes.high - boxes.low).argmax(axis=1)
    middle = np.floor(0.5 * (boxes.low[rows, axis] + boxes.high[rows, axis]))
    first, second = boxes.high.copy(), boxes.low.copy()
    first[rows, axis], second[rows, axis] = middle, middle + 1.0
    return joined([Boxes(boxes.low, first, boxes.question), Boxes(second, boxes.high, boxes.question)])


def _leaves(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table, tally: Tally) -> None:
    for part in pieces(boxes):
        points, owner = every_point(part)
        codes = tally.codes[table.numbers(points)]
        kept = codes != NO
        points, question, codes = points[kept], part.question[owner[kept]], codes[kept]
        holds, fails = held(work.guards, work.questions.whole, question, points)
        note(work, ledger, points[~fails], question[~fails], codes[~fails], holds[~fails])


def _descend(ledger: Ledger, boxes: Boxes, table: Table, tally: Tally) -> None:
    """A YES point of each box: go to the first half as long as that has one."""
    while True:
        wide = np.flatnonzero(boxes.sizes() > 1)
        if not len(wide):
            break
        halves = halved(boxes.pick(wide))
        first, second = halves.pick(slice(0, len(wide))), halves.pick(slice(len(wide), None))
        yes, _ = tally.counts(_places(table, first.low), _places(table, first.high))
        here = (yes > 0)[:, None]
        boxes.low[wide] = np.where(here, first.low, second.low)
        boxes.high[wide] = np.where(here, first.high, second.high)
    ledger.points[boxes.question] = boxes.low
