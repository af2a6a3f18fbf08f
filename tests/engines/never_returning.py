"""Systems whose runs never return to a state, for tests of recurrence sets."""

from __future__ import annotations

from fractions import Fraction

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Property, Recurs
from surefoot.problem.window import window
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Bool, Real

X, NEW, U, B, OUTPUT = Var("x"), Var("new"), Var("u"), Var("b"), Var(network_output_name(0))
UNIT = Real(Fraction(0), Fraction(1))
HALF = Fraction(1, 2)
GO = ProgramPolicy((Branch(TRUE, "go"),), ("go",))


def moving(update: Term, asked: Property, *, start: Term | None = None, kind: Real = UNIT) -> Problem:
    """x becomes the update, from 1 on."""
    edge = Edge(action="go", outcomes=(Outcome(updates=(Update(X, update),)),))
    first = equal(X, 1) if start is None else start
    environment = Environment("e", (Variable("x", kind),), first, (Component("c", (edge,)),))
    return Problem("moving", environment, GO, asked)


def picked(assuming: Term, asked: Property) -> Problem:
    """x becomes what the environment picks."""
    edge = Edge(
        action="go",
        chosen=(Choice("new", UNIT),),
        assuming=assuming,
        outcomes=(Outcome(updates=(Update(X, NEW),)),),
    )
    environment = Environment("e", (Variable("x", UNIT),), X <= HALF, (Component("c", (edge,)),))
    return Problem("picked", environment, GO, asked)


def drifting_window(asked: Property | None = None) -> Problem:
    """Every new value is larger than the one before; the network's output stays above 1/4."""
    buffer = window("w", 3, UNIT)
    edge = Edge(
        chosen=(Choice("new", UNIT),),
        assuming=buffer.terms[-1] < NEW,
        outcomes=(Outcome(updates=buffer.shift(NEW)),),
    )
    environment = Environment(
        "w",
        buffer.variables,
        conjunction_of(tuple(t <= HALF for t in buffer.terms)),
        (Component("c", (edge,)),),
        (Control("u", Fraction(-1), Fraction(1)),),
    )
    network = dense_network([([[1, 1, 1], [0, 0, 1]], [0, 0]), ([[1, 1]], [0.25])])
    policy = NeuralPolicy(network, buffer.terms, choose=Choose.VALUE)
    return Problem("window", environment, policy, asked or Eventually(Fraction(1, 5) >= OUTPUT))


def controlled(start: Term, asked: Property) -> Problem:
    """x moves by a tenth of u = 1 - x, clipped to [-1, 1]: towards 1, which it never reaches."""
    side = Real(Fraction(-4), Fraction(4))
    edge = Edge(outcomes=(Outcome(updates=(Update(X, X + U / 10),)),))
    environment = Environment(
        "e",
        (Variable("x", side),),
        start,
        (Component("c", (edge,)),),
        (Control("u", Fraction(-1), Fraction(1)),),
    )
    network = dense_network([([[1], [-1]], [0, 0]), ([[-1, 1]], [1])])
    return Problem("controlled", environment, NeuralPolicy(network, (X,), choose=Choose.VALUE), asked)


def swinging(asked: Property) -> Problem:
    """Above 1/2 the network picks `a`, which leads to x / 3, below it `b`, which leads to (x + 1) / 2."""
    edges = (
        Edge(action="a", outcomes=(Outcome(updates=(Update(X, X / 3),)),)),
        Edge(action="b", outcomes=(Outcome(updates=(Update(X, (X + 1) / 2),)),)),
    )
    start = equal(X, Fraction(2, 5))
    environment = Environment("e", (Variable("x", UNIT),), start, (Component("c", edges),))
    policy = NeuralPolicy(dense_network([([[1], [-1]], [0, 1])]), (X,), ("a", "b"))
    return Problem("swinging", environment, policy, asked)


def blinking(asked: Property) -> Problem:
    """A truth value and a location alternate while x halves, unless an outcome ends that."""
    updates = (Update(X, X / 2), Update(B, ~B))
    half = Const(HALF)
    ending = Outcome(half, (Update(X, Const(0)),), target="here")
    edges = (
        Edge("here", "go", outcomes=(ending, Outcome(half, updates, target="there"))),
        Edge("there", "go", outcomes=(Outcome(updates=updates, target="here"),)),
    )
    environment = Environment(
        "e",
        (Variable("x", UNIT), Variable("b", Bool())),
        equal(X, 1) & ~B,
        (Component("c", edges, ("here", "there"), ("here",)),),
    )
    return Problem("blinking", environment, GO, asked)


VIOLATED: dict[str, Problem] = {
    "halves": moving(X / 2, Eventually(X <= 0)),
    "halves, again and again": moving(X / 2, Recurs(X >= 1)),
    "towards the middle": moving(X / 2 + Fraction(1, 4), Eventually(X < HALF)),
    "picked": picked(NEW > X, Recurs(equal(X, 1))),
    "picked, towards zero": picked((NEW < X) | equal(X, 0), Recurs(equal(X, 0))),
    "window": drifting_window(),
    "network": controlled(equal(X, 0), Eventually(X >= 2)),
    "network's output": controlled(equal(X, 0), Eventually(-Fraction(1, 10) >= OUTPUT)),
    "good at first": controlled(equal(X, 3), Recurs(X >= 2)),
    "two sets": swinging(Recurs(Fraction(9, 10) <= X)),
    "locations": blinking(Recurs(X <= 0)),
}
