"""What is decided by the form of a question is decided as the reference does, with ends and errors."""

from __future__ import annotations

import pytest
from tests.laws.brute_force import truth

from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.engines.predicates import Predicates
from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.run import constant_truth, verify
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, TRUE, Apply, Op, Term, Var, equal
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot.verdict.verdict import Holds, Proved, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

X = Var("x")
ITSELF = X / X  # without a value where x is 0
START = equal(X, 0)
ENGINES = (Bmc(depth=5), Induction(depth=3), Predicates(), Explicit())


def counting(
    asked: Property,
    *,
    initial: Term = START,
    guard: Term = X < 2,
    value: Term = X + 1,
    when: Term = TRUE,
) -> Problem:
    """From 0 up to 2, where the run ends."""
    up = Edge("here", "a", guard, outcomes=(Outcome(updates=(Update(X, value),), target="here"),))
    world = Environment(
        "counting", (Variable("x", Int(0, 3)),), initial, (Component("c", (up,), ("here",), ("here",)),)
    )
    return Problem("counting", world, ProgramPolicy((Branch(when, "a"),)), asked)


def both(op: Op, left: Term, right: Term) -> Term:
    """As it is written, without simplification."""
    return Apply(op, (left, right))


ALWAYS, NEVER = both(Op.EQ, ITSELF, ITSELF), both(Op.LT, ITSELF, ITSELF)
CASES: dict[str, tuple[Problem, str]] = {
    "within a later state, true": (counting(Within(TRUE, 5, 3)), "violated"),
    "within a later state, by form": (counting(Within(X <= X, 5, 3)), "violated"),
    "within a state that all runs come to": (counting(Within(TRUE, 5, 2)), "holds"),
    "within now": (counting(Within(TRUE, 5)), "holds"),
    "eventually true": (counting(Eventually(TRUE)), "holds"),
    "recurs true, and the run ends": (counting(Recurs(TRUE)), "holds"),
    "never false": (counting(Never(FALSE)), "holds"),
    "eventually, no value": (counting(Eventually(ALWAYS)), "unclear"),
    "eventually, a value at the start": (counting(Eventually(ALWAYS), initial=equal(X, 1)), "holds"),
    "recurs, no value": (counting(Recurs(ALWAYS)), "unclear"),
    "within, no value": (counting(Within(ALWAYS, 0)), "unclear"),
    "never, no value": (counting(Never(NEVER)), "unclear"),
    "never at the start, no value": (counting(Never(NEVER, 0)), "unclear"),
    "never, no value in the first part": (counting(Never(both(Op.AND, NEVER, FALSE))), "unclear"),
    "never, no value behind false": (counting(Never(both(Op.AND, FALSE, NEVER))), "holds"),
    "never, no value in the first of two": (counting(Never(~both(Op.OR, ALWAYS, TRUE))), "unclear"),
    "never, no value behind true": (counting(Never(~both(Op.OR, TRUE, ALWAYS))), "holds"),
    "never, no remainder": (counting(Never(equal(X % X, 1))), "unclear"),
    "start without a value": (counting(Never(equal(X, 0)), initial=1 / X >= 0), "unclear"),
    "start without a value, by form": (counting(Never(equal(X, 0)), initial=ALWAYS), "unclear"),
    "start with a value behind false": (
        counting(Never(equal(X, 0)), initial=both(Op.AND, X > 0, 1 / X >= 0)),
        "holds",
    ),
    "no start": (counting(Eventually(equal(X, 3)), initial=FALSE), "holds"),
    "guard without a value": (counting(Never(equal(X, 3)), guard=1 / X > 0), "unclear"),
    "guard with a value behind false": (
        counting(Eventually(equal(X, 1)), guard=both(Op.AND, FALSE, 1 / X > 0)),
        "violated",
    ),
    "update without a value": (counting(Never(equal(X, 2)), value=0 * Apply(Op.FLOOR, (1 / X,))), "unclear"),
    "branch without a value": (counting(Never(equal(X, 3)), when=ALWAYS), "unclear"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_engine_says_what_the_reference_says(name: str) -> None:
    problem, expected = CASES[name]
    try:
        assert truth(problem) == expected
    except Undefined:
        assert expected == "unclear"
    asked = 0
    for engine in ENGINES:
        try:
            verdict = verify(problem, engine, Budget(20)).verdict
        except Unsupported:
            continue
        asked += 1
        match verdict:
            case Proved() | Holds(as_asked=True) | Vacuous():
                assert expected == "holds", engine.name
            case Violated():
                assert expected == "violated", engine.name
            case other:
                assert isinstance(other, Unknown | Holds), engine.name
                assert expected == "unclear" or not isinstance(engine, Explicit), engine.name
    assert asked


def test_floats_that_may_overflow_are_settled_by_no_form() -> None:
    """inf - inf is no number, and no number is not equal to itself."""
    variables = (Variable("x", Real(0, 10**300)),)
    floats = Environment("f", variables, TRUE, (), arithmetic=Arithmetic.FLOAT64)
    exact = Environment("e", variables, TRUE, ())
    large = X * X - X * X
    assert constant_truth(both(Op.EQ, large, large), exact) is True
    assert constant_truth(both(Op.EQ, large, large), floats) is None
    assert constant_truth(both(Op.EQ, X, X), floats) is True


def test_what_a_policy_decides_is_settled_by_no_form() -> None:
    """A network may have no output somewhere."""
    environment = counting(Never(FALSE)).environment
    assert constant_truth(both(Op.EQ, Var("output[0]"), Var("output[0]")), environment) is None
