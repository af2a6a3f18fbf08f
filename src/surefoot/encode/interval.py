"""Between which numbers a term surely lies when every name keeps to its kind, in exact arithmetic.

Truth values are the numbers 0 and 1, so a condition that is surely true lies between 1 and 1. The ends are
exact numbers or infinities. Where a term is undefined its bounds say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from math import ceil, floor, inf, isinf, nextafter, trunc
from typing import TypeAlias

from surefoot.problem.environment import Bool, Int, Real
from surefoot.problem.meaning.elementary import elementary
from surefoot.problem.number import MOST_BITS, bits_of
from surefoot.problem.term import FALSE, TRUE, Apply, Const, Op, Term, Var

Scalar: TypeAlias = Bool | Int | Real
Kinds: TypeAlias = Mapping[str, Scalar]
End: TypeAlias = int | Fraction | float  # a float only where it is infinite
Interval: TypeAlias = tuple[End, End]

ALL: Interval = (-inf, inf)
MAYBE: Interval = (0, 1)
_LARGEST_POWER = 64


def interval(term: Term, kinds: Kinds) -> Interval:
    """Bounds of a scalar term; None-sided kinds are unbounded there."""
    match term:
        case Const(value):
            return (int(value), int(value)) if isinstance(value, bool) else (value, value)
        case Var(name):
            return _of_kind(kinds[name])
        case Apply(Op.MUL, (left, right)) if left == right:
            return shortened(_whole_power(interval(left, kinds), 2))
        case Apply(op, args):
            return shortened(INTERVAL[op](*(interval(a, kinds) for a in args)))


def shortened(x: Interval) -> Interval:
    """Ends that are too long give way outwards, to zero or to an infinity."""
    low, high = x
    if bits_of(low) > MOST_BITS:
        low = 0 if low > 0 else -inf
    if bits_of(high) > MOST_BITS:
        high = 0 if high < 0 else inf
    return (low, high)


def known(condition: Term, kinds: Kinds) -> Term:
    """The condition, or its truth value where the kinds alone decide it."""
    low, high = interval(condition, kinds)
    return TRUE if low == 1 else FALSE if high == 0 else condition


def _of_kind(kind: Scalar) -> Interval:
    match kind:
        case Bool():
            return MAYBE
        case Int(low, high) | Real(low, high):
            return (-inf if low is None else low, inf if high is None else high)


def is_infinite(end: End) -> bool:
    return isinstance(end, float) and isinf(end)


def _plus(a: End, b: End) -> End:
    return a if is_infinite(a) else b if is_infinite(b) else a + b


def _times(a: End, b: End) -> End:
    if a == 0 or b == 0:
        return 0  # the other factor is a finite number, however large
    if is_infinite(a) or is_infinite(b):
        return inf if (a > 0) is (b > 0) else -inf
    return a * b


def _add(*parts: Interval) -> Interval:
    return reduce(lambda x, y: shortened((_plus(x[0], y[0]), _plus(x[1], y[1]))), parts)


def _negate(x: Interval) -> Interval:
    return (-x[1], -x[0])


def _multiply(*parts: Interval) -> Interval:
    def two(x: Interval, y: Interval) -> Interval:
        corners = [_times(a, b) for a, b in product(x, y)]
        return shortened((min(corners), max(corners)))

    return reduce(two, parts)


def _divide(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:
        return ALL
    low, high = (0 if is_infinite(end) else 1 / Fraction(end) for end in (y[1], y[0]))
    return _multiply(x, (low, high))


def _modulo(x: Interval, y: Interval) -> Interval:
    """Whole numbers: the result is not negative and smaller than the size of the divisor."""
    least, most = _absolute(y)
    if x[0] >= 0 and x[1] < least:
        return x
    return (0, max(0, _plus(most, -1)))


def _power(x: Interval, y: Interval) -> Interval:
    low, high = y
    if not isinstance(low, int) or not isinstance(high, int) or max(abs(low), abs(high)) > _LARGEST_POWER:
        return (0, inf) if x[0] >= 0 else ALL
    if low == high:
        return _whole_power(x, low) if low >= 0 else _divide((1, 1), _whole_power(x, -low))
    if x[0] <= 0 or is_infinite(x[1]):
        return (0, inf) if x[0] >= 0 else ALL
    corners = [Fraction(b) ** e for b in x for e in (low, high)]
    return (min(corners), max(corners))


def _whole_power(x: Interval, exponent: int) -> Interval:
    if exponent == 0:
        return (1, 1)
    low, high = (reduce(_times, [end] * exponent) for end in x)
    if exponent % 2:
        return (low, high)
    return (0 if x[0] <= 0 <= x[1] else min(low, high), max(low, high))


def _absolute(x: Interval) -> Interval:
    return (x[0], x[1]) if x[0] >= 0 else _negate(x) if x[1] <= 0 else (0, max(-x[0], x[1]))


def _sign(end: End) -> int:
    return int(end > 0) - int(end < 0)


def _monotone(function: Callable[[End], int], x: Interval) -> Interval:
    low, high = (end if is_infinite(end) else function(end) for end in x)
    return (low, high)


def _truth(surely: bool, surely_not: bool) -> Interval:
    return (1, 1) if surely else (0, 0) if surely_not else MAYBE


def _equal(x: Interval, y: Interval) -> Interval:
    return _truth(x[0] == x[1] == y[0] == y[1], x[1] < y[0] or y[1] < x[0])


def _hull(*parts: Interval) -> Interval:
    return (min(p[0] for p in parts), max(p[1] for p in parts)) if parts else ALL


def _ite(condition: Interval, then: Interval, otherwise: Interval) -> Interval:
    return then if condition[0] == 1 else otherwise if condition[1] == 0 else _hull(then, otherwise)


def _rising(name: str, domain: Interval, image: Interval, x: Interval) -> Interval:
    """A rising function, each end rounded outward and kept within the image."""
    low, high = max(x[0], domain[0]), min(x[1], domain[1])
    if low > high:
        return image
    return (
        max(image[0], _value(name, low, image[0], -inf)),
        min(image[1], _value(name, high, image[1], inf)),
    )


def _value(name: str, x: End, limit: End, direction: float) -> End:
    """The function's value moved one float64 in this direction; its limit where there is no value."""
    try:
        beside = limit if is_infinite(x) else nextafter(elementary(name, Fraction(x)), direction)
    except (ArithmeticError, ValueError):
        return limit
    return beside if is_infinite(beside) else Fraction(beside)


def _acos(x: Interval) -> Interval:
    low, high = _rising("asin", (-1, 1), (-2, 2), x)
    return (max(0, Fraction(3, 2) - high), min(4, 2 - low))  # pi/2 lies between 3/2 and 2


INTERVAL: dict[Op, Callable[..., Interval]] = {
    Op.ADD: _add,
    Op.SUB: lambda x, y: _add(x, _negate(y)),
    Op.NEG: _negate,
    Op.MUL: _multiply,
    Op.DIV: _divide,
    Op.MOD: _modulo,
    Op.POW: _power,
    Op.MIN: lambda *xs: (min(x[0] for x in xs), min(x[1] for x in xs)),
    Op.MAX: lambda *xs: (max(x[0] for x in xs), max(x[1] for x in xs)),
    Op.ABS: _absolute,
    Op.SIGN: lambda x: (_sign(x[0]), _sign(x[1])),
    Op.FLOOR: partial(_monotone, floor),
    Op.CEIL: partial(_monotone, ceil),
    Op.TRUNC: partial(_monotone, trunc),
    Op.LT: lambda x, y: _truth(x[1] < y[0], x[0] >= y[1]),
    Op.LE: lambda x, y: _truth(x[1] <= y[0], x[0] > y[1]),
    Op.EQ: _equal,
    Op.NOT: lambda x: (1 - x[1], 1 - x[0]),
    Op.AND: lambda *xs: (min(x[0] for x in xs), min(x[1] for x in xs)),
    Op.OR: lambda *xs: (max(x[0] for x in xs), max(x[1] for x in xs)),
    Op.IMPLIES: lambda x, y: (max(1 - x[1], y[0]), max(1 - x[0], y[1])),
    Op.ITE: _ite,
    Op.ARRAY: _hull,  # around all elements
    Op.SELECT: lambda elements, _: elements,
    Op.SQRT: partial(_rising, "sqrt", (0, inf), (0, inf)),
    Op.EXP: partial(_rising, "exp", ALL, (0, inf)),
    Op.LOG: partial(_rising, "log", (0, inf), ALL),
    Op.SIN: lambda _: (-1, 1),
    Op.COS: lambda _: (-1, 1),
    Op.TAN: lambda _: ALL,
    Op.ASIN: partial(_rising, "asin", (-1, 1), (-2, 2)),
    Op.ACOS: _acos,
    Op.ATAN: partial(_rising, "atan", ALL, (-2, 2)),
    Op.TANH: partial(_rising, "tanh", ALL, (-1, 1)),
}
