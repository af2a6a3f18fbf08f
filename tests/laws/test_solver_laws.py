"""Solvers never contradict each other, and every model they find satisfies its query exactly."""

from itertools import product
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.laws.queries import mixed_queries, network_queries, whole_queries

from surefoot.errors import Unsupported
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.lower import lower_query
from surefoot.query.query import Answer, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.query.smtlib import to_smtlib
from surefoot.solvers.milp import solver as milp
from surefoot.solvers.z3 import solver as z3
from surefoot.term.term import Apply, Op, Term
from surefoot.term.value_types import Bool, Int

z3_package = pytest.importorskip("z3")
LAW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
SECONDS = 5.0


def by_milp(query: Query) -> Answer:
    return checked(query, milp.decide_milp(query, seed=0, seconds=SECONDS))


def by_z3(query: Query) -> Answer:
    return checked(query, z3.prepare_z3(query, 0)((), SECONDS))


def checked(query: Query, answer: Answer) -> Answer:
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None
    return answer


def by_trying(query: Query) -> Answer:
    ranges = []
    for quantity in query.quantities:
        match quantity.kind:
            case Bool():
                ranges.append([False, True])
            case Int(low, high):
                ranges.append(list(range(low, high + 1)))
    names = [q.name for q in query.quantities]
    for values in product(*ranges):
        assignment = dict(zip(names, values, strict=True))
        if assignment_defect(query, assignment) is None:
            return Sat(assignment)
    return Unsat()


def agree(*answers: Answer) -> None:
    decided = {type(a) for a in answers if not isinstance(a, Undecided)}
    assert len(decided) <= 1, answers
    for answer in answers:
        assert not isinstance(answer, Undecided) or answer.why is not UndecidedReason.MEMORY


@LAW
@given(whole_queries())
def test_on_whole_numbers_every_solver_agrees_with_trying_everything(query: Query) -> None:
    truth = by_trying(query)
    assert type(by_z3(query)) is type(truth)
    try:
        found = by_milp(query)
    except Unsupported:
        assume(False)
    # A strict comparison with a quotient may be met on its boundary only, which floats cannot tell.
    agree(found, truth)


@LAW
@given(mixed_queries())
def test_with_reals_solvers_do_not_contradict_each_other(query: Query) -> None:
    try:
        found = by_milp(query)
    except Unsupported:
        assume(False)
    agree(found, by_z3(query))


@settings(LAW, max_examples=150)
@given(mixed_queries())
def test_a_lowered_query_has_a_solution_exactly_where_the_original_has_one(query: Query) -> None:
    try:
        lowered = lower_query(query)
    except Unsupported:
        assume(False)
    original, rewritten = by_z3(query), by_z3(lowered.query)
    agree(original, rewritten)
    if isinstance(rewritten, Sat):
        assert assignment_defect(query, lowered.invert(rewritten.assignment)) is None


@LAW
@given(network_queries())
def test_on_networks_solvers_do_not_contradict_each_other(query: Query) -> None:
    found = by_milp(query)
    assert not isinstance(found, Undecided) or found.why is UndecidedReason.NUMERICS
    agree(found, by_z3(query))


def reversed_alternatives(term: Term) -> Term:
    return Apply(Op.OR, term.args[::-1]) if isinstance(term, Apply) and term.op is Op.OR else term


@LAW
@given(network_queries(), st.randoms(use_true_random=False))
def test_the_order_of_constraints_and_alternatives_is_irrelevant(query: Query, random: Random) -> None:
    constraints = list(query.constraints)
    random.shuffle(constraints)
    turned = tuple(map(reversed_alternatives, constraints))
    other = Query(query.quantities[::-1], turned + turned[:1], query.calls)
    agree(by_milp(query), by_milp(other))


@LAW
@given(network_queries())
def test_smtlib_export_means_the_same(query: Query) -> None:
    solver = z3_package.Solver()
    solver.from_string(to_smtlib(query))
    assert (solver.check() == z3_package.sat) is isinstance(by_z3(query), Sat)
