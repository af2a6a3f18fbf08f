"""Random systems with real values and tiny networks, for laws about runs that never return to a state."""

from __future__ import annotations

from fractions import Fraction
from random import Random

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
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Property, Recurs
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Bool, Real

X, Y, U, NEW, B = Var("x"), Var("y"), Var("u"), Var("new"), Var("b")
SIDE = Real(Fraction(-2), Fraction(2))


def wandering(seed: int) -> Problem:
    """Two numbers, perhaps a truth value and a pick, moved by a network that acts or sets a control."""
    draw = Random(seed)
    acts = draw.random() < 0.5
    edges = tuple(_edge(draw, label) for label in (("a", "b") if acts else (None,)))
    start = equal(X, _number(draw)) & equal(Y, _number(draw)) & ~B
    controls = () if acts else (Control("u", Fraction(-1), Fraction(1)),)
    variables = (Variable("x", SIDE), Variable("y", SIDE), Variable("b", Bool()))
    environment = Environment("wander", variables, start, (Component("c", edges),), controls)
    policy = NeuralPolicy(
        _network(draw, 2 if acts else 1),
        (X, Y),
        ("a", "b") if acts else (),
        Choose.ARGMAX if acts else Choose.VALUE,
    )
    return Problem(f"wander-{seed}", environment, policy, _asked(draw))


def _number(draw: Random) -> Fraction:
    return Fraction(draw.randint(-8, 8), draw.choice((4, 5, 6)))


def _network(draw: Random, outputs: int) -> Network:
    def weights(rows: int, columns: int) -> list[list[float]]:
        return [[draw.randint(-4, 4) / 4 for _ in range(columns)] for _ in range(rows)]

    hidden = (weights(3, 2), [draw.randint(-2, 2) / 2 for _ in range(3)])
    return dense_network([hidden, (weights(outputs, 3), [draw.randint(-2, 2) / 3 for _ in range(outputs)])])


def _edge(draw: Random, label: str | None) -> Edge:
    picks = draw.random() < 0.4
    updates = [Update(X, _value(draw, X, label is None, picks))]
    if draw.random() < 0.7:
        updates.append(Update(Y, _value(draw, Y, label is None, False)))
    if draw.random() < 0.3:
        updates.append(Update(B, ~B))
    close = Apply(Op.ABS, (NEW - X,)) <= Fraction(1, 2)
    assuming = draw.choice((TRUE, X < NEW, NEW < X, close, close & (NEW > Y))) if picks else TRUE
    chosen = (Choice("new", SIDE),) if picks else ()
    guard = draw.choice((TRUE, TRUE, TRUE, X < 1, Y > -1))
    return Edge(
        action=label, guard=guard, chosen=chosen, assuming=assuming, outcomes=_outcomes(draw, updates)
    )


def _outcomes(draw: Random, updates: list[Update]) -> tuple[Outcome, ...]:
    if draw.random() < 0.8:
        return (Outcome(updates=tuple(updates)),)
    half = Const(Fraction(1, 2))
    return Outcome(half, tuple(updates)), Outcome(half, (Update(X, X / 2),))


def _value(draw: Random, own: Var, control: bool, picks: bool) -> Term:
    if picks:
        return draw.choice((NEW, (NEW + X) / 2))
    share = Fraction(draw.randint(-4, 4), 5)
    found: Term = own * share + _number(draw) / 4
    if draw.random() < 0.4:
        found = found + (Y if own == X else X) * Fraction(draw.randint(-2, 2), 10)
    if control:
        found = found + U * Fraction(draw.randint(-3, 3), 10)
    return found


def _asked(draw: Random) -> Property:
    options: list[Term] = [
        _number(draw) <= X,
        _number(draw) >= X,
        equal(X, 0),
        (_number(draw) <= X) & (_number(draw) >= Y),
        _number(draw) < Var(network_output_name(0)),
        B & (X > 0),
    ]
    return draw.choice((Eventually, Recurs))(draw.choice(options))
