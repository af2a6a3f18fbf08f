"""Meanings of polynomials agree with plain recursions, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.term.twins.polynomials import (
    interval_truth_twin,
    polynomial_twin,
    rounding_error_twin,
    term_range_twin,
)

from surefoot.engines.barrier.scaled_system import bound_rounding_error
from surefoot.engines.predicates.dynamics import _check_positive, _positive_form
from surefoot.errors import Unsupported
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.reductions.barrier.polynomials import polynomial_of
from surefoot.shields.unavoidable import _computed_range
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Apply, Const, Op, Term, Var, equal, ite

CHECKED = settings(max_examples=150, deadline=None, derandomize=True)
X, Y = Var("x"), Var("y")
fractions = st.fractions(-3, 3, max_denominator=7)
leaves = st.one_of(st.sampled_from([X, Y]), fractions.map(Const), st.just(Const(Fraction(10**20, 3))))


def grow(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.tuples(st.sampled_from([Op.ADD, Op.MUL]), several).map(lambda p: Apply(*p)),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        inner.map(lambda p: Apply(Op.NEG, (p,))),
        st.tuples(inner, st.integers(-1, 4)).map(lambda p: Apply(Op.POW, (p[0], Const(p[1])))),
        st.tuples(inner, fractions).map(lambda p: Apply(Op.DIV, (p[0], Const(p[1])))),
        inner.map(lambda p: Apply(Op.SIN, (p,))),
    )


polynomials = st.recursive(leaves, grow, max_leaves=5)
comparisons = st.tuples(st.sampled_from([Op.LT, Op.LE, Op.EQ]), polynomials, polynomials).map(
    lambda p: Apply(p[0], p[1:])
)
conditions = st.recursive(
    st.one_of(comparisons, st.booleans().map(Const)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from([Op.AND, Op.OR]), st.lists(inner, min_size=1, max_size=3).map(tuple)).map(
            lambda p: Apply(*p)
        ),
        inner.map(lambda p: ~p),
        st.tuples(inner, inner).map(lambda p: Apply(Op.IMPLIES, p)),
    ),
    max_leaves=4,
)
ranges = st.tuples(fractions, fractions).map(lambda p: (min(p), max(p)))


def outcome(function: Callable[[], object]) -> object:
    try:
        return function()
    except (Unsupported, ZeroDivisionError, OverflowError):
        return "refused"  # which part is refused first may differ


@CHECKED
@given(polynomials, st.booleans())
def test_polynomials(term: Term, rounded: bool) -> None:
    names = {"x": polynomial_from_variable(0, 2), "y": polynomial_from_variable(1, 2)}
    now = outcome(lambda: polynomial_of(term, names, 2, rounded))
    assert now == outcome(lambda: polynomial_twin(term, names, 2, rounded))


@CHECKED
@given(polynomials)
def test_rounding_errors(term: Term) -> None:
    sizes = {"x": (1.5, 1e-17), "y": (3.0, 0.0)}
    now = outcome(lambda: bound_rounding_error(term, sizes))
    assert now == outcome(lambda: rounding_error_twin(term, sizes))


@CHECKED
@given(polynomials, conditions, ranges, ranges, st.booleans())
def test_computed_ranges(term: Term, condition: Term, x: object, y: object, rounded: bool) -> None:
    given_ranges = {"x": x, "y": y}
    if rounded:
        given_ranges = {n: tuple(map(float, ends)) for n, ends in given_ranges.items()}  # type: ignore
    now = outcome(lambda: _computed_range(term, given_ranges, rounded))  # type: ignore[arg-type]
    assert now == outcome(lambda: term_range_twin(term, given_ranges, rounded))  # type: ignore[arg-type]
    ends = outcome(lambda: _computed_range(condition, given_ranges, rounded))  # type: ignore[arg-type]
    truth = outcome(lambda: interval_truth_twin(condition, given_ranges, rounded))  # type: ignore[arg-type]
    assert {(1, 1): True, (0, 0): False, (0, 1): None}.get(ends, ends) == truth  # type: ignore


outputs = st.sampled_from([Var("output[0]"), Var("output[1]"), X, Const(1)])
compared = st.tuples(st.sampled_from([Op.LT, Op.LE, Op.EQ]), outputs, outputs).map(
    lambda p: Apply(p[0], p[1:])
)
said = st.recursive(
    compared,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] & p[1]),
        st.tuples(inner, inner).map(lambda p: Apply(Op.IMPLIES, p)),
        st.tuples(inner, inner).map(lambda p: equal(*p)),
        st.tuples(inner, inner, inner).map(lambda p: ite(*p)),
        inner.map(lambda p: ~p),
    ),
    max_leaves=5,
)


@CHECKED
@given(said, st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)))
def test_conditions_on_outputs_are_not_negated(term: Term, values: tuple[int, int, int]) -> None:
    names = frozenset({"output[0]", "output[1]"})
    found = _positive_form(term, names)
    _check_positive(found, names, {})
    state = dict(zip(("output[0]", "output[1]", "x"), values, strict=True))
    assert evaluate_term(found, state) is evaluate_term(term, state)
