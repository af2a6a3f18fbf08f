"""Formulas of a derived query: put together without constants inside, and simplified by declared bounds.

What comes out is flat: no `and` in an `and`, no `or` in an `or`, neither with a single part, and no part that
is surely true or false. Comparisons between whole numbers are as tight as they can be: 2x < 5 is x <= 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor, gcd, lcm

from ..query import Formula, Linear, form, inner

Ends = tuple[Fraction | None, Fraction | None]
TRUE: Formula = ("and",)
FALSE: Formula = ("or",)
_ZERO, _NO_ENDS = Fraction(0), (None, None)


def all_of(parts: Iterable[Formula]) -> Formula:
    return _together("and", parts, TRUE, FALSE)


def some_of(parts: Iterable[Formula]) -> Formula:
    return _together("or", parts, FALSE, TRUE)


def _together(word: str, parts: Iterable[Formula], neutral: Formula, deciding: Formula) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if part == deciding:
            return deciding
        kept.extend(inner(part) if part[0] == word else (part,))
    relations = {part[0] for part in kept}
    if {"<", "<="} <= relations and any(o in kept for part in kept for o in _opposites(part)):
        return deciding
    return kept[0] if len(kept) == 1 else (word, *kept)


def _opposites(part: Formula) -> tuple[Formula, ...]:
    """The comparison that is true exactly where this one is false."""
    if part[0] not in ("<", "<="):
        return ()
    return (("<" if part[0] == "<=" else "<=", scaled(form(part), Fraction(-1))),)


def compare(relation: str, left: Linear, right: Linear) -> Formula:
    """`left relation right`; at once true or false if nothing varies."""
    return _settled(relation, plus(left, scaled(right, Fraction(-1))), (None, None))


def plus(left: Linear, right: Linear) -> Linear:
    total = dict(left)
    for name, c in right.items():
        total[name] = total.get(name, Fraction(0)) + c
    return {name: c for name, c in total.items() if c}


def scaled(linear: Linear, factor: Fraction) -> Linear:
    return {name: c * factor for name, c in linear.items()} if factor else {}


def names_in(whole: Formula) -> set[str]:
    """Every variable of a formula."""
    if whole[0] in ("and", "or"):
        return {name for part in inner(whole) for name in names_in(part)}
    return set(form(whole)) - {""}


def simplified(whole: Formula, bounds: Mapping[str, Ends], integers: frozenset[str]) -> Formula:
    """The same wherever the variables keep to their bounds; a name without an entry has none."""
    if whole[0] in ("and", "or"):
        parts = (simplified(part, bounds, integers) for part in inner(whole))
        return all_of(parts) if whole[0] == "and" else some_of(parts)
    relation, linear = str(whole[0]), form(whole)
    if linear and all(name == "" or name in integers for name in linear):
        relation, linear = _tight(relation, linear)
    return _settled(relation, linear, line_range(linear, bounds))


def settled_by_each_other(
    whole: Formula, bounds: Mapping[str, Ends], integers: frozenset[str]
) -> tuple[Formula, dict[str, Ends]]:
    """A conjunction whose comparisons of single variables have settled what else it says about them.

    These comparisons stay. The bounds that they give, together with those declared, are returned as well.
    """
    found = simplified(whole, bounds, integers)
    while True:
        parts = inner(found) if found[0] == "and" else (found,)
        known = narrowed(bounds, parts)
        again = all_of(p if p[0] != "or" else simplified(p, known, integers) for p in parts)
        if again == found:
            return found, known
        found = again  # it became shorter


def narrowed(bounds: Mapping[str, Ends], parts: Iterable[Formula]) -> dict[str, Ends]:
    """The bounds, with those that comparisons of single variables give."""
    known = dict(bounds)
    for part in parts:
        for name, ends in _single(part):
            known[name] = _narrower(known.get(name, (None, None)), ends)
    return known


def _single(part: Formula) -> Iterable[tuple[str, Ends]]:
    """The bound that a comparison of one variable gives."""
    names = form(part).keys() - {""} if part[0] in ("<=", "<", "=") else set()
    if len(names) == 1:
        (name,) = names
        limit = -form(part).get("", Fraction(0)) / form(part)[name]
        both, upper = part[0] == "=", form(part)[name] > 0
        yield name, (None if upper and not both else limit, limit if upper or both else None)


def _narrower(first: Ends, second: Ends) -> Ends:
    lows = [x for x in (first[0], second[0]) if x is not None]
    highs = [x for x in (first[1], second[1]) if x is not None]
    return max(lows, default=None), min(highs, default=None)


def line_range(linear: Linear, bounds: Mapping[str, Ends]) -> Ends:
    """Between which numbers a linear form lies."""
    low: Fraction | None = linear.get("", _ZERO)
    high = low
    for name, c in linear.items():
        if name:
            ends = bounds.get(name, _NO_ENDS)
            least, most = ends if c > 0 else ends[::-1]
            low = None if low is None or least is None else _sum(low, c, least)
            high = None if high is None or most is None else _sum(high, c, most)
    return low, high


def _sum(total: Fraction, factor: Fraction, number: Fraction) -> Fraction:
    """total + factor * number; factors of one, and sums that begin, are very many."""
    term = number if factor == 1 else -number if factor == -1 else factor * number
    return total + term if total else term


def _settled(relation: str, linear: Linear, ends: Ends) -> Formula:
    """`linear relation 0`, or its truth value where the ends of the left side decide it."""
    low, high = ends
    if not linear.keys() - {""}:
        low = high = linear.get("", Fraction(0))
    if relation == "=":
        if low is not None and low == high == 0:
            return TRUE
        apart = (low is not None and low > 0) or (high is not None and high < 0)
        return FALSE if apart else (relation, linear)
    strict = relation == "<"
    if high is not None and (high < 0 or (high == 0 and not strict)):
        return TRUE
    if low is not None and (low > 0 or (low == 0 and strict)):
        return FALSE
    return (relation, linear)


def _tight(relation: str, linear: Linear) -> tuple[str, Linear]:
    """A comparison of whole numbers with whole coefficients that have no common divisor."""
    slopes = {name: c for name, c in linear.items() if name}
    if not slopes:
        return relation, linear
    given = linear.get("")
    whole_already = given is None or (given != 0 and given.denominator == 1)
    if relation != "<" and whole_already and all(c == 1 or c == -1 for c in slopes.values()):
        return relation, linear
    up = lcm(*(c.denominator for c in slopes.values()))
    divisor = gcd(*(int(c * up) for c in slopes.values()))
    exact = scaled(linear, Fraction(up, divisor))
    limit = -exact.get("", Fraction(0))
    if relation == "=":
        return (relation, exact) if limit.denominator == 1 else (relation, {"": Fraction(1)})
    largest = floor(limit) - (1 if relation == "<" and limit.denominator == 1 else 0)
    whole = {name: c for name, c in exact.items() if name}
    return "<=", whole | ({"": Fraction(-largest)} if largest else {})
