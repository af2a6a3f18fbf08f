"""Packed vectors, float32 numbers and covers: each beside its plain twin, on awkward numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checker.twins import plain_numbers
from tests.checker.twins.random_cases import floats

from surefoot_checker.bounds.variable_box import round_inward
from surefoot_checker.claims.unsat.atom_cover import check_atom_cover
from surefoot_checker.kernel.float32 import fraction_to_float32, is_float32_number
from surefoot_checker.kernel.query import Formula
from surefoot_checker.kernel.strict_json import Refused

numbers = st.one_of(
    floats.map(Fraction),
    st.fractions(),
    st.builds(lambda x, d: Fraction(x) + Fraction(d, 1 << 151), floats, st.integers(-3, 3)),
    st.builds(
        lambda place: (plain_numbers.ordered_float32(place) + plain_numbers.ordered_float32(place + 1)) / 2,
        st.integers(-0x7F7FFFFF, 0x7F7FFFFE),
    ),
)


@given(numbers)
@settings(max_examples=400)
def test_the_nearest_float32_number(x: Fraction) -> None:
    if abs(x) > plain_numbers.LARGEST:
        return
    assert fraction_to_float32(x) == plain_numbers.nearest_float32(x)
    assert is_float32_number(x) is (plain_numbers.ordered_float32(plain_numbers.float32_below(x)) == x)


@given(numbers)
@settings(max_examples=300)
def test_bounds_of_float32_variables_move_inward(x: Fraction) -> None:
    if abs(x) > plain_numbers.LARGEST:
        return
    assert -round_inward(-x, "float32") == plain_numbers.ordered_float32(plain_numbers.float32_below(x))
    assert round_inward(x, "real") == x
    assert round_inward(x, "integer") == -(-x.numerator // x.denominator)


names = ("", "x", "y")
coefficients = st.sampled_from([Fraction(n) for n in (-2, -1, 1, 2)] + [Fraction(1, 3)])
forms = st.dictionaries(st.sampled_from(names), coefficients, max_size=3)
comparisons = st.tuples(st.sampled_from(("<=", "<", "=")), forms)
formulas: st.SearchStrategy[Any] = st.recursive(
    comparisons,
    lambda inner: (
        st.tuples(st.sampled_from(("and", "or")), inner, inner)
        | st.tuples(st.sampled_from(("and", "or")), inner)
    ),
    max_leaves=6,
)


@given(st.lists(formulas | st.just(("or",)), max_size=3), st.data())
@settings(max_examples=500)
def test_covers_of_formulas(parts: list[Formula], data: st.DataObject) -> None:
    """With every other set too: those that are made of the formula's own comparisons."""
    inside = [c for part in parts for c in _comparisons_in(part)]
    atoms = [
        (relation, {name: c * factor for name, c in form.items()})
        for relation, form in data.draw(
            st.lists(st.sampled_from(inside) if inside else comparisons, max_size=3)
        )
        for factor in [data.draw(st.sampled_from([Fraction(1), Fraction(2, 3), Fraction(-1)]))]
    ]
    places = st.integers(0, max(len(atoms) - 1, 0))
    sets = [
        frozenset(s)
        for s in data.draw(st.lists(st.lists(places, max_size=2) if atoms else st.just([]), max_size=3))
    ]
    check_cover(parts, atoms, sets)


def check_cover(parts: list[Formula], atoms: list[Formula], sets: list[frozenset[int]]) -> None:
    try:
        check_atom_cover(parts, atoms, sets)
        found = True
    except Refused:
        found = False
    assert found == plain_numbers.covers_formula(parts, atoms, sets)


@pytest.mark.parametrize("factor", [Fraction(n) for n in (-2, -1, 1, 3)])
@pytest.mark.parametrize("relation", ["<=", "<", "="])
@pytest.mark.parametrize("weaker", ["<=", "<", "="])
def test_multiples_of_comparisons(factor: Fraction, relation: str, weaker: str) -> None:
    """The opposite of an inequality is no multiple of it; that of an equation is."""
    form = {"x": Fraction(2), "y": Fraction(-1), "": Fraction(1, 3)}
    scaled = {name: factor * c for name, c in form.items()}
    check_cover([(relation, form)], [(weaker, scaled)], [frozenset({0})])


def _comparisons_in(whole: Any) -> list[Formula]:
    if whole[0] in ("and", "or"):
        return [c for part in whole[1:] for c in _comparisons_in(part)]
    return [whole]
