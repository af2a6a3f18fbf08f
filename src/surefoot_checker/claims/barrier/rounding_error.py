"""How far a term computed in doubles, operation by operation as written, is from the polynomial that it is.

Every operation is rounded to nearest: the result is off by 2^-53 of its size, and a product or a quotient by
2^-1075 where it is below the normal numbers. Constants are the doubles that the polynomial has as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import Refused
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


def bound_rounding(term: Any, names: Mapping[str, RoundedValue]) -> RoundedValue:
    """Of a polynomial of these names."""
    if isinstance(term, Fraction):
        return RoundedValue(abs(nearest_double(term)))
    if type(term) is not tuple:
        raise Refused("a truth value stands where a polynomial is needed")
    word, *parts = term
    if word == "name":
        return names[term[1]]
    values = [bound_rounding(part, names) for part in parts]
    match word:
        case "+" | "-":
            total = values[0]
            for value in values[1:]:
                total = _round_operation(total.size + value.size, total.error + value.error, Fraction(0))
            return total
        case "negate":
            return values[0]
        case "max":
            return RoundedValue(max(v.size for v in values), max(v.error for v in values))
        case "*":
            total = values[0]
            for value in values[1:]:
                crossed = total.size * value.error + value.size * total.error + total.error * value.error
                total = _round_operation(total.size * value.size, crossed, LEAST)
            return total
        case "/":
            divisor = _constant_divisor(parts[1])
            return _round_operation(values[0].size / divisor, values[0].error / divisor, LEAST)
    raise Refused(f"`{word}` is not an operator of polynomials")


def _constant_divisor(term: Any) -> Fraction:
    """A divisor must be written as one number: then it has no error of its own."""
    sign = term[1] if type(term) is tuple and term[0] == "negate" else term
    if not isinstance(sign, Fraction) or not nearest_double(sign):
        raise Refused("a divisor that is not one number, or zero")
    return abs(nearest_double(sign))


def _round_operation(size: Fraction, error: Fraction, underflow: Fraction) -> RoundedValue:
    if size + error >= MOST:
        raise Refused("a value may come near the largest double")
    return RoundedValue(_round_up(size), _round_up(error + (size + error) * UNIT + underflow))


def _round_up(value: Fraction) -> Fraction:
    """Not smaller, and with a denominator of bounded length."""
    return Fraction(-((-value.numerator * GRID) // value.denominator), GRID)
