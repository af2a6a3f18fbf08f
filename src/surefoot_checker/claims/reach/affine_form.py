"""Affine forms in fixed point: c + sum of a_j e_j + r e', with symbols e_j in [-1, 1] that forms share.

All numbers are integers in units of 2^-bits; r >= 0 belongs to the form alone. A form stands for an unknown
number: for the values that the shared symbols really have, the number is within r of c + sum a_j e_j. Each
operation gives a form of the true result. Where a centre or a coefficient is rounded down it is off by less
than one unit, and as |e_j| <= 1 that moves the result by less than one unit: the radius gets one for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import add, mul, sub

from ...bounds.elementary_functions import RANGES
from ...kernel.strict_json import Refused
from .interval import MOST_BITS, Interval, IntervalArithmetic, meet_intervals

Form = tuple[int, list[int], int]  # centre, coefficients, radius


def form_width(x: Form) -> int:
    return sum(map(abs, x[1])) + x[2]


def form_bounds(x: Form) -> Interval:
    width = form_width(x)
    return x[0] - width, x[0] + width


def form_size(x: Form) -> int:
    """The largest magnitude."""
    return abs(x[0]) + form_width(x)


def _meet_bounds(x: Form, known: Interval | None) -> Interval:
    return form_bounds(x) if known is None else meet_intervals(form_bounds(x), known)


def widen_form(x: Form, by: int) -> Form:
    return x[0], x[1], x[2] + by


def extend_form(x: Form, count: int) -> Form:
    """Over so many symbols: the new ones do not occur in it."""
    missing = count - len(x[1])
    return (x[0], x[1] + [0] * missing, x[2]) if missing else x


@dataclass(frozen=True, slots=True)
class FormArithmetic:
    """Operations on forms over the same `count` of symbols."""

    bits: int
    count: int

    def enclose_number(self, value: Fraction | int) -> Form:
        exact = Fraction(value)
        centre, rest = divmod(exact.numerator << self.bits, exact.denominator)
        return centre, [0] * self.count, 1 if rest else 0

    def enclose_interval(self, x: Interval) -> Form:
        centre = (x[0] + x[1]) >> 1
        return centre, [0] * self.count, x[1] - centre

    def bounds(self, x: Form) -> Interval:
        return form_bounds(x)

    def add(self, x: Form, y: Form) -> Form:
        return x[0] + y[0], list(map(add, x[1], y[1])), x[2] + y[2]

    def subtract(self, x: Form, y: Form) -> Form:
        return x[0] - y[0], list(map(sub, x[1], y[1])), x[2] + y[2]

    def negate(self, x: Form) -> Form:
        return -x[0], [-a for a in x[1]], x[2]

    def scale(self, x: Form, top: int, below: int) -> Form:
        """Times top / below, below > 0."""
        if below == 1:
            return x[0] * top, [a * top for a in x[1]], x[2] * abs(top)
        if not (x[0] or x[2] or any(x[1])):
            return x  # nothing is rounded
        radius = -(-x[2] * abs(top) // below)
        return x[0] * top // below, [a * top // below for a in x[1]], radius + 1 + len(x[1])

    def multiply(self, x: Form, y: Form) -> Form:
        """(x0 + X + r e')(y0 + Y + s e''), where X Y = sum of a_i b_j e_i e_j.

        e_i^2 is in [0, 1]: the diagonal is half of sum a_i b_i and within half of sum |a_i b_i|. Everything
        else is at most the product of sums of magnitudes, less those of the diagonal.
        """
        bits, (x0, a, r), (y0, b, s) = self.bits, x, y
        diagonal = list(map(mul, a, b))
        size_a, size_b = sum(map(abs, a)), sum(map(abs, b))
        twice = 2 * (abs(x0) * s + abs(y0) * r + size_a * size_b + size_a * s + size_b * r + r * s)
        twice -= sum(map(abs, diagonal))
        if twice.bit_length() > MOST_BITS or x0.bit_length() > MOST_BITS:
            raise Refused("a set grows beyond all bounds")
        return (
            (2 * x0 * y0 + sum(diagonal)) >> (bits + 1),
            [(x0 * q + y0 * p) >> bits for p, q in zip(a, b, strict=True)],
            -(-twice >> (bits + 1)) + 1 + len(a),
        )

    def square(self, x: Form) -> Form:
        return self.multiply(x, x)

    def reciprocal(self, x: Form, known: Interval | None = None) -> Form:
        """1 / x: slope -1 / c^2, second derivative 2 / x^3. `known`: another enclosure of x."""
        low, high = _meet_bounds(x, known)
        if low <= 0 <= high:
            raise Refused("a divisor that may be zero")
        exact = IntervalArithmetic(self.bits)
        if not low <= x[0] <= high:
            return self.enclose_interval(exact.reciprocal((low, high)))
        here = (x[0], x[0])
        inverse = exact.reciprocal(here)
        over = exact.reciprocal((low, high))
        bend = exact.scale(exact.multiply(over, exact.square(over)), 2, 1)
        return self._bend(x, inverse, exact.negate(exact.square(inverse)), bend)

    def apply(self, name: str, x: Form, known: Interval | None = None) -> Form:
        """An elementary function; where it has no bounded second derivative, its range alone.

        `known`: another enclosure of x. Between c and x, both within it, is where f'' is looked at.
        """
        low, high = _meet_bounds(x, known)
        if low == high or not low <= x[0] <= high:
            return self.enclose_interval(RANGES[name](low, high, self.bits))
        if (name == "sqrt" and low <= 0) or (name in ("asin", "acos") and max(-low, high) >= 1 << self.bits):
            return self.enclose_interval(RANGES[name](low, high, self.bits))
        found = self._bend(x, *self._expand(name, x[0], (low, high)))
        if 2 * found[2] > form_width(found):  # mostly radius: its range alone may be narrower
            plain = self.enclose_interval(RANGES[name](low, high, self.bits))
            return plain if plain[2] < form_width(found) else found
        return found

    def _expand(self, name: str, centre: int, ends: Interval) -> tuple[Interval, Interval, Interval]:
        """The value and the slope at the centre, and the second derivative between the ends."""
        exact, here = IntervalArithmetic(self.bits), (centre, centre)
        one = (1 << self.bits, 1 << self.bits)
        value = exact.apply(name, here)

        def slope_and_bend() -> tuple[Interval, Interval]:
            match name:
                case "exp":
                    return value, exact.apply("exp", ends)
                case "log":
                    return exact.reciprocal(here), exact.negate(exact.square(exact.reciprocal(ends)))
                case "sqrt":  # 1 / (2 s), -1 / (4 s^3)
                    over = exact.reciprocal(exact.apply("sqrt", ends))
                    bend = exact.scale(exact.multiply(over, exact.square(over)), -1, 4)
                    return exact.scale(exact.reciprocal(value), 1, 2), bend
                case "sin":
                    return exact.apply("cos", here), exact.negate(exact.apply("sin", ends))
                case "cos":
                    return exact.negate(exact.apply("sin", here)), exact.negate(exact.apply("cos", ends))
                case "tan":  # 1 + t^2, 2 t (1 + t^2), which grows
                    t = exact.apply("tan", ends)
                    bend = exact.multiply(exact.scale(t, 2, 1), exact.add(one, exact.square(t)))
                    return exact.add(one, exact.square(value)), bend
                case "atan":  # 1 / (1 + x^2), -2 x / (1 + x^2)^2
                    over = exact.reciprocal(exact.add(one, exact.square(ends)))
                    bend = exact.multiply(exact.scale(ends, -2, 1), exact.square(over))
                    return exact.reciprocal(exact.add(one, exact.square(here))), bend
                case "tanh":  # 1 - t^2, -2 t (1 - t^2)
                    t = exact.apply("tanh", ends)
                    bend = exact.multiply(exact.scale(t, -2, 1), exact.subtract(one, exact.square(t)))
                    return exact.subtract(one, exact.square(value)), bend
            # asin: 1 / s, x / s^3 with s = sqrt(1 - x^2); acos the opposite
            over = exact.reciprocal(exact.apply("sqrt", exact.subtract(one, exact.square(here))))
            wide = exact.reciprocal(exact.apply("sqrt", exact.subtract(one, exact.square(ends))))
            bend = exact.multiply(ends, exact.multiply(wide, exact.square(wide)))
            return (over, bend) if name == "asin" else (exact.negate(over), exact.negate(bend))

        return value, *slope_and_bend()

    def _bend(self, x: Form, value: Interval, slope: Interval, bend: Interval) -> Form:
        """f(c) + f'(c) (x - c) + f''(somewhere) (x - c)^2 / 2, the last between 0 and f'' w^2 / 2.

        Value and slope are taken at the lower ends of their enclosures; what they may be more is in the
        radius: of the slope times the width.
        """
        bits, width = self.bits, form_width(x)
        half = -(-width * width >> (bits + 1))
        low, high = min(bend[0], 0) * half >> bits, -(-max(bend[1], 0) * half >> bits)
        middle = (low + high) >> 1
        more = -(-(slope[1] - slope[0]) * width >> bits) - (-x[2] * abs(slope[0]) >> bits)
        radius = more + (high - middle) + (value[1] - value[0]) + len(x[1])
        return value[0] + middle, [slope[0] * a >> bits for a in x[1]], radius

    def band(self, x: Form, top: int, below: int, offset: Interval) -> Form:
        """For a function within slope * x + offset, the slope being top / below."""
        c, a, r = self.scale(x, top, below)
        middle = (offset[0] + offset[1]) >> 1
        return c + middle, a, r + offset[1] - middle

    def absolute(self, x: Form) -> Form:
        """Between the ends |x| is above the line s x, and at most as far as at an end."""
        low, high = form_bounds(x)
        if low >= 0:
            return x
        if high <= 0:
            return self.negate(x)
        top = ((high + low) << 16) // (high - low)  # |s| <= 1
        most = max((-low << 16) - top * low, (high << 16) - top * high)
        return self.band(x, top, 1 << 16, (0, -(-most >> 16)))

    def maximum(self, x: Form, y: Form) -> Form:
        """(x + y + |x - y|) / 2."""
        gap = self.subtract(x, y)
        low, high = form_bounds(gap)
        if low >= 0:
            return x
        if high <= 0:
            return y
        return self.scale(self.add(self.add(x, y), self.absolute(gap)), 1, 2)

    def minimum(self, x: Form, y: Form) -> Form:
        return self.negate(self.maximum(self.negate(x), self.negate(y)))

    def join(self, x: Form, y: Form) -> Form:
        """A form for both: of coefficients of one sign the smaller, of others 0, the rest in the radius."""
        shared = [
            (p if abs(p) < abs(q) else q) if (p < 0) is (q < 0) else 0
            for p, q in zip(x[1], y[1], strict=True)
        ]
        rests = [(c, [p - s for p, s in zip(a, shared, strict=True)], r) for c, a, r in (x, y)]
        (a, b), (c, d) = form_bounds(rests[0]), form_bounds(rests[1])
        low, high = min(a, c), max(b, d)
        centre = (low + high) >> 1
        return centre, shared, high - centre


def reduce_symbols(rows: Sequence[list[int]], limit: int, first: int) -> list[list[int]]:
    """Coefficients (a row for each variable) over fewer symbols whose sets contain the old ones.

    The `first` symbols stay. Others that occur nowhere are dropped. If there are more than `limit` of these,
    the largest stay and the rest is replaced by one for each variable (a sum of a_j e_j is within sum |a_j|
    of 0), so that two thirds of `limit` are left: boxes of boxes lose much, so it is done seldom.
    """
    every = list(zip(*rows, strict=True))
    size = len(rows)
    columns = [column for column in every[first:] if any(column)]
    if len(columns) > limit:
        sizes = [list(map(abs, column)) for column in columns]
        order = sorted(range(len(columns)), key=lambda j: (max(sizes[j]) - sum(sizes[j]), j))
        keep = max(2 * limit // 3 - size, 0)
        kept = sorted(order[:keep])
        spread = [0] * size
        for j in order[keep:]:
            spread = list(map(add, spread, sizes[j]))
        boxes = [tuple(s if i == k else 0 for k in range(size)) for i, s in enumerate(spread) if s]
        columns = [columns[j] for j in kept] + boxes
    columns = every[:first] + columns
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in rows]
