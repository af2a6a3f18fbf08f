"""Random systems with finitely many states: whole numbers, tiny networks, dead ends, stalls, free choices.

Everything follows from one seed. Most networks have biases that rule out ties; some updates leave the range
of their variable, so that the model has an error somewhere.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_name,
    location_name,
    network_output_name,
)
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.value_types import Bool, Int

LABELS = ("a", "b", "c")
KINDS = ("never", "eventually", "recurs", "within")
X, Y, B, BY = Var("x"), Var("y"), Var("b"), Var("by")


def problems(seed: int) -> dict[str, Problem]:
    """One random system with a property of each kind."""
    draw = Random(seed)
    labels = LABELS[: draw.randint(2, 3)]
    environment = system(draw, labels)
    policy = decider(draw, labels)
    good = {
        kind: condition(draw, environment, policy) for kind in ("never", "eventually", "recurs", "within")
    }
    after = draw.randint(0, 2)
    asked: dict[str, Property] = {
        "never": Never(good["never"]),
        "eventually": Eventually(good["eventually"]),
        "recurs": Recurs(good["recurs"]),
        "within": Within(good["within"], after + draw.randint(0, 3), after),
    }
    return {kind: Problem(f"{kind}-{seed}", environment, policy, p) for kind, p in asked.items()}


def system(draw: Random, labels: tuple[str, ...]) -> Environment:
    high = draw.randint(1, 4)
    numbers = (Variable("x", Int(0, high)), Variable("y", Int(0, draw.randint(1, 2))))
    places = ("here", "there")[: draw.randint(1, 2)]
    actions = [*labels, *(draw.choice((*labels, None)) for _ in range(draw.randint(0, 2)))]
    edges = tuple(edge(draw, action, places, high) for action in actions)
    start = draw.choice((equal(X, 0) & equal(Y, 0) & ~B, equal(X, draw.randint(0, high)) & ~B, X < 1, TRUE))
    if draw.random() < 0.03:
        start = (X < 1) & (X > 0)
    return Environment(
        "finite", (*numbers, Variable("b", Bool())), start, (Component("world", edges, places, places[:1]),)
    )


def edge(draw: Random, action: str | None, places: tuple[str, ...], high: int) -> Edge:
    free = draw.random() < 0.25
    assuming = draw.choice((TRUE, TRUE, BY < 1, BY > X, equal(BY, Y))) if free else TRUE
    several = draw.random() < 0.2
    half = Const(Fraction(1, 2))
    outcomes = tuple(
        Outcome(half if several else Const(1), updates(draw, high, free), target=draw.choice(places))
        for _ in range(2 if several else 1)
    )
    return Edge(
        draw.choice(places),
        action,
        draw.choice((TRUE, TRUE, TRUE, TRUE, TRUE, TRUE, high > X, X > 0, X <= Y, B, ~B, equal(Y, 0))),
        (Choice("by", Int(0, 1)),) if free else (),
        assuming,
        outcomes,
    )


def updates(draw: Random, high: int, free: bool) -> tuple[Update, ...]:
    by = BY if free else Const(draw.randint(1, 2))
    values: list[Term] = [(X + by) % (high + 1), limited(X + by, high), limited(X - by, high), Const(0), X]
    if draw.random() < 0.08:
        values = [X + 1]  # an error of the model where x is at its end
    found = [Update(X, draw.choice(values))]
    if draw.random() < 0.4:
        found.append(Update(Y, draw.choice((1 - limited(Y, 1), limited(X, 1), Const(0), ite(B, 1, 0)))))
    if draw.random() < 0.4:
        found.append(Update(B, draw.choice((~B, X > 1, Const(True)))))
    return tuple(found)


def limited(value: Term, high: int) -> Term:
    return Apply(Op.MAX, (Const(0), Apply(Op.MIN, (Const(high), value))))


def decider(draw: Random, labels: tuple[str, ...]) -> Policy:
    if draw.random() < 0.2:
        tests = (X < 2, B, equal(Y, 0), TRUE)
        return ProgramPolicy(
            tuple(Branch(draw.choice(tests), draw.choice(labels)) for _ in range(draw.randint(1, 3)))
        )
    tied = draw.random() < 0.1
    biases = [draw.randint(-1, 1) + (0 if tied else i / 4) for i in range(len(labels))]

    def weights(rows: int, columns: int) -> list[list[int]]:
        return [[draw.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]

    layers: list[tuple[object, object]] = [(weights(len(labels), 2), biases)]
    if draw.random() < 0.4:
        layers = [(weights(2, 2), [draw.randint(-1, 1), 0]), (weights(len(labels), 2), biases)]
    choose = draw.choice((Choose.ARGMAX, Choose.ARGMAX_APPLICABLE))
    if Random(str(biases)).random() < 0.15:
        choose = Choose.SAMPLE
    return NeuralPolicy(dense_network(layers), (X, Y), labels, choose)


def condition(draw: Random, environment: Environment, policy: Policy) -> Term:
    options: list[Term] = [
        equal(X, draw.randint(0, 3)),
        draw.randint(1, 2) <= X,
        draw.randint(1, 2) >= X,
        (X >= 2) | equal(Y, 0),
        equal(X, 0) & equal(Y, 0),
        (X > Y) & ~B,
        B,
        equal(Y, 1) | equal(X, 1),
        Var(STALLED),
        Var(DEADLOCKED),
        FALSE,
    ]
    if len(environment.components[0].locations) > 1:
        options.append(Var(location_name("world", "there")))
    if isinstance(policy, NeuralPolicy):
        options += [Fraction(draw.randint(-7, 7), 3) < Var(network_output_name(0)), Var(chosen_name("a"))]
    if draw.random() < 0.05:
        options = [equal(X % Y, 0)]  # no value where y is 0
    return draw.choice(options)
