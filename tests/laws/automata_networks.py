"""Random small automata networks: components that synchronise, silent steps, and a tiny network as policy.

Everything follows from one seed. Two numbers, a truth value, two or three components with one to three
locations; edges are guarded, some have two outcomes, some leave a value to the environment.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from surefoot.problem.environment import (
    Choice,
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import STALLED, location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Bool, Int

LABELS = ("go", "turn", "wait")
X, Y, B, BY = Var("x"), Var("y"), Var("b"), Var("by")


def automata_network(seed: int) -> Problem:
    draw = Random(seed)
    high = draw.randint(2, 5)
    labels = LABELS[: draw.randint(2, 3)]
    components = tuple(component(draw, f"c{n}", labels, high) for n in range(draw.randint(2, 3)))
    vectors = []
    for action in labels:
        taking = tuple(action if draw.random() < 0.6 else None for _ in components)
        alone = (action, *(None for _ in components[1:]))
        vectors.append(Synchronisation(taking if any(taking) else alone, action))
    variables = (Variable("x", Int(0, high)), Variable("y", Int(0, 2)), Variable("b", Bool()))
    start = draw.choice((equal(X, 0) & equal(Y, 0) & ~B, (X <= 1) & ~B, equal(X, high) & equal(Y, 0)))
    world = Environment("automata", variables, start, components, synchronisations=tuple(vectors))
    return Problem(f"automata-{seed}", world, policy(draw, labels), Never(bad(draw, components, high)))


def component(draw: Random, name: str, labels: tuple[str, ...], high: int) -> Component:
    places = ("here", "there", "beyond")[: draw.randint(1, 3)]
    actions: list[str | None] = [*labels, *(draw.choice((*labels, None)) for _ in range(draw.randint(0, 2)))]
    return Component(name, tuple(edge(draw, a, places, high) for a in actions), places, places[:1])


def edge(draw: Random, action: str | None, places: tuple[str, ...], high: int) -> Edge:
    free, several = draw.random() < 0.15, draw.random() < 0.2
    guard = draw.choice((TRUE, TRUE, high > X, X > 0, X <= Y, B, ~B, high >= X + Y, equal(Y, 0)))
    outcomes = tuple(
        Outcome(
            Const(Fraction(1, 2)) if several else Const(1), updates(draw, high, free), (), draw.choice(places)
        )
        for _ in range(2 if several else 1)
    )
    chosen = (Choice("by", Int(0, 1)),) if free else ()
    return Edge(draw.choice(places), action, guard, chosen, TRUE, outcomes)


def updates(draw: Random, high: int, free: bool) -> tuple[Update, ...]:
    """One variable for each edge, so that edges that move together rarely write the same one."""
    by: Term = BY if free else Const(draw.randint(1, 2))
    within = Apply(Op.MIN, (Const(high), X + by))
    above = Apply(Op.MAX, (Const(0), X - by))
    several = ((Update(X, within),), (Update(X, above),), (Update(Y, 2 - Y),), (Update(B, ~B),), (), ())
    return draw.choice(several)


def policy(draw: Random, labels: tuple[str, ...]) -> NeuralPolicy:
    def weights(rows: int, columns: int) -> list[list[int]]:
        return [[draw.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]

    biases = [draw.randint(-1, 1) + i / 4 for i in range(len(labels))]
    layers: list[tuple[object, object]] = [(weights(3, 2), [0, 1, -1]), (weights(len(labels), 3), biases)]
    choose = draw.choice((Choose.ARGMAX, Choose.ARGMAX_APPLICABLE))
    return NeuralPolicy(dense_network(layers), (X, Y), labels, choose)


def bad(draw: Random, components: tuple[Component, ...], high: int) -> Term:
    place = draw.choice(components)
    last = Var(location_name(place.name, place.locations[-1]))
    options = (equal(X, high), high < X + Y, equal(X, 0) & B, last & (X >= 2), equal(Y, 1))
    return draw.choice((*options, Var(STALLED), X * 2 > 3 * Y + 4))


def predicates(seed: int, problem: Problem) -> tuple[Term, ...]:
    """A few conditions to begin with."""
    draw = Random(seed)
    options = (X <= 1, X <= Y, X >= 2, equal(Y, 0), B, X + Y <= 3, 2 * X > Y, Y >= 1)
    return tuple(draw.sample(options, draw.randint(0, 4)))
