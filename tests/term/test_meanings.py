"""Meanings of terms on the one traversal agree with plain recursions, and with the reference's values."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.term.random_terms import KINDS, SCALARS, scalar_terms, states, terms
from tests.term.twins.defined_range import term_span
from tests.term.twins.evaluate import evaluate_recursively
from tests.term.twins.scalar_types import (
    interval_recursively,
    is_float32_recursively,
    is_rounded_recursively,
    is_whole_recursively,
    sort_of_recursively,
)

from surefoot.errors import InvalidProblem
from surefoot.term.evaluate import Undefined, evaluate_term, make_evaluator
from surefoot.term.float32 import is_float32
from surefoot.term.interval import defined_span, is_surely_defined, term_interval
from surefoot.term.number import LongNumber, as_doubles
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import count_term_parts, enumerate_parts, fold_term
from surefoot.term.types import (
    infer_term_type,
    is_rounded,
    is_truth_value,
    is_whole,
    sort_of,
    sort_of_type,
    term_sort,
)
from surefoot.term.value_types import Arithmetic, Bool, Real

CHECKED = settings(max_examples=100, deadline=None, derandomize=True)


def outcome(evaluate: Any, term: Term, state: Mapping[str, Any], arithmetic: Arithmetic) -> object:
    try:
        value = evaluate(term, state, arithmetic)
    except (Undefined, LongNumber) as error:
        return type(error)
    return (type(value), value)


@CHECKED
@given(terms, states, st.sampled_from(Arithmetic))
def test_values_are_those_of_a_plain_recursion(term: Term, state: dict[str, Any], how: Arithmetic) -> None:
    if how is Arithmetic.FLOAT64:
        real = (name for name, kind in KINDS.items() if isinstance(sort_of_type(kind), Real))
        state = {**state, **{name: as_doubles(state[name]) for name in real}}
    assert outcome(evaluate_term, term, state, how) == outcome(evaluate_recursively, term, state, how)


@CHECKED
@given(st.lists(terms, min_size=1, max_size=4), states)
def test_terms_that_share_parts_have_their_own_values(several: list[Term], state: dict[str, Any]) -> None:
    parts = [part for term in several for part in enumerate_parts(term)]
    value = make_evaluator(state, Arithmetic.EXACT)
    for term in (*several, *parts, *several):  # what has no value has none the second time either
        shared = outcome(lambda t, _, __: value(t), term, state, Arithmetic.EXACT)
        assert shared == outcome(evaluate_term, term, state, Arithmetic.EXACT)


@CHECKED
@given(terms, states)
def test_a_surely_defined_term_has_a_value_in_its_interval(term: Term, state: dict[str, Any]) -> None:
    found = outcome(evaluate_term, term, state, Arithmetic.EXACT)
    if is_surely_defined(term, KINDS):
        assert found is not Undefined
    if isinstance(found, tuple):
        low, high = term_interval(term, KINDS)
        assert low <= found[1] <= high


@CHECKED
@given(scalar_terms)
def test_bounds_and_kinds_are_those_of_plain_recursions(term: Term) -> None:
    assert term_interval(term, SCALARS) == interval_recursively(term, SCALARS)
    assert is_rounded(term, SCALARS) == is_rounded_recursively(term, SCALARS)
    assert is_float32(term, SCALARS) == is_float32_recursively(term, SCALARS)
    if not isinstance(term, Const):  # a truth value counted as a whole number there
        assert is_whole(term, SCALARS) <= is_whole_recursively(term, SCALARS)


@CHECKED
@given(terms)
def test_the_one_interval_contains_what_the_other_one_knew(term: Term) -> None:
    """It is never wider than the range of terms with a value, and the same terms have one."""
    before, now = term_span(term, KINDS), defined_span(term, KINDS)
    if before is not None and before.low is not None and before.high is not None:
        assert now is not None
        assert before.contains(now)


@CHECKED
@given(terms)
def test_the_two_tables_of_kinds_agree(term: Term) -> None:
    inferred = infer_type(term)
    if inferred is None:
        return
    assert term_sort(term, lambda name: sort_of_type(KINDS[name])) == inferred
    assert is_truth_value(term, KINDS) is isinstance(inferred, Bool)
    old, new = sort_of_recursively(term, KINDS), sort_of(term, KINDS)
    assert old in (None, new)  # powers and remainders were not looked into


def infer_type(term: Term) -> object:
    """None where the term cannot have a value, which is refused."""
    try:
        return sort_of_type(infer_term_type(term, KINDS, "", InvalidProblem))
    except InvalidProblem as error:
        if "divides by zero" in str(error) or "is outside" in str(error):
            return None
        raise


def test_a_term_may_be_deeper_than_the_stack() -> None:
    deep: Term = Var("n")
    for _ in range(5_000):
        deep = Apply(Op.ITE, (Const(True), deep + 1, Const(0)))
    assert evaluate_term(deep, {"n": 0}) == 5_000
    assert is_whole(deep, KINDS)
    assert term_interval(deep, KINDS) == (-3 + 5_000, 4 + 5_000)


def test_a_shared_part_is_visited_once() -> None:
    term: Term = Var("n")
    for _ in range(200):
        term = term + term
    assert term_interval(term, KINDS) == (-3 * 2**200, 4 * 2**200)
    assert count_term_parts(term) == 2**201 - 1


def test_arguments_are_visited_from_left_to_right() -> None:
    order: list[object] = []
    term = (Var("a") + Var("b")) * Const(Fraction(1, 2))
    fold_term(term, order.append, lambda part, _: order.append(part.op))
    assert order == [Var("a"), Var("b"), Op.ADD, Const(Fraction(1, 2)), Op.MUL]


@pytest.mark.parametrize("term", [Var("x") / Var("n"), Var("a")[Var("n")], Var("a")[3], Var("x") % 2])
def test_what_may_be_undefined(term: Term) -> None:
    assert not is_surely_defined(term, KINDS)
    assert not is_surely_defined(Apply(Op.SQRT, (Var("y"),)), KINDS)


@pytest.mark.parametrize(
    "term", [Var("x") / Var("m"), Var("a")[Var("m")], Var("g")[1][Var("m") - 1], Var("n") % 2]
)
def test_what_is_surely_defined(term: Term) -> None:
    assert is_surely_defined(term, KINDS)
    assert not is_surely_defined(term, KINDS, Arithmetic.FLOAT64)
