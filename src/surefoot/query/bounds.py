"""What linear constraints say about the range of every quantity, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, nextafter
from typing import TypeAlias

import numpy as np

from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    disjoin_formulas,
)
from surefoot.query.query import QueryVariable
from surefoot.term.float32 import round_to_float32
from surefoot.term.linear import LinearForm
from surefoot.term.value_types import Bool, Int, Real

Interval: TypeAlias = tuple[Fraction | None, Fraction | None]  # None: no bound on that side
Box: TypeAlias = Mapping[str, Interval]

_FINE = 1 << 60  # tightened bounds of real quantities are multiples of 1/_FINE, rounded outward
_SMALL = 1 << 64  # numbers and their quotients that neither overflow nor vanish in float32
_WORTH = Fraction(1, 1000)  # a tightening that gains less than this part of the width is not made


def rounded_down(value: Fraction | None) -> float:
    """The largest float64 not above; without a bound, minus infinity."""
    if value is None or abs(value) >= 2**1023:
        return -inf
    near = float(value)
    return near if near <= value else nextafter(near, -inf)


def rounded_up(value: Fraction | None) -> float:
    """The smallest float64 not below; without a bound, infinity."""
    return -rounded_down(None if value is None else -value)


def declared_box(quantities: Iterable[QueryVariable]) -> dict[str, Interval]:
    """The bounds with which the quantities are declared; truth values are 0 to 1, float32 bounds float32."""
    box: dict[str, Interval] = {}
    for quantity in quantities:
        kind = quantity.kind
        if isinstance(kind, Bool):
            box[quantity.name] = (Fraction(0), Fraction(1))
        elif isinstance(kind, Real) and kind.float32:
            low, high = kind.low, kind.high
            box[quantity.name] = (
                None if low is None else float32_near(low, up=True),
                None if high is None else float32_near(high, up=False),
            )
        else:
            box[quantity.name] = (_optional_fraction(kind.low), _optional_fraction(kind.high))
    return box


@lru_cache(1 << 12)  # the same bounds occur again and again
def float32_near(value: Fraction, up: bool) -> Fraction:
    """The nearest float32 number on that side of a value (itself if it is one, the largest at the end)."""
    # Rounded twice it is one of the two neighbours of the value, if not the nearest.
    near = np.float32(float(value)) if _is_moderate(value) else _finite_float32(value)
    top, bottom = float(near).as_integer_ratio()
    excess = top * value.denominator - value.numerator * bottom
    if not excess and type(value) is Fraction:
        return value
    if excess < 0 if up else excess > 0:
        beyond = np.nextafter(near, np.float32(np.inf if up else -np.inf))
        return Fraction(float(beyond)) if np.isfinite(beyond) else Fraction(top, bottom)
    return Fraction(top, bottom)


def float32_within(value: Fraction, bounds: Interval) -> Fraction:
    """The float32 number nearest to a value within float32 bounds."""
    low, high = bounds
    near = Fraction(float(_finite_float32(value)))
    near = near if low is None else max(near, low)
    return near if high is None else min(near, high)


def _finite_float32(value: Fraction) -> np.float32:
    if _is_float32(value):
        return np.float32(float(value))
    near = round_to_float32(value)
    return near if np.isfinite(near) else np.copysign(np.finfo(np.float32).max, near)


def _is_float32(value: Fraction) -> bool:
    """Whether a value is a float32 number itself, at a glance: a double with few digits."""
    if not _is_moderate(value):
        return False
    near = float(value)
    return float(np.float32(near)) == near and near.as_integer_ratio() == (value.numerator, value.denominator)


def _is_moderate(value: Fraction) -> bool:
    """Whether float32 holds numbers of this size with all its digits."""
    return value.denominator <= _SMALL and abs(value.numerator) <= _SMALL


def integer_variable_names(quantities: Iterable[QueryVariable]) -> frozenset[str]:
    """The quantities whose values are whole numbers."""
    return frozenset(q.name for q in quantities if isinstance(q.kind, Bool | Int))


def is_small_integer(linear: LinearForm, whole: frozenset[str], box: Box) -> bool:
    """Whether an expression is an integer wherever it is in the box, and float32 holds it exactly."""
    if linear.constant.denominator != 1:
        return False
    if not all(name in whole and c.denominator == 1 for name, c in linear.coefficients):
        return False
    low, high = linear_range(linear, box)
    return low is not None and high is not None and max(-low, high) <= 2**24


def linear_range(linear: LinearForm, box: Box) -> Interval:
    """The range of a linear expression over a box."""
    low: Fraction | None = linear.constant
    high: Fraction | None = linear.constant
    for name, coefficient in linear.coefficients:
        smallest, largest = _scale_interval(coefficient, box[name])
        low = None if low is None or smallest is None else low + smallest
        high = None if high is None or largest is None else high + largest
    return low, high


def is_empty(bounds: Interval) -> bool:
    low, high = bounds
    return low is not None and high is not None and low > high


def intersect_intervals(left: Interval, right: Interval) -> Interval:
    (low, high), (other_low, other_high) = left, right
    if low is None or (other_low is not None and other_low > low):
        low = other_low
    if high is None or (other_high is not None and other_high < high):
        high = other_high
    return low, high


def hull_of_intervals(several: Iterable[Interval]) -> Interval:
    """The smallest interval around all of these (at least one)."""
    lows, highs = zip(*several, strict=True)
    return (
        None if any(x is None for x in lows) else min(lows),
        None if any(x is None for x in highs) else max(highs),
    )


def tighten_box(
    box: Box, formulas: Iterable[Formula], whole: frozenset[str], rounds: int = 4
) -> dict[str, Interval] | None:
    """A box that still holds every solution of the formulas; None if there is none. Uses plain atoms only."""
    tight = dict(box)
    plain: list[LinearAtom] = []
    for formula in formulas:
        if isinstance(formula, AnyOf) and not formula.parts:
            return None
        parts = formula.parts if isinstance(formula, All) else (formula,)
        plain.extend(a for a in parts if isinstance(a, LinearAtom))
    for _ in range(rounds):
        before = dict(tight)
        for atom in plain:
            _propagate_inequality(atom.linear, tight, whole)
            if atom.relation is Relation.EQ:
                _propagate_inequality(
                    LinearForm(tuple((n, -c) for n, c in atom.linear.coefficients), -atom.linear.constant),
                    tight,
                    whole,
                )
            if any(is_empty(tight[name]) for name, _ in atom.linear.coefficients) or _fails_everywhere(
                atom, tight
            ):
                return None
        if tight == before:
            break
    return None if any(is_empty(b) for b in tight.values()) else tight


def simplify_formula(formula: Formula, box: Box) -> Formula:
    """The same formula within the box, without the parts that are true or false everywhere in it."""
    match formula:
        case All(parts):
            return conjoin_formulas(simplify_formula(p, box) for p in parts)
        case AnyOf(parts):
            return disjoin_formulas(simplify_formula(p, box) for p in parts)
        case LinearAtom():
            return (
                AnyOf()
                if _fails_everywhere(formula, box)
                else All()
                if _holds_everywhere(formula, box)
                else formula
            )


def _holds_everywhere(atom: LinearAtom, box: Box) -> bool:
    """Is an atom true everywhere in the box?"""
    low, high = linear_range(atom.linear, box)
    if high is None:
        return False
    match atom.relation:
        case Relation.LE:
            return high <= 0
        case Relation.LT:
            return high < 0
        case Relation.EQ:
            return low == high == 0


def _fails_everywhere(atom: LinearAtom, box: Box) -> bool:
    """Is an atom false everywhere in the box?"""
    low, high = linear_range(atom.linear, box)
    above = low is not None and (low >= 0 if atom.relation is Relation.LT else low > 0)
    return above or (atom.relation is Relation.EQ and high is not None and high < 0)


def _propagate_inequality(linear: LinearForm, box: dict[str, Interval], whole: frozenset[str]) -> None:
    """Use `linear <= 0` to tighten the box in place."""
    least = [_scale_interval(c, box[n])[0] for n, c in linear.coefficients]
    open_ended = sum(x is None for x in least)
    if open_ended > 1:
        return
    total = linear.constant + sum((x for x in least if x is not None), Fraction(0))
    for (name, coefficient), own in zip(linear.coefficients, least, strict=True):
        if open_ended and own is not None:
            continue
        limit = (Fraction(0) if own is None else own) - total  # coefficient * name <= limit
        bound = limit / coefficient
        low, high = box[name]
        if coefficient > 0:
            rounded = Fraction(floor(bound)) if name in whole else _coarsen_bound(bound, up=True)
            if high is None or _is_worthwhile(high - rounded, low, high):
                box[name] = (low, rounded)
        else:
            rounded = Fraction(ceil(bound)) if name in whole else _coarsen_bound(bound, up=False)
            if low is None or _is_worthwhile(rounded - low, low, high):
                box[name] = (rounded, high)


def _is_worthwhile(gain: Fraction, low: Fraction | None, high: Fraction | None) -> bool:
    return gain > 0 and (low is None or high is None or gain > _WORTH * (high - low))


def _coarsen_bound(value: Fraction, up: bool) -> Fraction:
    """Outward to a multiple of 1/_FINE, so that denominators do not grow from round to round."""
    if value.denominator <= _FINE:
        return value
    return Fraction(ceil(value * _FINE) if up else floor(value * _FINE), _FINE)


def _scale_interval(coefficient: Fraction, bounds: Interval) -> Interval:
    if coefficient == 1:
        return bounds
    low, high = bounds if coefficient > 0 else (bounds[1], bounds[0])
    return (None if low is None else coefficient * low, None if high is None else coefficient * high)


def _optional_fraction(value: int | Fraction | None) -> Fraction | None:
    return value if value is None or type(value) is Fraction else Fraction(value)
