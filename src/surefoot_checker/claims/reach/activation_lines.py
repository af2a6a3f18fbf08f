"""Activations over an interval: a slope and a band around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...bounds.curved_functions import CURVES, curve_error
from ...bounds.smooth_functions import logistic_chords, tanh_chords
from .interval import Interval

SLOPE = 16  # bits of a slope behind the point

# An activation over an interval: None if it is the identity there, else a slope s (times 2^SLOPE),
# bounds of f(x) - s x, and what float32 adds to that.
Line = tuple[int, Interval, int]


def line_size(line: Line, low: int, high: int) -> int:
    """A bound of what the activation computes."""
    slope, (least, most), error = line
    if slope < 0:
        low, high = high, low
    return max(-(slope * low >> SLOPE) - least, (slope * high >> SLOPE) + 1 + most) + error


def _relu_line(low: int, high: int, bits: int, parameters: Sequence[Fraction]) -> Line | None:
    """f - s x falls to 0 at 0 and grows from there, for 0 <= s <= 1."""
    if low >= 0:
        return None
    if high <= 0:
        return 0, (0, 0), 0
    slope = (high << SLOPE) // (high - low)
    most = max(-slope * low, ((1 << SLOPE) - slope) * high)
    return slope, (0, -(-most >> SLOPE)), 0


def _kinked_line(
    low: int, high: int, knots: Sequence[tuple[Interval, Interval]], wanted: Fraction
) -> tuple[int, Interval]:
    """For a function that is linear between knots (enclosures of x and f), the ends being among them."""
    slope = (wanted * (1 << SLOPE)).__floor__()
    least = min((f[0] << SLOPE) - max(slope * x[0], slope * x[1]) for x, f in knots) >> SLOPE
    most = -(-max((f[1] << SLOPE) - min(slope * x[0], slope * x[1]) for x, f in knots) >> SLOPE)
    return slope, (least, most)


def _leaky_line(low: int, high: int, bits: int, parameters: Sequence[Fraction]) -> Line | None:
    (steep,) = parameters

    def value(x: int) -> Interval:
        below = x * steep.numerator
        return (x, x) if x >= 0 else (below // steep.denominator, -(-below // steep.denominator))

    points = [low, high, *([0] if low < 0 < high else [])]
    knots = [((x, x), value(x)) for x in points]
    rise = Fraction(value(high)[0] - value(low)[0], high - low) if high > low else Fraction(0)
    size = max(abs(end) for _, f in knots for end in f)
    return *_kinked_line(low, high, knots, rise), (size >> 24) + 2


def _clip_line(low: int, high: int, bits: int, parameters: Sequence[Fraction]) -> Line | None:
    """A knot that is no whole number of units lies between two, and so does the value there."""
    ends = [(p.numerator << bits) // p.denominator for p in parameters]
    bottom, top = ((e, e + 1) for e in ends)
    if low >= bottom[1] and high <= top[0]:
        return None

    def value(x: int) -> Interval:
        return min(max(x, bottom[0]), top[0]), min(max(x, bottom[1]), top[1])

    inner = [knot for knot in (bottom, top) if low < knot[1] and knot[0] < high]
    knots = [*(((x, x), value(x)) for x in (low, high)), *((knot, knot) for knot in inner)]
    rise = Fraction(max(value(high)[0] - value(low)[0], 0), high - low) if high > low else Fraction(0)
    return *_kinked_line(low, high, knots, rise), 0


def _tanh_lines(
    lows: Sequence[int], highs: Sequence[int], bits: int, parameters: Sequence[Fraction]
) -> list[Line | None]:
    one = 1 << bits
    return [
        (slope, band, (4 * min(max(-low, high), one) >> 23) + 2)
        for (slope, band), low, high in zip(tanh_chords(lows, highs, bits, SLOPE), lows, highs, strict=True)
    ]


def _sigmoid_lines(
    lows: Sequence[int], highs: Sequence[int], bits: int, parameters: Sequence[Fraction]
) -> list[Line | None]:
    error = (4 << bits >> 23) + 2
    return [(slope, band, error) for slope, band in logistic_chords(lows, highs, bits, SLOPE)]


def _curve_band(kind: str) -> Callable[[int, int, int, Sequence[Fraction]], Line | None]:
    """Between two constants."""

    def line(low: int, high: int, bits: int, parameters: Sequence[Fraction]) -> Line | None:
        given = [p.as_integer_ratio() for p in parameters]
        around = CURVES[kind](low, high, bits, given)
        size = max(-around[0], around[1])
        return 0, around, curve_error(kind, size, bits, given[0] if given else None) or 0

    return line


_LINES: dict[str, Callable[[int, int, int, Sequence[Fraction]], Line | None]] = {
    "relu": _relu_line,
    "leaky_relu": _leaky_line,
    "clip": _clip_line,
    **{kind: _curve_band(kind) for kind in CURVES},
}


def activation_lines(
    kind: str, lows: Sequence[int], highs: Sequence[int], bits: int, parameters: Sequence[Fraction]
) -> list[Line | None]:
    """Over intervals, one for each neuron of a layer."""
    if kind == "tanh":
        return _tanh_lines(lows, highs, bits, parameters)
    if kind == "sigmoid":
        return _sigmoid_lines(lows, highs, bits, parameters)
    line_of = _LINES[kind]
    return [line_of(low, high, bits, parameters) for low, high in zip(lows, highs, strict=True)]


def activation_line(kind: str, low: int, high: int, bits: int, parameters: Sequence[Fraction]) -> Line | None:
    (line,) = activation_lines(kind, (low,), (high,), bits, parameters)
    return line
