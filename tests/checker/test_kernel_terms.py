"""The kernel's meaning of a term, and what is generated for speed or derived from it, on random terms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot_checker.claims.barrier.polynomial import poly_from_term, poly_variable
from surefoot_checker.claims.barrier.rounding_error import RoundedValue, bound_rounding
from surefoot_checker.claims.runs.formula import TRUE, simplify_by_bounds
from surefoot_checker.claims.runs.term import FormulaScope, truth_formula, variable_cases
from surefoot_checker.claims.values.term import compile_row_function
from surefoot_checker.kernel.strict_json import BadCertificate, Refused
from surefoot_checker.kernel.term import (
    ARRAY,
    BOOLEAN,
    NUMBER,
    Term,
    evaluate,
    read_term,
    replace_atoms,
    same_term,
    term_names,
    term_type,
)

SLOTS = {"i": 0, "r": 1, "b": 2, "a": 3}
KINDS = {0: ("integer", -3, 3), 2: ("boolean",), 3: ("array", 3, ("integer", -2, 2))}
ROWS = st.tuples(
    st.integers(-3, 3),
    st.fractions(-2, 2, max_denominator=3).map(lambda f: f.numerator if f.denominator == 1 else f),
    st.booleans(),
    st.tuples(*[st.integers(-2, 2)] * 3),
)
CONSTANTS = st.one_of(st.integers(-4, 4), st.sampled_from(["1/2", "-2/3", "0x1p-2"]))
LEAVES = st.one_of(CONSTANTS, st.sampled_from([["name", "i"], ["name", "r"]]))


def nodes(words: list[str], *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.sampled_from(words), *parts).map(list)


NUMBERS: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(
        LEAVES,
        LEAVES,
        nodes(["+", "*", "min", "max", "-", "/", "%", "^"], NUMBERS, NUMBERS),
        nodes(["negate", "abs", "sgn", "floor", "ceil", "trc"], NUMBERS),
        nodes(["ite"], TRUTHS, NUMBERS, NUMBERS),
        nodes(["select"], ARRAYS, NUMBERS),
        TRUTHS,
    )
)
TRUTHS: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(
        st.booleans(),
        st.just(["name", "b"]),
        nodes(["<", "<=", "="], NUMBERS, NUMBERS),
        nodes(["and", "or", "=>", "="], TRUTHS, TRUTHS),
        nodes(["not"], TRUTHS),
    )
)
ARRAYS: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(st.just(["name", "a"]), nodes(["array"], NUMBERS, NUMBERS))
)


def value_or_error(function: Callable[[Any], Any], row: Any) -> tuple[str, Any]:
    """What comes out, with its kind; or that nothing does."""
    try:
        found = function(row)
    except Refused:
        return "undefined", None
    except TypeError:  # an element of an array where there is none
        return "of another type", None
    return type(found).__name__, found


@given(data=NUMBERS, row=ROWS)
@settings(max_examples=400, deadline=None)
def test_generated_code_means_what_the_kernel_says(data: Any, row: Any) -> None:
    term = read_term(data)
    wanted = value_or_error(lambda r: evaluate(term, lambda atom: r[SLOTS[atom[1]]]), row)
    for kinds in (KINDS, {}):
        assert value_or_error(compile_row_function(term, SLOTS, kinds), row) == wanted


def type_of(atom: Term) -> str:
    return {"b": BOOLEAN, "a": ARRAY}.get(atom[1], NUMBER)


@given(data=NUMBERS, row=ROWS)
@settings(max_examples=300, deadline=None)
def test_a_value_is_of_the_type_of_its_term(data: Any, row: Any) -> None:
    term = read_term(data)
    found = value_or_error(lambda r: evaluate(term, lambda atom: r[SLOTS[atom[1]]]), row)
    if term_type(term, type_of) == BOOLEAN and found[0] not in ("undefined", "of another type"):
        assert type(found[1]) is bool


LINEAR = st.recursive(
    st.one_of(CONSTANTS, st.sampled_from([["name", "i"], ["name", "r"]])),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "min", "max"]), inner, inner).map(list),
        st.tuples(st.just("*"), CONSTANTS, inner).map(list),
        st.tuples(st.sampled_from(["negate", "abs"]), inner).map(list),
        st.tuples(st.just("ite"), st.tuples(st.just("<"), inner, inner).map(list), inner, inner).map(list),
    ),
    max_leaves=5,
)


@given(left=LINEAR, right=LINEAR, word=st.sampled_from(["<", "<=", "="]), row=ROWS)
@settings(max_examples=300, deadline=None)
def test_a_formula_holds_where_its_term_is_true(left: Any, right: Any, word: str, row: Any) -> None:
    term = read_term([word, left, right])
    point = {"i": Fraction(row[0]), "r": Fraction(row[1])}
    scope = FormulaScope({name: variable_cases(name) for name in point})
    said = evaluate(term, lambda atom: point[atom[1]])
    ends = {name: (value, value) for name, value in point.items()}
    for wanted in (True, False):
        try:
            formula = truth_formula(term, wanted, scope)
        except Refused:  # too many cases
            return
        assert (simplify_by_bounds(formula, ends, frozenset()) == TRUE) is (said is wanted)


POLYNOMIALS = st.recursive(
    st.one_of(CONSTANTS, st.sampled_from([["name", "i"], ["name", "r"]])),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "*", "-"]), inner, inner).map(list),
        st.tuples(st.just("/"), inner, st.sampled_from([2, "-1/2", "0.3"])).map(list),
        st.tuples(st.just("negate"), inner).map(list),
    ),
    max_leaves=8,
)


@given(data=POLYNOMIALS, row=ROWS)
@settings(max_examples=300, deadline=None)
def test_a_polynomial_has_the_values_of_its_term(data: Any, row: Any) -> None:
    term = read_term(data)
    point = [Fraction(row[0]), Fraction(row[1])]
    names = {"i": poly_variable(0, 2), "r": poly_variable(1, 2)}
    found = poly_from_term(term, names, 2, False)
    monomials = ((Fraction(c, found.below), m) for m, c in found.terms.items())
    value = sum((c * point[0] ** m[0] * point[1] ** m[1] for c, m in monomials), Fraction(0))
    exact = evaluate(term, lambda atom: point[SLOTS[atom[1]]])
    assert value == exact
    sizes = {name: RoundedValue(abs(value)) for name, value in zip(("i", "r"), point, strict=True)}
    bound = bound_rounding(term, sizes)
    rounded = poly_from_term(term, names, 2, True)
    value = sum(
        (Fraction(c, rounded.below) * point[0] ** m[0] * point[1] ** m[1] for m, c in rounded.terms.items()),
        Fraction(0),
    )
    assert abs(value) <= bound.size


def test_trees_are_the_same_only_if_their_leaves_are() -> None:
    one, true = read_term(["=", ["name", "b"], 1]), read_term(["=", ["name", "b"], True])
    assert one == true  # Python's own opinion
    assert not same_term(one, true)
    assert same_term(one, read_term(["=", ["name", "b"], "0x1p0"]))
    assert not same_term(read_term(["name", "b"]), read_term(["name", "c"]))
    assert term_names(replace_atoms(one, lambda _: ("name", "z"))) == {"z"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        ["+"],
        ["-", 1],
        ["ite", True, 1],
        ["name"],
        ["name", ""],
        ["name", 3],
        ["deadlocked"],
        ["output", 0],
        ["sin", 1],
        [["name", "x"]],
        1.5,
        {"+": 1},
    ],
)
def test_what_is_no_term_is_refused(data: Any) -> None:
    with pytest.raises(BadCertificate):
        read_term(data)


@pytest.mark.parametrize(
    "data",
    [
        ["+", ["name", "a"], 1],
        ["select", 1, 0],
        ["select", ["name", "a"], ["name", "a"]],
        ["not", ["array", 1]],
    ],
)
def test_arrays_stand_where_they_may(data: Any) -> None:
    with pytest.raises(BadCertificate):
        term_type(read_term(data), type_of)
