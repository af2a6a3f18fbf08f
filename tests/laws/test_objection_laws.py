"""A solver objects to exactly what its translation refuses, though it does not translate to find out."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reductions.random_problems import control_problems, problems

from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.network import dense_network
from surefoot.problem.problem import Problem
from surefoot.query.lower import lower_query
from surefoot.query.objection import is_bounded_by_declaration, lowering_objection
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.reductions.discretise import discretise
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.transition_system import build_transition_system
from surefoot.reductions.unroll import encoding_objection, unroll
from surefoot.solvers.milp import Milp
from surefoot.solvers.milp.solver import check_milp_bounds
from surefoot.solvers.native import Native
from surefoot.solvers.native.solver import check_native_bounds
from surefoot.term.term import Apply, Const, Op, Term, Var, array_term, ite
from surefoot.term.value_types import Bool, Int, Real
from surefoot_studies.aurora.problem import PROBLEMS as AURORA
from surefoot_studies.pendulum.problem import PROBLEMS as PENDULUM
from surefoot_studies.toy.problem import PROBLEMS as TOY

LAW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


CLOSED = (Fraction(-2), Fraction(2))
ENDS = (CLOSED, CLOSED, (None, Fraction(2)), (Fraction(0), None), (None, None))
NETWORK = dense_network([([[1, -1], [0.5, 2]], [0, 1]), ([[1, 1], [-1, 2]], [0, 0])])
UNARY = (Op.NEG, Op.ABS, Op.SIGN, Op.FLOOR, Op.SQRT, Op.EXP)
BINARY = (Op.ADD, Op.SUB, Op.MAX, Op.MUL, Op.MUL, Op.DIV, Op.MOD, Op.POW)


def random_number(random: Random, depth: int) -> Term:
    """Products, quotients and powers of anything, elementary functions, table look-ups; rarely ill-typed."""
    kind = random.random()
    if depth == 0 or kind < 0.2:
        if random.random() < 0.02:
            return Var("p")
        constants = (Const(2), Const(Fraction(-1, 3)), Const(0))
        return random.choice((*map(Var, "xyzij"), *constants, *constants))
    inner = [random_number(random, depth - 1) for _ in range(3)]
    if kind < 0.35:
        return Apply(random.choice(UNARY[: 4 if random.random() < 0.8 else None]), (inner[0],))
    if kind < 0.45:
        return ite(random_truth(random, depth - 1), inner[0], inner[1])
    if kind < 0.5:
        return array_term(*inner)[Var(random.choice("ij"))]
    return Apply(random.choice(BINARY), (inner[0], inner[1]))


def random_truth(random: Random, depth: int) -> Term:
    if depth > 0 and random.random() < 0.4:
        inner = [random_truth(random, depth - 1) for _ in range(2)]
        op = random.choice((Op.AND, Op.OR, Op.IMPLIES, Op.EQ, Op.NOT))
        return Apply(op, (inner[0],) if op is Op.NOT else tuple(inner))
    if random.random() < 0.1:
        return Var(random.choice("pqx" if random.random() < 0.1 else "pq"))
    numbers = tuple(random_number(random, depth) for _ in range(2))
    return Apply(random.choice((Op.LE, Op.LT, Op.EQ)), numbers)


def random_query(seed: int) -> Query:
    """Open ends here and there, sometimes a network that reads a term."""
    random = Random(seed)
    closed = random.random() < 0.5
    quantities = [QueryVariable(n, Real(*(CLOSED if closed else random.choice(ENDS)))) for n in "xyz"]
    quantities += [QueryVariable("i", Int(-2, 2)), QueryVariable("j", Int(0, random.choice((2, 90))))]
    quantities += [QueryVariable("p", Bool()), QueryVariable("q", Bool())]
    constraints = tuple(random_truth(random, 2) for _ in range(random.randint(0, 2)))
    if random.random() < 0.5:
        return Query(tuple(quantities), constraints)
    inputs = tuple(random_number(random, random.choice((0, 0, 1, 2))) for _ in range(2))
    outputs = [QueryVariable(n, Real()) for n in ("u", "v")]
    call = NetworkCall(NETWORK, inputs, ("u", "v"))
    return Query((*quantities, *outputs), constraints, (call,))


QUERIES = [random_query(seed) for seed in range(800)]


def refuses(translate: object, query: Query) -> str | None:
    try:
        translate(query)  # type: ignore[operator]
    except Unsupported as why:
        return why.what
    return None


def test_lowering_is_refused_where_it_fails() -> None:
    refused = 0
    for query in QUERIES:
        expected, why = refuses(lower_query, query), lowering_objection(query)
        assert (why is None) is (expected is None), (query, why, expected)
        refused += expected is not None
    assert 200 < refused < 600  # both happen


REFUSALS = ((Milp(), check_milp_bounds), (Native(), check_native_bounds))


@pytest.mark.parametrize(("solver", "check_bounds"), REFUSALS, ids=["milp", "native"])
def test_solvers_object_where_they_would_fail(solver: Any, check_bounds: Any) -> None:
    outcomes = set()
    for query in QUERIES:
        expected, why = refuses(check_bounds, query), solver.objection(query)
        assert (why is None) is (expected is None), (query, why, expected)
        outcomes.add((lowering_objection(query) is None, is_bounded_by_declaration(query), why is None))
    assert {(True, True, True), (True, False, True), (True, False, False), (False, True, False)} <= outcomes


def check_problem(problem: Problem) -> None:
    try:
        build_transition_system(problem, True)
        expected = None
    except SurefootError as why:
        expected = str(why)
    assert encoding_objection(problem) == expected
    if expected is not None:
        return
    encoded = unroll(problem, 1)
    query = encoded.query_with(encode_violation(encoded))
    for solver, check_bounds in REFUSALS:
        refused = refuses(check_bounds, query)
        smooth = any(not c.network.is_piecewise_linear() for c in query.calls) and isinstance(solver, Milp)
        assert (solver.objection(query) is None) is (refused is None and not smooth), solver.name


@LAW
@given(st.one_of(problems(), control_problems()))
def test_problems_are_refused_where_they_cannot_be_encoded(problem: Problem) -> None:
    check_problem(problem)


@pytest.mark.parametrize("name", [*TOY, *AURORA, *PENDULUM])
def test_study_problems_are_refused_where_they_cannot_be_encoded(name: str) -> None:
    problem = discretise({**TOY, **AURORA, **PENDULUM}[name]())
    check_problem(problem)
