"""Turn the records of pickled numpy arrays into arrays by copying their bytes."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.formats.untrusted.pickle_opcodes import PickleRecord, Value

_MODULES = ("numpy._core", "numpy.core")  # numpy 2 and numpy 1
ARRAY_SYMBOLS = frozenset(
    [f"{m}.multiarray.{n}" for m in _MODULES for n in ("_reconstruct", "scalar")]
    + [f"{m}.numeric._frombuffer" for m in _MODULES]
    + ["numpy.ndarray", "numpy.dtype"]
)
_ITEM = {"f8": 8, "f4": 4}


def float_array(value: Value, what: str, where: str) -> NDArray[np.float64]:
    """A pickled float array of any shape, flattened; `what` names it in errors."""
    refusal = InvalidProblem(f"{what} is not an array of floats", where=where)
    if not isinstance(value, PickleRecord):
        raise refusal
    content, dtype, shape, fortran = _array_parts(value)
    kind = _float_dtype(dtype)
    if kind is None or not isinstance(content, bytes | bytearray) or not _is_shape(shape):
        raise refusal
    if fortran and len(shape) > 1:
        raise InvalidProblem(f"{what} is stored column by column", where=where)
    if len(content) != prod(shape) * _ITEM[kind]:
        raise InvalidProblem(
            f"{what} has {len(content)} bytes, its shape asks for another number", where=where
        )
    return np.frombuffer(bytes(content), dtype=f"<{kind}").astype(np.float64)


def _array_parts(record: PickleRecord) -> tuple[Value, Value, Value, bool]:
    """Bytes, dtype, shape and order of the three ways in which numpy writes an array."""
    match record.symbol.name, record.arguments, record.state:
        case "_reconstruct", _, (_, shape, dtype, fortran, content):
            return content, dtype, shape, bool(fortran)
        case "_frombuffer", (content, dtype, shape, order), None:
            return content, dtype, shape, order != "C"
        case "scalar", (dtype, content), None:
            return content, dtype, (), False
        case _:
            return None, None, (), False


def _float_dtype(record: Value) -> str | None:
    """The item type of a pickled dtype if it is a little-endian float."""
    if not isinstance(record, PickleRecord) or str(record.symbol) != "numpy.dtype" or not record.arguments:
        return None
    kind, state = record.arguments[0], record.state
    little = isinstance(state, tuple) and len(state) > 1 and state[1] == "<"
    return kind if little and isinstance(kind, str) and kind in _ITEM else None


def _is_shape(shape: Value) -> bool:
    return (
        isinstance(shape, tuple)
        and len(shape) <= 32
        and all(type(n) is int and 0 <= n < 1 << 32 for n in shape)
    )
