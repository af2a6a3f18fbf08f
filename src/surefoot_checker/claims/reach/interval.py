"""Intervals in fixed point: a pair of integers, in units of 2^-bits. Every operation rounds outward."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...bounds.elementary_functions import RANGES
from ...kernel.strict_json import Refused

Interval = tuple[int, int]
MOST_BITS = 1 << 12  # of a number: nothing that is shown needs such


def limit_interval(x: Interval) -> Interval:
    """Refused if it is so large that computing with it would never end."""
    if x[0].bit_length() > MOST_BITS or x[1].bit_length() > MOST_BITS:
        raise Refused("a set grows beyond all bounds")
    return x


def join_intervals(x: Interval, y: Interval) -> Interval:
    return min(x[0], y[0]), max(x[1], y[1])


def meet_intervals(x: Interval, y: Interval) -> Interval:
    """Of two enclosures of the same; they overlap, or there is nothing to enclose and either will do."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else x


@dataclass(frozen=True, slots=True)
class IntervalArithmetic:
    """Operations by the ends. With the same names those of forms are in `FormArithmetic`."""

    bits: int

    def enclose_number(self, value: Fraction | int) -> Interval:
        top, below = (Fraction(value).numerator << self.bits), Fraction(value).denominator
        return top // below, -(-top // below)

    def bounds(self, x: Interval) -> Interval:
        return x

    def add(self, x: Interval, y: Interval) -> Interval:
        return x[0] + y[0], x[1] + y[1]

    def subtract(self, x: Interval, y: Interval) -> Interval:
        return x[0] - y[1], x[1] - y[0]

    def negate(self, x: Interval) -> Interval:
        return -x[1], -x[0]

    def scale(self, x: Interval, top: int, below: int) -> Interval:
        """Times top / below, below > 0."""
        a, b = x if top >= 0 else (x[1], x[0])
        return a * top // below, -(-b * top // below)

    def multiply(self, x: Interval, y: Interval) -> Interval:
        (a, b), (c, d) = x, y
        products = (a * c, a * d, b * c, b * d)
        return limit_interval((min(products) >> self.bits, -(-max(products) >> self.bits)))

    def square(self, x: Interval) -> Interval:
        a, b = x
        large = max(a * a, b * b)
        small = 0 if a <= 0 <= b else min(a * a, b * b)
        return limit_interval((small >> self.bits, -(-large >> self.bits)))

    def reciprocal(self, x: Interval, known: Interval | None = None) -> Interval:
        """`known`: another enclosure of x."""
        a, b = x if known is None else meet_intervals(x, known)
        if a <= 0 <= b:
            raise Refused("a divisor that may be zero")
        one = 1 << (2 * self.bits)
        return one // b, -(-one // a)

    def apply(self, name: str, x: Interval, known: Interval | None = None) -> Interval:
        """An elementary function. `known`: another enclosure of x."""
        low, high = x if known is None else meet_intervals(x, known)
        return RANGES[name](low, high, self.bits)

    def absolute(self, x: Interval) -> Interval:
        a, b = x
        return (max(a, -b, 0), max(-a, b))
