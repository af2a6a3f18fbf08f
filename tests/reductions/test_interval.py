from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.float32 import is_float32
from surefoot.term.interval import INTERVAL, decide_by_bounds, term_interval
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.types import is_whole
from surefoot.term.value_types import Bool, Int, Real

X, Y, B = Var("x"), Var("y"), Var("b")
KINDS = {"x": Int(-3, 4), "y": Real(Fraction(-1, 2), Fraction(5, 2)), "b": Bool(), "n": Int()}


def test_every_operator_has_an_interval() -> None:
    assert set(INTERVAL) == set(Op)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (X + Y, (Fraction(-7, 2), Fraction(13, 2))),
        (X * X, (0, 16)),
        (X**3, (-27, 64)),
        (Const(2) ** X, (Fraction(1, 8), 16)),
        (1 / (X + 4), (Fraction(1, 8), 1)),
        (1 / X, (-inf, inf)),
        (X % 3, (0, 2)),
        (Var("n") + 1, (-inf, inf)),
        (0 * Var("n"), (0, 0)),
        (ite(X < 9, 1, Var("n")), (1, 1)),
        (Apply(Op.ABS, (X,)), (0, 4)),
        (Apply(Op.TANH, (Var("n"),)), (-1, 1)),
    ],
)
def test_bounds_are_tight_where_that_is_easy(term: Term, expected: tuple[object, object]) -> None:
    assert term_interval(term, KINDS) == expected


def test_conditions_that_the_kinds_decide() -> None:
    assert decide_by_bounds(X < 5, KINDS) == TRUE
    assert decide_by_bounds(X > 4, KINDS) == FALSE
    assert decide_by_bounds(~(X > 4) & (B | ~equal(X, 7)), KINDS) == TRUE
    assert decide_by_bounds(X < 4, KINDS) == (X < 4)


UNARY = [Op.NEG, Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS]
UNARY += [Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH]
BINARY = [Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX]
numbers = st.recursive(
    st.one_of(st.sampled_from([X, Y]), st.fractions(-3, 3, max_denominator=4).map(Const)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner).map(lambda p: Apply(p[0], (p[1],))),
        st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda p: Apply(p[0], p[1:])),
        st.tuples(inner, inner, inner, inner).map(lambda p: ite(p[0] < p[1], p[2], p[3])),
        st.tuples(inner, st.integers(-2, 3)).map(lambda p: Apply(Op.POW, (p[0], Const(p[1])))),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(numbers, st.integers(-3, 4), st.fractions(Fraction(-1, 2), Fraction(5, 2), max_denominator=6))
def test_every_value_lies_in_its_interval(term: Term, x: int, y: Fraction) -> None:
    try:
        value = evaluate_term(term, {"x": x, "y": y})
    except Undefined:
        return
    low, high = term_interval(term, KINDS)
    assert low <= value <= high
    if is_whole(term, KINDS):
        assert Fraction(value).denominator == 1


def test_float32_numbers_are_recognised() -> None:
    kinds = {"f": Real(None, None, float32=True), "x": Int(0, 2**24), "r": Real(Fraction(0), Fraction(1))}
    assert is_float32(ite(X < 3, Var("f"), -Var("f")), kinds)
    assert is_float32(X, kinds)
    assert not is_float32(X + 1, kinds)
    assert not is_float32(Var("r"), kinds)
    assert not is_float32(Var("f") + Var("f"), kinds)
    assert not is_float32(Const(Fraction(1, 3)), kinds)
