"""Sine and cosine of a row in machine code without branches, correctly rounded.

Numbers are sums of two doubles. The angle is reduced by the nearest multiple of pi/2, given as a sum of four
numbers of which the first three have 33 bits, so that their products with whole numbers of 20 bits are exact.
On what is left, up to pi/4, the series is summed: its first terms in sums of two doubles, those from z^6 on,
which are below 2^-32 of the whole, in doubles; z^13 is left out. That is right up to 2^-84 of the value. The
sum is rounded if 2^-80 more and less round to the same double; otherwise, and for large angles or ones very
near to a multiple of pi/2, the row is flagged and left to others.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from math import factorial
from typing import TypeAlias

from surefoot.term.elementary import PI
from surefoot.work.machine.llvm_ir import IrFunction

LARGEST_REDUCED = float(2**20)  # angles up to this
SINE_DECLARATIONS = (
    "declare double @llvm.rint.f64(double)\ndeclare double @llvm.fma.f64(double, double, double)\n"
)
_Pair: TypeAlias = tuple[str, str]  # a number as a sum of two
_LAST = 12  # power of z in the series
_PAIRED = 5  # up to this power terms are sums of two
_ERROR = 2.0**-80
_NEAR = 2.0**-24  # an angle this near to a multiple of pi/2 is not reduced well enough
_HALF_PI = Fraction(PI) / 2


def _half_pi_parts() -> list[float]:
    """33 bits, the next 33, the next 33, and the rest."""
    parts, rest = [], _HALF_PI
    for number in range(1, 4):
        scale = 2 ** (33 * number - 1)
        part = Fraction(int(rest * scale), scale)
        parts.append(float(part))
        rest -= part
    return [*parts, float(rest)]


def _text(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def write_sine(f: IrFunction, angle: str, *, cosine: bool) -> tuple[str, str]:
    """The value, and whether it is left to others: the angle is too large or no number, or in doubt."""
    w = _PairWriter(f)
    large = f.value(f"fcmp ugt double {w.size(angle)}, {_text(LARGEST_REDUCED)}")
    x = f.value(f"select i1 {large}, double 0.0, double {angle}")
    times = f.value(f"call double @llvm.rint.f64(double {w.times(x, _text(float(1 / _HALF_PI)))})")
    r = w.reduce_angle(x, times)
    z = w.square(r)
    quarter = f.value(f"fptosi double {times} to i32")
    if cosine:
        quarter = f.value(f"add i32 {quarter}, 1")
    odd = f.value(f"icmp ne i32 {f.value(f'and i32 {quarter}, 1')}, 0")
    negative = f.value(f"icmp ne i32 {f.value(f'and i32 {quarter}, 2')}, 0")
    sine, even = w.sum_sine(r, z), w.sum_cosine(z)
    high, low = (f.value(f"select i1 {odd}, double {b}, double {a}") for a, b in zip(sine, even, strict=True))
    value, unsure = w.round_pair(high, low)
    near = f.value(f"fcmp olt double {w.size(r[0])}, {_text(_NEAR)}")
    turned = f.value(f"fcmp one double {times}, 0.0")
    doubtful = f.value(f"or i1 {unsure}, {f.value(f'and i1 {near}, {turned}')}")
    signed = f.value(f"select i1 {negative}, double {f.value(f'fneg double {value}')}, double {value}")
    return signed, f.value(f"or i1 {large}, {doubtful}")


class _PairWriter:
    def __init__(self, f: IrFunction) -> None:
        self.f = f

    def times(self, left: str, right: str) -> str:
        return self.f.value(f"fmul double {left}, {right}")

    def plus(self, left: str, right: str) -> str:
        return self.f.value(f"fadd double {left}, {right}")

    def minus(self, left: str, right: str) -> str:
        return self.f.value(f"fsub double {left}, {right}")

    def size(self, value: str) -> str:
        return self.f.value(f"call double @llvm.fabs.f64(double {value})")

    def fuse_product(self, left: str, right: str, more: str) -> str:
        return self.f.value(f"call double @llvm.fma.f64(double {left}, double {right}, double {more})")

    def subtract_exactly(self, left: str, right: str) -> _Pair:
        """Knuth: the difference and its error, whatever their sizes."""
        total = self.minus(left, right)
        back = self.minus(total, left)
        return total, self.minus(self.minus(left, self.minus(total, back)), self.plus(right, back))

    def add_smaller(self, large: str, small: str, rest: str) -> _Pair:
        """large + small + rest, where the first is the largest in size."""
        total = self.plus(large, small)
        error = self.plus(self.plus(self.minus(large, total), small), rest)
        high = self.plus(total, error)
        return high, self.plus(self.minus(total, high), error)

    def multiply_pairs(self, left: _Pair, right: _Pair) -> _Pair:
        high = self.times(left[0], right[0])
        error = self.fuse_product(left[0], right[0], self.f.value(f"fneg double {high}"))
        cross = self.fuse_product(left[0], right[1], self.times(left[1], right[0]))
        return high, self.plus(error, cross)

    def square(self, r: _Pair) -> _Pair:
        high, low = self.multiply_pairs(r, r)
        total = self.plus(high, low)
        return total, self.plus(self.minus(high, total), low)

    def reduce_angle(self, x: str, times: str) -> _Pair:
        """x - times pi/2."""
        first, second, third, fourth = (self.times(times, _text(part)) for part in _half_pi_parts())
        rest = self.minus(x, first)  # exactly: they are nearly equal, or nothing is subtracted
        finer, missed = self.subtract_exactly(rest, second)
        finest, more = self.subtract_exactly(finer, third)
        low = self.plus(missed, self.minus(more, fourth))
        high = self.plus(finest, low)
        return high, self.plus(self.minus(finest, high), low)

    def sum_series(self, z: _Pair, odd: int) -> _Pair:
        """z (c1 + z (c2 + …)) with c_k = (-1)^k / (2 k + odd)!."""
        exact = [Fraction((-1) ** k, factorial(2 * k + odd)) for k in range(_LAST + 1)]
        total = _text(float(exact[_LAST]))
        for k in range(_LAST - 1, _PAIRED, -1):
            total = self.fuse_product(z[0], total, _text(float(exact[k])))
        pair: _Pair = total, "0.0"
        for k in range(_PAIRED, 0, -1):
            high = float(exact[k])
            product = self.multiply_pairs(z, pair)
            rest = self.plus(product[1], _text(float(exact[k] - Fraction(high))))
            pair = self.add_smaller(_text(high), product[0], rest)
        return self.multiply_pairs(z, pair)

    def sum_sine(self, r: _Pair, z: _Pair) -> _Pair:
        product = self.multiply_pairs(r, self.sum_series(z, 1))
        return self.add_smaller(r[0], product[0], self.plus(product[1], r[1]))

    def sum_cosine(self, z: _Pair) -> _Pair:
        high, low = self.sum_series(z, 0)
        return self.add_smaller(_text(1.0), high, low)

    def round_pair(self, high: str, low: str) -> tuple[str, str]:
        error = self.times(self.size(high), _text(_ERROR))
        one, other = self.plus(high, self.plus(low, error)), self.plus(high, self.minus(low, error))
        return one, self.f.value(f"fcmp une double {one}, {other}")
