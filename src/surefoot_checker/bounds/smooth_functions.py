"""Enclosures of tanh and of the logistic function in integers, and the best line of a given slope.

A number x stands as the integer X = x * 2^bits. Every result is a pair of integers around the true value.
Inside, 64 more bits are carried, so the pairs are as narrow as rounding to `bits` allows: two units at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import isqrt

GUARD = 64
COARSE = 30  # bits up to which points of a table are near enough
_STEP, _FINE = 11, 40  # bits of the points of the table, and of what it holds
_FEW = (
    13  # bits of the slopes of chords of intervals that are not narrow: peaks of few lines have to be found
)
_NARROW = 7  # below 2^-7
_OFF = 16  # of the units of what it holds: more than values between its points are off
FLAT = 15  # from there on tanh is 1, and from -FLAT on down -1, for the bits of a table
Pair = tuple[int, int]


def enclose_tanh(x: int, bits: int) -> Pair:
    """Around tanh, which is odd."""
    size = abs(x)
    if size >= bits << bits:
        least, most = (1 << bits) - 1, 1 << bits  # 1 - tanh x < 2 exp(-2 x) <= 2 exp(-2 bits) < 2^-bits
    elif _STEP < bits <= COARSE:
        least, most = _enclose_tanh_nearby(size, bits)
    else:
        least, most = _enclose_quotient(size, bits)
    return (least, most) if x >= 0 else (-most, -least)


@lru_cache(maxsize=1 << 16)
def _enclose_quotient(x: int, bits: int) -> Pair:
    """(1 - e) / (1 + e) with e = exp(-2 x), which falls as e grows."""
    unit = 1 << (bits + GUARD)
    e_least, e_most = _enclose_exp_minus(2 * x, bits)
    return ((unit - e_most) << bits) // (unit + e_most), -((-(unit - e_least) << bits) // (unit + e_least))


def _enclose_tanh_nearby(x: int, bits: int) -> Pair:
    value, less = _find_tanh(x, bits), _FINE - bits
    return (value - _OFF) >> less, min(-(-(value + _OFF) >> less), 1 << bits)


def _find_tanh(x: int, bits: int) -> int:
    """tanh in units of 2^-40, off by less than `_OFF`: by Taylor's theorem from the nearest point g of a
    table, at most 2^-12 away.

    With t = tanh g and d = x - g it is t + d (1 - t^2 - t (1 - t^2) d) + R, |R| <= |d|^3 / 3 as the third
    derivative is at most 2 in size. In units of 2^-40: R is less than 6, t is off by at most 2, the last
    rounding by less than 1, and what is multiplied by d or d^2 by less than 32, which moves the value by less
    than 1.
    """
    if not -FLAT << bits < x < FLAT << bits:  # 1 - tanh x < 2 exp(-2 x) < 2^-40
        return 1 << _FINE if x > 0 else -1 << _FINE
    number = (x + (1 << (bits - _STEP - 1))) >> (bits - _STEP)
    t, slope, bend = _tanh_table(number)
    d = (x << (_FINE - bits)) - (number << (_FINE - _STEP))
    return t + ((slope - (bend * d >> _FINE)) * d >> _FINE)


@cache
def _tanh_table(number: int) -> tuple[int, int, int]:
    """An end around t = tanh(number / 2^11), in units of 2^-40, with 1 - t^2 and t (1 - t^2)."""
    t = enclose_tanh(number << (_FINE - _STEP), _FINE)[0]
    slope = (1 << _FINE) - (t * t >> _FINE)
    return t, slope, t * slope >> _FINE


def _enclose_exp_minus(y: int, bits: int) -> Pair:
    """Around exp(-y) * 2^(bits + GUARD) for 0 <= y < 2^40.

    z = y / 2^halvings is below 2^-8 and an exact number of units 2^-(bits + GUARD). Terms of the series are
    rounded down: floor(floor(term z) / n) is off by less than (off z + 1) / n + 1 < 3 units. The series
    alternates and its terms fall, so what follows a term that is rounded to 0 is worth less than 3 units too.
    Then the pair is squared, rounding outward.
    """
    halvings = max(0, y.bit_length() - bits + 8)
    assert halvings <= GUARD
    shift = bits + GUARD
    z = y << (GUARD - halvings)
    term, total, count, sign = 1 << shift, 0, 0, 1
    while term:
        total += sign * term
        sign, count = -sign, count + 1
        term = ((term * z) >> shift) // count
    least, most = total - 3 * count - 3, total + 3 * count + 3
    for _ in range(halvings):
        least, most = least * least >> shift, -(-most * most >> shift)
    return least, most


def enclose_logistic(x: int, bits: int) -> Pair:
    """Around 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2; x / 2 has the same integer with one more bit."""
    least, most = enclose_tanh(x, bits + 1)
    one = 1 << (bits + 1)
    return (one + least) >> 2, -(-(one + most) >> 2)


def enclose_log(x: int, shift: int) -> Pair:
    """Around log(x / 2^shift) * 2^shift for x > 0.

    x / 2^shift = 2^power * m with 1 <= m < 2, and log m = 2 atanh w with w = (m - 1) / (m + 1) < 1/3.
    """
    power = x.bit_length() - 1 - shift
    unit = 1 << (x.bit_length() - 1)
    least, most = _enclose_atanh(((x - unit) << shift) // (x + unit), shift)
    two_least, two_most = _enclose_atanh((1 << shift) // 3, shift)  # log 2 = 2 atanh(1/3)
    if power < 0:
        two_least, two_most = two_most, two_least
    return 2 * (power * two_least + least), 2 * (power * two_most + most)


@lru_cache(maxsize=1 << 10)
def _enclose_atanh(w: int, shift: int) -> Pair:
    """Around atanh of every number from w to w + 1 units, for w <= 1/3.

    The series has positive terms and all are rounded down. A power is off by less than (off / 9 + 2) < 3
    units, a term by less than 4; what follows the first power that is 0 is worth less than 4, and the
    argument's own unit less than 9/8.
    """
    square, power, total, count = w * w >> shift, w, 0, 0
    while power:
        total += power // (2 * count + 1)
        power, count = power * square >> shift, count + 1
    return total, total + 4 * count + 6


@lru_cache(maxsize=1 << 17)
def tanh_peak(slope: int, bits: int) -> tuple[int, int, int]:
    """For 0 < slope < 1: an upper bound of the largest tanh x - slope x, and a pair around where it is.

    There tanh x = y = sqrt(1 - slope), x = atanh y = log(1 + y) - log(slope) / 2. By symmetry the least
    tanh x - slope x between two points where it falls is at -x.
    """
    shift = bits + GUARD
    unit, s = 1 << shift, slope << GUARD
    y = isqrt((unit - s) << shift)
    log_least, log_most = enclose_log(s, shift)
    least = enclose_log(unit + y, shift)[0] - (log_most + 1) // 2
    most = enclose_log(unit + y + 1, shift)[1] - log_least // 2 + 1
    height = y + 1 - (s * least >> shift)
    return -(-height >> GUARD), least >> GUARD, -(-most >> GUARD)


def tanh_line(low: int, high: int, slope: int, bits: int) -> Pair:
    """Constants c, d with c <= tanh x - slope x <= d for all x from low to high.

    The difference grows between -x* and x* (where tanh' = slope) and falls elsewhere: its extremes are at the
    ends, or at -x* (least) and x* (largest) where these may lie between. Where they do not exist, slope <= 0
    or slope >= 1, it grows or falls everywhere.
    """
    return _line_between(low, high, enclose_tanh(low, bits), enclose_tanh(high, bits), slope, bits)


def tanh_chord(low: int, high: int, bits: int, places: int) -> tuple[int, Pair]:
    """A multiple of 2^-places near the slope of the chord, and the constants of `tanh_line` for it."""
    ((slope, band),) = tanh_chords((low,), (high,), bits, places)
    return slope, band


def tanh_chords(lows: Sequence[int], highs: Sequence[int], bits: int, places: int) -> list[tuple[int, Pair]]:
    """The same for many intervals. With few bits the values at their ends are those of `_find_tanh`, written
    out here, in units of 2^-(40 + places)."""
    if not _STEP < bits <= COARSE:
        return [_fine_chord(low, high, bits, places) for low, high in zip(lows, highs, strict=True)]
    flat, one, shift, less = FLAT << bits, 1 << bits, bits - _STEP, _FINE - bits
    half, table, narrow, off = 1 << (bits - _STEP - 1), _tanh_table, one >> _NARROW, _OFF << places
    steepest, raised, down, rough = 1 << places, bits - places, less + places, max(places - _FEW, 0)
    found = []
    for low, high in zip(lows, highs, strict=True):
        if not (-flat < low and high < flat):
            if low >= flat or high <= -flat:
                found.append((0, (one - 1, one) if low > 0 else (-one, 1 - one)))
                continue
            first, last = _find_tanh(low, bits), _find_tanh(high, bits)
        else:
            number = (low + half) >> shift
            t, steep, bend = table(number)
            d = (low - (number << shift)) << less
            first = t + ((steep - (bend * d >> _FINE)) * d >> _FINE)
            number = (high + half) >> shift
            t, steep, bend = table(number)
            d = (high - (number << shift)) << less
            last = t + ((steep - (bend * d >> _FINE)) * d >> _FINE)
        slope, width = 0, high - low
        if width:
            slope = ((last - first) << places) // (width << less)
            slope = 0 if slope < 0 else min(slope, steepest)
            if width > narrow:
                slope = slope >> rough << rough
        first, last = (first << places) - (slope * low << less), (last << places) - (slope * high << less)
        if first > last:
            first, last = last, first
        least, most = (first - off) >> down, -((-last - off) >> down)
        if 0 < slope < steepest:
            height, near, far = tanh_peak(slope << raised, bits)
            if low < -near and high > -far and least > -height:
                least = -height
            if low < far and high > near and most < height:
                most = height
        found.append((slope, (least, most)))
    return found


def _fine_chord(low: int, high: int, bits: int, places: int) -> tuple[int, Pair]:
    at_low, at_high = enclose_tanh(low, bits), enclose_tanh(high, bits)
    slope = 0
    if high > low:
        slope = min(max(((at_high[0] - at_low[0]) << places) // (high - low), 0), 1 << places)
        if (high - low) << _NARROW > 1 << bits:
            rough = max(places - _FEW, 0)
            slope = slope >> rough << rough
    return slope, _line_between(low, high, at_low, at_high, slope << (bits - places), bits)


def _line_between(low: int, high: int, at_low: Pair, at_high: Pair, slope: int, bits: int) -> Pair:
    first, last = slope * low, slope * high
    least = min((at_low[0] << bits) - first, (at_high[0] << bits) - last) >> bits
    most = -(-max((at_low[1] << bits) - first, (at_high[1] << bits) - last) >> bits)
    return _add_peaks(low, high, slope, bits, least, most)


def _add_peaks(low: int, high: int, slope: int, bits: int, least: int, most: int) -> Pair:
    if 0 < slope < 1 << bits:
        height, near, far = tanh_peak(slope, bits)
        if low < -near and high > -far:
            least = min(least, -height)
        if low < far and high > near:
            most = max(most, height)
    return least, most


def logistic_line(low: int, high: int, slope: int, bits: int) -> Pair:
    """The same for the logistic function: 1/2 + (tanh y - 4 slope y) / 2 with y = x / 2.

    With one more bit y has the integer of x, and 4 * slope that of 8 * slope.
    """
    least, most = tanh_line(low, high, 8 * slope, bits + 1)
    one = 1 << (bits + 1)
    return (one + least) >> 2, -(-(one + most) >> 2)


def logistic_chords(
    lows: Sequence[int], highs: Sequence[int], bits: int, places: int
) -> list[tuple[int, Pair]]:
    """The same for the logistic function: with slope s and constants c, d of tanh y it is between s x / 4 +
    (1 + c) / 2 and s x / 4 + (1 + d) / 2. A multiple of 2^-places is four times one of 2^-(places - 2)."""
    one = 1 << (bits + 1)
    return [
        (slope, ((one + least) >> 2, -(-(one + most) >> 2)))
        for slope, (least, most) in tanh_chords(lows, highs, bits + 1, places - 2)
    ]
