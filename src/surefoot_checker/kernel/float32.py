"""Float32 numbers: which they are, and which one is nearest to an exact number, or next above it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Any

from .strict_json import Refused

LARGEST_FLOAT32 = float.fromhex("0x1.fffffep127")
_WHOLE = 1 << 24  # whole numbers up to here are float32 numbers


def _round_to_spacing(x: Fraction, rounding: Callable[[Fraction], int]) -> Fraction:
    """A whole number of the distance between float32 numbers where x is.

    Beyond the largest one the distances go on to double.
    """
    size, below = abs(x.numerator), x.denominator
    power = size.bit_length() - below.bit_length()  # 2^(power - 1) < |x| < 2^(power + 1)
    if abs(x) < Fraction(2) ** power:
        power -= 1
    spacing = Fraction(2) ** (max(power, -126) - 23)
    return rounding(x / spacing) * spacing


def fraction_to_float32(value: Any) -> float:
    """The float32 nearest to an exact number, ties to even."""
    if type(value) is int and -_WHOLE <= value <= _WHOLE:
        return float(value)
    exact = Fraction(value)
    if abs(exact) > LARGEST_FLOAT32:
        raise Refused("an input of the network beyond the range of float32")
    return float(_round_to_spacing(exact, round))


def float32_above(x: Fraction) -> Fraction:
    """The least float32 number >= x."""
    return _round_to_spacing(x, ceil)


def is_float32_number(value: Fraction) -> bool:
    return abs(value) <= LARGEST_FLOAT32 and _round_to_spacing(value, round) == value
