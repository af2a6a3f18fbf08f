"""Elementary functions, correctly rounded to float64 on every platform.

The mathematical libraries of different machines differ in the last bit of `sin` or `exp`; a trace that
replays here must replay elsewhere. Each function is computed with 60 decimal digits and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.term.number import LongNumber, integer_power

_PRECISION = 60
_LARGEST_ANGLE = Decimal(10) ** 20


def _sum_series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """first * (1 + r1 + r1*r2 + …) until a term no longer matters."""
    total = part = first
    n = 1
    while part and abs(part) > abs(total) * Decimal(10) ** -(_PRECISION + 5):
        part *= ratio(n)
        total += part
        n += 1
    return total


def _compute_pi() -> Decimal:
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239)."""

    def inverse(n: int) -> Decimal:
        square, power, total, k = Decimal(n * n), Decimal(1) / n, Decimal(0), 0
        while abs(power) > Decimal(10) ** -110:
            total += power / (2 * k + 1) * (-1) ** k
            power /= square
            k += 1
        return total

    return 16 * inverse(5) - 4 * inverse(239)


with localcontext(Context(prec=115)):
    PI = _compute_pi()


def _reduce_angle(x: Decimal) -> Decimal:
    if abs(x) > _LARGEST_ANGLE:
        raise OverflowError("angle too large")
    with localcontext(Context(prec=110)):
        turns = (x / (2 * PI)).to_integral_value(ROUND_HALF_EVEN)
        return x - turns * 2 * PI


def _sin_decimal(x: Decimal) -> Decimal:
    r = _reduce_angle(x)
    return _sum_series(r, lambda n: -r * r / ((2 * n) * (2 * n + 1))) if r else Decimal(0)


def _cos_decimal(x: Decimal) -> Decimal:
    r = _reduce_angle(x)
    return _sum_series(Decimal(1), lambda n: -r * r / ((2 * n - 1) * (2 * n)))


def _atan_decimal(x: Decimal) -> Decimal:
    if abs(x) > 1:
        return (PI / 2).copy_sign(x) - _atan_decimal(1 / x)
    halvings = 0
    while abs(x) > Decimal("0.05"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, power, k = Decimal(0), x, 0
    while power and abs(power) > Decimal(10) ** -(_PRECISION + 10) * abs(x):
        total += power / (2 * k + 1) * (-1) ** k
        power *= x * x
        k += 1
    return total * Decimal(2**halvings)


def _asin_decimal(x: Decimal) -> Decimal:
    if abs(x) > 1:
        raise ValueError("outside [-1, 1]")
    return (PI / 2).copy_sign(x) if abs(x) == 1 else _atan_decimal(x / ((1 - x) * (1 + x)).sqrt())


def _tanh_decimal(x: Decimal) -> Decimal:
    if abs(x) > 100:
        return Decimal(1).copy_sign(x)
    if abs(x) < Decimal("1e-30"):  # exp(2 x) would be 1 in all its digits
        return x - x * x * x / 3
    e: Decimal = (2 * x).exp()
    return (e - 1) / (e + 1)


_FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {
    "sqrt": lambda x: x.sqrt(),
    "exp": lambda x: x.exp(),
    "log": lambda x: x.ln(),
    "sin": _sin_decimal,
    "cos": _cos_decimal,
    "tan": lambda x: _sin_decimal(x) / _cos_decimal(x),
    "asin": _asin_decimal,
    "acos": lambda x: PI / 2 - _asin_decimal(x),
    "atan": _atan_decimal,
    "tanh": _tanh_decimal,
}


def _decimal_from_fraction(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=2**14)  # a term asks for one sine several times, and a run is made again
def elementary_value(name: str, value: Fraction) -> float:
    """The float64 nearest to the function's true value."""
    with localcontext(Context(prec=_PRECISION * 2 if name == "tanh" else _PRECISION + 10)):
        return _round_to_double(_FUNCTIONS[name](_decimal_from_fraction(value)))


def elementary_decimal(name: str, value: Decimal) -> Decimal:
    """The function's true value to 60 digits."""
    with localcontext(Context(prec=_PRECISION + 10)):
        return _FUNCTIONS[name](value)


def real_power(base: Fraction, exponent: Fraction) -> float:
    """base ** exponent for a positive base and any exponent, rounded once."""
    with localcontext(Context(prec=_PRECISION + 10)):
        return _round_to_double((_decimal_from_fraction(exponent) * _decimal_from_fraction(base).ln()).exp())


def _round_to_double(value: Decimal) -> float:
    if value.adjusted() < -400:  # would be an enormous fraction; it rounds to zero anyway
        return 0.0
    return float(Fraction(value))


def base_logarithm(of: bool | int | Fraction, base: bool | int | Fraction) -> int | Fraction:
    """The logarithm to any base: exact where it is a whole number, else the quotient of two, rounded."""
    if isinstance(of, bool) or isinstance(base, bool) or min(of, base) <= 0:
        raise InvalidProblem("this logarithm has no value", fix="use positive numbers")
    if base == 1:
        raise InvalidProblem("a logarithm to base 1 has no value", fix="use another base")
    below = elementary_value("log", Fraction(base))
    if below == 0:
        raise Unsupported("a logarithm to a base this near to 1", fix="use another base")
    quotient = elementary_value("log", Fraction(of)) / below
    whole = round(quotient)
    if abs(whole) < 10_000 and _is_power(base, whole, of):
        return whole
    return Fraction(float(quotient))


def _is_power(base: int | Fraction, exponent: int, value: int | Fraction) -> bool:
    try:
        return integer_power(base, exponent) == value
    except LongNumber:  # longer than any number that was read
        return False
