"""Questions over a tabulated grid: boxes are counted, halved where guards cut through them, never searched.

A box without YES or doubtful points is done, and so is one with a YES point in which all guards hold. The
others shrink to what their guards leave and are halved; small ones are taken point by point.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.cells.arrange import Arranged, contracted, held
from surefoot.solve.native.cells.grid import Table, most_slots, tallied
from surefoot.solve.native.cells.leaves import Boxes, every_point, joined, note, pieces
from surefoot.solve.native.cells.ledger import Ledger
from surefoot.solve.native.cells.points import NO
from surefoot.solve.native.cells.questions import Numbers

LEAF = 32  # points: fewer are looked at one by one
BATCH = 1 << 13  # questions at a time


def count(work: Arranged, ledger: Ledger, members: Numbers, table: Table) -> None:
    """Answer all these questions from the table, as many demands at a time as may be remembered."""
    demand = work.demand[members]
    distinct = np.unique(demand)
    slots = np.zeros(len(work.demands), dtype=np.int64)
    most = most_slots(table)
    for first in range(0, len(distinct), most):
        some = distinct[first : first + most]
        if not ledger.budget.spent():
            slots[some] = tallied(table, [work.demands[d] for d in some.tolist()])
        of_these = members[np.isin(demand, some)]
        for start in range(0, len(of_these), BATCH):
            _count(work, ledger, of_these[start : start + BATCH], table, slots)


def _count(work: Arranged, ledger: Ledger, members: Numbers, table: Table, slots: Numbers) -> None:
    boxes = Boxes(work.low[members], work.high[members], members)
    found: list[Boxes] = []
    while len(boxes):
        if ledger.budget.spent():
            ledger.leave_open(boxes.question, "time ran out before its box was counted")
            break
        boxes = _round(work, ledger, boxes, table, slots, found)
    if found:
        _descend(work, ledger, joined(found), table, slots)


def _round(
    work: Arranged, ledger: Ledger, boxes: Boxes, table: Table, slots: Numbers, found: list[Boxes]
) -> Boxes:
    """Settle what can be settled; the halves of the rest. `found` collects boxes whose YES points count."""
    boxes = boxes.pick(ledger.unsettled(boxes.question))
    whole = work.questions.whole
    low, high, alive, inside = contracted(work.guards, whole, boxes.question, boxes.low, boxes.high)
    boxes, inside = Boxes(low, high, boxes.question).pick(alive), inside[alive]
    yes, doubtful = _counts(work, boxes, table, slots)
    done = inside & (yes > 0)
    if done.any():
        _, first = np.unique(boxes.question[done], return_index=True)
        witnesses = boxes.pick(done).pick(first)
        found.append(witnesses)
        ledger.satisfied(witnesses.question, witnesses.low)  # the point itself comes from `_descend`
    open_ = ((yes > 0) | (doubtful > 0)) & ledger.unsettled(boxes.question)
    boxes = boxes.pick(open_)
    small = boxes.sizes() <= LEAF
    _leaves(work, ledger, boxes.pick(small), table, slots)
    return halved(boxes.pick(~small))


def _counts(work: Arranged, boxes: Boxes, table: Table, slots: Numbers) -> tuple[Numbers, Numbers]:
    slot = slots[work.demand[boxes.question]]
    return table.tallies.counts(slot, _places(table, boxes.low), _places(table, boxes.high))


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


def _leaves(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table, slots: Numbers) -> None:
    for part in pieces(boxes):
        points, owner = every_point(part)
        question = part.question[owner]
        codes = table.tallies.codes[slots[work.demand[question]], table.numbers(points)]
        kept = codes != NO
        points, question, codes = points[kept], question[kept], codes[kept]
        holds, fails = held(work.guards, question, points)
        note(work, ledger, points[~fails], question[~fails], codes[~fails], holds[~fails])


def _descend(work: Arranged, ledger: Ledger, boxes: Boxes, table: Table, slots: Numbers) -> None:
    """A YES point of each box: go to the first half as long as that has one."""
    while True:
        wide = np.flatnonzero(boxes.sizes() > 1)
        if not len(wide):
            break
        halves = halved(boxes.pick(wide))
        first, second = halves.pick(slice(0, len(wide))), halves.pick(slice(len(wide), None))
        yes, _ = _counts(work, first, table, slots)
        here = (yes > 0)[:, None]
        boxes.low[wide] = np.where(here, first.low, second.low)
        boxes.high[wide] = np.where(here, first.high, second.high)
    ledger.points[boxes.question] = boxes.low
