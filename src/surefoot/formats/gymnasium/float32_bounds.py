"""How far a result in float32 may be from the same result in doubles, from the sizes of numbers alone."""

from __future__ import annotations

from fractions import Fraction
from math import frexp
from struct import pack, unpack

_DIGITS = 24  # of a float32
_SMALLEST = -149  # exponent of its last place


def nearest_float32(value: float) -> float:
    """The double that equals the float32 nearest to a number."""
    found: float = unpack("<f", pack("<f", value))[0]
    return found


def rounding_below(size: Fraction) -> Fraction:
    """Half a unit in the last place of the largest float32 numbers up to `size`: no rounding is larger."""
    if size <= 0:
        return Fraction(0)
    mantissa, exponent = frexp(float(size))
    if Fraction(mantissa) * Fraction(2) ** exponent < size:  # the double was rounded down
        exponent += mantissa == 0.5
    return Fraction(2) ** max(exponent - _DIGITS, _SMALLEST) / 2
