"""Wrong answers that were once given: each stays here with its smallest reproduction."""

from __future__ import annotations

from fractions import Fraction

import pytest

from surefoot.engines.bmc import Bmc
from surefoot.problem.environment import Component, Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property, Within
from surefoot.query.query import Query, QueryVariable, Undecided, Unsat
from surefoot.run import verify
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, divide_terms, equal
from surefoot.term.value_types import Int, Real
from surefoot.verdict.verdict import Holds, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

X, Y = Var("x"), Var("y")
CLIPPED = Apply(Op.MIN, (Const(5), Apply(Op.MAX, (Const(0), divide_terms(1, Y)))))
solvers = pytest.mark.parametrize("solver", list(SOLVERS))


def answer(problem: Problem, solver: str) -> Verdict:
    return verify(problem, Bmc(SOLVERS[solver](), depth=2), Budget(30)).verdict


def observing(seen: Term, asked: Property) -> Problem:
    """A network that reads one term of x and y in 0..3 and decides between two actions that do nothing."""
    kind = Int(0, 3)
    environment = Environment(
        "observing",
        (Variable("x", kind), Variable("y", kind)),
        TRUE,
        (Component("world", (Edge(action="a"), Edge(action="b"))),),
    )
    network = dense_network([([[1.0], [-1.0]], [0.0, 0.0])])
    return Problem("observing", environment, NeuralPolicy(network, (seen,), ("a", "b")), asked)


@solvers
@pytest.mark.parametrize("seen", [X % Y, CLIPPED])
def test_a_state_whose_observation_is_undefined_does_not_vanish(seen: Term, solver: str) -> None:
    assert isinstance(answer(observing(seen, Never(equal(Y, 0))), solver), Violated)


@solvers
def test_an_undefined_property_does_not_hold(solver: str) -> None:
    for asked in (Never(equal(divide_terms(1, Y), 1) & equal(X, 9)), Within(equal(divide_terms(1, Y), 7), 1)):
        verdict = answer(observing(X, asked), solver)
        assert not isinstance(verdict, Holds | Vacuous)


def single(weight: float, largest: int, asked: Property) -> Problem:
    """One control: weight * x."""
    kind = Real(Fraction(0), Fraction(largest))
    environment = Environment(
        "single", (Variable("x", kind),), TRUE, (Component("world", ()),), (Control("u"),)
    )
    policy = NeuralPolicy(dense_network([([[weight]], [0.0])]), (X,), choose=Choose.VALUE)
    return Problem("single", environment, policy, asked)


@solvers
@pytest.mark.parametrize(("weight", "largest"), [(9e-10, 10**4), (1e-10, 10**9), (2e-9, 10**4)])
def test_tiny_weights_are_not_dropped(weight: float, largest: int, solver: str) -> None:
    bound = Fraction(weight) * largest / 2
    verdict = answer(single(weight, largest, Never(Var("output[0]") > bound, steps=0)), solver)
    assert isinstance(verdict, Violated | Unknown)


@solvers
def test_large_numbers_do_not_make_a_start_vanish(solver: str) -> None:
    """x = -6230, y = 16 satisfies this exactly; HiGHS calls it infeasible at its tightest tolerance."""
    start = equal(122 * X - 299 * Y, -764844) & (
        (Apply(Op.MAX, (X, Y)) >= 16) | (Apply(Op.MAX, (X, -Y)) >= 100)
    )
    environment = Environment(
        "large",
        (Variable("x", Int(-(10**4), 10**4)), Variable("y", Real(Fraction(-50), Fraction(50)))),
        start,
        (Component("world", (Edge(action="a"),)),),
    )
    program = ProgramPolicy((Branch(TRUE, "a"),))
    verdict = answer(Problem("large", environment, program, Never(X > 10**4, steps=0)), solver)
    assert not isinstance(verdict, Vacuous)


@pytest.mark.parametrize(("size", "kind"), [(10, Unsat), (10**11, Undecided)])
def test_an_untrusted_size_is_not_believed(size: int, kind: type) -> None:
    """Three large pairs cannot have a small sum; but at 1e11 the word of HiGHS counts for nothing."""
    numbers = tuple(QueryVariable(n, Real(Fraction(0), Fraction(size))) for n in "xyz")
    pairs = ((size <= X + Y), (Y + Var("z") >= size), (X + Var("z") >= size))
    query = Query(numbers, (*pairs, X + Y + Var("z") <= Fraction(7 * size, 5)))
    assert isinstance(solve_query(SOLVERS["milp"](), query, seconds=20), kind)


@solvers
def test_a_shield_over_a_program_that_never_applies_is_no_crash(solver: str) -> None:
    kind = Real(Fraction(0), Fraction(1))
    move = Edge(outcomes=(Outcome(updates=(Update(X, Var("u")),)),))
    environment = Environment(
        "empty",
        (Variable("x", kind),),
        TRUE,
        (Component("world", (move,)),),
        (Control("u", Fraction(0), Fraction(1)),),
    )
    shield = ShieldedPolicy(
        ProgramPolicy((Branch(FALSE, (X,)),)), Var("u") > X, ProgramPolicy((Branch(TRUE, (X,)),)), environment
    )
    verdict = answer(Problem("empty", environment, shield, Never(X > 2)), solver)
    assert isinstance(verdict, Unknown)
