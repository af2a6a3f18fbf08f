"""Tensors that an ONNX file keeps in a second file: read from its own folder, never from anywhere else.

Exporters write large weights beside the model and note name, offset and length. Here a name is the name of a
regular file in the folder of the model, without separators; links are not followed, and offset and length are
compared with the shape of the tensor and the size of the file before anything is read.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, locate_errors

MOST_BYTES = 512 * 2**20  # of all tensors together
_ITEM_BYTES = {1: 4, 6: 4, 7: 8, 9: 1}  # TensorProto.DataType of FLOAT, INT32, INT64 and BOOL
_KEYS = ("location", "offset", "length", "checksum")
_COPY = "copy the file that was exported with the model beside it"
_ONE_FILE = "save the model in one file (onnx.save with save_as_external_data=False)"


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    offset: int
    length: int


def embed_external_data(model: Any, folder: Path | None) -> None:
    """Put the bytes of external tensors into the message; without a folder they are refused."""
    from onnx import TensorProto

    total = 0
    for tensor, is_weight in _iterate_tensors(model.graph):
        if tensor.data_location != TensorProto.EXTERNAL and not tensor.external_data:
            continue
        with locate_errors(f"tensor {_printable_text(str(tensor.name))}"):
            if folder is None or not is_weight:
                raise Unsupported("external data is not read here", fix=_ONE_FILE)
            place = _read_place(tensor)
            total += place.length
            if total > MOST_BYTES:
                raise Unsupported(f"external data of more than {MOST_BYTES // 2**20} MB", fix=_ONE_FILE)
            content = _read_part(folder, place)
        tensor.raw_data = content
        del tensor.external_data[:]
        tensor.data_location = TensorProto.DEFAULT


def list_external_files(path: Path) -> tuple[Path, ...]:
    """The files beside a model that hold its weights, as far as their names are allowed."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import ModelProto

    from surefoot.errors import SurefootError
    from surefoot.formats.onnx.protobuf import read_model_bytes

    try:
        model = ModelProto.FromString(read_model_bytes(path))
    except (SurefootError, DecodeError):
        return ()
    names = {
        e.value for t, _ in _iterate_tensors(model.graph) for e in t.external_data if e.key == "location"
    }
    return tuple(path.parent / name for name in sorted(names) if _is_file_name(name))


def _iterate_tensors(graph: Any) -> Iterator[tuple[Any, bool]]:
    """Every tensor in the graph, also inside attributes and nested graphs; whether it is an initializer."""
    for tensor in graph.initializer:
        yield tensor, True
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t, False
            for tensor in attribute.tensors:
                yield tensor, False
            for nested in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                for tensor, _ in _iterate_tensors(nested):
                    yield tensor, False


def _read_place(tensor: Any) -> _Place:
    """Where the bytes of a tensor are, checked against its shape."""
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in entries or entry.key not in _KEYS:
            what = f"external data with a key {_printable_text(entry.key)} that is unknown, or given twice"
            raise InvalidProblem(what, fix="export the network again")
        entries[entry.key] = entry.value
    if tensor.data_type not in _ITEM_BYTES:
        raise Unsupported("external data of this type of numbers", fix="export the network in float32")
    if tensor.HasField("raw_data"):
        raise InvalidProblem("external data beside data in the file", fix="export the network again")
    dimensions = [int(d) for d in tensor.dims]
    needed = math.prod(dimensions) * _ITEM_BYTES[tensor.data_type]
    name = entries.get("location", "")
    if not _is_file_name(name):
        what = f"external data in {_printable_text(name)}, which is no file in the folder of the model"
        raise Unsupported(what, fix=_ONE_FILE)
    offset = _read_number(entries.get("offset", "0"), "offset")
    length = _read_number(entries.get("length", str(needed)), "length")
    if min(dimensions, default=1) < 0 or length != needed:
        what = f"external data of {length} bytes for a tensor of {needed}"
        raise InvalidProblem(what, fix="export the network again")
    return _Place(name, offset, length)


def _is_file_name(name: str) -> bool:
    name = name.removeprefix("./")
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\\0:") and len(name) < 256


def _read_number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidProblem(
            f"external data whose {what} is {_printable_text(text)}", fix="export the network again"
        )
    return int(text)


def _read_part(folder: Path, place: _Place) -> bytes:
    """Bytes of a regular file of the folder; opened without following a link, measured before it is read."""
    path, shown = folder / place.name, _printable_text(place.name)
    try:
        _require_own_file(path.lstat(), shown)
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        what = f"its external data {shown} is not there"
        raise InvalidProblem(what, fix="put the file that was exported with the model beside it") from None
    except OSError as error:
        raise Unsupported(f"external data {shown} cannot be opened", fix=_COPY) from error
    with os.fdopen(opened, "rb") as file:
        about = os.fstat(file.fileno())
        _require_own_file(about, shown)
        if place.offset + place.length > about.st_size:
            what = (
                f"external data {shown} has {about.st_size} bytes, {place.offset + place.length} are needed"
            )
            raise InvalidProblem(what, fix="export the network again")
        file.seek(place.offset)
        content = file.read(place.length)
    if len(content) != place.length:
        raise InvalidProblem(f"external data {shown} is cut off", fix="export the network again")
    return content


def _require_own_file(about: os.stat_result, shown: str) -> None:
    """A regular file that has one name: a link may lead to any file of the machine."""
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        raise Unsupported(f"external data {shown} is a link, or not a regular file", fix=_COPY)


def _printable_text(text: str) -> str:
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return f"`{plain if len(plain) <= 80 else plain[:77] + '...'}`"
