"""The wire format of protocol buffers: a message is a list of numbered fields, nothing more.

A field is a varint (wire type 0), eight bytes (1), a run of bytes (2) or four bytes (5). What a run of bytes
means (text, a nested message, packed numbers) only the one who asks for the field knows. A field that is
asked for as a single one and occurs twice is refused, although protocol buffers would take the last.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import TypeAlias

from ..untrusted_file import ReadError

Content: TypeAlias = int | bytes
MOST_FIELDS = 2**22


class Message:
    """The fields of one message, each with its wire type, in the order of the file."""

    __slots__ = ("_fields",)

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[tuple[int, Content]]] = {}
        for count, (number, wire, content) in enumerate(_iterate_fields(data)):
            if count >= MOST_FIELDS:
                raise ReadError("too many fields")
            self._fields.setdefault(number, []).append((wire, content))

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def whole(self, number: int, default: int = 0) -> int:
        """A single integer: 64 bits, two's complement."""
        found = self._one(number, 0)
        return _to_signed(found) if isinstance(found, int) else default

    def wholes(self, number: int) -> list[int]:
        """A list of integers, packed into runs or one by one."""
        result: list[int] = []
        for wire, content in self._fields.get(number, ()):
            if wire == 0 and isinstance(content, int):
                result.append(_to_signed(content))
            elif wire == 2 and isinstance(content, bytes):
                place = 0
                while place < len(content):
                    value, place = _decode_varint(content, place)
                    result.append(_to_signed(value))
            else:
                raise ReadError(f"field {number} does not hold integers")
        return result

    def number(self, number: int) -> float | None:
        """A single float32 number."""
        found = self._one(number, 5)
        return struct.unpack("<f", found)[0] if isinstance(found, bytes) else None

    def numbers(self, number: int) -> array[float]:
        """A list of float32 numbers, packed into runs or one by one."""
        runs = []
        for wire, content in self._fields.get(number, ()):
            if wire not in (2, 5) or not isinstance(content, bytes) or len(content) % 4:
                raise ReadError(f"field {number} does not hold float32 numbers")
            runs.append(content)
        return float32_numbers(b"".join(runs))

    def byte_run(self, number: int) -> bytes:
        """A single run of bytes, empty if there is none."""
        found = self._one(number, 2)
        return found if isinstance(found, bytes) else b""

    def text(self, number: int) -> str:
        return _decode_text(self.byte_run(number))

    def texts(self, number: int) -> list[str]:
        return [_decode_text(run) for run in self._runs(number)]

    def message(self, number: int) -> Message:
        return Message(self.byte_run(number))

    def messages(self, number: int) -> list[Message]:
        return [Message(run) for run in self._runs(number)]

    def _one(self, number: int, wire: int) -> Content | None:
        found = self._fields.get(number, [])
        if len(found) > 1:
            raise ReadError(f"field {number} occurs {len(found)} times")
        if found and found[0][0] != wire:
            raise ReadError(f"field {number} has wire type {found[0][0]} instead of {wire}")
        return found[0][1] if found else None

    def _runs(self, number: int) -> Iterator[bytes]:
        for wire, content in self._fields.get(number, ()):
            if wire != 2 or not isinstance(content, bytes):
                raise ReadError(f"field {number} has wire type {wire} instead of 2")
            yield content


def float32_numbers(data: bytes) -> array[float]:
    """Little-endian float32 numbers as an array of this machine."""
    result = array("f", data)
    if sys.byteorder == "big":
        result.byteswap()
    return result


def _iterate_fields(data: bytes) -> Iterator[tuple[int, int, Content]]:
    place, end = 0, len(data)
    while place < end:
        key, place = _decode_varint(data, place)
        number, wire = key >> 3, key & 7
        if not 0 < number < 2**29:
            raise ReadError("a field has an impossible number")
        if wire == 0:
            value, place = _decode_varint(data, place)
            yield number, wire, value
            continue
        if wire == 2:
            size, place = _decode_varint(data, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ReadError(f"wire type {wire} is not read by the checker")
        if size > end - place:
            raise ReadError("a field is cut off")
        yield number, wire, data[place : place + size]
        place += size


def _decode_varint(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned integer of at most 64 bits, seven bits a byte, the lowest first; and where it ends."""
    value = shift = 0
    while place < len(data):
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> 64:
                break
            return value, place
        shift += 7
        if shift > 63:
            break
    raise ReadError("an integer is cut off or longer than 64 bits")


def _to_signed(value: int) -> int:
    return value - 2**64 if value >> 63 else value


def _decode_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ReadError("a name is not UTF-8 text") from None
