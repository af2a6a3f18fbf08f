"""The one rule of environments that compute in float64.

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
from typing import Any

LARGEST_DOUBLE = Fraction(float_info.max)


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
