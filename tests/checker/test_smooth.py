"""Enclosures of tanh and the logistic function, against 60 decimal digits."""

from __future__ import annotations

import random
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import pytest
from tests.checker.meaning import tanh as precise

from surefoot_checker.bounds.smooth_functions import (
    enclose_log,
    enclose_logistic,
    enclose_tanh,
    logistic_chords,
    logistic_line,
    tanh_line,
    tanh_peak,
)

BITS = (16, 40, 112)


def _places(bits: int, count: int) -> list[int]:
    choice = random.Random(bits)
    near = [-2, -1, 0, 1, 2, (1 << bits) - 1, 1 << bits, bits << bits, (bits << bits) - 1, (bits + 3) << bits]
    wide = [
        choice.choice((-1, 1)) * choice.randrange(1 << (bits + choice.randrange(-bits // 2, 8)))
        for _ in range(count)
    ]
    return near + [-x for x in near] + wide


@pytest.mark.parametrize("bits", BITS)
def test_values(bits: int) -> None:
    for x in _places(bits, 300):
        for found, exact in (
            (enclose_tanh(x, bits), precise(Fraction(x, 1 << bits))),
            (enclose_logistic(x, bits), (1 + precise(Fraction(x, 2 << bits))) / 2),
        ):
            low, high = found
            assert Fraction(low, 1 << bits) <= exact <= Fraction(high, 1 << bits)
            assert high - low <= 2


@pytest.mark.parametrize("bits", BITS)
def test_peaks(bits: int) -> None:
    """tanh x - s x is largest where tanh x = sqrt(1 - s)."""
    with localcontext() as context:
        context.prec = 80
        for k in (1, 2, 100, 16384, 32768, 65000, 65535):
            s = Decimal(k) / 65536
            y = (1 - s).sqrt()
            x = ((1 + y) / (1 - y)).ln() / 2
            height, near, far = tanh_peak(k << (bits - 16), bits)
            scale = Decimal(2) ** bits
            assert (y - s * x) * scale <= height <= (y - s * x) * scale + 2
            assert near <= x * scale <= far <= near + 3


def test_logarithms() -> None:
    with localcontext() as context:
        context.prec = 60
        for x in (1, 2, 3, 10**9, 2**64, 2**64 + 1, 2**90):
            low, high = enclose_log(x, 64)
            exact = (Decimal(x) / 2**64).ln() * 2**64
            assert low <= exact <= high
            assert high - low < 2**15
    assert getcontext().prec == 28


@pytest.mark.parametrize("bits", BITS)
def test_lines_enclose_the_functions(bits: int) -> None:
    choice = random.Random(bits)
    one = 1 << bits
    for _ in range(120):
        low, high = sorted(
            choice.randrange(-4 * one, 4 * one) >> choice.choice((0, 0, 5, bits - 3)) for _ in range(2)
        )
        slope = choice.choice(
            (0, 1, one, one >> 2, choice.randrange(one), choice.randrange(65536) << (bits - 16))
        )
        for line, value in ((tanh_line, precise), (logistic_line, lambda x: (1 + precise(x / 2)) / 2)):
            least, most = line(low, high, slope, bits)
            gaps = []
            for k in range(9):
                x = Fraction(low * (8 - k) + high * k, 8 << bits)
                gap = value(x) - Fraction(slope, one) * x
                gaps.append(gap)
                assert Fraction(least, one) <= gap <= Fraction(most, one)
            ends = (min(gaps[0], gaps[-1]), max(gaps[0], gaps[-1]))
            if high - low < one >> 8:  # nearly a point: no room between the ends and the constants
                assert Fraction(least, one) >= ends[0] - Fraction(1, 256)
                assert Fraction(most, one) <= ends[1] + Fraction(1, 256)


@pytest.mark.parametrize("bits", BITS)
def test_chords_of_the_logistic_function(bits: int) -> None:
    """As its lines, for the slope that is chosen, which is near the chord's."""
    draw, one = random.Random(bits), 1 << bits
    for _ in range(150):
        low, high = sorted(
            draw.randrange(-8 * one, 8 * one) >> draw.choice((0, 0, 3, bits - 5)) for _ in range(2)
        )
        ((slope, (least, most)),) = logistic_chords((low,), (high,), bits, 16)
        assert 0 <= slope <= 1 << 14
        plain = logistic_line(low, high, slope << max(bits - 16, 0) >> max(16 - bits, 0), bits)
        assert abs(least - plain[0]) <= 2 + (one >> 14)
        assert abs(most - plain[1]) <= 2 + (one >> 14)
        for k in range(9):
            x = Fraction(low * (8 - k) + high * k, 8 << bits)
            gap = (1 + precise(x / 2)) / 2 - Fraction(slope, 1 << 16) * x
            assert Fraction(least, one) <= gap <= Fraction(most, one)
