"""Reading JSON data strictly: what is expected is said, everything else is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

LENGTH = 4000  # characters of a number; Python refuses to read longer decimal integers anyway
EXPONENT = 20000  # of a number; 2^-149 and 10^-300 are far inside
MOST_BITS = 200_000  # of a number that is computed, above or below the line

_HEX = re.compile(r"([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)(?:p([+-]?[0-9]{1,6}))?", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:e([+-]?[0-9]{1,6}))?", re.ASCII | re.IGNORECASE)
_FRACTION = re.compile(r"([+-]?[0-9]+)/([0-9]+)", re.ASCII)


def escape_unprintable(message: str) -> str:
    """Without characters that are not seen: a piece of a file must not write over what is said of it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)


class BadCertificate(Exception):
    """The file is not what the format says; nothing can be concluded from it."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_unprintable(message))


class Refused(Exception):
    """The file can be read, but it does not prove what it claims."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_unprintable(message))


def expect_number(data: object, what: str) -> Fraction:
    """A JSON integer, or a string with a fraction, a decimal or a hexadecimal float; exactly."""
    return Fraction(*expect_ratio(data, what))


def limit_bits(value: Any) -> Any:
    """A computed number, refused if it is too long: nothing that is shown needs such."""
    size = value.bit_length() if type(value) is int else value.numerator.bit_length()
    if size > MOST_BITS or (type(value) is not int and value.denominator.bit_length() > MOST_BITS):
        raise Refused(f"a number of more than {MOST_BITS} bits")
    return value


def limited_power(base: Fraction | int, exponent: int) -> Fraction:
    """Refused before it is computed."""
    exact = Fraction(base)
    size = max(exact.numerator.bit_length(), exact.denominator.bit_length()) - 1
    if size * abs(exponent) > MOST_BITS:
        raise Refused(f"a number of more than {MOST_BITS} bits")
    return exact**exponent


def expect_ratio(data: object, what: str) -> tuple[int, int]:
    """The same as numerator and positive denominator, not reduced."""
    if type(data) is int:
        return data, 1
    if type(data) is str and len(data) <= LENGTH:
        if (match := _HEX.fullmatch(data)) and (match[2] or match[3]):
            power = int(match[4] or 0) - 4 * len(match[3])
            size = int(match[1] + match[2] + match[3], 16)
            if abs(power) <= EXPONENT:
                return (size << power, 1) if power >= 0 else (size, 1 << -power)
        elif match := _FRACTION.fullmatch(data):
            if below := int(match[2]):
                return int(match[1]), below
        elif (match := _DECIMAL.fullmatch(data)) and abs(int(match[1] or 0)) <= EXPONENT:
            return Fraction(data).as_integer_ratio()
    raise BadCertificate(f"{what}: not a number of this format: {_abbreviate_data(data)}")


def _abbreviate_data(data: object) -> str:
    """The beginning of something unexpected; Python does not write integers of thousands of digits."""
    try:
        return str(data)[:40]
    except ValueError:
        return "too long to be shown"


def expect_integer(data: object, least: int, most: int, what: str) -> int:
    """A JSON integer of this range; true and false are none."""
    if type(data) is not int or not least <= data <= most:
        raise BadCertificate(
            f"{what}: not an integer from {least} to {_abbreviate_data(most)}: {_abbreviate_data(data)}"
        )
    return data


def expect_list(data: object, what: str, count: int | None = None, otherwise: str = "") -> list[Any]:
    """A list, of so many entries if a number is given; `otherwise`: what is said of one of another length."""
    if type(data) is not list:
        raise BadCertificate(f"{what}: not a list: {_abbreviate_data(data)}")
    if count is not None and len(data) != count:
        raise BadCertificate(otherwise)
    return data


def expect_text(data: object, what: str, most: int = LENGTH) -> str:
    if type(data) is not str or len(data) > most:
        raise BadCertificate(f"{what}: not a string of at most {most} characters: {_abbreviate_data(data)}")
    return data


def expect_object(
    data: object, needed: frozenset[str], what: str, allowed: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """An object with all of the needed keys and no other than those allowed."""
    if type(data) is not dict:
        raise BadCertificate(f"{what}: not an object: {_abbreviate_data(data)}")
    missing, unknown = needed - data.keys(), data.keys() - needed - allowed
    if missing or unknown:
        names = ", ".join(sorted(str(k)[:40] for k in missing or unknown))
        raise BadCertificate(f"{what}: {'missing' if missing else 'unknown'} keys: {names}")
    return data
