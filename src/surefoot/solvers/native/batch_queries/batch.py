"""Answers to many questions by the cheapest means that decides each, all with the same meaning.

1. A table of the network, where the integer boxes together span few enough points: see `table_counting`.
2. Point by point, where a box has few integers: see `point_enumeration`.
3. Sampling, linear bounds and halving of all remaining boxes at once: see `box_splitting`.
4. What is left point by point, if it has up to a million integers; else, one by one, by the search for
   single queries.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import isfinite
from time import monotonic

import numpy as np

from surefoot.network.float32_error import error_bounds
from surefoot.query.query import Answer, NetworkCall, Query, QueryVariable, Sat, Undecided, UndecidedReason
from surefoot.solvers.native.batch_queries.box_splitting import LEAF, sample_query_boxes, split_query_boxes
from surefoot.solvers.native.batch_queries.output_table import (
    AXES,
    OutputTable,
    bytes_needed,
    tabulate_network,
)
from surefoot.solvers.native.batch_queries.point_enumeration import (
    enumerate_boxes,
    satisfies_guards,
)
from surefoot.solvers.native.batch_queries.point_evaluation import EITHER, YES, judge_rational_point
from surefoot.solvers.native.batch_queries.queries import (
    BatchAnswers,
    BatchQueries,
    Numbers,
)
from surefoot.solvers.native.batch_queries.query_rows import ArrangedQueries, arrange_queries
from surefoot.solvers.native.batch_queries.table_counting import answer_by_counting
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.linear import LinearForm, term_from_linear
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Int, Real
from surefoot.work.budget import Budget
from surefoot.work.task_pool import TaskPool

ENUMERATED = 100_000  # points in all that are looked at without asking whether bounds are cheaper
EACH = 1_000_000  # points of one box that are looked at before a search of its own
TABLE = 10_000_000  # most points of a table
PER_POINT, PER_QUESTION = 4.0, 300.0  # points of a table worth one point looked at, one question searched
_LONGEST = 1e8  # seconds
SHARE = 8.0  # a demand is tallied on the whole table if its boxes have 1 / SHARE of its points


def answer_batch_queries(
    questions: BatchQueries,
    budget: Budget | None = None,
    *,
    table: OutputTable | None = None,
    memory: int = 1 << 29,
    boxes: int = 2000,
    seconds_each: float = 5.0,
) -> BatchAnswers:
    """Decide every question.

    `table`: of the same network and arithmetic, from `tabulate_network`, to be used for boxes that it covers,
    best for many calls over integers; without one a table is made where it pays. `memory`: bytes for it.
    `boxes`: how many boxes of one question are bounded before it gets a search of its own, which lasts at
    most `seconds_each`.
    """
    budget = Budget() if budget is None else budget
    work = arrange_queries(questions, budget)
    rest = np.flatnonzero((work.low <= work.high).all(axis=1))
    if table is None:
        table = _tabulate_if_cheaper(work, rest, memory)
    elif table.network.digest() != questions.network.digest() or table.float32 != questions.float32:
        raise ValueError("the table is of another network or arithmetic")
    if table is not None:
        rest = _answer_from_table(work, rest, table)
    rest = _answer_by_points(work, rest, LEAF)
    if len(rest):
        budget.progress(f"{len(rest)} questions are searched")
        hard = split_query_boxes(work, rest, boxes)
        work.ledger.means["bounds"] += len(rest) - len(hard)
        hard = _answer_by_points(work, hard, EACH)
        _search_one_by_one(work, hard, seconds_each)
    return work.ledger.answers()


def _tabulate_if_cheaper(work: ArrangedQueries, members: Numbers, memory: int) -> OutputTable | None:
    """A table of the hull of all integer boxes, if that is cheaper than to look at them one by one."""
    asked = work.questions
    if not len(members) or not asked.whole.all():
        return None
    boxes = work.boxes(members)
    low, high = boxes.low.min(axis=0), boxes.high.max(axis=0)
    extents = high - low + 1.0
    size = float(extents.prod())
    worth = size <= 1000.0 + min(PER_POINT * boxes.sizes().sum(), PER_QUESTION * len(members))
    if size > TABLE or not worth or (extents > 1).sum() > AXES:
        return None
    if bytes_needed(asked.network, int(size)) > memory:
        return None
    return tabulate_network(asked.network, low, high, asked.float32, memory)


def _answer_from_table(work: ArrangedQueries, members: Numbers, table: OutputTable) -> Numbers:
    """Answer from the table what it covers; the others."""
    covered = table.covers(work.low[members], work.high[members]) & work.questions.whole.all()
    inside, rest = members[covered], members[~covered]
    demand = work.demand[inside]
    points = np.bincount(demand, work.boxes(inside).sizes(), len(work.demands))
    worth = np.array([table.knows(d) for d in work.demands], dtype=np.bool_) | (SHARE * points >= table.size)
    counted, few = inside[worth[demand]], inside[~worth[demand]]
    budget = work.ledger.budget
    budget.progress(f"{len(inside)} questions are answered from a table of {table.size} points")
    answer_by_counting(work, counted, table)
    rest_of_these = work.boxes(few)
    if not budget.is_spent():
        sample_query_boxes(work, rest_of_these.pick(rest_of_these.sizes() > LEAF), table)
    enumerate_boxes(work, rest_of_these, table)
    work.ledger.means["table"] += len(inside)
    return rest


def _answer_by_points(work: ArrangedQueries, members: Numbers, each: int) -> Numbers:
    """Answer boxes of up to `each` integers, or all of them if they have few; the others."""
    boxes = work.boxes(members)
    able = boxes.integral(work.questions.whole)
    sizes = np.where(able, boxes.sizes(), np.inf)
    small = sizes <= (ENUMERATED if sizes[able].sum() <= ENUMERATED else each)
    if small.any():
        work.ledger.budget.progress(f"{int(small.sum())} questions are answered point by point")
    enumerate_boxes(work, boxes.pick(small))
    work.ledger.means["points"] += int(small.sum())
    return members[~small]


def _search_one_by_one(work: ArrangedQueries, members: Numbers, seconds_each: float) -> None:
    """The searches are tasks for all processes of the budget; what they find is looked at here, in order."""
    asked, budget, done = work.questions, work.ledger.budget, 0
    end = monotonic() + min(budget.remaining(), _LONGEST)
    here = partial(_decide_in_time, asked, budget.seed)
    with TaskPool(budget.processes, partial, _decide_in_time, asked, budget.seed, here=here) as pool:
        tasks = [(question, seconds_each, end) for question in members.tolist()]
        for question, found in zip(members.tolist(), pool.run(tasks, budget.is_spent), strict=False):
            done += 1
            budget.progress(f"{len(members) - done} questions are left to a search of their own")
            work.ledger.means["single"] += 1
            if isinstance(found, Undecided):
                work.ledger.leave_open(np.array([question]), f"{found.why.value}: {found.detail}")
            elif isinstance(found, Sat):
                point = [Fraction(found.assignment[f"x{i}"]) for i in range(asked.network.width)]
                _confirm_solution(work, question, point)
    if done < len(members):
        work.ledger.leave_open(members[done:], "time ran out before its own search")


def _decide_in_time(asked: BatchQueries, seed: int, question: int, seconds: float, end: float) -> Answer:
    """In any process; `end` is a time of `monotonic`."""
    return decide_single_query(asked, question, seed, min(seconds, max(0.0, end - monotonic())))


def _confirm_solution(work: ArrangedQueries, question: int, point: list[Fraction]) -> None:
    """Enter the point of a search after looking at it here: nothing is taken on trust."""
    asked, ledger, number = work.questions, work.ledger, np.array([question])
    within = satisfies_guards(work, question, point) and all(
        Fraction(low) <= x <= Fraction(high)
        for x, low, high in zip(point, work.low[question], work.high[question], strict=True)
    )
    code = judge_rational_point(asked.network, work.demands[work.demand[question]], point, asked.float32)
    near = np.array([[float(x) for x in point]])
    if not within or code not in (YES, EITHER):
        ledger.leave_open(number, "numerics: a solution that was found does not satisfy the rows exactly")
        return
    (ledger.record_witnesses if code == YES else ledger.record_possible)(number, near)
    if any(Fraction(float(x)) != x for x in point):
        ledger.exact[question] = tuple(point)


def build_single_query(questions: BatchQueries, index: int) -> Query | None:
    """The query of a question; None where float32 inference may overflow on its box.

    The outputs of float32 inference are those within its error bound of the exact ones: no solution is lost.
    """
    network, low, high = questions.network, questions.low[index], questions.high[index]
    quantities: list[QueryVariable] = []
    for i in range(network.width):
        ends = Fraction(low[i]), Fraction(high[i])
        kind = Int(-(-ends[0] // 1), ends[1] // 1) if questions.whole[i] else Real(*ends)
        quantities.append(QueryVariable(f"x{i}", kind))
    outputs = tuple(f"y{j}" for j in range(network.outputs))
    quantities += [QueryVariable(name, Real()) for name in outputs]
    slack: tuple[Fraction, ...] = ()
    if questions.float32:
        errors = error_bounds(network, low, high, input_rounding=True).tolist()
        if not all(map(isfinite, errors)):
            return None
        slack = tuple(map(Fraction, errors))
    names = [q.name for q in quantities]
    call = NetworkCall(network, tuple(Var(q.name) for q in quantities[: network.width]), outputs, slack)
    return Query(tuple(quantities), tuple(_row_constraints(questions, index, names)), (call,))


def _row_constraints(questions: BatchQueries, index: int, names: list[str]) -> list[Term]:
    system = questions.systems[questions.system[index]]
    rows: list[Term] = []
    for row, strict, offset in zip(
        system.coefficients.tolist(), system.strict.tolist(), questions.offsets[index].tolist(), strict=False
    ):
        if offset == np.inf:
            continue
        linear = LinearForm(tuple((n, Fraction(c)) for n, c in zip(names, row, strict=True) if c))
        left, right = term_from_linear(linear), Const(Fraction(offset))
        rows.append(left < right if strict else left <= right)
    return rows


def decide_single_query(questions: BatchQueries, index: int, seed: int, seconds: float) -> Answer:
    """The answer of the search; `Sat` gives a point, which for float32 inference is only a candidate."""
    asked = build_single_query(questions, index)
    if asked is None:
        return Undecided(UndecidedReason.NUMERICS, "float32 inference may overflow on this box")
    return decide_native_query(asked, seed, seconds=seconds)
