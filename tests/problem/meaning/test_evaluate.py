"""What terms mean, in exact arithmetic and in float64."""

import math
from fractions import Fraction
from typing import Any

import pytest

from surefoot.term.evaluate import EXACT, FLOAT64, Undefined, evaluate_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
    term_from_python,
)
from surefoot.term.traverse import LAZY
from surefoot.term.value_types import Arithmetic

BOTH = pytest.mark.parametrize("arithmetic", list(Arithmetic))
ELEMENTARY = (Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH)
UNDEFINED = term_from_python(1) - Var("one")  # 0 behind a name, so that nothing is folded


def apply(op: Op, *args: Any) -> Apply:
    return Apply(op, tuple(term_from_python(a) for a in args))


@pytest.mark.parametrize("table", [EXACT, FLOAT64], ids=["exact", "float64"])
def test_every_operator_has_a_row(table: dict[Op, Any]) -> None:
    assert set(table) | LAZY == set(Op)
    assert not set(table) & LAZY


@BOTH
@pytest.mark.parametrize(
    ("a", "b", "rest"), [(7, 5, 2), (-7, 5, 3), (7, -5, 2), (-7, -5, 3), (6, -3, 0), (0, -5, 0)]
)
def test_modulo_is_janis(a: int, b: int, rest: int, arithmetic: Arithmetic) -> None:
    assert evaluate_term(apply(Op.MOD, a, b), {}, arithmetic) == rest


@BOTH
def test_modulo_of_fractions_is_undefined(arithmetic: Arithmetic) -> None:
    with pytest.raises(Undefined, match="whole numbers"):
        evaluate_term(apply(Op.MOD, Fraction(1, 2), 2), {}, arithmetic)


@BOTH
@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        (Op.FLOOR, Fraction(-3, 2), -2),
        (Op.FLOOR, Fraction(3, 2), 1),
        (Op.CEIL, Fraction(-3, 2), -1),
        (Op.CEIL, Fraction(3, 2), 2),
        (Op.TRUNC, Fraction(-3, 2), -1),
        (Op.TRUNC, Fraction(3, 2), 1),
        (Op.FLOOR, 2, 2),
        (Op.SIGN, Fraction(-1, 3), -1),
        (Op.SIGN, 0, 0),
        (Op.ABS, -4, 4),
        (Op.NEG, 4, -4),
    ],
)
def test_rounding_and_signs(op: Op, value: Any, expected: int, arithmetic: Arithmetic) -> None:
    result = evaluate_term(Apply(op, (Const(value),)), {}, arithmetic)
    assert result == expected
    assert isinstance(result, int)


def test_division_is_exact_or_float64() -> None:
    third = Var("one") / 3
    assert evaluate_term(third, {"one": 1}) == Fraction(1, 3)
    assert evaluate_term(third, {"one": 1}, Arithmetic.FLOAT64) == 1 / 3
    assert evaluate_term(third * 3, {"one": 1}) == 1
    assert isinstance(evaluate_term(third * 3, {"one": 1}), int)


def test_float64_follows_the_written_order() -> None:
    values = {"a": 0.1, "b": 0.2, "c": 0.3}
    a, b, c = (Var(n) for n in values)
    assert evaluate_term((a + b) + c, values, Arithmetic.FLOAT64) == (0.1 + 0.2) + 0.3
    assert evaluate_term(a + (b + c), values, Arithmetic.FLOAT64) == 0.1 + (0.2 + 0.3)
    assert (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3)
    assert evaluate_term(apply(Op.ADD, a, b, c), values, Arithmetic.FLOAT64) == (0.1 + 0.2) + 0.3
    assert evaluate_term(a * b * c, values, Arithmetic.FLOAT64) == 0.1 * 0.2 * 0.3


def test_a_constant_is_rounded_only_in_float64() -> None:
    assert evaluate_term(Const(Fraction(1, 10)), {}) == Fraction(1, 10)
    assert evaluate_term(Const(Fraction(1, 10)), {}, Arithmetic.FLOAT64) == 0.1


@BOTH
@pytest.mark.parametrize(
    "lazy",
    [
        ite(TRUE, 1, 1 / UNDEFINED),
        ite(FALSE, 1 / UNDEFINED, 1),
        ite(disjunction_of((TRUE, UNDEFINED < 1 / UNDEFINED)), 1, 0),
        ite(Apply(Op.OR, (Var("yes"), 1 / UNDEFINED > 0)), 1, 0),
        ite(Apply(Op.AND, (~Var("yes"), 1 / UNDEFINED > 0)), 0, 1),
        ite(Apply(Op.IMPLIES, (~Var("yes"), 1 / UNDEFINED > 0)), 1, 0),
        ite((Var("index") < 2) & (array_term(5, 6)[Var("index")] > 0), 0, 1),
    ],
)
def test_what_does_not_matter_is_not_looked_at(lazy: Term, arithmetic: Arithmetic) -> None:
    assert evaluate_term(lazy, {"one": 1, "yes": True, "index": 2}, arithmetic) == 1


@BOTH
@pytest.mark.parametrize(
    "undefined",
    [
        1 / UNDEFINED,
        apply(Op.MOD, 1, UNDEFINED),
        array_term(1, 2)[Var("two")],
        array_term(1, 2)[-Var("one")],
        apply(Op.LOG, UNDEFINED),
        apply(Op.LOG, -Var("one")),
        apply(Op.SQRT, -Var("one")),
        apply(Op.ASIN, Var("two")),
        apply(Op.ACOS, Var("two")),
        apply(Op.EXP, 10**6),
        apply(Op.EXP, 10**30),
        apply(Op.POW, UNDEFINED, -Var("one")),
        apply(Op.POW, -Var("two"), Fraction(1, 2)),
        apply(Op.SIN, 10**30),
    ],
)
def test_undefined_things_have_no_value(undefined: Term, arithmetic: Arithmetic) -> None:
    with pytest.raises(Undefined):
        evaluate_term(undefined, {"one": 1, "two": 2}, arithmetic)


def test_overflow_of_float64_is_undefined() -> None:
    huge = {"x": 1e308}
    for overflowing in (
        Var("x") + Var("x"),
        Var("x") * 10,
        Var("x") - (-Var("x")),
        Var("x") ** 2,
        Var("x") / 1e-9,
    ):
        with pytest.raises(Undefined):
            evaluate_term(overflowing, huge, Arithmetic.FLOAT64)


def test_an_enormous_exponent_is_refused_before_any_work() -> None:
    with pytest.raises(Undefined, match="too large"):
        evaluate_term(Var("x") ** 10**9, {"x": 3})


def test_powers() -> None:
    assert evaluate_term(Var("x") ** 3, {"x": Fraction(-1, 2)}) == Fraction(-1, 8)
    assert evaluate_term(Var("x") ** -2, {"x": 2}) == Fraction(1, 4)
    assert evaluate_term(Var("x") ** 0, {"x": 0}) == 1
    assert evaluate_term(Var("x") ** 3, {"x": 0.1}, Arithmetic.FLOAT64) == 0.1 * 0.1 * 0.1
    assert evaluate_term(Var("x") ** Fraction(1, 2), {"x": 4}) == 2
    assert evaluate_term(Var("x") ** Fraction(1, 2), {"x": 0.0}, Arithmetic.FLOAT64) == 0.0


@pytest.mark.parametrize("op", ELEMENTARY, ids=lambda op: op.value)
def test_elementary_functions_agree_with_the_library_to_a_few_ulps(op: Op) -> None:
    library = {"asin": math.asin, "acos": math.acos, "atan": math.atan}.get(op.value) or getattr(
        math, op.value
    )
    for x in (0.03125, 0.3, 0.75, 1.0):
        expected = library(x)
        computed = evaluate_term(apply(op, Var("x")), {"x": x}, Arithmetic.FLOAT64)
        assert abs(computed - expected) <= 2 * math.ulp(expected)
        assert evaluate_term(apply(op, Var("x")), {"x": Fraction(x)}) == Fraction(computed)


@pytest.mark.parametrize("op", [Op.SIN, Op.TAN, Op.ASIN, Op.ATAN, Op.TANH], ids=lambda op: op.value)
def test_elementary_functions_of_tiny_numbers_are_those_numbers(op: Op) -> None:
    for x in (1e-9, 1e-29, 1e-31, -1e-55, 1e-110, -1e-300, 5e-324):
        assert evaluate_term(apply(op, Var("x")), {"x": x}, Arithmetic.FLOAT64) == x
        assert evaluate_term(apply(op, Var("x")), {"x": Fraction(x)}) == Fraction(x)


def test_elementary_functions_beyond_the_first_turn() -> None:
    assert evaluate_term(apply(Op.SIN, 100), {}, Arithmetic.FLOAT64) == pytest.approx(
        math.sin(100), abs=1e-15
    )
    assert evaluate_term(apply(Op.COS, -100), {}, Arithmetic.FLOAT64) == pytest.approx(
        math.cos(100), abs=1e-15
    )
    assert evaluate_term(apply(Op.ATAN, 1000), {}, Arithmetic.FLOAT64) == pytest.approx(
        math.atan(1000), abs=1e-15
    )
    assert evaluate_term(apply(Op.TANH, 1000), {}, Arithmetic.FLOAT64) == 1.0
    assert evaluate_term(apply(Op.EXP, -(10**6)), {}, Arithmetic.FLOAT64) == 0.0


@BOTH
def test_comparisons_truth_and_arrays(arithmetic: Arithmetic) -> None:
    names = {"x": 2, "grid": ((1, 2), (3, 4)), "on": True}
    x, grid, on = Var("x"), Var("grid"), Var("on")
    for claim in (x < 3, x <= 2, x > 1, x >= 2, equal(x, 2), on, ~(x < 2), on | (x > 5), on & (x < 5)):
        assert evaluate_term(claim, names, arithmetic) is True
    assert evaluate_term(equal(on, TRUE), names, arithmetic) is True
    assert evaluate_term(Apply(Op.IMPLIES, (~on, x < 0)), names, arithmetic) is True
    assert evaluate_term(grid[1][0], names, arithmetic) == 3
    assert evaluate_term(array_term(array_term(1, 2), array_term(3, 4)), names, arithmetic) == names["grid"]
    assert evaluate_term(apply(Op.MIN, 3, x, 5), names, arithmetic) == 2
    assert evaluate_term(apply(Op.MAX, 3, x, 5), names, arithmetic) == 5


def test_an_index_must_be_whole() -> None:
    with pytest.raises(Undefined, match="outside an array"):
        evaluate_term(array_term(1, 2)[Var("half")], {"half": Fraction(1, 2)})


def test_flat_conjunctions_and_disjunctions() -> None:
    a, b, c = Var("a"), Var("b"), Var("c")
    assert conjunction_of((a & b, TRUE, c)) == Apply(Op.AND, (a, b, c))
    assert disjunction_of((a | b, FALSE, c)) == Apply(Op.OR, (a, b, c))
    assert conjunction_of((a, FALSE)) == FALSE
    assert disjunction_of((a, TRUE)) == TRUE
    assert conjunction_of(()) == TRUE
    assert disjunction_of(()) == FALSE
