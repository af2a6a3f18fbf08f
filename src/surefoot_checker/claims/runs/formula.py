"""Formulas of a derived query: put together without constants inside, and simplified by declared bounds.

What comes out is flat: no `and` in an `and`, no `or` in an `or`, neither with a single part, and no part that
is surely true or false. Comparisons between whole numbers are as tight as they can be: 2x < 5 is x <= 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor, gcd, lcm

from ...kernel.query import (
    Ends,
    Formula,
    Linear,
    add_scaled_form,
    comparison_bounds,
    comparison_form,
    formula_parts,
    intersect_ends,
)

TRUE: Formula = ("and",)
FALSE: Formula = ("or",)
_ZERO, _NO_ENDS = Fraction(0), (None, None)


def formula_and(parts: Iterable[Formula]) -> Formula:
    return _connect_parts("and", parts, TRUE, FALSE)


def formula_or(parts: Iterable[Formula]) -> Formula:
    return _connect_parts("or", parts, FALSE, TRUE)


def _connect_parts(word: str, parts: Iterable[Formula], neutral: Formula, deciding: Formula) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if part == deciding:
            return deciding
        kept.extend(formula_parts(part) if part[0] == word else (part,))
    relations = {part[0] for part in kept}
    if {"<", "<="} <= relations and any(o in kept for part in kept for o in _complement_atoms(part)):
        return deciding
    return kept[0] if len(kept) == 1 else (word, *kept)


def _complement_atoms(part: Formula) -> tuple[Formula, ...]:
    """The comparison that is true exactly where this one is false."""
    if part[0] not in ("<", "<="):
        return ()
    return (("<" if part[0] == "<=" else "<=", form_multiple(comparison_form(part), Fraction(-1))),)


def form_comparison(relation: str, left: Linear, right: Linear) -> Formula:
    """`left relation right`; at once true or false if nothing varies."""
    return _settle_comparison(relation, add_scaled_form(left, Fraction(-1), right), _NO_ENDS)


def form_multiple(linear: Linear, factor: Fraction) -> Linear:
    return {name: c * factor for name, c in linear.items()} if factor else {}


def formula_names(whole: Formula) -> set[str]:
    """Every variable of a formula."""
    if whole[0] in ("and", "or"):
        return {name for part in formula_parts(whole) for name in formula_names(part)}
    return set(comparison_form(whole)) - {""}


def simplify_by_bounds(whole: Formula, bounds: Mapping[str, Ends], integers: frozenset[str]) -> Formula:
    """The same wherever the variables keep to their bounds; a name without an entry has none."""
    if whole[0] in ("and", "or"):
        parts = (simplify_by_bounds(part, bounds, integers) for part in formula_parts(whole))
        return formula_and(parts) if whole[0] == "and" else formula_or(parts)
    relation, linear = str(whole[0]), comparison_form(whole)
    if linear and all(name == "" or name in integers for name in linear):
        relation, linear = _tighten_comparison(relation, linear)
    return _settle_comparison(relation, linear, form_range(linear, bounds))


def propagate_single_bounds(
    whole: Formula, bounds: Mapping[str, Ends], integers: frozenset[str]
) -> tuple[Formula, dict[str, Ends]]:
    """A conjunction whose comparisons of single variables have settled what else it says about them.

    These comparisons stay. The bounds that they give, together with those declared, are returned as well.
    """
    found = simplify_by_bounds(whole, bounds, integers)
    while True:
        parts = formula_parts(found) if found[0] == "and" else (found,)
        known = narrow_by_comparisons(bounds, parts)
        again = formula_and(p if p[0] != "or" else simplify_by_bounds(p, known, integers) for p in parts)
        if again == found:
            return found, known
        found = again  # it became shorter


def narrow_by_comparisons(bounds: Mapping[str, Ends], parts: Iterable[Formula]) -> dict[str, Ends]:
    """The bounds, with those that comparisons of single variables give."""
    known = dict(bounds)
    for part in parts:
        if part[0] not in ("and", "or"):
            for name, ends in comparison_bounds(part).items():
                known[name] = intersect_ends(known.get(name, _NO_ENDS), ends)
    return known


def form_range(linear: Linear, bounds: Mapping[str, Ends]) -> Ends:
    """Between which numbers a linear form lies."""
    low: Fraction | None = linear.get("", _ZERO)
    high = low
    for name, c in linear.items():
        if name:
            ends = bounds.get(name, _NO_ENDS)
            least, most = ends if c > 0 else ends[::-1]
            low = None if low is None or least is None else _add_product(low, c, least)
            high = None if high is None or most is None else _add_product(high, c, most)
    return low, high


def _add_product(total: Fraction, factor: Fraction, number: Fraction) -> Fraction:
    """total + factor * number; factors of one, and sums that begin, are very many."""
    term = number if factor == 1 else -number if factor == -1 else factor * number
    return total + term if total else term


def _settle_comparison(relation: str, linear: Linear, ends: Ends) -> Formula:
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


def _tighten_comparison(relation: str, linear: Linear) -> tuple[str, Linear]:
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
    exact = form_multiple(linear, Fraction(up, divisor))
    limit = -exact.get("", Fraction(0))
    if relation == "=":
        return (relation, exact) if limit.denominator == 1 else (relation, {"": Fraction(1)})
    largest = floor(limit) - (1 if relation == "<" and limit.denominator == 1 else 0)
    whole = {name: c for name, c in exact.items() if name}
    return "<=", whole | ({"": Fraction(-largest)} if largest else {})
