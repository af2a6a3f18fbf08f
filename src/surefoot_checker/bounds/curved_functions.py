"""Enclosures of activations that are bounded by constants alone: softplus, ELU, erf, the step, exp and so on.

A number x stands as the integer X = x * 2^bits, a result is a pair of integers around the true value
(docs/certificates.md, section 6). Over an interval the ends tell: all grow, but for sine and cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

from .elementary_functions import GUARD, RANGES, enclose_exp, enclose_log_of, enclose_pi, range_of_growing
from .smooth_functions import Pair

Ratio = tuple[int, int]


def enclose_step(x: int, bits: int) -> Pair:
    value = 1 << bits if x > 0 else 0
    return value, value


def enclose_softplus(x: int, bits: int) -> Pair:
    """log(1 + exp x); from `bits` on it is x and less than exp(-x) < 2^-bits more, and below minus that it is
    between 0 and exp x."""
    if x > bits << bits:
        return x, x + 1
    if x < -bits << bits:
        return 0, 1
    fine, one = bits + GUARD, 1 << (bits + GUARD)
    least, most = enclose_exp(x << GUARD, fine)
    low, high = enclose_log_of(one + max(least, 0), fine)[0], enclose_log_of(one + most, fine)[1]
    return max(low >> GUARD, 0), -(-high >> GUARD)


def enclose_elu(x: int, bits: int, factor: Ratio) -> Pair:
    """x above zero, a (exp x - 1) below, for a > 0."""
    if x >= 0:
        return x, x
    top, bottom = factor
    least, most = enclose_exp(x, bits)
    one = 1 << bits
    return (max(least, 0) - one) * top // bottom, -((one - min(most, one)) * top // bottom)


def enclose_erf(x: int, bits: int) -> Pair:
    """2 / sqrt(pi) times the sum of (-1)^n x^(2n + 1) / (n! (2n + 1)).

    1 - erf x < exp(-x^2) for x > 0, so that where x^2 >= bits it is within 2^-bits of 1. Inside, powers
    p_n = x^(2n + 1) / n! are kept in units of 2^-shift with a bound of their own error, which is what the one
    before was off by, times x^2 / n, and what x^2 itself is off by, worth p / n, and less than 8 for what is
    rounded down on the way. Once n > x^2 they fall, and the rest of the alternating sum is worth less than
    its first term.
    """
    size = abs(x)
    one = 1 << bits
    if size * size >= bits << (2 * bits):
        low, high = one - 1, one
    else:
        whole = (size * size >> (2 * bits)) + 1  # above x^2
        shift = bits + GUARD + 2 * whole
        z = size << (shift - bits)
        square = z * z >> shift
        power, off, total, lost, n = z, 0, z, 0, 0
        while power > 1 or n <= whole:
            n += 1
            off = (off * (square + 1) >> shift) // n + (power >> shift) // n + 8
            power = (power * square >> shift) // n
            total += (-power if n % 2 else power) // (2 * n + 1)
            lost += off // (2 * n + 1) + 2
        lost += power + off + 1
        least, most = enclose_pi(shift)
        low_root, high_root = isqrt(least << shift), isqrt(most << shift) + 1
        down = shift - bits
        low = max((2 * (total - lost) << shift) // (high_root if total > lost else low_root) >> down, 0)
        above = -(-2 * (total + lost) << shift) // low_root + 1
        high = min((above >> down) + 1, one)
    return (low, high) if x >= 0 else (-high, -low)


CurveRange = Callable[[int, int, int, Sequence[Ratio]], Pair]


def _growing_range(function: Callable[[int, int], Pair]) -> CurveRange:
    return lambda low, high, bits, _: range_of_growing(function, low, high, bits)


def _elementary_range(name: str) -> CurveRange:
    function = RANGES[name]
    return lambda low, high, bits, _: function(low, high, bits)


CURVES: dict[str, CurveRange] = {
    "step": _growing_range(enclose_step),
    "softplus": _growing_range(enclose_softplus),
    "erf": _growing_range(enclose_erf),
    "elu": lambda low, high, bits, given: (
        enclose_elu(low, bits, given[0])[0],
        enclose_elu(high, bits, given[0])[1],
    ),
    "exp": _elementary_range("exp"),
    "sqrt": _elementary_range("sqrt"),
    "sin": _elementary_range("sin"),
    "cos": _elementary_range("cos"),
}


def curve_error(kind: str, size: int, bits: int, factor: Ratio | None) -> int | None:
    """What float32 adds to a value of that size, in units.

    Nothing to a step, one rounding to a root, else four units in the last place of the value, for ELU of its
    factor and for all but exp of 1 at least.
    """
    tiny = max(1, 1 << max(bits - 126, 0))
    match kind:
        case "step":
            return None
        case "sqrt":
            return -(-size >> 24) + tiny
        case "exp":
            least = 0
        case "elu":
            assert factor is not None
            least = -(-(factor[0] << bits) // factor[1])
        case _:
            least = 1 << bits
    return 4 * (-(-max(size, least) >> 23) + tiny)
