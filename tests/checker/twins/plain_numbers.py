"""Twice on purpose: packed vectors, float32 numbers and covers of formulas, the slow way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from struct import pack, unpack

from surefoot_checker.kernel.query import Formula, comparison_form, formula_parts

LARGEST = Fraction(2**24 - 1) * 2**104


def combine_rows(rows: Sequence[Sequence[Fraction]], factors: Sequence[int], width: int) -> list[Fraction]:
    """The sum of factor times row."""
    found = [Fraction(0)] * width
    for factor, row in zip(factors, rows, strict=True):
        for j in range(width):
            found[j] += factor * row[j]
    return found


def ordered_float32(number: int) -> Fraction:
    """The float32 numbers in order: number 0 is 0, 1 the least positive one, -1 its negative."""
    (found,) = unpack("<f", pack("<I", abs(number)))
    return Fraction(found) if number >= 0 else -Fraction(found)


_LAST = 0x7F7FFFFF  # the largest float32 number


def float32_below(x: Fraction) -> int:
    """The place of the largest float32 number <= x, by bisection."""
    low, high = -_LAST, _LAST
    assert ordered_float32(low) <= x
    while low < high:
        middle = -(-(low + high) // 2)
        if ordered_float32(middle) <= x:
            low = middle
        else:
            high = middle - 1
    return low


def nearest_float32(x: Fraction) -> Fraction:
    """Ties to the number whose last bit is 0."""
    place = float32_below(x)
    below = ordered_float32(place)
    if below == x or place == _LAST:
        return below
    above = ordered_float32(place + 1)
    if x - below != above - x:
        return below if x - below < above - x else above
    return below if place % 2 == 0 else above


def covers_formula(
    parts: Sequence[Formula], atoms: Sequence[Formula], sets: Sequence[frozenset[int]]
) -> bool:
    """Whether each way to choose from all disjunctions is false, or contains all atoms of some set."""
    return all(
        any(_is_false(c) for c in way) or any(all(_contains(way, atoms[a]) for a in s) for s in sets)
        for way in _enumerate_ways(("and", *parts))
    )


def _enumerate_ways(whole: Formula) -> list[list[Formula]]:
    if whole[0] == "and":
        several = product(*(_enumerate_ways(part) for part in formula_parts(whole)))
        return [[c for way in ways for c in way] for ways in several]
    if whole[0] == "or":
        return [way for part in formula_parts(whole) for way in _enumerate_ways(part)]
    return [[whole]]


def _is_false(comparison: Formula) -> bool:
    linear = comparison_form(comparison)
    if any(name and c for name, c in linear.items()):
        return False
    return not _holds(str(comparison[0]), linear.get("", Fraction(0)))


def _holds(relation: str, number: Fraction) -> bool:
    if relation == "<":
        return number < 0
    return number <= 0 if relation == "<=" else number == 0


def _contains(way: Sequence[Formula], atom: Formula) -> bool:
    linear = comparison_form(atom)
    if not any(name and c for name, c in linear.items()) and _holds(
        str(atom[0]), linear.get("", Fraction(0))
    ):
        return True
    return any(_implies(c, atom) for c in way)


def _implies(strong: Formula, weak: Formula) -> bool:
    """The same up to a positive factor (any factor from `=`), where < and = say <= as well."""
    if str(weak[0]) not in {"<=": ["<="], "<": ["<", "<="], "=": ["=", "<="]}[str(strong[0])]:
        return False
    left, right = comparison_form(strong), comparison_form(weak)
    names = [name for name in {**left, **right} if left.get(name) or right.get(name)]
    named = [name for name in names if name and left.get(name)]
    if not named:
        return False
    factor = right.get(named[0], Fraction(0)) / left[named[0]]
    if not factor or (factor < 0 and strong[0] != "="):
        return False
    return all(right.get(name, Fraction(0)) == factor * left.get(name, Fraction(0)) for name in names)
