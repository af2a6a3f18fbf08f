"""Small chains whose values are known."""

from __future__ import annotations

from fractions import Fraction

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.term.term import TRUE, Const, Term, Var, equal
from surefoot.term.value_types import Int

X = Var("x")
GO = ProgramPolicy((Branch(TRUE, "go"),), ("go",))


def chance(*ways: tuple[Fraction, Term]) -> tuple[Outcome, ...]:
    """Outcomes that set x, with their probabilities; those of probability 0 are left out."""
    return tuple(Outcome(Const(p), (Update(X, value),)) for p, value in ways if p)


def system(edges: tuple[Edge, ...], text: str, top: int = 4, start: Term | None = None) -> Problem:
    environment = Environment(
        "chain",
        (Variable("x", Int(0, top)),),
        equal(X, Const(1)) if start is None else start,
        (Component("c", edges),),
    )
    return Problem("chain", environment, GO, parse_property(text))


def walk(text: str, start: Term | None = None, up: Fraction = Fraction(1, 3)) -> Problem:
    """From 1 up to 4 or down to 0, where the run ends. P(F x = 4) = 1/15 from 1, for up = 1/3."""
    edge = Edge(
        action="go",
        guard=(X > 0) & (X < 4),
        outcomes=chance((up, X + 1), (1 - up, X - 1)),
    )
    return system((edge,), text, start=start)


def mix(
    good: Fraction,
    long: Fraction = Fraction(0),
    stuck: Fraction = Fraction(0),
    leaving: Fraction = Fraction(0),
) -> Problem:
    """One throw: to 2 (good), to 3 (turns round and round), to 4 (the policy stalls), to 0 (it ends).

    `leaving`: from 3 to 2 in each step, and as likely to 0. Without it no run comes back from there.
    """
    rest = 1 - good - long - stuck
    throw = Edge(
        action="go",
        guard=equal(X, Const(1)),
        outcomes=chance((good, Const(2)), (long, Const(3)), (stuck, Const(4)), (rest, Const(0))),
    )
    ways = (leaving, Const(2)), (leaving, Const(0)), (1 - 2 * leaving, Const(3))
    round_and_round = Edge(action="go", guard=equal(X, Const(3)), outcomes=chance(*ways))
    other = Edge(action="other", guard=equal(X, Const(4)))
    problem = system((throw, round_and_round, other), "P=? [ F x = 2 ]")
    policy = ProgramPolicy((Branch(TRUE, "go"),), ("go", "other"))
    return Problem(problem.name, problem.environment, policy, problem.property)
