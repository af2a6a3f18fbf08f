"""Starts that no control can save: proved by ranges in the arithmetic that is executed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

from surefoot.problem.semantics import is_initial
from surefoot.reductions.barrier import ControlSystem, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.unavoidable import is_unavoidably_unsafe, unavoidable_parts
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Arithmetic
from surefoot_studies.control.problem import stays_safe

X, Y, U, D = (Var(n) for n in "xyud")
HALF = Fraction(1, 2)


def system(first: Term, second: Term, unsafe: Term, disturbed: bool = False) -> ControlSystem:
    return ControlSystem(
        "small", True, ("x", "y"), ((-HALF, HALF),) * 2, (("u", Fraction(-1), Fraction(1)),),
        (("d", (Fraction(-1, 10), Fraction(1, 10))),) if disturbed else (), (first, second), unsafe,
    )  # fmt: skip


def point(x: Fraction, y: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    return ((x, x), (y, y))


def test_the_corner_of_a_double_integrator_is_lost() -> None:
    integrator = system(X + Y, Y + U, (X >= 1) | (X <= -1) | (Y >= 1) | (Y <= -1))
    assert unavoidable_parts(integrator, integrator.initial) == (point(-HALF, -HALF), point(HALF, HALF))
    assert not is_unavoidably_unsafe(integrator, point(HALF, HALF - Fraction(1, 100)))
    assert not is_unavoidably_unsafe(integrator, integrator.initial)


def test_what_is_unsafe_at_once_is_lost_as_a_face() -> None:
    edge = system(Const(0) * X, Y, X >= HALF)
    assert unavoidable_parts(edge, edge.initial) == (((HALF, HALF), (-HALF, HALF)),)


def test_a_disturbance_can_make_it_lost() -> None:
    pushed = system(X + D, Y + U, HALF + Fraction(1, 20) <= X, disturbed=True)
    assert is_unavoidably_unsafe(pushed, ((HALF, HALF), (Fraction(0), Fraction(0))))
    assert not is_unavoidably_unsafe(pushed, point(Fraction(2, 5), Fraction(0)))


def test_a_control_without_ends_saves() -> None:
    free = ControlSystem(
        "free", True, ("x",), ((HALF, HALF),), (("u", None, None),), (), (X + 0 * U,), X >= 1
    )
    assert not is_unavoidably_unsafe(free, ((Fraction(1, 4), Fraction(1, 4)),))


def test_lost_states_are_unsafe_whatever_is_tried() -> None:
    """Against sampled controls, in float64, for random quadratic systems."""
    random, seen = Random(5), 0
    for _ in range(300):
        a, b, c, e = (Const(Fraction(random.randint(-30, 30), 10)) for _ in range(4))
        made = system(a * X * X + b * Y / 3 + U / 7, c * X - e * Y * U, (X >= HALF) | (Y**2 > 2))
        sides = [sorted(Fraction(random.randint(-64, 64), 64) for _ in range(2)) for _ in range(2)]
        box = tuple((low, high) for low, high in sides)
        if not is_unavoidably_unsafe(made, box):
            continue
        seen += 1
        for share, u in product((0.0, 0.3, 1.0), (-1.0, -0.123, 0.0, 0.77, 1.0)):
            state = {n: float(a) + share * float(b - a) for n, (a, b) in zip("xy", box, strict=True)}
            after = {
                n: evaluate_term(t, {**state, "u": u}, Arithmetic.FLOAT64)
                for n, t in zip("xy", made.next, strict=True)
            }
            both = [evaluate_term(made.unsafe, s, Arithmetic.FLOAT64) for s in (state, after)]
            assert any(both)
    assert seen > 20


def test_starts_are_the_doubles_that_satisfy_their_bounds() -> None:
    """0.1 as a double is above one tenth, and `x <= 0.1` holds of it: a start that has to be covered."""
    problem = stays_safe("cartpole")
    edge = dict.fromkeys(("x1", "x3", "x4"), 0.05) | {"x2": 0.1}
    assert is_initial(problem.environment, edge)
    box = read_control_system(discretise(problem)).initial
    assert all(
        low <= Fraction(v) <= high for v, (low, high) in zip((0.05, 0.1, 0.05, 0.05), box, strict=True)
    )
