"""Read the tensors of a safetensors file: a length, a JSON header with the places of tensors, the bytes."""

from __future__ import annotations

import json
import struct
from math import prod
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.network import Array32, freeze_float32

MOST_HEADER_BYTES = 16 << 20
MOST_TENSORS = 4096
_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"


def is_safetensors(data: bytes) -> bool:
    """A plausible length of a header, and its brace."""
    if len(data) < _LENGTH.size + 2:
        return False
    return data[8:9] == b"{" and 2 <= _LENGTH.unpack_from(data)[0] <= len(data) - _LENGTH.size


def read_safetensors(data: bytes, where: str) -> dict[str, Array32 | str]:
    """Every tensor by name; of one that is not float32 the name of its type."""
    size = _LENGTH.unpack_from(data)[0]
    if size > MOST_HEADER_BYTES:
        raise InvalidProblem(f"the header has {size} bytes, more than {MOST_HEADER_BYTES}", where=where)
    try:
        header = json.loads(data[8 : 8 + size], object_pairs_hook=_take_unique_keys)
    except (ValueError, RecursionError) as problem:
        raise InvalidProblem("the header of the safetensors file is damaged", where=where) from problem
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise InvalidProblem("the header of the safetensors file lists no tensors", where=where)
    content = memoryview(data)[8 + size :]
    return {
        name: _read_entry(entry, content, f"{where}/{name[:80]}")
        for name, entry in header.items()
        if name != _METADATA
    }


def _take_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _read_entry(entry: object, content: memoryview, where: str) -> Array32 | str:
    refusal = InvalidProblem("the tensor is not described as safetensors does", where=where)
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise refusal
    kind, shape, ends = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or not _are_counts(shape, 8) or not _are_counts(ends, 2) or len(ends) != 2:
        raise refusal
    start, end = ends
    if not start <= end <= len(content):
        raise InvalidProblem("the tensor lies outside of the file", where=where)
    if kind != "F32":
        return kind[:20]
    if end - start != 4 * prod(shape):
        raise InvalidProblem(
            f"the tensor has {end - start} bytes, its shape asks for another number", where=where
        )
    values = np.frombuffer(content[start:end], dtype="<f4").reshape(shape)
    if not np.isfinite(values).all():
        raise InvalidProblem("a weight is not a finite number", where=where)
    return freeze_float32(values)


def _are_counts(values: object, most: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= most
        and all(type(n) is int and 0 <= n < 1 << 40 for n in values)
    )


def require_float32(tensors: dict[str, Array32 | str], name: str, where: str) -> Array32:
    """The tensor of that name."""
    found = tensors[name]
    if isinstance(found, str):
        raise Unsupported(f"the tensor `{name}` is {found}; only float32 is read", where=where)
    return found
