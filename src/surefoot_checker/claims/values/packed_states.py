"""States as whole numbers, and vectors over states, read without an object per state.

A state is a number in mixed radix: its places first, then its variables in order, arrays element by element,
each as its distance from the least value of its kind. A vector is little-endian numbers of one width, packed
by zlib; that of the states has differences, so that they are sorted and none occurs twice.
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_object, expect_text
from ...kernel.term import Kind
from .model import AutomataModel
from .term import Row

Numbers: TypeAlias = Sequence[int]
MOST_PACKED = 1 << 62  # a state is a number below
SPARSE = 24  # so many times as many numbers as states are looked up in an array, more in a dictionary
_LONGEST = 1 << 32  # characters of a vector
_WIDEST = 1 << 12  # bytes of a number
LONGEST = 2_000_000  # digits of a number
Bounds = tuple[Fraction | None, Fraction | None]  # None: infinite
_HEX = re.compile(r"-?0x[0-9a-f]+", re.ASCII)
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_VECTOR = frozenset({"width", "data"})


@dataclass(frozen=True, slots=True)
class Digit:
    """One number of a state: its least value, how many there are, what one more is worth."""

    low: int
    count: int
    worth: int
    truth: bool  # a truth value


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """`digits`: of every slot of a row; of an array those of its elements."""

    digits: tuple[tuple[Digit, ...], ...]
    kinds: tuple[Kind, ...]
    size: int  # all numbers are below

    def pack(self, row: Row) -> int:
        found = 0
        for several, value in zip(self.digits, row, strict=True):
            flat = _flatten_value(value) if type(value) is tuple else (value,)
            for digit, one in zip(several, flat, strict=True):
                found += (one - digit.low) * digit.worth
        return found

    def unpack(self, number: int) -> Row:
        return tuple(
            _value_of(kind, [_digit_value(number, d) for d in several])
            for kind, several in zip(self.kinds, self.digits, strict=True)
        )


def build_packed_layout(model: AutomataModel) -> PackedLayout | None:
    """The layout of a model's states; None: a variable has no bounds, or there are too many numbers."""
    kinds = [model.sure[slot] for slot in range(model.width)]
    ranges = [_scalar_ranges(kind) for kind in kinds]
    found: list[tuple[Digit, ...]] = [()] * len(kinds)
    worth = 1
    places = len(model.kinds)
    for slot in (*reversed(range(places)), *reversed(range(places, len(kinds)))):
        scalars = ranges[slot]
        if scalars is None:
            return None
        digits = []
        for low, count, truth in reversed(scalars):
            digits.append(Digit(low, count, worth, truth))
            worth *= count
        found[slot] = tuple(reversed(digits))
        if not 0 < worth < MOST_PACKED:
            return None
    return PackedLayout(tuple(found), tuple(kinds), worth)


def _scalar_ranges(kind: Kind) -> list[tuple[int, int, bool]] | None:
    if kind[0] == "boolean":
        return [(0, 2, True)]
    if kind[0] == "array":
        inner = _scalar_ranges(kind[2])
        return None if inner is None or kind[1] > 1000 else inner * kind[1]
    if kind[0] != "integer" or kind[1] is None or kind[2] is None:
        return None
    return [(kind[1], kind[2] - kind[1] + 1, False)]


def _digit_value(number: int, digit: Digit) -> Any:
    value = number // digit.worth % digit.count + digit.low
    return bool(value) if digit.truth else value


def _value_of(kind: Kind, values: list[Any]) -> Any:
    if kind[0] != "array":
        return values[0]
    each = len(values) // kind[1] if kind[1] else 0
    return tuple(_value_of(kind[2], values[i * each : (i + 1) * each]) for i in range(kind[1]))


def _flatten_value(value: Any) -> tuple[Any, ...]:
    if type(value) is not tuple:
        return (value,)
    return tuple(scalar for part in value for scalar in _flatten_value(part))


def read_vector(data: object, count: int, what: str) -> Numbers:
    """`count` numbers that are not negative."""
    entry = expect_object(data, _VECTOR, what)
    width = expect_integer(entry["width"], 1, _WIDEST, what)
    try:
        raw = b64decode(expect_text(entry["data"], what, _LONGEST), validate=True)
        reader = zlib.decompressobj()
        found = reader.decompress(raw, count * width + 1)
    except (Base64Error, ValueError, zlib.error) as error:
        raise BadCertificate(f"values: `{what}` cannot be read: {str(error)[:60]}") from None
    if len(found) != count * width:
        raise BadCertificate(f"values: `{what}` does not have a number for each state")
    if width not in _CODES:
        return [int.from_bytes(found[i : i + width], "little") for i in range(0, len(found), width)]
    numbers = array(_CODES[width])
    assert numbers.itemsize == width
    numbers.frombytes(found)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def read_states(data: object, count: int, layout: PackedLayout) -> array[int]:
    """The packed states, from the smallest to the largest."""
    steps = read_vector(data, count, "state")
    found = array("Q", accumulate(steps)) if count else array("Q")
    if 0 in memoryview(steps)[1:] if isinstance(steps, array) else any(s == 0 for s in steps[1:]):
        raise BadCertificate("values: a state twice")
    if count and found[-1] >= layout.size:
        raise BadCertificate("values: a number that is no state")
    return found


def build_state_index(states: array[int], layout: PackedLayout) -> Mapping[int, int] | array[int]:
    """From a packed state to its position; -1, or a `KeyError`, where there is none."""
    if layout.size > SPARSE * len(states) + (1 << 16):
        return dict(zip(states, range(len(states)), strict=True))
    index = array("i", [-1]) * layout.size
    for place, state in enumerate(states):
        index[state] = place
    return index


def position_of(index: Mapping[int, int] | array[int], packed: int) -> int:
    try:
        found = index[packed]
    except KeyError:
        found = -1
    if found < 0:
        raise Refused("a state that can be reached is not among those of the certificate")
    return found


def read_hex_integer(data: object) -> int:
    if type(data) is not str or not _HEX.fullmatch(data) or len(data) > LONGEST:
        raise BadCertificate(f"values: not an integer in hexadecimal: {str(data)[:40]}")
    return int(data, 16)
