"""Terms over columns have the values of the reference, row by row, or say that the row is lost."""

from __future__ import annotations

import random
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.term.random_terms import KINDS, conditions, numbers

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.term.columns import compile_columns
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import enumerate_parts
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, ValueType

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
@settings(max_examples=400, deadline=None)
@given(terms=st.lists(st.one_of(numbers(), conditions()), min_size=1, max_size=3), seed=st.integers(0, 10**6))
def test_rows_have_the_value_of_the_reference(arithmetic: Arithmetic, terms: list[Term], seed: int) -> None:
    rng = random.Random(seed)
    rows = [{name: draw_value(kind, arithmetic, rng) for name, kind in KINDS.items()} for _ in range(ROWS)]
    try:
        compiled = compile_columns(terms, KINDS, arithmetic)
    except Unsupported:
        return
    names = {name: column_of([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    found = compiled(names, ROWS)
    for term, column, lost in zip(terms, found.columns, found.lost, strict=True):
        assert column.shape == lost.shape == (ROWS,)
        alone = compile_columns([term], KINDS, arithmetic)
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
