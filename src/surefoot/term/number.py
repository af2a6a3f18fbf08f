"""Numbers: how long they may be, and what they are in environments that compute in float64.

**Length.** No number of more than `MOST_BITS` bits (of a fraction: above or below the line) is computed, by
nobody. That is a limit of this program and not of the meaning of a term: whoever would need a longer one
gives up with `LongNumber`, and the answer is unknown.

**float64**, the one rule:

- Every real constant, every limit of a real variable, control or chosen value, and every value of a real
  variable, the start values among them, is a double: the one nearest to the number that is written.
- Integers stay exact integers: integer variables, whole constants, and what is computed from these alone.
- Where an integer meets a real number (an operation, a comparison, a choice between the two, a write into a
  real variable), the double nearest to it takes part.

Data keep the numbers that were written; what they mean is looked up here, by the reference and by everybody
who compares or computes with them. (In continuous time the plant does not compute: there limits are exact.)
"""

from __future__ import annotations

from fractions import Fraction
from sys import float_info
from typing import Any, TypeVar

from surefoot.errors import Unsupported

MOST_BITS = 100_000
LARGEST_DOUBLE = Fraction(float_info.max)
_SHOWN_BITS = 1000
_Exact = TypeVar("_Exact", int, Fraction, float)


class LongNumber(Unsupported):
    """A number would be longer than any that is computed."""

    def __init__(self, what: str = "", *, fix: str = "", where: str = "") -> None:
        what = what or f"a number of more than {MOST_BITS} bits"
        super().__init__(what, fix=fix or "use smaller numbers and exponents", where=where)


def bits_of(number: int | Fraction | float) -> int:
    """The length of a whole number, or of the longer side of a fraction; a double has none."""
    if isinstance(number, int):
        return number.bit_length()
    if isinstance(number, float):
        return 0
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def brief_number(value: Any) -> str:
    """For messages: Python does not write integers of thousands of digits."""
    if isinstance(value, int | Fraction) and bits_of(value) > _SHOWN_BITS:
        return f"a number of {bits_of(value)} bits"
    if isinstance(value, tuple):
        return f"({', '.join(map(brief_number, value))})"
    return str(value)


def check_bit_length(number: _Exact) -> _Exact:
    """The number itself, unless it is too long; of a sum or product of two that are not."""
    if bits_of(number) > MOST_BITS:
        raise LongNumber
    return number


def integer_power(base: int | Fraction, exponent: int) -> Fraction:
    """Refused before it is computed, if it would be too long."""
    size = bits_of(base)
    if size > 1 and (size - 1) * abs(exponent) > MOST_BITS:
        raise LongNumber
    return check_bit_length(Fraction(base) ** exponent)


def within_doubles(value: float, low: Fraction | None, high: Fraction | None) -> bool:
    """Does a double keep limits, each of which means the double nearest to it?"""
    return (low is None or float(low) <= value) and (high is None or value <= float(high))


def as_doubles(value: Any) -> Any:
    """The double nearest to a number, or to each number of an array; `OverflowError` beyond all doubles."""
    return tuple(as_doubles(v) for v in value) if isinstance(value, tuple) else float(value)


def holds_doubles(value: Any) -> bool:
    """Is it a double, or an array of them?"""
    while isinstance(value, tuple) and value:
        value = value[0]
    return isinstance(value, float)
