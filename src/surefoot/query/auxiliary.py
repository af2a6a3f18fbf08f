"""Auxiliary quantities of a lowered query: how they are made, bounded and defined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from math import ceil, floor

from surefoot.query.bounds import (
    Interval,
    declared_box,
    hull_of_intervals,
    integer_variable_names,
    linear_range,
)
from surefoot.query.query import QueryVariable
from surefoot.term.linear import LinearForm, constant_form, term_from_linear, variable_form
from surefoot.term.term import (
    TRUE,
    Const,
    Term,
    conjunction_of,
    disjunction_of,
    equal,
    negate_condition,
)
from surefoot.term.value_types import Bool, Int, Real

_FEW = 64  # a whole-valued factor with at most this many values is treated value by value


@dataclass(frozen=True, slots=True)
class LoweredNumber:
    """A number as a linear expression, and the lowered term that says where it is defined."""

    linear: LinearForm
    defined: Term = TRUE


class Auxiliaries:
    """Grows while a query is lowered: new quantities and the constraints that define them."""

    def __init__(self, original: Sequence[QueryVariable]) -> None:
        self.quantities: list[QueryVariable] = []
        self.constraints: list[Term] = []
        self.truths = frozenset(q.name for q in original if isinstance(q.kind, Bool))
        self._original = original
        self._whole = set(integer_variable_names(original))

    @cached_property
    def _box(self) -> dict[str, Interval]:
        """Bounds by name; most queries need no auxiliary and never ask for them."""
        return declared_box(self._original)

    def interval(self, linear: LinearForm) -> Interval:
        return linear_range(linear, self._box)

    def is_whole(self, linear: LinearForm) -> bool:
        """Is the value surely a whole number?"""
        return linear.constant.denominator == 1 and all(
            c.denominator == 1 and n in self._whole for n, c in linear.coefficients
        )

    def domain(self, linear: LinearForm) -> range | None:
        """All values of an expression, if they are few whole numbers."""
        low, high = self.interval(linear)
        if low is None or high is None or not self.is_whole(linear) or high - low >= _FEW:
            return None
        return range(ceil(low), floor(high) + 1)

    def fresh(self, bounds: Interval, whole: bool) -> LinearForm:
        """A new quantity within these bounds."""
        name = f"auxiliary {len(self.quantities)}"
        while name in self._box:
            name += "'"
        low, high = bounds
        if whole:
            kind: Int | Real = Int(None if low is None else ceil(low), None if high is None else floor(high))
            self._whole.add(name)
        else:
            kind = Real(low, high)
        self.quantities.append(QueryVariable(name, kind))
        self._box[name] = bounds
        return variable_form(name)

    def require(self, term: Term) -> None:
        if term != TRUE:
            self.constraints.append(term)

    def piecewise(self, options: Sequence[tuple[Term, LinearForm]], covering: bool) -> LinearForm:
        """The expression whose condition holds; where none does (unless they cover everything), anything."""
        values = {value for _, value in options}
        if len(values) <= 1:
            return values.pop() if values else constant_form(0)
        whole = all(self.is_whole(v) for _, v in options)
        result = self.fresh(hull_of_intervals(self.interval(v) for _, v in options), whole)
        cases = [
            conjunction_of((c, equal(term_from_linear(result), term_from_linear(v)))) for c, v in options
        ]
        if not covering:
            cases.append(negate_condition(disjunction_of(tuple(c for c, _ in options))))
        self.require(disjunction_of(tuple(cases)))
        return result

    def runs(self, index: LinearForm, elements: Sequence[Term]) -> list[tuple[Term, Term]]:
        """Which element an index yields: neighbours that are equal share one condition."""
        if index.is_constant():
            inside = index.constant.denominator == 1 and 0 <= index.constant < len(elements)
            return [(TRUE, elements[int(index.constant)])] if inside else []
        low, high = self.interval(index)
        first = 0 if low is None else max(0, ceil(low))
        last = len(elements) - 1 if high is None else min(len(elements) - 1, floor(high))
        positions = range(first, last + 1)
        if not self.is_whole(index):
            return [(equal(term_from_linear(index), k), elements[k]) for k in positions]
        found = []
        for element, group in groupby(positions, key=lambda k: elements[k]):
            members = list(group)
            found.append((self._between(index, members[0], members[-1]), element))
        return found

    def _between(self, index: LinearForm, first: int, last: int) -> Term:
        if first == last:
            return equal(term_from_linear(index), first)
        low, high = self.interval(index)
        above = TRUE if low is not None and low >= first else Const(first) <= term_from_linear(index)
        below = TRUE if high is not None and high <= last else term_from_linear(index) <= Const(last)
        return conjunction_of((above, below))

    def covers(self, index: LinearForm, length: int) -> bool:
        """Is an index surely a position of an array of this length?"""
        low, high = self.interval(index)
        inside = low is not None and high is not None and low >= 0 and high <= length - 1
        return inside and self.is_whole(index)


def encode_floor(made: Auxiliaries, linear: LinearForm) -> LinearForm:
    """floor of an expression."""
    if made.is_whole(linear):
        return linear
    low, high = made.interval(linear)
    bounds = (None if low is None else Fraction(floor(low)), None if high is None else Fraction(floor(high)))
    if bounds[0] is not None and bounds[0] == bounds[1]:
        return constant_form(bounds[0])
    result = made.fresh(bounds, whole=True)
    made.require(term_from_linear(result) <= term_from_linear(linear))
    made.require(term_from_linear(linear) < term_from_linear(result) + 1)
    return result
