"""How far a term computed in doubles, operation by operation as written, is from the polynomial that it is.

Every operation is rounded to nearest: the result is off by 2^-53 of its size, and a product or a quotient by
2^-1075 where it is below the normal numbers. Constants are the doubles that the polynomial has as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from ...kernel.strict_json import Refused
from ...kernel.term import Term, fold_term, is_number
from .polynomial import nearest_double

UNIT = Fraction(1, 1 << 53)
LEAST = Fraction(1, 1 << 1074)
GRID = 1 << 1200  # sizes and errors are rounded up to multiples of its inverse
MOST = Fraction(1 << 1000)  # nothing may come near the largest double


@dataclass(frozen=True, slots=True)
class RoundedValue:
    """The exact value is at most `size` in absolute value, and the computed one at most `error` from it."""

    size: Fraction
    error: Fraction = Fraction(0)


def bound_rounding(term: Term, names: Mapping[str, RoundedValue]) -> RoundedValue:
    """Of a polynomial of these names."""

    def of_leaf(leaf: Term) -> RoundedValue:
        if is_number(leaf):
            return RoundedValue(abs(nearest_double(Fraction(leaf))))
        if type(leaf) is bool or leaf[0] != "name" or leaf[1] not in names:
            raise Refused("something that is no number stands where a polynomial is needed")
        return names[leaf[1]]

    def of_operator(t: Term, values: list[RoundedValue]) -> RoundedValue:
        if t[0] == "/":
            return _rounded_quotient(values[0], _constant_divisor(t[2]))
        if t[0] not in _OPERATORS:
            raise Refused(f"`{t[0]}` is not an operator of polynomials")
        return _OPERATORS[t[0]](*values)

    return fold_term(term, of_leaf, of_operator)


def _constant_divisor(term: Term) -> Fraction:
    """A divisor must be written as one number: then it has no error of its own."""
    sign = term[1] if type(term) is tuple and term[0] == "negate" else term
    if not is_number(sign) or not nearest_double(Fraction(sign)):
        raise Refused("a divisor that is not one number, or zero")
    return abs(nearest_double(Fraction(sign)))


def _rounded_quotient(a: RoundedValue, divisor: Fraction) -> RoundedValue:
    return _round_operation(a.size / divisor, a.error / divisor, LEAST)


def _rounded_sum(a: RoundedValue, b: RoundedValue) -> RoundedValue:
    return _round_operation(a.size + b.size, a.error + b.error, Fraction(0))


def _rounded_product(a: RoundedValue, b: RoundedValue) -> RoundedValue:
    crossed = a.size * b.error + b.size * a.error + a.error * b.error
    return _round_operation(a.size * b.size, crossed, LEAST)


def _round_operation(size: Fraction, error: Fraction, underflow: Fraction) -> RoundedValue:
    if size + error >= MOST:
        raise Refused("a value may come near the largest double")
    return RoundedValue(_round_up(size), _round_up(error + (size + error) * UNIT + underflow))


def _round_up(value: Fraction) -> Fraction:
    """Not smaller, and with a denominator of bounded length."""
    return Fraction(-((-value.numerator * GRID) // value.denominator), GRID)


_OPERATORS: dict[str, Callable[..., RoundedValue]] = {
    "+": lambda *values: reduce(_rounded_sum, values),
    "-": _rounded_sum,
    "*": lambda *values: reduce(_rounded_product, values),
    "negate": lambda value: value,
    "max": lambda *values: RoundedValue(max(v.size for v in values), max(v.error for v in values)),
}
