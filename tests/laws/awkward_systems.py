"""Random small systems full of awkward things, in the words that certificates about runs have.

Several edges with one action, silent edges, stalls and dead ends, assumptions that nothing meets, values of
one name and different ranges in different edges, outcomes of probability 0, observations with cases or that
are normalised, ties, properties about outputs and picks, controls that are clipped or not, and updates that
leave the range of their variable. Everything follows from one seed.
"""

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
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, EdgesOf, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_name,
    location_name,
    network_output_name,
)
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.value_types import Bool, Int, Real

LABELS = ("a", "b", "c")
X, Y, B, C, P, U = Var("x"), Var("y"), Var("b"), Var("c"), Var("p"), Var("u")
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def awkward(seed: int) -> Problem:
    """A system and one property of it."""
    draw = Random(seed)
    made = controlled(draw) if draw.random() < 0.3 else deciding(draw)
    environment, policy = made
    return Problem(f"awkward-{seed}", environment, policy, asked(draw, environment, policy))


def least(*terms: Term | int | Fraction) -> Term:
    return Apply(Op.MIN, tuple(t if isinstance(t, Term) else Const(t) for t in terms))


def most(*terms: Term | int | Fraction) -> Term:
    return Apply(Op.MAX, tuple(t if isinstance(t, Term) else Const(t) for t in terms))


def absolute(term: Term) -> Term:
    return Apply(Op.ABS, (term,))


def deciding(draw: Random) -> tuple[Environment, NeuralPolicy]:
    """A network that picks actions or edges."""
    high, places = draw.randint(1, 4), ("here", "there")[: 1 + (draw.random() < 0.3)]
    labels = LABELS[: draw.randint(1, 3)]
    actions: list[str | None] = [*labels, *(draw.choice((*labels, None)) for _ in range(draw.randint(0, 3)))]
    edges = tuple(edge(draw, action, places, high) for action in actions)
    variables = (
        Variable("x", Int(0, high)),
        Variable("y", Int(-1, draw.randint(0, 1))),
        Variable("b", Bool()),
    )
    start = draw.choice(
        (equal(X, 0) & equal(Y, 0) & ~B, equal(X, draw.randint(0, high)), X < 1, TRUE, high < X)
    )
    environment = Environment(
        "awkward", variables, start, (Component("world", edges, places, places[: draw.randint(1, 2)]),)
    )
    outputs, picks = len(labels), labels
    by_edge = draw.random() < 0.15
    if by_edge:
        order = tuple(draw.sample(range(len(edges)), draw.randint(1, len(edges))))
        outputs = len(order)
    observe = tuple(seen(draw) for _ in range(2))
    network = dense_network(layers(draw, 2, outputs, tied=draw.random() < 0.15))
    choose = draw.choice((Choose.ARGMAX, Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE))
    return environment, NeuralPolicy(network, observe, EdgesOf("world", order) if by_edge else picks, choose)


def seen(draw: Random) -> Term:
    return draw.choice(
        (
            X,
            Y,
            X,
            Y,
            B,
            X - Y,
            (X - HALF) / 3,
            (Y + X * THIRD) * Fraction(10, 7),
            absolute(Y),
            least(X, 1),
            ite(B, X, Y),
        )
    )


def layers(draw: Random, columns: int, outputs: int, tied: bool) -> list[tuple[object, object]]:
    def weights(rows: int, width: int) -> list[list[int]]:
        return [[draw.randint(-2, 2) for _ in range(width)] for _ in range(rows)]

    biases = [draw.randint(-1, 1) + (0 if tied else i * 5 / 32) for i in range(outputs)]
    if draw.random() < 0.5:
        return [(weights(outputs, columns), biases)]
    return [(weights(2, columns), [draw.randint(-1, 1), 0]), (weights(outputs, 2), biases)]


def edge(draw: Random, action: str | None, places: tuple[str, ...], high: int) -> Edge:
    chosen: tuple[Choice, ...] = ()
    assuming: Term = TRUE
    if draw.random() < 0.35:
        low = draw.randint(-1, 0)
        several = ((Choice("c", Int(low, low + draw.randint(0, 2))),), (Choice("c", Bool()),))
        chosen = draw.choice((several[0], several[0], several[1]))
        conditions: tuple[Term, ...] = (TRUE, TRUE, C < 1, C > X, equal(C, Y), C > 5)
        assuming = draw.choice(conditions if chosen == several[0] else (TRUE, C, ~C, equal(C, B)))
    shares = draw.choice(((1,), (1,), (1,), (HALF, HALF), (0, 1), (1, 0)))
    outcomes = tuple(
        Outcome(Const(share), updates(draw, high, chosen), target=draw.choice(places)) for share in shares
    )
    guard = draw.choice(
        (TRUE, TRUE, TRUE, TRUE, high > X, X > 0, X <= Y, B, ~B, equal(Y, 0), most(X, Y) < 2, equal(B, X > 1))
    )
    return Edge(draw.choice(places), action, guard, chosen, assuming, outcomes)


def updates(draw: Random, high: int, chosen: tuple[Choice, ...]) -> tuple[Update, ...]:
    by: Term = C if chosen else Const(draw.randint(1, 2))
    if chosen and isinstance(chosen[0].kind, Bool):
        by = ite(C, 1, 0)
    values: list[Term] = [
        ite(high <= X, 0, X + 1),
        most(0, least(high, X + by)),
        most(0, least(high, X - by)),
        Const(0),
        X,
        least(high, absolute(X - 1)),
        ite(B & (X > 0), X - 1, least(high, X + 1)),
    ]
    if draw.random() < 0.07:
        values = [X + by]  # an error of the model where x is at its end
    found = [Update(X, draw.choice(values))] if draw.random() < 0.9 else []
    if draw.random() < 0.4:
        found.append(Update(Y, draw.choice((-absolute(Y), least(0, X - 1), Const(0), ite(B, -1, 0)))))
    if draw.random() < 0.4:
        truths = (~B, X > 1, Const(True), equal(X, 0) | B, ite(B, equal(Y, 0), X > 0))
        found.append(Update(B, C if chosen and isinstance(chosen[0].kind, Bool) else draw.choice(truths)))
    return tuple(found)


def controlled(draw: Random) -> tuple[Environment, NeuralPolicy]:
    """A network whose output is a control, in an environment with one real number."""
    single = draw.random() < 0.25
    variables = (
        Variable("x", Int(0, 2)),
        Variable("p", Real(Fraction(-2), Fraction(2), single)),
        Variable("b", Bool()),
    )
    start = equal(P, draw.choice((0, HALF, -1))) & draw.choice((TRUE, ~B, equal(X, 0)))
    limit = draw.choice((None, HALF, Fraction(1)))
    control = Control("u", None if limit is None else -limit, limit, draw.random() < 0.8)
    step = draw.choice((U, U, U / 2, P + U / 2, P / 2 + U, -P, P))
    moved = step if draw.random() < 0.3 else most(-2, least(2, step))
    if single:
        moved = draw.choice((P, Const(HALF), Const(0), P))
    bumped = ite(draw.choice((U > 0, P > U, P >= THIRD)), least(2, X + 1), most(0, X - 1))
    edges = []
    for _ in range(draw.randint(1, 2)):
        changes = [Update(P, moved)]
        changes += [Update(X, bumped)] if draw.random() < 0.6 else []
        changes += [Update(B, draw.choice((U < 0, ~B, P > 1)))] if draw.random() < 0.5 else []
        guard = draw.choice((TRUE, TRUE, U <= 1, X < 2, ~B))
        edges.append(Edge(guard=guard, outcomes=(Outcome(updates=tuple(changes)),)))
    environment = Environment("awkward", variables, start, (Component("world", tuple(edges)),), (control,))
    observe = (draw.choice((P, P, P * THIRD, (P - X) / 2)), draw.choice((X, B, X - 1)))
    return environment, NeuralPolicy(dense_network(layers(draw, 2, 1, False)), observe, (), Choose.VALUE)


def asked(draw: Random, environment: Environment, policy: NeuralPolicy) -> Property:
    condition = about(draw, environment, policy)
    if draw.random() < 0.25:
        condition = draw.choice((condition & about(draw, environment, policy), ~condition))
    after = draw.randint(0, 2)
    return draw.choice(
        (
            Never(condition),
            Never(condition, draw.randint(0, 3)),
            Eventually(condition),
            Recurs(condition),
            Recurs(condition),
            Within(condition, after + draw.randint(0, 3), after),
        )
    )


def about(draw: Random, environment: Environment, policy: NeuralPolicy) -> Term:
    options: list[Term] = [equal(X, draw.randint(0, 3)), draw.randint(1, 2) <= X, draw.randint(0, 2) >= X]
    options += [B, ite(B, X > 0, equal(X, 1)), Var(DEADLOCKED), Var(STALLED)]
    options.append(draw.randint(-3, 3) * THIRD < Var(network_output_name(0)))
    if environment.controls:
        return draw.choice((*options, P > 1, P < HALF, U >= HALF, U < 0, absolute(P) <= THIRD))
    options += [(X > Y) & ~B, most(X, Y) < 2, absolute(Y) <= X]
    if isinstance(policy.actions, tuple):
        options += [Var(chosen_name(a)) for a in policy.actions]
    if len(environment.components[0].locations) > 1:
        options.append(Var(location_name("world", "there")))
    return draw.choice(options)
