"""float32 numbers: the nearest one to an exact number, and which terms surely are one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from surefoot.term.interval import Interval, apply_interval, leaf_interval
from surefoot.term.term import Apply, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import BOOL, INT, WHOLE_RULES, Sort, leaf_sort
from surefoot.term.value_types import Real, ValueType

_TO_INFINITY = 2**128 - 2**103  # halfway between the largest float32 and the power of two above it

_LARGEST = float(np.finfo(np.float32).max)
_KEEPS_VALUES = frozenset({Op.NEG, Op.MIN, Op.MAX, Op.ABS, Op.ITE})
_WHOLE_FLOAT32 = 2**24  # whole numbers up to here are float32 numbers


def round_to_float32(value: bool | int | float | Fraction) -> np.float32:
    """The float32 nearest to an exact number (ties to even; beyond the range, an infinity)."""
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return np.float32(value)
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact.numerator) <= _WHOLE_FLOAT32:
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


def is_float32_number(value: int | Fraction) -> bool:
    """Is an exact number a finite float32 number?"""
    try:
        near = float(value)
    except OverflowError:
        return False
    return abs(near) <= _LARGEST and float(np.float32(near)) == near and Fraction(near) == value


def contains_float32(low: Fraction, high: Fraction) -> bool:
    """Is there a finite float32 number between two exact numbers?"""
    first = round_to_float32(low)
    if first == -np.inf or (np.isfinite(first) and Fraction(float(first)) < low):
        first = np.nextafter(first, np.float32(np.inf))
    return bool(np.isfinite(first)) and Fraction(float(first)) <= high


def is_float32(whole: Term, kinds: Mapping[str, ValueType]) -> bool:
    """Is this surely a float32 number wherever it is defined?"""

    def leaf(part: Leaf) -> tuple[Sort, Interval, bool]:
        if isinstance(part, Var):
            kind = kinds[part.name]
            own = isinstance(kind, Real) and kind.float32
        else:
            own = is_float32_number(part.value)
        return judge(leaf_sort(part, kinds), leaf_interval(part, kinds), own)

    def apply_operator(part: Apply, found: list[tuple[Sort, Interval, bool]]) -> tuple[Sort, Interval, bool]:
        sort = WHOLE_RULES[part.op](part, [sort for sort, _, _ in found])
        branches = found[1:] if part.op is Op.ITE else found
        own = part.op in _KEEPS_VALUES and all(is_one for _, _, is_one in branches)
        return judge(sort, apply_interval(part, [ends for _, ends, _ in found]), own)

    def judge(sort: Sort, ends: Interval, own: bool) -> tuple[Sort, Interval, bool]:
        if sort is INT:
            own = ends[0] >= -_WHOLE_FLOAT32 and ends[1] <= _WHOLE_FLOAT32
        return sort, ends, own or sort is BOOL

    return fold_term(whole, leaf, apply_operator)[2]
