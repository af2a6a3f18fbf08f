"""Terms as they are recorded: equal terms are one object, and what doubles they may be is known.

Intervals are about float64 as it is computed: rounding to the nearest double is monotone, so the ends of an
operation's exact interval, rounded in the same way, bound the doubles that it gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any, TypeAlias

from surefoot.term.interval import Interval, apply_interval, interval_of_type, is_infinite
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import fold_term
from surefoot.term.types import BOOL, INT, REAL, SORT_RULES, Sort, leaf_sort
from surefoot.term.value_types import Array, Real, ValueType

WHOLE_DOUBLES = 2**53  # up to here every whole number is a double
MOST_PASSED = 40  # operations through which a condition is followed down
Bounds: TypeAlias = dict[int, Interval]


def round_end(end: Any) -> Any:
    """The nearest double to an end, as an exact number; an infinity beyond all of them."""
    if is_infinite(end):
        return end
    try:
        return Fraction(float(end))
    except OverflowError:
        return inf if end > 0 else -inf


def neighbour(end: Any, direction: float) -> Any:
    """The next double from an end in this direction, as an exact number."""
    if is_infinite(end):
        return end
    rounded = round_end(end)
    if is_infinite(rounded):
        return rounded if (rounded > 0) is (direction > 0) else Fraction(nextafter(rounded, direction))
    beside = nextafter(float(rounded), direction)
    return beside if is_infinite(beside) else Fraction(beside)


def meet_intervals(first: Interval, second: Interval) -> Interval:
    return (max(first[0], second[0]), min(first[1], second[1]))


@dataclass(slots=True)
class Recording:
    """Every term of a trace, once, and why the model may differ from the function in the last places."""

    kinds: Mapping[str, ValueType]
    known: dict[tuple[object, ...], Term] = field(default_factory=dict)
    sorts: dict[int, Sort] = field(default_factory=dict)
    hints: Bounds = field(default_factory=dict)  # what operations know about their results
    inexact: dict[str, None] = field(default_factory=dict)

    def constant(self, value: Any) -> Term:
        """A number as the double or the integer that it is: the shortest decimal that means this double."""
        if isinstance(value, float):
            value = Fraction(repr(float(value)))
        term = Const(value)
        return self._keep((Const, isinstance(term.value, bool), term.value), term)

    def name(self, name: str) -> Term:
        return self._keep((Var, name), Var(name))

    def apply(self, op: Op, *args: Term) -> Term:
        return self._keep((op, *map(id, args)), Apply(op, args))

    def _keep(self, key: tuple[object, ...], term: Term) -> Term:
        kept = self.known.get(key)
        if kept is None:
            kept = self.known[key] = term
            if isinstance(kept, Apply):
                self.sorts[id(kept)] = SORT_RULES[kept.op](kept, [self.sorts[id(a)] for a in kept.args])
            else:
                self.sorts[id(kept)] = leaf_sort(kept, self.kinds)
        return kept

    def sort(self, term: Term) -> Sort:
        return self.sorts[id(term)]

    def negate(self, term: Term) -> Term:
        if isinstance(term, Apply) and term.op is Op.NOT:
            return term.args[0]
        if isinstance(term, Const):
            return self.constant(not term.value)
        return self.apply(Op.NOT, term)

    def choose(self, condition: Term, then: Term, otherwise: Term) -> Term:
        """One of two terms; of two truth values, a connective where one is a constant."""
        if then is otherwise or (isinstance(condition, Const) and condition.value):
            return then
        if isinstance(condition, Const):
            return otherwise
        if self.sort(then) == BOOL and isinstance(then, Const):
            if isinstance(otherwise, Const):
                return condition if then.value else self.negate(condition)
            if then.value:
                return self.apply(Op.OR, condition, otherwise)
            return self.apply(Op.AND, self.negate(condition), otherwise)
        if self.sort(then) == BOOL and isinstance(otherwise, Const):
            if otherwise.value:
                return self.apply(Op.OR, self.negate(condition), then)
            return self.apply(Op.AND, condition, then)
        return self.apply(Op.ITE, condition, then, otherwise)

    def declared_interval(self, name: str) -> Interval:
        kind = self.kinds[name]
        while isinstance(kind, Array):
            kind = kind.element
        low, high = interval_of_type(kind)
        return (round_end(low), round_end(high)) if isinstance(kind, Real) else (low, high)


@dataclass(slots=True)
class KnownBounds:
    """What the conditions of a path say about the sizes of terms."""

    recording: Recording
    met: Bounds = field(default_factory=dict)
    memo: Bounds = field(default_factory=dict)

    def interval(self, whole: Term) -> Interval:
        """Between which numbers the term lies on this path; wider than it could be where the memo is old."""
        if not isinstance(whole, Apply):
            return self._leaf(whole)
        found = fold_term(whole, self._leaf, self._operator, None, self.memo)
        met = self.met.get(id(whole))
        return found if met is None else meet_intervals(found, met)

    def copy(self) -> KnownBounds:
        """The same, to try something out."""
        return KnownBounds(self.recording, dict(self.met), dict(self.memo))

    def forget_memo(self) -> None:
        """Intervals are computed again, with all that was met by now."""
        self.memo.clear()

    def _leaf(self, leaf: Const | Var) -> Interval:
        if isinstance(leaf, Const):
            value = leaf.value
            if isinstance(value, bool):
                return (int(value), int(value))
            return (value, value) if isinstance(value, int) else (round_end(value), round_end(value))
        declared = self.recording.declared_interval(leaf.name)
        met = self.met.get(id(self.recording.name(leaf.name)))
        return declared if met is None else meet_intervals(declared, met)

    def _operator(self, term: Apply, parts: list[Interval]) -> Interval:
        low, high = apply_interval(term, parts)
        if self.recording.sort(term) is REAL:
            low, high = round_end(low), round_end(high)
        for known in (self.recording.hints, self.met):
            if id(term) in known:
                low, high = meet_intervals((low, high), known[id(term)])
        return (low, high)

    def narrow(self, condition: Term, holds: bool) -> bool:
        """Take the condition into account; False if it surely cannot be so."""
        if isinstance(condition, Apply):
            match condition.op, condition.args:
                case Op.NOT, (inner,):
                    return self.narrow(inner, not holds)
                case Op.AND, parts if holds:
                    return all(tuple(self.narrow(part, True) for part in parts))  # each of them narrows
                case Op.OR, parts if not holds:
                    return all(tuple(self.narrow(part, False) for part in parts))
                case (Op.LT | Op.LE) as op, (left, right):
                    strict = (op is Op.LT) is holds
                    small, large = (left, right) if holds else (right, left)
                    return self._order(small, large, strict)
                case Op.EQ, (left, right) if self.recording.sort(left) != BOOL:
                    return self._equate(left, right) if holds else self._part(left, right)
        return True

    def _order(self, small: Term, large: Term, strict: bool) -> bool:
        whole = self.recording.sort(small) is INT and self.recording.sort(large) is INT
        high, low = self.interval(large)[1], self.interval(small)[0]
        if strict and whole:
            high, low = high - 1, low + 1
        elif strict:
            high, low = neighbour(high, -inf), neighbour(low, inf)
        return self.meet(small, (-inf, high)) and self.meet(large, (low, inf))

    def _equate(self, left: Term, right: Term) -> bool:
        both = meet_intervals(self.interval(left), self.interval(right))
        return self.meet(left, both) and self.meet(right, both)

    def _part(self, left: Term, right: Term) -> bool:
        """Two whole numbers differ: an end of one may be excluded by the other."""
        for term, other in ((left, right), (right, left)):
            (low, high), (least, most) = self.interval(term), self.interval(other)
            if least != most or self.recording.sort(term) is not INT or is_infinite(least):
                continue
            if low == least:
                low += 1
            if high == least:
                high -= 1
            if not self.meet(term, (low, high)):
                return False
        return True

    def meet(self, term: Term, wanted: Interval) -> bool:
        """The term lies within; False if it cannot. Passed down to what the term is made of."""
        waiting, passed = [(term, wanted)], 0
        while waiting:
            part, limits = waiting.pop()
            own = self.interval(part)
            new = meet_intervals(own, limits)
            if self.recording.sort(part) is INT:
                low, high = new
                new = (low if is_infinite(low) else ceil(low), high if is_infinite(high) else floor(high))
            if new[0] > new[1]:
                return False
            if new == own or isinstance(part, Const):
                continue
            self.met[id(part)] = new
            if isinstance(part, Apply) and passed < MOST_PASSED:
                passed += 1
                waiting.extend(self._pass_down(part, new))
        return True

    def _pass_down(self, term: Apply, limits: Interval) -> list[tuple[Term, Interval]]:
        """What the arguments must be for the operation to lie within; rounding may have moved it inside."""
        low, high = limits
        if self.recording.sort(term) is REAL:
            low, high = neighbour(low, -inf), neighbour(high, inf)
        parts = [self.interval(argument) for argument in term.args]
        match term.op, term.args:
            case Op.ADD, (a, b):
                return [(a, _minus((low, high), parts[1])), (b, _minus((low, high), parts[0]))]
            case Op.SUB, (a, b):
                plus = (_sum_end(low, parts[1][0]), _sum_end(high, parts[1][1]))
                return [(a, plus), (b, _minus(parts[0], (low, high)))]
            case Op.NEG, (a,):
                return [(a, (-high, -low))]
            case Op.MUL, (a, b):
                return [
                    *_through_factor(a, parts[1], (low, high)),
                    *_through_factor(b, parts[0], (low, high)),
                ]
            case Op.DIV, (a, b) if parts[1][0] == parts[1][1] not in (0, inf, -inf):
                return _through_factor(a, (1 / Fraction(parts[1][0]),) * 2, (low, high))
            case Op.FLOOR, (a,):
                return [(a, (low, _sum_end(high, 1)))]
            case Op.ABS, (a,):
                return [(a, (-high, high))]
            case Op.MIN, several:
                return [(a, (low, inf)) for a in several]
            case Op.MAX, several:
                return [(a, (-inf, high)) for a in several]
        return []


def _sum_end(a: Any, b: Any) -> Any:
    return a if is_infinite(a) else b if is_infinite(b) else a + b


def _minus(x: Interval, y: Interval) -> Interval:
    """All differences; where an end is infinite nothing is known on that side."""
    low = -inf if is_infinite(x[0]) or is_infinite(y[1]) else x[0] - y[1]
    high = inf if is_infinite(x[1]) or is_infinite(y[0]) else x[1] - y[0]
    return (low, high)


def _through_factor(term: Term, factor: Interval, limits: Interval) -> list[tuple[Term, Interval]]:
    if factor[0] != factor[1] or factor[0] == 0 or is_infinite(factor[0]):
        return []
    by = Fraction(factor[0])
    ends = [end if is_infinite(end) else Fraction(end) / by for end in limits]
    if by < 0:
        ends = [-end if is_infinite(end) else end for end in reversed(ends)]
    return [(term, (ends[0], ends[1]))]
