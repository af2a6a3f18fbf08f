"""Terms over columns have the values of the reference, row by row, or say that the row is lost."""

from __future__ import annotations

import random
import struct
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.term.random_terms import KINDS, conditions, numbers

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.simulate.batch.fast_columns import FastColumns
from surefoot.term.columns import compile_columns
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import enumerate_parts
from surefoot.term.types import ELEMENTARY
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

ROWS = 24


def draw_value(kind: ValueType, arithmetic: Arithmetic, rng: random.Random) -> Any:
    match kind:
        case Bool():
            return rng.random() < 0.5
        case Int(int() as low, int() as high):
            return rng.randint(low, high)
        case Array(element, length):
            return tuple(draw_value(element, arithmetic, rng) for _ in range(length))
        case _:
            low, high = Fraction(kind.low or -4), Fraction(kind.high or 4)
            value = low + (high - low) * Fraction(rng.randint(0, 8), 8)
            return float(value) if arithmetic is Arithmetic.FLOAT64 else value


def column_of(values: list[Any], kind: ValueType) -> np.ndarray:
    while isinstance(kind, Array):
        kind = kind.element
    dtype = np.bool_ if isinstance(kind, Bool) else np.int64 if isinstance(kind, Int) else np.float64
    return np.array(values, dtype=dtype)


def has_large_integer(term: Term, names: dict[str, Any], arithmetic: Arithmetic) -> bool:
    for part in enumerate_parts(term):
        try:
            value = evaluate_term(part, names, arithmetic)
        except (Undefined, Unsupported, InvalidProblem):
            continue
        if isinstance(value, int | Fraction) and abs(value) > 2**61:
            return True
    return False


def same_bits(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return len(left) == len(right) and all(same_bits(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float):
        return struct.pack("d", left) == struct.pack("d", float(right))
    return bool(left == right)


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
@settings(max_examples=60, deadline=None)
@given(terms=st.lists(st.one_of(numbers(), conditions()), min_size=1, max_size=5), seed=st.integers(0, 10**6))
def test_machine_code_has_the_bits_of_numpy(arithmetic: Arithmetic, terms: list[Term], seed: int) -> None:
    rng = random.Random(seed)
    rows = [{name: draw_value(kind, arithmetic, rng) for name, kind in KINDS.items()} for _ in range(ROWS)]
    names = {name: column_of([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    try:
        numpy_tier = compile_columns(terms, KINDS, arithmetic, exact=True)
    except Unsupported:
        return
    plain = numpy_tier(names, ROWS)
    fast = FastColumns(numpy_tier)
    fast.compile_now()
    found = fast(names, ROWS)
    joined = FastColumns(numpy_tier, joined=True)
    joined.compile_now()
    together = joined(names, ROWS)
    assert (together.lost[0] == np.logical_or.reduce(plain.lost)).all()
    with patch("surefoot.simulate.batch.fast_columns._MOST_OPERATIONS", 2):
        split = FastColumns(numpy_tier, joined=True)
    split.compile_now()
    parts = split(names, ROWS)
    assert (parts.lost[0] == together.lost[0]).all()
    for a, b, lost in zip(parts.columns, plain.columns, plain.lost, strict=True):
        assert a[~lost].tobytes() == b[~lost].tobytes()
    for a, b, c, left, right in zip(
        plain.columns, found.columns, together.columns, plain.lost, found.lost, strict=True
    ):
        assert a.dtype == b.dtype == c.dtype
        assert (left == right).all()
        kept = ~left
        assert a[kept].tobytes() == b[kept].tobytes() == c[kept].tobytes()


@pytest.mark.parametrize("exact", [False, True], ids=["looking", "exact"])
@pytest.mark.parametrize("arithmetic", list(Arithmetic))
@settings(max_examples=200, deadline=None)
@given(terms=st.lists(st.one_of(numbers(), conditions()), min_size=1, max_size=3), seed=st.integers(0, 10**6))
def test_rows_have_the_value_of_the_reference(
    arithmetic: Arithmetic, exact: bool, terms: list[Term], seed: int
) -> None:
    rng = random.Random(seed)
    rows = [{name: draw_value(kind, arithmetic, rng) for name, kind in KINDS.items()} for _ in range(ROWS)]
    try:
        compiled = compile_columns(terms, KINDS, arithmetic, exact=exact)
    except Unsupported:
        return
    names = {name: column_of([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    found = compiled(names, ROWS)
    for term, column, lost in zip(terms, found.columns, found.lost, strict=True):
        assert column.shape == lost.shape == (ROWS,)
        alone = compile_columns([term], KINDS, arithmetic, exact=exact)
        for number, row in enumerate(rows):
            try:
                value = evaluate_term(term, row, arithmetic)
            except Undefined:
                if alone.exact:
                    assert lost[number]
                continue
            except Unsupported:
                continue
            if lost[number]:
                assert not alone.exact or has_large_integer(term, row, arithmetic)
            elif alone.exact:
                assert same_bits(value, column[number].item()), (term, row, value, column[number])


X, N = Var("x"), Var("n")
UNLIMITED: dict[str, ValueType] = {"x": Real(), "y": Real(), "n": Int()}


def varied_doubles(count: int, rng: np.random.Generator) -> np.ndarray:
    """Near 0 and 1, of every size, whole ones and multiples of pi."""
    parts = [
        rng.uniform(-1, 1, count),
        rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, count),
        rng.normal(size=count) * 10.0 ** rng.integers(-320, 308, count),
        1 + rng.normal(size=count) * 10.0 ** rng.integers(-16, 0, count),
        np.rint(rng.normal(size=count) * 20) / 2,
        np.rint(rng.normal(size=count) * 50) * np.pi / 4,
        rng.uniform(-746, 711, count),
        np.array(
            [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e20, 1.1e20, 709.782712893384, 709.79, -745.13, -746]
        ),
    ]
    return np.concatenate(parts)


def assert_rows_equal(term: Term, names: dict[str, np.ndarray]) -> None:
    count = len(next(iter(names.values())))
    compiled = compile_columns([term], UNLIMITED, Arithmetic.FLOAT64, exact=True)
    assert compiled.exact
    found = compiled(names, count)
    for row in range(count):
        at = {name: column[row].item() for name, column in names.items()}
        try:
            value = evaluate_term(term, at, Arithmetic.FLOAT64)
        except Undefined:
            assert found.lost[0][row], (term, at)
        else:
            assert not found.lost[0][row], (term, at)
            assert same_bits(float(value), found.columns[0][row].item()), (term, at, value)


@pytest.mark.parametrize("op", sorted(ELEMENTARY, key=lambda op: op.value))
def test_elementary_functions_of_exact_columns_have_the_bits_of_the_reference(op: Op) -> None:
    assert_rows_equal(Apply(op, (X,)), {"x": varied_doubles(100, np.random.default_rng(1))})


@pytest.mark.parametrize("op", sorted(ELEMENTARY, key=lambda op: op.value))
def test_they_do_where_the_platform_has_no_longer_doubles(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.term.elementary_columns._WIDE", False)
    assert_rows_equal(Apply(op, (X,)), {"x": varied_doubles(4, np.random.default_rng(2))})


@pytest.mark.parametrize(
    "power",
    [X ** Var("y"), X**N, X ** Const(Fraction(1, 2)), X**65, X**-70, N ** Var("y"), N**-3],
    ids=str,
)
def test_powers_of_exact_columns_have_the_bits_of_the_reference(power: Term) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([np.abs(varied_doubles(20, rng)), varied_doubles(5, rng), np.zeros(6)])
    y = np.concatenate([rng.normal(size=len(x) - 6) * 3, [0.0, 1.0, -1.0, 2.0, 0.5, -0.0]])
    n = rng.integers(-5, 80, len(x)) * rng.choice([-1, 1], len(x))
    assert_rows_equal(power, {"x": x, "y": y, "n": n})


@pytest.mark.parametrize(
    ("term", "lost"),
    [
        (1 / N, [False, True]),
        (Apply(Op.ITE, (N < 0, 1 / N, Const(0))), [False, False]),
        (~(N < 0) | (1 / N < 0), [False, False]),
        ((N < 0) & (1 / N < 0), [False, False]),
        ((1 / N < 0) & (N < 0), [False, True]),
        (Var("a")[N], [True, False]),
        (Apply(Op.LOG, (X,)), [True, True]),
        (Apply(Op.EXP, (1000 * N + 1000,)) < 1, [False, True]),
    ],
)
def test_a_row_is_lost_where_a_part_that_matters_has_no_value(term: Term, lost: list[bool]) -> None:
    names = {
        "n": np.array([-1, 0]),
        "x": np.array([-1.0, 0.0]),
        "a": np.array([[1, 2, 3], [4, 5, 6]]),
    }
    assert compile_columns([term], KINDS, Arithmetic.FLOAT64)(names, 2).lost[0].tolist() == lost


def test_a_part_of_many_terms_is_computed_once() -> None:
    part = X * X + N
    compiled = compile_columns([part < 1, part < 2, part + 1], KINDS)
    assert sum(node.arguments != () for node in compiled.nodes) == 5


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_zero_to_the_zeroth_is_one_in_every_arithmetic(arithmetic: Arithmetic) -> None:
    term, kinds = Var("x") ** Var("y"), {"x": Real(), "y": Real()}
    rows = {"x": np.array([0.0, 0.0, 2.0]), "y": np.array([0.0, 1.5, 0.0])}
    for exact in (False, True):
        found = compile_columns([term], kinds, arithmetic, exact=exact)(rows, 3)
        assert found.columns[0].tolist() == [1.0, 0.0, 1.0]
    for x, y, value in ((0, 0, 1), (0, Fraction(3, 2), 0), (2, 0, 1)):
        number = float if arithmetic is Arithmetic.FLOAT64 else lambda v: v
        assert evaluate_term(term, {"x": number(x), "y": number(y)}, arithmetic) == value


HUGE = (2**62 + 1, -(2**63), 10**19 + 1, 10**300, -(10**25) - 1)
BESIDE = (Op.LT, Op.LE, Op.EQ, Op.ADD, Op.SUB, Op.MUL, Op.DIV)


@pytest.mark.parametrize("op", BESIDE)
@pytest.mark.parametrize("huge", HUGE, ids=lambda n: f"{n:.0e}")
def test_a_huge_constant_beside_a_real_number_is_its_double(op: Op, huge: int) -> None:
    values = [0.0, -1.5, float(huge), float(np.nextafter(float(huge), 0.0)), 1e308, -1e-308]
    kinds: dict[str, ValueType] = {"x": Real()}
    for term in (Apply(op, (Var("x"), Const(huge))), Apply(op, (Const(huge), Var("x")))):
        by_numpy = compile_columns([term], kinds, Arithmetic.FLOAT64)
        in_code = FastColumns(by_numpy)
        in_code.compile_now()
        for terms in (by_numpy, in_code):
            found = terms({"x": np.array(values)}, len(values))
            for row, value in enumerate(values):
                try:
                    expected = evaluate_term(term, {"x": value}, Arithmetic.FLOAT64)
                except (Undefined, Unsupported, InvalidProblem):
                    assert found.lost[0][row]
                    continue
                assert not found.lost[0][row]
                assert same_bits(found.columns[0][row], expected)


@pytest.mark.parametrize(
    "term",
    [
        Apply(Op.LT, (Var("n"), Const(10**19))),
        Apply(Op.ADD, (Var("n"), Const(10**19), Var("x"))),
        Apply(Op.MIN, (Var("x"), Const(10**19))),
        Const(10**19),
    ],
    ids=("integers", "sum", "min", "alone"),
)
def test_elsewhere_a_huge_constant_fits_into_no_column(term: Term) -> None:
    with pytest.raises(Unsupported, match="62 bits"):
        compile_columns([term], {"x": Real(), "n": Int(0, 9)}, Arithmetic.FLOAT64)
