"""Read the tensors of a torch zip file without torch: names and float32 arrays, nothing is executed."""

from __future__ import annotations

from math import prod

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.untrusted.pickle_opcodes import Persistent, PickleRecord, Symbol, Value, read_pickle
from surefoot.formats.untrusted.zip_archive import Archive, open_archive, read_member
from surefoot.problem.network import Array32, freeze_float32

_DICTIONARY = "collections.OrderedDict"
_TENSOR = "torch._utils._rebuild_tensor_v2"
_FLOATS = "torch.FloatStorage"
_OTHER_STORAGES = {  # known by name so that the message can say what they hold
    "torch.DoubleStorage": "float64",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
}
_DEEPEST = 60  # points in a name
_SYMBOLS = frozenset([_DICTIONARY, _TENSOR, _FLOATS, *_OTHER_STORAGES])


def is_torch_archive(archive: Archive) -> bool:
    return _pickle_name(archive) is not None


def read_state_dict(data: bytes, where: str) -> dict[str, Array32]:
    """The state dict that `torch.save` wrote: every tensor by name, in the order of the file."""
    archive, folder, top = _open_torch_file(data, where)
    entries = top.items if isinstance(top, PickleRecord) and str(top.symbol) == _DICTIONARY else top
    if not isinstance(entries, dict):
        raise InvalidProblem("the torch file holds no state dict", where=where)
    tensors: dict[str, Array32] = {}
    for key, value in entries.items():
        if not isinstance(key, str) or not isinstance(value, PickleRecord) or str(value.symbol) != _TENSOR:
            raise InvalidProblem("the torch file holds something other than named tensors", where=where)
        tensors[key] = _read_tensor(value, archive, folder, f"{where}/{key}")
    return tensors


def _open_torch_file(data: bytes, where: str) -> tuple[Archive, str, Value]:
    """The archive, its folder, and what its pickle describes."""
    archive = open_archive(data, where)
    name = _pickle_name(archive)
    if name is None:
        raise InvalidProblem("this is not a torch file: the zip has no `data.pkl`", where=where)
    folder = name.removesuffix("data.pkl")
    if f"{folder}byteorder" in archive.sizes and read_member(archive, f"{folder}byteorder") != b"little":
        raise Unsupported("the tensors are big-endian", where=where)
    top = read_pickle(read_member(archive, name), permits=_SYMBOLS.__contains__, where=f"{where}/data.pkl")
    return archive, folder, top


def read_named_tensors(data: bytes, where: str) -> dict[str, Array32 | str]:
    """Every tensor of a file by name, dictionaries inside it with a point between the names.

    Of a tensor that is not float32 the name of its type; numbers and texts beside the tensors are left out.
    """
    archive, folder, top = _open_torch_file(data, where)
    found: dict[str, Array32 | str] = {}
    _collect_tensors(top, "", archive, folder, where, found)
    if not found:
        raise InvalidProblem("the torch file holds no named tensors", where=where)
    return found


def _collect_tensors(
    value: Value, prefix: str, archive: Archive, folder: str, where: str, found: dict[str, Array32 | str]
) -> None:
    if isinstance(value, PickleRecord) and str(value.symbol) == _TENSOR:
        kind = _storage_kind(value)
        found[prefix] = (
            _read_tensor(value, archive, folder, f"{where}/{prefix}") if kind == "float32" else kind
        )
        return
    entries = value.items if isinstance(value, PickleRecord) and str(value.symbol) == _DICTIONARY else value
    if not isinstance(entries, dict) or prefix.count(".") > _DEEPEST:
        return
    for key, inner in entries.items():
        if isinstance(key, str):
            _collect_tensors(inner, f"{prefix}.{key}" if prefix else key, archive, folder, where, found)


def _storage_kind(record: PickleRecord) -> str:
    match record.arguments:
        case (Persistent(("storage", Symbol() as symbol, *_)), *_):
            return "float32" if str(symbol) == _FLOATS else _OTHER_STORAGES.get(str(symbol), str(symbol))
        case _:
            return "float32"  # what is wrong with it is said where it is read


def _pickle_name(archive: Archive) -> str | None:
    """The member that lists the tensors; torch puts everything into one folder of any name."""
    found = [n for n in archive.sizes if n.endswith("/data.pkl") and n.count("/") == 1]
    return found[0] if len(found) == 1 else None


def _read_tensor(record: PickleRecord, archive: Archive, folder: str, where: str) -> Array32:
    match record.arguments:
        case (Persistent(reference), int(offset), tuple(size), tuple(stride), *_):
            key, numbers = _read_storage(reference, where)
        case _:
            raise InvalidProblem("the tensor is not described as torch does", where=where)
    if not (_are_counts(size) and _are_counts(stride) and len(size) == len(stride) and offset >= 0):
        raise InvalidProblem("the tensor is not described as torch does", where=where)
    if any(n != 1 and s != row for n, s, row in zip(size, stride, _row_major(size), strict=True)):
        raise Unsupported(
            "the tensor is not stored row by row", fix="save it with .contiguous()", where=where
        )
    if archive.sizes.get(f"{folder}data/{key}") != 4 * numbers or offset + prod(size) > numbers:
        raise InvalidProblem("the tensor is larger than its storage", where=where)
    content = np.frombuffer(read_member(archive, f"{folder}data/{key}"), dtype="<f4")
    values = content[offset : offset + prod(size)].reshape(size)
    if not np.isfinite(values).all():
        index = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
        raise InvalidProblem(f"the weight at {index} is {float(values[tuple(index)])}", where=where)
    return freeze_float32(values)


def _read_storage(reference: Value, where: str) -> tuple[str, int]:
    """Member name and number of entries of a float32 storage."""
    match reference:
        case ("storage", Symbol() as symbol, str(key), str(), int(numbers)):
            if str(symbol) != _FLOATS:
                kind = _OTHER_STORAGES.get(str(symbol), str(symbol))
                raise Unsupported(f"the tensor is {kind}; only float32 is read", where=where)
            return key, numbers
        case _:
            raise InvalidProblem("the storage of the tensor is not described as torch does", where=where)


def _are_counts(values: tuple[Value, ...]) -> bool:
    return len(values) <= 8 and all(type(n) is int and 0 <= n < 1 << 32 for n in values)


def _row_major(size: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(size[i + 1 :]) for i in range(len(size)))
