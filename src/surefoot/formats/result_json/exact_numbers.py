"""Numbers and values in result files: exact as text, and checked when they are read back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.term.decimal_literals import read_number, show_number

MOST_EXACT_BITS = 4096  # a bound with a larger numerator or denominator is rounded outward
ROUNDED_DIGITS = 60
DIGITS = 12  # of the decimals that repeat an interval
INFINITE = "infinite"  # an end of an interval that is no number
SHORT_BITS = 400  # above it, looking for a finite decimal takes too long
_LITERAL = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(-?)({_LITERAL})(?:/({_LITERAL}))?\Z")


def result_format_error(where: str, expected: str) -> InvalidProblem:
    """The error of a reader: at this key there should be something else."""
    return InvalidProblem(f"expected {expected}", fix="give a file that surefoot wrote", where=where)


def exact_text(value: int | Fraction) -> str:
    """A decimal or a quotient that reads back to the same number."""
    exact = Fraction(value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) <= SHORT_BITS:
        return show_number(exact)
    if exact.denominator == 1:
        return show_number(exact.numerator)
    return f"{show_number(exact.numerator)}/{show_number(exact.denominator)}"


def bounds_text(low: Fraction, high: Fraction) -> tuple[str, str]:
    """Both ends of an interval that contains [low, high]: equal to it unless the exact numbers are huge."""
    bits = (b for v in (low, high) for b in (v.numerator.bit_length(), v.denominator.bit_length()))
    if max(bits) <= MOST_EXACT_BITS:
        return exact_text(low), exact_text(high)
    return round_ends_outward(low, high, ROUNDED_DIGITS)


def round_ends_outward(low: Fraction, high: Fraction, digits: int) -> tuple[str, str]:
    """Decimals with this many significant digits, the first not above `low`, the second not below `high`."""
    below = Context(prec=digits, rounding=ROUND_FLOOR)
    above = Context(prec=digits, rounding=ROUND_CEILING)
    first = below.divide(Decimal(low.numerator), Decimal(low.denominator))
    second = above.divide(Decimal(high.numerator), Decimal(high.denominator))
    return str(first).lower(), str(second).lower()


def number_from_json(data: object, where: str) -> int | Fraction:
    """The number that `exact_text` or `rounded_outward` wrote."""
    found = _NUMBER.match(data) if isinstance(data, str) else None
    if found is None:
        raise result_format_error(where, 'a number as text, such as "0.25" or "1/3"')
    try:
        upper, lower = read_number(found[2]), read_number(found[3] or "1")
    except InvalidProblem as error:
        raise error.at(where) from None
    if lower == 0:
        raise result_format_error(where, "a denominator that is not zero")
    value = Fraction(upper) / lower
    signed = -value if found[1] else value
    return signed.numerator if signed.denominator == 1 else signed


def value_to_json(value: Any) -> object:
    """A value of a state: truth values as they are, exact numbers as text, floats also in hexadecimal."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return [value_to_json(v) for v in value]
    if isinstance(value, float) and math.isfinite(value):
        return {"float": repr(float(value)), "hex": float(value).hex()}
    raise TypeError(f"{value!r} cannot be the value of a variable")


def value_from_json(data: object, where: str) -> Any:
    if isinstance(data, bool):
        return data
    if isinstance(data, list):
        return tuple(value_from_json(v, f"{where}[{i}]") for i, v in enumerate(data))
    if isinstance(data, dict):
        return float_from_json(data, where)
    return number_from_json(data, where)


def float_from_json(data: object, where: str) -> float:
    """A float, read from its hexadecimal form; the decimal form must say the same."""
    texts = (data.get("float"), data.get("hex")) if isinstance(data, dict) else (None, None)
    if not all(isinstance(t, str) and len(t) < 40 for t in texts):
        raise result_format_error(where, 'a float such as {"float": "0.5", "hex": "0x1.0000000000000p-1"}')
    try:
        decimal, value = float(str(texts[0])), float.fromhex(str(texts[1]))
    except (ValueError, OverflowError):
        raise result_format_error(where, "a float in decimal and in hexadecimal form") from None
    if not math.isfinite(value) or value != decimal:
        raise result_format_error(where, "a finite float whose two forms agree")
    return value


def normalise_json(value: object) -> object:
    """JSON data as it will be read back: tuples become lists; anything but JSON data is a defect."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in value):
        return {k: normalise_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [normalise_json(v) for v in value]
    raise TypeError(f"{type(value).__name__} is not JSON data")
