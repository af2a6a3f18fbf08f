"""Answers to many questions by the cheapest means that decides each, all with the same meaning.

1. A table of the network, where the integer boxes together span few enough points: see `counting`.
2. Point by point, where a box has few integers: see `leaves`.
3. Sampling, linear bounds and halving of all remaining boxes at once: see `search` and `planes`.
4. What is left point by point, if it has up to a million integers; else, one by one, by the search for
   single queries.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.query.query import Sat, Undecided
from surefoot.solve.native.cells.arrange import Arranged, arranged
from surefoot.solve.native.cells.counting import count
from surefoot.solve.native.cells.grid import AXES, Table, bytes_needed, tabulated
from surefoot.solve.native.cells.leaves import Boxes, enumerate_boxes, guarded
from surefoot.solve.native.cells.ledger import Ledger
from surefoot.solve.native.cells.points import EITHER, YES, at_fractions
from surefoot.solve.native.cells.questions import Answers, Mask, Numbers, Questions
from surefoot.solve.native.cells.search import LEAF, sample, search
from surefoot.solve.native.cells.single import decided
from surefoot.work.budget import Budget

ENUMERATED = 100_000  # points in all that are looked at without asking whether bounds are cheaper
EACH = 1_000_000  # points of one box that are looked at before a search of its own
TABLE = 10_000_000  # most points of a table
PER_POINT, PER_QUESTION = 4.0, 300.0  # points of a table worth one point looked at, one question searched
SHARE = 8.0  # a demand is tallied on the whole table if its boxes have 1 / SHARE of its points


def answer(
    questions: Questions,
    budget: Budget | None = None,
    *,
    table: Table | None = None,
    memory: int = 1 << 29,
    boxes: int = 2000,
    seconds_each: float = 5.0,
) -> Answers:
    """Decide every question.

    `table`: of the same network and arithmetic, from `tabulated`, to be used for boxes that it covers, best
    for many calls over integers; without one a table is made where it pays. `memory`: bytes for it.
    `boxes`: how many boxes of one question are bounded before it gets a search of its own, which lasts at
    most `seconds_each`.
    """
    budget = Budget() if budget is None else budget
    work = arranged(questions)
    ledger = Ledger(len(questions), questions.network.width, budget)
    rest = np.flatnonzero((work.low <= work.high).all(axis=1))
    if table is None:
        table = _own_table(work, rest, memory)
    elif table.network.digest() != questions.network.digest() or table.float32 != questions.float32:
        raise ValueError("the table is of another network or arithmetic")
    if table is not None:
        rest = _counted(work, ledger, rest, table, budget)
    rest = _enumerated(work, ledger, rest, budget, LEAF)
    if len(rest):
        budget.progress(f"{len(rest)} questions are searched")
        hard = search(work, ledger, rest, None, budget, boxes)
        ledger.means["bounds"] += len(rest) - len(hard)
        hard = _enumerated(work, ledger, hard, budget, EACH)
        _one_by_one(work, ledger, hard, budget, seconds_each)
    return ledger.answers()


def _integral(work: Arranged, members: Numbers) -> Mask:
    """Questions whose real inputs, if any, are fixed."""
    fixed: Mask = (work.questions.whole | (work.low[members] == work.high[members])).all(axis=1)
    return fixed


def _own_table(work: Arranged, members: Numbers, memory: int) -> Table | None:
    """A table of the hull of all integer boxes, if that is cheaper than to look at them one by one."""
    asked = work.questions
    if not len(members) or not asked.whole.all():
        return None
    boxes = Boxes(work.low[members], work.high[members], members)
    low, high = boxes.low.min(axis=0), boxes.high.max(axis=0)
    extents = high - low + 1.0
    size = float(extents.prod())
    worth = size <= 1000.0 + min(PER_POINT * boxes.sizes().sum(), PER_QUESTION * len(members))
    if size > TABLE or not worth or (extents > 1).sum() > AXES:
        return None
    if bytes_needed(asked.network, int(size)) > memory:
        return None
    return tabulated(asked.network, low, high, asked.float32, memory)


def _counted(work: Arranged, ledger: Ledger, members: Numbers, table: Table, budget: Budget) -> Numbers:
    """Answer from the table what it covers; the others."""
    covered = table.covers(work.low[members], work.high[members]) & work.questions.whole.all()
    inside, rest = members[covered], members[~covered]
    demand = work.demand[inside]
    points = np.bincount(
        demand, Boxes(work.low[inside], work.high[inside], inside).sizes(), len(work.demands)
    )
    worth = np.array([table.knows(d) for d in work.demands], dtype=np.bool_) | (SHARE * points >= table.size)
    counted, few = inside[worth[demand]], inside[~worth[demand]]
    budget.progress(f"{len(inside)} questions are answered from a table of {table.size} points")
    count(work, ledger, counted, table)
    rest_of_these = Boxes(work.low[few], work.high[few], few)
    if not budget.spent():
        sample(work, ledger, rest_of_these.pick(rest_of_these.sizes() > LEAF), table, budget.seed)
    enumerate_boxes(work, ledger, rest_of_these, table)
    ledger.means["table"] += len(inside)
    return rest


def _enumerated(work: Arranged, ledger: Ledger, members: Numbers, budget: Budget, each: int) -> Numbers:
    """Answer boxes of up to `each` integers, or all of them if they have few; the others."""
    able = _integral(work, members)
    boxes = Boxes(work.low[members], work.high[members], members)
    sizes = np.where(able, boxes.sizes(), np.inf)
    small = sizes <= (ENUMERATED if sizes[able].sum() <= ENUMERATED else each)
    if small.any():
        budget.progress(f"{int(small.sum())} questions are answered point by point")
    enumerate_boxes(work, ledger, boxes.pick(small), None)
    ledger.means["points"] += int(small.sum())
    return members[~small]


def _one_by_one(
    work: Arranged, ledger: Ledger, members: Numbers, budget: Budget, seconds_each: float
) -> None:
    asked = work.questions
    for done, question in enumerate(members.tolist()):
        number = np.array([question])
        if budget.spent():
            ledger.leave_open(members[done:], "time ran out before its own search")
            return
        budget.progress(f"{len(members) - done} questions are left to a search of their own")
        found = decided(asked, question, budget.seed, min(seconds_each, budget.remaining()))
        ledger.means["single"] += 1
        if isinstance(found, Undecided):
            ledger.leave_open(number, f"{found.why.value}: {found.detail}")
        elif isinstance(found, Sat):
            point = [Fraction(found.assignment[f"x{i}"]) for i in range(asked.network.width)]
            _confirm(work, ledger, question, point)


def _confirm(work: Arranged, ledger: Ledger, question: int, point: list[Fraction]) -> None:
    """Enter the point of a search after looking at it here: nothing is taken on trust."""
    asked, number = work.questions, np.array([question])
    within = guarded(work, question, point) and all(
        Fraction(low) <= x <= Fraction(high)
        for x, low, high in zip(point, work.low[question], work.high[question], strict=True)
    )
    code = at_fractions(asked.network, work.demands[work.demand[question]], point, asked.float32)
    near = np.array([[float(x) for x in point]])
    if not within or code not in (YES, EITHER):
        ledger.leave_open(number, "numerics: a solution that was found does not satisfy the rows exactly")
        return
    (ledger.satisfied if code == YES else ledger.possible)(number, near)
    if any(Fraction(float(x)) != x for x in point):
        ledger.exact[question] = tuple(point)
