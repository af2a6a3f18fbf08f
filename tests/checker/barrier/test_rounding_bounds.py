"""How far a computed term may be off: the rules of docs/certificates.md, section 12, number by number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from surefoot_checker.claims.barrier.polynomial import (
    ExactPolynomial,
    bound_polynomial_change,
    poly_constant,
    poly_from_term,
)
from surefoot_checker.claims.barrier.rounding_error import RoundedValue, bound_rounding
from surefoot_checker.kernel.strict_json import Refused

_A, _B = ("name", "a"), ("name", "b")
_UNIT, _LEAST = Fraction(1, 1 << 53), Fraction(1, 1 << 1074)
_SIZES = (Fraction(3), Fraction(5))
_ERRORS = (Fraction(1, 7), Fraction(1, 11))
_NAMES = {name: RoundedValue(s, e) for name, s, e in zip("ab", _SIZES, _ERRORS, strict=True)}
(_a, _b), (_α, _β) = _SIZES, _ERRORS
_SUM = _α + _β + _UNIT * (_a + _b + _α + _β)
_CROSSED = _a * _β + _b * _α + _α * _β


@pytest.mark.parametrize(
    ("term", "size", "error"),
    [
        (("+", _A, _B), _a + _b, _SUM),
        (("-", _A, _B), _a + _b, _SUM),
        (("+", _A, _B, _A), 2 * _a + _b, _SUM + _α + _UNIT * (2 * _a + _b + _SUM + _α)),
        (("*", _A, _B), _a * _b, _CROSSED + _UNIT * (_a * _b + _CROSSED) + _LEAST),
        (("/", _A, Fraction(-4)), _a / 4, _α / 4 + _UNIT * (_a + _α) / 4 + _LEAST),
        (("/", _A, ("negate", Fraction(1, 4))), 4 * _a, 4 * _α + _UNIT * 4 * (_a + _α) + _LEAST),
        (("negate", _A), _a, _α),
        (("max", _A, _B), _b, _α),
        (("max", _B, _A), _b, _α),
        (Fraction(-1, 10), Fraction(0.1), Fraction(0)),
    ],
)
def test_one_operation(term: Any, size: Fraction, error: Fraction) -> None:
    found = bound_rounding(term, _NAMES)
    few = Fraction(8, 1 << 1200)
    assert size <= found.size <= size + few
    assert error <= found.error <= error + few


@pytest.mark.parametrize(
    "term",
    [
        ("*", Fraction(1 << 600), Fraction(1 << 600)),
        ("+", Fraction(1 << 1000), Fraction(1 << 1000)),
        ("/", Fraction(1 << 600), Fraction(1, 1 << 600)),
        ("/", _A, _B),
        ("/", _A, Fraction(0)),
        ("/", _A, Fraction(1, 1 << 1080)),
        ("/", _A, ("+", Fraction(1), Fraction(1))),
        ("+", _A, True),
        ("min", _A, _B),
    ],
)
def test_what_has_no_bound(term: Any) -> None:
    """It may overflow, or divide by what is rounded itself."""
    with pytest.raises(Refused):
        bound_rounding(term, _NAMES)


def test_rounding_is_not_above_its_bound() -> None:
    """Computed values that are off by nearly as much as an operation may be."""
    one, above = Fraction(1), 1.0 + 2.0**-52
    names = {"a": RoundedValue(Fraction(above)), "b": RoundedValue(one)}
    lost = Fraction(above) ** 2 - Fraction(above * above)
    assert 0 < lost <= bound_rounding(("*", _A, _A), names).error
    small = {"a": RoundedValue(Fraction(5e-324)), "b": RoundedValue(one)}
    half = Fraction(5e-324) / 2 - Fraction(5e-324 / 2)
    assert half == Fraction(1, 1 << 1075)
    assert half <= bound_rounding(("/", _A, Fraction(2)), small).error


def test_a_change_of_a_polynomial() -> None:
    """-3 x² y / 2 where |x| <= 2 and |y| <= 5, moved by 1 and 1/2."""
    found = bound_polynomial_change(
        ExactPolynomial({(2, 1): -3, (0, 0): 7}, 2), _SIZES_OF_CHANGE, (Fraction(1), Fraction(1, 2))
    )
    assert found == Fraction(3, 2) * (9 * Fraction(11, 2) - 4 * 5)


_SIZES_OF_CHANGE = (Fraction(2), Fraction(5))


def test_numbers_are_the_nearest_doubles() -> None:
    assert poly_from_term(Fraction(1, 10), {}, 1, True) == poly_constant(Fraction(0.1), 1)
    assert poly_from_term(Fraction(1, 10), {}, 1, False) == poly_constant(Fraction(1, 10), 1)
    with pytest.raises(Refused, match="whole number"):
        poly_from_term(Fraction((1 << 53) + 1), {}, 1, True)
