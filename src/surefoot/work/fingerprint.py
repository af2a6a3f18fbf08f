"""A fingerprint of a frozen value by its content: the same in every process, on every machine.

Two values with the same fingerprint are equal in every field, down to the bits of arrays. A function is known
by its name alone: nobody can look inside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np


def content_fingerprint(value: object) -> str:
    """64 hexadecimal digits."""
    return _digest_value(value, {}).hex()


def _digest_value(value: object, known: dict[int, tuple[object, bytes]]) -> bytes:
    if id(value) in known:  # terms share their parts: without this a deep one would take for ever
        return known[id(value)][1]
    found = hashlib.sha256(_canonical_bytes(value, known)).digest()
    known[id(value)] = (value, found)  # kept alive, so that its id stays its own
    return found


def _canonical_bytes(value: Any, known: dict[int, tuple[object, bytes]]) -> bytes:
    name = type(value).__name__
    if isinstance(value, Enum):
        return f"{name}:{value.name}".encode()
    if value is None or isinstance(value, bool | int | Fraction | str | bytes):
        return f"{name}:{value!r}".encode()
    if isinstance(value, float | np.floating):
        return f"{name}:{float(value).hex()}".encode()
    if isinstance(value, np.ndarray):
        return f"array:{value.dtype.str}:{value.shape}:".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, tuple | list):
        return f"{name}:{len(value)}:".encode() + b"".join(_digest_value(v, known) for v in value)
    if isinstance(value, frozenset | set):
        return f"set:{len(value)}:".encode() + b"".join(sorted(_digest_value(v, known) for v in value))
    if isinstance(value, Mapping):
        pairs = sorted((_digest_value(k, known), _digest_value(v, known)) for k, v in value.items())
        return f"mapping:{len(pairs)}:".encode() + b"".join(k + v for k, v in pairs)
    if is_dataclass(value) and not isinstance(value, type):
        # A field that was added later says so, so that values which do not use it keep their fingerprints.
        own = (f for f in fields(value) if not f.metadata.get("unless_empty") or getattr(value, f.name))
        parts = ((f.name, getattr(value, f.name)) for f in own)
        return f"{name}:".encode() + b"".join(
            _digest_value(n, known) + _digest_value(v, known) for n, v in parts
        )
    named = getattr(value, "__qualname__", None) or type(value).__qualname__
    module = getattr(value, "__module__", "") or ""
    return f"named:{module.rpartition('.')[2]}:{named}".encode()
