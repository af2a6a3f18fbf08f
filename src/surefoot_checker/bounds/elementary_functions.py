"""Enclosures of elementary functions in integers: of a number, and of all numbers of an interval.

A number x stands as the integer X = x * 2^bits. A result is a pair of integers around the true value.
Inside, `GUARD` more bits are carried; each function says how many of these small units its result may be
off, always less than 2^(GUARD - 2), so the pairs are at most two units wide. `Refused`: outside of its
domain or too large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt

from ..kernel.strict_json import Refused
from .smooth_functions import Pair, enclose_log, enclose_tanh

GUARD = 32
LARGEST = 4096  # exp of more is refused
WIDEST = 1 << 40  # the angle of a sine


def _narrow(value: int, off: int) -> Pair:
    """The pair for a value in small units that is off by at most so many."""
    return (value - off) >> GUARD, -(-(value + off) >> GUARD)


@lru_cache(maxsize=64)
def enclose_pi(bits: int) -> Pair:
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239); each atan is off by less than its count of terms, plus 2.

    Powers are rounded down: floor(floor(p / q) / q') is floor(p / (q q')), so a power is off by less than 1,
    and its quotient by n by less than 2; what follows the first power that is 0 is worth less than 1.
    """
    one = 1 << (bits + GUARD)

    def arc(q: int) -> tuple[int, int]:
        power, total, n, sign = one // q, 0, 1, 1
        while power:
            total += sign * (power // n)
            power, n, sign = power // (q * q), n + 2, -sign
        return total, n + 2  # n is twice the count of terms, plus 1

    (first, off), (second, less) = arc(5), arc(239)
    return _narrow(16 * first - 4 * second, 16 * off + 4 * less)


def enclose_exp(x: int, bits: int) -> Pair:
    """exp x = 2^k exp r with r = x - k log 2 from 0 to 0.7: k is the floor of x / log 2, or next to it.

    Small units are 2^-shift with shift = bits + GUARD + max(k, 0). r is off by half of the width of k log 2,
    which moves exp r, whose slope is below 3, by less than three times as much. The terms of the series are
    off by less than 3 each, and what follows the last is worth less than 7. With k > 0 the result is worth
    2^k as much; `shift` has these bits more.
    """
    if abs(x) >> bits >= LARGEST:
        if x < 0:
            return 0, 1  # exp(-4096) is below 2^-5000
        raise Refused("an exponential is too large")
    if x < -(bits + 2) << bits:
        return 0, 1
    k = (x * 0x171547653 >> (bits + 32)) if x else 0  # near x / log 2
    shift = bits + GUARD + max(k, 0)
    least, most = enclose_log(2 << shift, shift)
    r = (x << (shift - bits)) - (k * (least + most) >> 1)
    off = (abs(k) * (most - least) >> 1) + 2
    total, count = _series(1 << shift, r, shift, lambda n: n)
    off = 3 * off + 3 * count + 7
    if k >= 0:
        scale = shift - bits - k
        return (total - off) >> scale, -(-(total + off) >> scale)
    return (total - off) >> (GUARD - k), -(-(total + off) >> (GUARD - k))


def _series(first: int, z: int, shift: int, divisor: Callable[[int], int]) -> tuple[int, int]:
    """The sum of terms t_0 = first, t_n = t_(n-1) z / divisor(n), each rounded down, and their count.

    For |z| <= 1 (in small units 2^-shift), |first| <= 1 and divisor(n) >= n: a term is off by less than
    (off |z| + 1) / divisor + 1 <= 3 where the one before is off by 3 or less. Where |z| <= 0.7 terms from the
    second on fall by a factor below 0.35, so a term that is rounded to -1 or 0, thus below 4, and all that
    follows it are worth less than 7.
    """
    total, term, n = first, first, 0
    while True:
        n += 1
        term = (term * z >> shift) // divisor(n)
        if -1 <= term <= 0:
            return total, n
        total += term


def enclose_sin_cos(x: int, bits: int) -> tuple[Pair, Pair]:
    """x = k pi/2 + r with |r| < 0.8: series of r, which is off by at most |k| + 1 small units or less.

    pi is enclosed with as many more bits as k has.
    """
    if abs(x) >> bits >= WIDEST:
        raise Refused("the angle of a sine is too large")
    more = max(abs(x).bit_length() - bits, 0)
    shift = bits + GUARD
    low, high = enclose_pi(shift + more)
    k = ((x << (shift + more - bits + 1)) + (low >> 1)) // low  # the whole number next to 2 x / pi
    middle = k * (low + high) >> 2
    r = (x << GUARD) - (middle >> more)
    off = (abs(k) * (high - low) >> (more + 2)) + 3
    square = -(r * r >> shift)
    sine, count = _series(r, square, shift, lambda n: 2 * n * (2 * n + 1))
    cosine, other = _series(1 << shift, square, shift, lambda n: (2 * n - 1) * (2 * n))
    s, c = _narrow(sine, off + 3 * count + 8), _narrow(cosine, off + 3 * other + 8)
    match k % 4:
        case 0:
            return s, c
        case 1:
            return c, (-s[1], -s[0])
        case 2:
            return (-s[1], -s[0]), (-c[1], -c[0])
    return (-c[1], -c[0]), s


def enclose_log_of(x: int, bits: int) -> Pair:
    if x <= 0:
        raise Refused("the logarithm of a number that may not be positive")
    least, most = enclose_log(x << GUARD, bits + GUARD)
    return least >> GUARD, -(-most >> GUARD)


def enclose_sqrt(x: int, bits: int) -> Pair:
    if x < 0:
        raise Refused("the square root of a number that may be negative")
    root = isqrt(x << bits)
    return root, root + (root * root < x << bits)


def enclose_tan(x: int, bits: int) -> Pair:
    """Of an angle whose cosine is not near 0."""
    (a, b), (c, d) = enclose_sin_cos(x << GUARD, bits + GUARD)
    if c <= 0 <= d:
        raise Refused("the tangent of an angle near its pole")
    if d < 0:
        a, b, c, d = -b, -a, -d, -c
    low, high = a << bits, b << bits
    return low // (d if a >= 0 else c), -(-high // (c if b >= 0 else d))


def enclose_atan(x: int, bits: int) -> Pair:
    """Of |x| > 1: pi/2 - atan(1/x). Then three times y -> y / (1 + sqrt(1 + y^2)), which halves the arc.

    1/x is off by less than 1 small unit; the halved argument by less than off / 2 + 3 (the root is off by 1,
    the quotient by 1 more, and the map has slope at most 1/2), so by less than 6; the series of |y| < 0.1
    with alternating falling terms by less than 3 per term and 1 for its rest; times 8.
    """
    size, shift = abs(x), bits + GUARD
    turned = size > 1 << bits
    y = (1 << (bits + shift)) // size if turned else size << GUARD
    for _ in range(3):
        y = (y << shift) // ((1 << shift) + isqrt((1 << (2 * shift)) + y * y))
    square, power, total, n, sign = y * y >> shift, y, 0, 1, 1
    while power:
        total += sign * (power // n)
        power, n, sign = power * square >> shift, n + 2, -sign
    value, off = 8 * total, 8 * (6 + 3 * n)
    if turned:
        low, high = enclose_pi(shift)
        value, off = (low + high) // 4 - value, off + 4
    low, high = _narrow(value, off)
    return (low, high) if x >= 0 else (-high, -low)


def enclose_asin(x: int, bits: int) -> Pair:
    """For |x| <= 1/2: atan(x / sqrt(1 - x^2)), else pi/2 - 2 asin(sqrt((1 - |x|) / 2)), where the root <=
    1/2.

    The root is off by less than 1 of 2^-(bits + GUARD), and asin has a slope below 1.2 there.
    """
    one, size = 1 << bits, abs(x)
    if size > one:
        raise Refused("the arc sine of a number beyond 1")
    if 2 * size <= one:
        low, high = _asin_small(size, bits)
    else:
        fine = bits + GUARD
        root = isqrt((one - size) << (GUARD + fine - 1))
        a, b = _asin_small(root, fine)
        p, q = enclose_pi(fine)
        low, high = ((p >> 1) - 2 * b - 4) >> GUARD, -(-((q + 1 >> 1) - 2 * a + 4) >> GUARD)
    return (low, high) if x >= 0 else (-high, -low)


def _asin_small(x: int, bits: int) -> Pair:
    """atan falls short of the quotient's error, less than 2 of 2^-(bits + GUARD); the slope is at most 1."""
    fine = bits + GUARD
    wide = x << GUARD
    quotient = (wide << fine) // (isqrt((1 << (2 * fine)) - wide * wide) or 1)
    low, high = enclose_atan(quotient, fine)
    return (low - 8) >> GUARD, -(-(high + 8) >> GUARD)


def enclose_acos(x: int, bits: int) -> Pair:
    (low, high), (p, q) = enclose_asin(x << GUARD, bits + GUARD), enclose_pi(bits + GUARD)
    return ((p >> 1) - high) >> GUARD, -(-(-(-q >> 1) - low) >> GUARD)


# Of intervals: ends for functions that grow (or fall), and inner extremes of sine and cosine.


def range_of_growing(function: Callable[[int, int], Pair], low: int, high: int, bits: int) -> Pair:
    return function(low, bits)[0], function(high, bits)[1]


def range_of_sin(low: int, high: int, bits: int) -> Pair:
    return _wave_range(low, high, bits, 0)


def range_of_cos(low: int, high: int, bits: int) -> Pair:
    return _wave_range(low, high, bits, 1)


def _wave_range(low: int, high: int, bits: int, which: int) -> Pair:
    """Sine (0) or cosine (1): its largest value is at pi/2 + 2 pi k (2 pi k), its least half a turn later."""
    one = 1 << bits
    first, last = enclose_sin_cos(low, bits)[which], enclose_sin_cos(high, bits)[which]
    least, most = min(first[0], last[0]), max(first[1], last[1])
    if _contains_turn(low, high, bits, 0 if which else 1):
        most = one
    if _contains_turn(low, high, bits, 2 if which else 3):
        least = -one
    return max(least, -one), min(most, one)


def _contains_turn(low: int, high: int, bits: int, quarter: int) -> bool:
    """May a whole number k with low <= (4 k + quarter) pi/2 <= high exist? Never False if one does.

    2 x / pi is enclosed from both sides, to 2^-bits; a k is between the ends, less quarter, by 4.
    """
    more = max(abs(low).bit_length(), abs(high).bit_length()) - bits
    fine = bits + GUARD + max(more, 0)
    small, large = enclose_pi(fine)
    lift, turn, shifted = fine + 1, 4 << bits, quarter << bits
    least = (low << lift) // (large if low >= 0 else small)
    most = -((-high << lift) // (small if high >= 0 else large))
    return (most - shifted) // turn >= -((shifted - least) // turn)


def range_of_tan(low: int, high: int, bits: int) -> Pair:
    """Grows between two poles; none, at pi/2 + pi k, may lie within."""
    if _contains_turn(low, high, bits, 1) or _contains_turn(low, high, bits, 3):
        raise Refused("the tangent over an interval that may contain a pole")
    return range_of_growing(enclose_tan, low, high, bits)


def range_of_acos(low: int, high: int, bits: int) -> Pair:
    return enclose_acos(high, bits)[0], enclose_acos(low, bits)[1]


RANGES: dict[str, Callable[[int, int, int], Pair]] = {
    "sqrt": lambda low, high, bits: range_of_growing(enclose_sqrt, low, high, bits),
    "exp": lambda low, high, bits: range_of_growing(enclose_exp, low, high, bits),
    "log": lambda low, high, bits: range_of_growing(enclose_log_of, low, high, bits),
    "sin": range_of_sin,
    "cos": range_of_cos,
    "tan": range_of_tan,
    "asin": lambda low, high, bits: range_of_growing(enclose_asin, low, high, bits),
    "acos": range_of_acos,
    "atan": lambda low, high, bits: range_of_growing(enclose_atan, low, high, bits),
    "tanh": lambda low, high, bits: range_of_growing(enclose_tanh, low, high, bits),
}
