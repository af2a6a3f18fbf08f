"""Decimal literals and exact numbers, both ways, with limits checked before anything large is allocated."""

from __future__ import annotations

from fractions import Fraction

from surefoot.errors import InvalidProblem
from surefoot.term.lexer import shorten_text

_MOST_DIGITS = 10_000
_MOST_EXPONENT = 10_000
_CHUNK = 4_000  # Python refuses to convert more than 4300 digits at once
_CHUNK_BASE = 10**_CHUNK  # once: this takes longer than to write most numbers


def read_number(literal: str) -> int | Fraction:
    """The exact value of a literal such as 12, 0.25 or 1e-3 (ASCII digits, as the lexer delivers them)."""
    mantissa = literal.lower().partition("e")[0]
    whole, _, decimals = mantissa.partition(".")
    if len(whole) + len(decimals) > _MOST_DIGITS:
        count = len(whole) + len(decimals)
        raise InvalidProblem(f"a number of {count} digits", fix=f"at most {_MOST_DIGITS} digits are read")
    scale = exponent_of(literal)
    value = _from_digits(whole + decimals)
    shift = scale - len(decimals)
    exact = Fraction(value * 10**shift) if shift >= 0 else Fraction(value, 10**-shift)
    return exact.numerator if exact.denominator == 1 else exact


def exponent_of(literal: str) -> int:
    """The exponent that a literal states (0 if it states none), refused when it is huge."""
    exponent = literal.lower().partition("e")[2] or "0"
    if len(exponent.lstrip("+-").lstrip("0")) > 5 or abs(int(exponent)) > _MOST_EXPONENT:
        raise InvalidProblem(
            f"the exponent of `{shorten_text(literal)}` is too large",
            fix=f"exponents go from -{_MOST_EXPONENT} to {_MOST_EXPONENT}",
        )
    return int(exponent)


def show_number(value: int | Fraction) -> str:
    """A decimal literal if there is one, else a quotient of two; reading it gives the same number."""
    exact = Fraction(value)
    if exact < 0:
        return "-" + show_number(-exact)
    denominator, twos, fives = exact.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    places = max(twos, fives)
    if denominator != 1 or places > _MOST_DIGITS + _MOST_EXPONENT:
        return f"{show_number(exact.numerator)}/{show_number(exact.denominator)}"
    return _decimal_literal(_to_digits((exact * 10**places).numerator), places)


def _decimal_literal(digits: str, places: int) -> str:
    """`digits` divided by 10^places, with an exponent where writing zeros would be long."""
    if 0 < places <= 30:
        padded = digits.rjust(places + 1, "0")
        return f"{padded[:-places]}.{padded[-places:]}"
    if places == 0:
        stripped = digits.rstrip("0") or "0"
        zeros = len(digits) - len(stripped)
        if zeros <= 30 or digits == "0":
            return digits
        kept = max(0, zeros - _MOST_EXPONENT)
        return f"{stripped}{'0' * kept}e{zeros - kept}"
    if places <= _MOST_EXPONENT:
        return f"{digits}e-{places}"
    return f"{_decimal_point(digits, places - _MOST_EXPONENT)}e-{_MOST_EXPONENT}"


def _decimal_point(digits: str, places: int) -> str:
    padded = digits.rjust(places + 1, "0")
    return f"{padded[:-places]}.{padded[-places:]}"


def _from_digits(digits: str) -> int:
    value = 0
    for start in range(0, len(digits), _CHUNK):
        part = digits[start : start + _CHUNK]
        value = value * 10 ** len(part) + int(part)
    return value


def _to_digits(value: int) -> str:
    parts: list[str] = []
    while value >= _CHUNK_BASE:
        value, rest = divmod(value, _CHUNK_BASE)
        parts.append(str(rest).rjust(_CHUNK, "0"))
    parts.append(str(value))
    return "".join(reversed(parts))
