"""Updates one after the other in `reach` and `bmc`, and what is not put together."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

import surefoot as sf
from surefoot.engines.bmc import Bmc
from surefoot.engines.reach import Reach
from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.reductions.simultaneous_updates import compose_updates
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real
from surefoot.verdict.verdict import Proved, Violated

X, V, F, N, B, A = (Var(name) for name in "xvfnba")
KINDS = {"x": Real(), "v": Real(), "f": Real(), "n": Int(0, 9), "b": Bool(), "a": Array(Real(), 2)}


def spring(arithmetic: Arithmetic, asked: sf.api.Property) -> Problem:
    """Force, then speed, then place, each with the new value of what is before it."""
    step = Const(Fraction(1, 20))

    def push(action: str, by: int) -> Edge:
        values = {F: by - 2 * X - V, V: V + step * F, X: X + step * V}
        updates = [Update(target, value, n) for n, (target, value) in enumerate(values.items())]
        return Edge(action=action, outcomes=(Outcome(updates=(*updates, Update(F, Const(Fraction(0)), 9))),))

    half = Const(Fraction(1, 2))
    environment = Environment(
        "spring",
        (Variable("x", Real(-9, 9)), Variable("v", Real(-9, 9)), Variable("f", Real())),
        (-half <= X) & (half >= X) & (-half <= V) & (half >= V) & equal(F, 0),
        (Component("main", (push("left", -1), push("right", 1))),),
        arithmetic=arithmetic,
    )
    return Problem("spring", environment, sf.Policy.program([(X > 0, "left"), (TRUE, "right")]), asked)


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_reach_proves_with_a_certificate(arithmetic: Arithmetic) -> None:
    found = sf.verify(spring(arithmetic, sf.never((X > 1) | (X < -1), 6)), [Reach()])
    assert isinstance(found.verdict, Proved)
    assert found.certified


def test_bmc_proves_with_a_certificate() -> None:
    found = sf.verify(spring(Arithmetic.EXACT, sf.never((X > 1) | (X < -1), 3)), [Bmc()])
    assert isinstance(found.verdict, Proved)
    assert found.certified


def test_what_is_violated_is_not_proved() -> None:
    """The place moves with the new speed: from 1/2 with speed 1/2 to 0.51875 (or 0.525 with the old one)."""
    below, above = (sf.never(Const(Fraction(limit)) < X, 1) for limit in ("0.5187", "0.51876"))
    for engine in (Bmc(), Reach()):
        assert isinstance(sf.verify(spring(Arithmetic.EXACT, above), [engine]).verdict, Proved)
    assert isinstance(sf.verify(spring(Arithmetic.EXACT, below), [Bmc()]).verdict, Violated)


def in_sequence(*several: dict[Term, Term]) -> tuple[Update, ...]:
    return tuple(Update(t, v, number) for number, values in enumerate(several) for t, v in values.items())


REFUSED = {
    "array": (in_sequence({A: A}, {X: V}), "arrays are written"),
    "element": (in_sequence({Apply(Op.SELECT, (A, Const(0))): X}, {X: V}), "arrays are written"),
    "twice": ((*in_sequence({X: V}, {V: X}), Update(X, F, 0)), "`x` is written twice"),
    "power": (in_sequence({X: V}, {V: Apply(Op.POW, (Const(2), X))}), "a power with an exponent that varies"),
    "half a number": (in_sequence({N: X / 2}, {X: N * 1}), "`n` gets a value of another kind"),
    "whole number": (in_sequence({X: N + 1}, {V: X / 3}), "`x` gets a value of another kind"),
    "truth": (in_sequence({X: B}, {V: X}), "`x` gets a value of another kind"),
    "divisor": (in_sequence({X: 1 / V}, {X: F}), "its first value may be undefined"),
    "branch": (in_sequence({X: 1 / V}, {F: ite(B, X, F)}, {X: V}), "its first value may be undefined"),
    "unknown": (in_sequence({Var("q"): X}, {V: X}), "`q` gets a value of another kind"),
    "deep": (in_sequence(*[{X: X * V + F}] * 60), "nested 120 levels deep"),
    "long": (in_sequence(*[{X: X * X + X}] * 30), "operations, written out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_put_together(name: str) -> None:
    updates, why = REFUSED[name]
    with pytest.raises(Unsupported, match=why):
        compose_updates(updates, KINDS, Arithmetic.FLOAT64)


def test_updates_at_once_stay_as_they_are() -> None:
    updates = (Update(Apply(Op.SELECT, (A, Const(0))), X, 3), Update(X, V, 3))
    assert compose_updates(updates, KINDS, Arithmetic.EXACT) == updates


def test_numbers_of_updates_are_only_their_order() -> None:
    several = in_sequence({X: X + 1}, {V: X * 2}, {X: V - X})
    composed = {u.target: u.value for u in compose_updates(several, KINDS, Arithmetic.EXACT)}
    spread = tuple(Update(u.target, u.value, 7 * u.index - 3) for u in reversed(several))
    assert {u.target: u.value for u in compose_updates(spread, KINDS, Arithmetic.EXACT)} == composed
    assert all(a.index <= b.index for a, b in pairwise(several))
