"""Updates one after the other, composed: the same next state as the reference, in both arithmetics."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import enumerate_outcomes
from surefoot.reductions.simultaneous_updates import compose_updates, named_kinds
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, ite
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

X, Y, Z, N, B = (Var(name) for name in "xyznb")
VARIABLES = (
    Variable("x", Real()),
    Variable("y", Real(Fraction(-50), Fraction(50))),
    Variable("z", Real()),
    Variable("n", Int(-9, 9)),
    Variable("b", Bool()),
)


def random_number(draw: Random, depth: int) -> Term:
    if depth == 0 or draw.random() < 0.15:
        decimal = Const(Fraction(draw.randint(-30, 30), 10))
        return draw.choice((X, Y, Z, X, Y, N, decimal, Const(draw.randint(-3, 3))))
    left, right = random_number(draw, depth - 1), random_number(draw, depth - 1)
    kind = draw.randrange(8)
    if kind == 0:
        return left / right
    if kind == 1:
        return ite(random_truth(draw, depth - 1), left, right)
    if kind == 2:
        return Apply(draw.choice((Op.MIN, Op.MAX)), (left, right))
    if kind == 3:
        return Apply(draw.choice((Op.SIN, Op.ABS, Op.SQRT, Op.FLOOR, Op.NEG)), (left,))
    return Apply(draw.choice((Op.ADD, Op.SUB, Op.MUL)), (left, right))


def random_truth(draw: Random, depth: int) -> Term:
    plain = Apply(draw.choice((Op.LE, Op.LT)), (random_number(draw, depth), random_number(draw, depth)))
    return draw.choice((B, plain, Apply(draw.choice((Op.AND, Op.OR, Op.IMPLIES)), (B, plain))))


def random_whole(draw: Random) -> Term:
    return draw.choice(
        (N + 1, -N, Apply(Op.MAX, (N, Const(draw.randint(-2, 2)))), ite(B, N, Const(0)), N * N)
    )


def random_updates(draw: Random) -> tuple[Update, ...]:
    updates = []
    for index in range(draw.randint(2, 5)):
        for target in draw.sample((X, Y, Z, N, B), draw.randint(1, 3)):
            if target is N:
                value = random_whole(draw)
            elif target is B:
                value = random_truth(draw, 1)
            else:
                value = random_number(draw, draw.randint(0, 2))
            updates.append(Update(target, value, 3 * index))
    draw.shuffle(updates)
    return tuple(updates)


def environment_of(updates: tuple[Update, ...], arithmetic: Arithmetic) -> Environment:
    edge = Edge(outcomes=(Outcome(updates=updates),))
    return Environment("p", VARIABLES, TRUE, (Component("main", (edge,)),), arithmetic=arithmetic)


def random_state(draw: Random, arithmetic: Arithmetic) -> dict[str, Any]:
    def real() -> Any:
        value = draw.choice((Fraction(draw.randint(-400, 400), 100), Fraction(draw.randint(-3, 3))))
        if arithmetic is Arithmetic.FLOAT64:
            return float(value)
        return int(value) if value.denominator == 1 else value

    state = {name: real() for name in "xyz"}
    return {**state, "n": draw.randint(-9, 9), "b": draw.random() < 0.5}


def next_state(environment: Environment, state: dict[str, Any]) -> Any:
    try:
        (found,) = enumerate_outcomes(environment, state, Transition(((0, 0),), None), {}, {})
    except Undefined:
        return None
    return {name: (type(value) is float, value) for name, value in found.state.items()}


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_composed_updates_mean_the_same(arithmetic: Arithmetic) -> None:
    composed = undefined = 0
    for seed in range(700):
        draw = Random(seed)
        environment = environment_of(random_updates(draw), arithmetic)
        (edge,) = environment.components[0].edges
        try:
            updates = compose_updates(edge.outcomes[0].updates, named_kinds(environment, ()), arithmetic)
        except Unsupported:
            continue
        composed += 1
        assert len({update.index for update in updates}) == 1
        other = replace(
            environment,
            components=(Component("main", (Edge(outcomes=(Outcome(updates=updates),)),)),),
        )
        for _ in range(12):
            state = random_state(draw, arithmetic)
            expected = next_state(environment, state)
            assert next_state(other, state) == expected, (seed, state)
            undefined += expected is None
    assert composed > 150, composed
    assert undefined > 50, undefined


def test_what_is_left_out_cannot_be_missed() -> None:
    """Whether the first value has a value is seen in no other."""
    kinds = named_kinds(environment_of((), Arithmetic.EXACT), ())
    for later in (Const(0), ite(B, X, Const(0))):
        updates = (Update(X, 1 / Y), Update(Z, later, 1), Update(X, Const(0), 2))
        with pytest.raises(Unsupported, match="its first value may be undefined"):
            compose_updates(updates, kinds, Arithmetic.EXACT)
    read = (Update(X, 1 / Y), Update(Z, X + 1, 1), Update(X, Const(0), 2))
    assert {u.target.name: u.value for u in compose_updates(read, kinds, Arithmetic.EXACT)}["z"] == 1 / Y + 1
