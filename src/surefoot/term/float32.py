"""float32 numbers: the nearest one to an exact number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

_WHOLE = 2**24  # up to here every whole number is a float32 number
_TO_INFINITY = 2**128 - 2**103  # halfway between the largest float32 and the power of two above it


def round_to_float32(value: bool | int | float | Fraction) -> np.float32:
    """The float32 nearest to an exact number (ties to even; beyond the range, an infinity)."""
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return np.float32(value)
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact.numerator) <= _WHOLE:
        return np.float32(exact.numerator)
    if abs(exact) >= _TO_INFINITY:
        return np.float32(np.inf if exact > 0 else -np.inf)
    largest = np.finfo(np.float32).max
    with np.errstate(over="ignore", under="ignore"):
        guess = np.clip(np.float32(float(exact)), -largest, largest)
        candidates = [guess, *(np.nextafter(guess, np.float32(end)) for end in (-np.inf, np.inf))]
    near = [c for c in candidates if np.isfinite(c)]
    best = min(abs(Fraction(float(c)) - exact) for c in near)
    ties = [c for c in near if abs(Fraction(float(c)) - exact) == best]
    return ties[0] if len(ties) == 1 else next(c for c in ties if not int(c.view(np.uint32)) & 1)


def contains_float32(low: Fraction, high: Fraction) -> bool:
    """Is there a finite float32 number between two exact numbers?"""
    first = round_to_float32(low)
    if first == -np.inf or (np.isfinite(first) and Fraction(float(first)) < low):
        first = np.nextafter(first, np.float32(np.inf))
    return bool(np.isfinite(first)) and Fraction(float(first)) <= high
