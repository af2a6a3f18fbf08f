"""Between which numbers a term surely lies when every name keeps to its kind, in exact arithmetic.

Truth values are the numbers 0 and 1, so a condition that is surely true lies between 1 and 1. The ends are
exact numbers or infinities, rounded outward where a function has no exact value. Where a term is undefined
its bounds say nothing: `is_surely_defined` answers that question, and `defined_span` both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from math import ceil, floor, inf, isinf, nextafter, trunc
from typing import TypeAlias

from surefoot.term.elementary import elementary_value
from surefoot.term.number import MOST_BITS, bits_of
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, conjunction_of
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import BOOL, TRUTHS, is_whole
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

Scalar: TypeAlias = Bool | Int | Real
Kinds: TypeAlias = Mapping[str, Scalar]
End: TypeAlias = int | Fraction | float  # a float only where it is infinite
Interval: TypeAlias = tuple[End, End]

_ALL: Interval = (-inf, inf)
_MAYBE: Interval = (0, 1)
_LARGEST_POWER = 64
_TOTAL = frozenset(  # have a value whenever their arguments have, in exact arithmetic
    {*TRUTHS, Op.ITE, Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.MIN, Op.MAX, Op.ABS, Op.ARRAY}
    | {Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC}
)


@dataclass(frozen=True, slots=True)
class Span:
    """Bounds of one variable; None = no bound on that side."""

    low: Fraction | None = None
    high: Fraction | None = None

    def meet(self, other: Span) -> Span:
        """What lies in both."""
        lows = [b for b in (self.low, other.low) if b is not None]
        highs = [b for b in (self.high, other.high) if b is not None]
        return Span(max(lows, default=None), min(highs, default=None))

    def contains(self, other: Span) -> bool:
        return self.meet(other) == other

    def condition(self, value: Term) -> Term:
        """The value lies within."""
        below = TRUE if self.low is None else value >= self.low
        above = TRUE if self.high is None else value <= self.high
        return conjunction_of((below, above))


def term_interval(whole: Term, kinds: Mapping[str, ValueType]) -> Interval:
    """Bounds of a term, of an array around all elements; None-sided kinds are unbounded there."""
    return fold_term(whole, lambda part: leaf_interval(part, kinds), apply_interval)


def apply_interval(term: Apply, parts: list[Interval]) -> Interval:
    """The bounds of an operator's value where its arguments have these."""
    if term.op is Op.MUL and len(parts) == 2 and term.args[0] == term.args[1]:
        return _shorten_ends(_whole_power(parts[0], 2))
    return _shorten_ends(INTERVAL[term.op](*parts))


def leaf_interval(leaf: Leaf, kinds: Mapping[str, ValueType]) -> Interval:
    """The bounds of a constant or of a name."""
    if isinstance(leaf, Var):
        return interval_of_type(kinds[leaf.name])
    value = leaf.value
    return (int(value), int(value)) if isinstance(value, bool) else (value, value)


def is_surely_defined(
    whole: Term, kinds: Mapping[str, ValueType], arithmetic: Arithmetic = Arithmetic.EXACT
) -> bool:
    """Has the term a value wherever every name keeps to its kind? A name without a kind may have none.

    Functions that overflow or have a limited domain count as undefined; so do all computed doubles.
    """

    def leaf(part: Leaf) -> bool:
        return isinstance(part, Const) or part.name in kinds

    def apply_operator(part: Apply, defined: list[bool]) -> bool:
        if not all(defined):
            return False
        if arithmetic is not Arithmetic.EXACT:
            return part.op in TRUTHS or part.op is Op.ITE
        return part.op in _TOTAL or (part.op in _PARTIAL and _PARTIAL[part.op](part, kinds))

    return fold_term(whole, leaf, apply_operator)


def _excludes_zero(term: Term, kinds: Mapping[str, ValueType]) -> bool:
    low, high = term_interval(term, kinds)
    return low > 0 or high < 0


def _is_within_array(term: Apply, kinds: Mapping[str, ValueType]) -> bool:
    """Is the index surely one of the array's places?"""
    lengths = fold_term(term.args[0], lambda part: _leaf_lengths(part, kinds), _array_lengths)
    low, high = term_interval(term.args[1], kinds)
    return bool(lengths) and low >= 0 and high < lengths[0] and is_whole(term.args[1], kinds)


def _leaf_lengths(leaf: Leaf, kinds: Mapping[str, ValueType]) -> tuple[int, ...]:
    """How long an array is, how long its elements are, and so on."""
    kind: ValueType = kinds[leaf.name] if isinstance(leaf, Var) else BOOL
    lengths: list[int] = []
    while isinstance(kind, Array):
        lengths.append(kind.length)
        kind = kind.element
    return tuple(lengths)


def _array_lengths(term: Apply, parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    match term.op:
        case Op.ARRAY:
            return (len(parts), *(parts[0] if parts else ()))
        case Op.SELECT:
            return parts[0][1:]
        case Op.ITE:
            return parts[1]
        case _:
            return ()


_PARTIAL: dict[Op, Callable[[Apply, Mapping[str, ValueType]], bool]] = {
    Op.DIV: lambda term, kinds: _excludes_zero(term.args[1], kinds),
    Op.MOD: lambda term, kinds: (
        _excludes_zero(term.args[1], kinds) and all(is_whole(a, kinds) for a in term.args)
    ),
    Op.SELECT: _is_within_array,
}


def defined_span(term: Term, kinds: Mapping[str, ValueType]) -> Span | None:
    """The bounds of a term; None where it may have no value."""
    return _span_between(*term_interval(term, kinds)) if is_surely_defined(term, kinds) else None


def span_of(kind: ValueType) -> Span | None:
    """The bounds that a kind of numbers has; None for truth values and arrays."""
    return None if isinstance(kind, Bool | Array) else _span_between(*interval_of_type(kind))


def _span_between(low: End, high: End) -> Span:
    return Span(None if is_infinite(low) else Fraction(low), None if is_infinite(high) else Fraction(high))


def _shorten_ends(x: Interval) -> Interval:
    """Ends that are too long give way outwards, to zero or to an infinity."""
    low, high = x
    if bits_of(low) > MOST_BITS:
        low = 0 if low > 0 else -inf
    if bits_of(high) > MOST_BITS:
        high = 0 if high < 0 else inf
    return (low, high)


def decide_by_bounds(condition: Term, kinds: Mapping[str, ValueType]) -> Term:
    """The condition, or its truth value where the kinds alone decide it."""
    low, high = term_interval(condition, kinds)
    return TRUE if low == 1 else FALSE if high == 0 else condition


def interval_of_type(kind: ValueType) -> Interval:
    """Of an array, around all elements."""
    match kind:
        case Bool():
            return _MAYBE
        case Int(low, high) | Real(low, high):
            return (-inf if low is None else low, inf if high is None else high)
        case Array(element, _):
            return interval_of_type(element)


def is_infinite(end: End) -> bool:
    return isinstance(end, float) and isinf(end)


def _add_ends(a: End, b: End) -> End:
    return a if is_infinite(a) else b if is_infinite(b) else a + b


def _multiply_ends(a: End, b: End) -> End:
    if a == 0 or b == 0:
        return 0  # the other factor is a finite number, however large
    if is_infinite(a) or is_infinite(b):
        return inf if (a > 0) is (b > 0) else -inf
    return a * b


def _add_intervals(*parts: Interval) -> Interval:
    return reduce(lambda x, y: _shorten_ends((_add_ends(x[0], y[0]), _add_ends(x[1], y[1]))), parts)


def _negate_interval(x: Interval) -> Interval:
    return (-x[1], -x[0])


def _multiply_intervals(*parts: Interval) -> Interval:
    def two(x: Interval, y: Interval) -> Interval:
        corners = [_multiply_ends(a, b) for a, b in product(x, y)]
        return _shorten_ends((min(corners), max(corners)))

    return reduce(two, parts)


def _divide_intervals(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:
        return _ALL
    low, high = (0 if is_infinite(end) else 1 / Fraction(end) for end in (y[1], y[0]))
    return _multiply_intervals(x, (low, high))


def _modulo_interval(x: Interval, y: Interval) -> Interval:
    """Whole numbers: the result is not negative and smaller than the size of the divisor."""
    least, most = _absolute_interval(y)
    if x[0] >= 0 and x[1] < least:
        return x
    return (0, max(0, _add_ends(most, -1)))


def _power_interval(x: Interval, y: Interval) -> Interval:
    low, high = y
    if not isinstance(low, int) or not isinstance(high, int) or max(abs(low), abs(high)) > _LARGEST_POWER:
        return (0, inf) if x[0] >= 0 else _ALL
    if low == high:
        return _whole_power(x, low) if low >= 0 else _divide_intervals((1, 1), _whole_power(x, -low))
    if x[0] <= 0 or is_infinite(x[1]):
        return (0, inf) if x[0] >= 0 else _ALL
    corners = [Fraction(b) ** e for b in x for e in (low, high)]
    return (min(corners), max(corners))


def _whole_power(x: Interval, exponent: int) -> Interval:
    if exponent == 0:
        return (1, 1)
    low, high = (reduce(_multiply_ends, [end] * exponent) for end in x)
    if exponent % 2:
        return (low, high)
    return (0 if x[0] <= 0 <= x[1] else min(low, high), max(low, high))


def _absolute_interval(x: Interval) -> Interval:
    return (x[0], x[1]) if x[0] >= 0 else _negate_interval(x) if x[1] <= 0 else (0, max(-x[0], x[1]))


def _sign_of_end(end: End) -> int:
    return int(end > 0) - int(end < 0)


def _monotone_interval(function: Callable[[End], int], x: Interval) -> Interval:
    low, high = (end if is_infinite(end) else function(end) for end in x)
    return (low, high)


def _truth_interval(surely: bool, surely_not: bool) -> Interval:
    return (1, 1) if surely else (0, 0) if surely_not else _MAYBE


def _equality_interval(x: Interval, y: Interval) -> Interval:
    return _truth_interval(x[0] == x[1] == y[0] == y[1], x[1] < y[0] or y[1] < x[0])


def _hull_interval(*parts: Interval) -> Interval:
    return (min(p[0] for p in parts), max(p[1] for p in parts)) if parts else _ALL


def _ite_interval(condition: Interval, then: Interval, otherwise: Interval) -> Interval:
    return then if condition[0] == 1 else otherwise if condition[1] == 0 else _hull_interval(then, otherwise)


def _increasing_interval(name: str, domain: Interval, image: Interval, x: Interval) -> Interval:
    """A rising function, each end rounded outward and kept within the image."""
    low, high = max(x[0], domain[0]), min(x[1], domain[1])
    if low > high:
        return image
    return (
        max(image[0], _outward_value(name, low, image[0], -inf)),
        min(image[1], _outward_value(name, high, image[1], inf)),
    )


def _outward_value(name: str, x: End, limit: End, direction: float) -> End:
    """The function's value moved one float64 in this direction; its limit where there is no value."""
    try:
        beside = limit if is_infinite(x) else nextafter(elementary_value(name, Fraction(x)), direction)
    except (ArithmeticError, ValueError):
        return limit
    return beside if is_infinite(beside) else Fraction(beside)


def _acos_interval(x: Interval) -> Interval:
    low, high = _increasing_interval("asin", (-1, 1), (-2, 2), x)
    return (max(0, Fraction(3, 2) - high), min(4, 2 - low))  # pi/2 lies between 3/2 and 2


INTERVAL: dict[Op, Callable[..., Interval]] = {
    Op.ADD: _add_intervals,
    Op.SUB: lambda x, y: _add_intervals(x, _negate_interval(y)),
    Op.NEG: _negate_interval,
    Op.MUL: _multiply_intervals,
    Op.DIV: _divide_intervals,
    Op.MOD: _modulo_interval,
    Op.POW: _power_interval,
    Op.MIN: lambda *xs: (min(x[0] for x in xs), min(x[1] for x in xs)),
    Op.MAX: lambda *xs: (max(x[0] for x in xs), max(x[1] for x in xs)),
    Op.ABS: _absolute_interval,
    Op.SIGN: lambda x: (_sign_of_end(x[0]), _sign_of_end(x[1])),
    Op.FLOOR: partial(_monotone_interval, floor),
    Op.CEIL: partial(_monotone_interval, ceil),
    Op.TRUNC: partial(_monotone_interval, trunc),
    Op.LT: lambda x, y: _truth_interval(x[1] < y[0], x[0] >= y[1]),
    Op.LE: lambda x, y: _truth_interval(x[1] <= y[0], x[0] > y[1]),
    Op.EQ: _equality_interval,
    Op.NOT: lambda x: (1 - x[1], 1 - x[0]),
    Op.AND: lambda *xs: (min(x[0] for x in xs), min(x[1] for x in xs)),
    Op.OR: lambda *xs: (max(x[0] for x in xs), max(x[1] for x in xs)),
    Op.IMPLIES: lambda x, y: (max(1 - x[1], y[0]), max(1 - x[0], y[1])),
    Op.ITE: _ite_interval,
    Op.ARRAY: _hull_interval,  # around all elements
    Op.SELECT: lambda elements, _: elements,
    Op.SQRT: partial(_increasing_interval, "sqrt", (0, inf), (0, inf)),
    Op.EXP: partial(_increasing_interval, "exp", _ALL, (0, inf)),
    Op.LOG: partial(_increasing_interval, "log", (0, inf), _ALL),
    Op.SIN: lambda _: (-1, 1),
    Op.COS: lambda _: (-1, 1),
    Op.TAN: lambda _: _ALL,
    Op.ASIN: partial(_increasing_interval, "asin", (-1, 1), (-2, 2)),
    Op.ACOS: _acos_interval,
    Op.ATAN: partial(_increasing_interval, "atan", _ALL, (-2, 2)),
    Op.TANH: partial(_increasing_interval, "tanh", _ALL, (-1, 1)),
}
