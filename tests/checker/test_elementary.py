"""Enclosures of elementary functions contain the true value, which decimals say, and are narrow."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot_checker.bounds.elementary_functions import RANGES, enclose_pi
from surefoot_checker.kernel.strict_json import Refused

DIGITS = 90


def sum_series(first: Decimal, factor: Callable[[int], Decimal]) -> Decimal:
    total, term, n = first, first, 0
    while abs(term) > Decimal(10) ** -DIGITS:
        n += 1
        term *= factor(n)
        total += term
    return total


def atan(x: Decimal) -> Decimal:
    for _ in range(6):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, n = Decimal(0), x, 1
    while abs(power) > Decimal(10) ** -DIGITS:
        total += power / n
        power, n = -power * x * x, n + 2
    return 64 * total


def sin(x: Decimal) -> Decimal:
    return sum_series(x, lambda n: -x * x / (2 * n * (2 * n + 1)))


def cos(x: Decimal) -> Decimal:
    return sum_series(Decimal(1), lambda n: -x * x / (2 * n * (2 * n - 1)))


def asin(x: Decimal) -> Decimal:
    if abs(x) == 1:
        return x * 2 * atan(Decimal(1))
    return atan(x / ((1 - x) * (1 + x)).sqrt())


def tanh(x: Decimal) -> Decimal:
    e = (-2 * abs(x)).exp()
    return ((1 - e) / (1 + e)).copy_sign(x)


TRUE: dict[str, Callable[[Decimal], Decimal]] = {
    "sqrt": Decimal.sqrt,
    "exp": Decimal.exp,
    "log": Decimal.ln,
    "sin": sin,
    "cos": cos,
    "tan": lambda x: sin(x) / cos(x),
    "asin": asin,
    "acos": lambda x: 2 * atan(Decimal(1)) - asin(x),
    "atan": atan,
    "tanh": tanh,
}
SLOPE = {"exp": 2**30, "tan": 2**30}  # the result may be large: width in units of its size


def arguments(name: str, bits: int) -> st.SearchStrategy[int]:
    one = 1 << bits
    most = {"asin": one, "acos": one, "exp": 25 * one, "tan": 3 * one // 2}.get(name, 40 * one)
    least = {"sqrt": 0, "log": 1}.get(name, -most)
    near = st.sampled_from([0, one, -one, one // 2, one // 2 + 1, one - 1]).filter(
        lambda x: least <= x <= most
    )
    return st.integers(least, most) | near | st.integers(max(least, -1000), 1000)


def as_decimal(x: int, bits: int) -> Decimal:
    return Decimal(x) / Decimal(1 << bits)


@pytest.mark.parametrize("name", sorted(TRUE))
@given(data=st.data(), bits=st.sampled_from([20, 40, 56, 96]))
@settings(max_examples=60, deadline=None)
def test_values_are_inside_and_pairs_narrow(name: str, data: st.DataObject, bits: int) -> None:
    x = data.draw(arguments(name, bits))
    low, high = RANGES[name](x, x, bits)
    with localcontext(prec=DIGITS + 30):
        true = TRUE[name](as_decimal(x, bits)) * (1 << bits)
        tiny = Decimal(10) ** -20
        assert low - tiny <= true <= high + tiny
        size = max(Decimal(1), abs(true) / (1 << bits)) if name in SLOPE else Decimal(1)
        assert high - low <= 3 * size * size


@pytest.mark.parametrize("name", sorted(TRUE))
@given(data=st.data(), bits=st.sampled_from([20, 56]))
@settings(max_examples=60, deadline=None)
def test_ranges_contain_inner_values(name: str, data: st.DataObject, bits: int) -> None:
    a, b = sorted((data.draw(arguments(name, bits)), data.draw(arguments(name, bits))))
    share = data.draw(st.fractions(0, 1, max_denominator=1000))
    x = Fraction(a, 1 << bits) + share * Fraction(b - a, 1 << bits)
    low, high = RANGES[name](a, b, bits)
    with localcontext(prec=DIGITS + 30):
        true = TRUE[name](Decimal(x.numerator) / Decimal(x.denominator)) * (1 << bits)
        assert low - Decimal("1e-20") <= true <= high + Decimal("1e-20")


@given(st.integers(-30, 30), st.integers(0, 100), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_extremes_of_waves_are_found(quarter: int, before: int, after: int) -> None:
    """Around a multiple of pi/2 the extreme is there: exactly 1 or -1."""
    bits = 50
    at = quarter * enclose_pi(bits)[0] // 2
    low, high = at - before - 100, at + after + 100
    sine, cosine = RANGES["sin"](low, high, bits), RANGES["cos"](low, high, bits)
    one = 1 << bits
    assert {0: cosine[1], 1: sine[1], 2: -cosine[0], 3: -sine[0]}[quarter % 4] == one


def test_outside_of_the_domain_is_refused() -> None:
    one = 1 << 40
    for name, low, high in (
        ("sqrt", -1, one),
        ("log", 0, one),
        ("asin", 0, one + 1),
        ("acos", -one - 1, 0),
        ("tan", one, 2 * one),
        ("exp", 0, 5000 * one),
        ("sin", 0, one << 41),
    ):
        with pytest.raises(Refused):
            RANGES[name](low, high, 40)
