"""From the bytes of an ONNX file to a checked graph; no arithmetic and no shapes yet.

Nothing outside the given bytes is read but tensors in files of the folder that is named (`external_data.py`),
and every size is compared with a limit before anything is allocated.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported, locate_errors
from surefoot.formats.onnx.external_data import embed_external_data
from surefoot.formats.untrusted.regular_file import read_model_file

_GZIP = b"\x1f\x8b"
MOST_BYTES = 512 * 2**20
MOST_ENTRIES = 2**25  # of one tensor, and of everything a network is made of together
TREES_DOMAIN = "ai.onnx.ml"
OLDEST_OPSET = 6

Tensor: TypeAlias = NDArray[Any]
Attribute: TypeAlias = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Tensor
Dimension: TypeAlias = int | None  # None: symbolic or unknown


@dataclass(frozen=True, slots=True, eq=False)
class OnnxNode:
    """One node of the graph: what it reads, what it writes, and where to say that an error is."""

    op: str
    domain: str
    where: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    message: Any  # the protobuf node; attributes are decoded only for nodes that matter

    def attributes(self) -> Mapping[str, Attribute]:
        return {_decode_text(a.name): _decode_attribute(a) for a in self.message.attribute}


@dataclass(frozen=True, slots=True, eq=False)
class OnnxGraph:
    """Nodes in file order, tensors and inputs by name; `model` is the message they were taken from."""

    steps: tuple[OnnxNode, ...]
    tensors: Mapping[str, Any]  # protobuf tensors, decoded by `tensor` when they are needed
    inputs: Mapping[str, tuple[Dimension, ...] | None]  # None: no shape is given
    input_kinds: Mapping[str, int]
    outputs: tuple[str, ...]
    declared: Mapping[str, int]  # what the file says of the types of tensors that nodes make
    opset: int
    trees_opset: int | None  # of the domain ai.onnx.ml
    model: Any


def _decode_text(name: str | bytes) -> str:
    """A string of the file; protobuf hands out bytes where it is not UTF-8."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def quote_onnx_name(name: str) -> str:
    """A name from the file, quoted for a one-line message: no control characters, not too long."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
    return f"`{plain if len(plain) <= 80 else plain[:77] + '...'}`"


def malformed_model(what: str, where: str = "") -> InvalidProblem:
    """The error of a file that is not written as the format demands."""
    return InvalidProblem(what, fix="export the network again", where=where)


def read_model_bytes(path: Path) -> bytes:
    """The content of a regular file, unpacked if it is gzipped, under the size limit."""
    return unpack_model(read_model_file(path, ".onnx", MOST_BYTES + 1))


def unpack_model(data: bytes) -> bytes:
    """The content of gzipped data, or the data itself; never more than the size limit."""
    if data.startswith(_GZIP):
        try:
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(MOST_BYTES + 1)
        except (EOFError, OSError, zlib.error):
            raise InvalidProblem("the gzip file is damaged or cut off", fix="fetch it again") from None
    if len(data) > MOST_BYTES:
        raise Unsupported(f"larger than {MOST_BYTES // 2**20} MB", fix="export the policy network alone")
    return data


def parse_onnx_graph(data: bytes, folder: Path | None = None) -> OnnxGraph:
    """The graph in an ONNX file, checked as far as it can be without knowing which output is wanted.

    `folder`: where tensors that are kept in other files may be; none: they are refused.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import IR_VERSION, ModelProto

    if not data:
        raise malformed_model("the file is empty")
    try:
        model = ModelProto.FromString(data)
    except DecodeError:
        raise malformed_model("not an ONNX model, or cut off") from None
    if not model.HasField("graph") or model.ir_version < 1:
        raise InvalidProblem("not an ONNX model: it has no graph", fix="give a .onnx file")
    if model.ir_version > IR_VERSION:
        what = f"version {model.ir_version} of the format is newer than {IR_VERSION}"
        raise Unsupported(what, where="ir_version", fix="export with an older version, or upgrade onnx")
    embed_external_data(model, folder)
    graph = model.graph
    tensors = {_decode_text(t.name): t for t in graph.initializer}
    given = {_decode_text(i.name): i for i in graph.input if _decode_text(i.name) not in tensors}
    steps = tuple(_parse_node(n, number) for number, n in enumerate(graph.node))
    _check_inputs(graph.input, tensors)
    free = [_decode_text(i.name) for i in graph.input if _decode_text(i.name) not in tensors]
    _refuse_two_producers(steps, [_decode_text(t.name) for t in graph.initializer], free)
    _refuse_two_names(steps)
    if graph.sparse_initializer:
        raise Unsupported(
            "sparse tensors are not supported", where="sparse_initializer", fix="export dense ones"
        )
    return OnnxGraph(
        steps=steps,
        tensors=tensors,
        inputs={name: _declared_shape(i) for name, i in given.items()},
        input_kinds={name: i.type.tensor_type.elem_type for name, i in given.items()},
        outputs=tuple(_decode_text(o.name) for o in graph.output),
        declared=_declared_kinds(graph),
        opset=_opset_version(model, any(not step.domain for step in steps)),
        trees_opset=_trees_opset(model, steps),
        model=model,
    )


def _parse_node(node: Any, number: int) -> OnnxNode:
    op, domain, name = _decode_text(node.op_type), _decode_text(node.domain), _decode_text(node.name)
    where = f"node {quote_onnx_name(name)}" if name else f"node {number} ({quote_onnx_name(op)[1:-1]})"
    inputs, outputs = tuple(map(_decode_text, node.input)), tuple(map(_decode_text, node.output))
    return OnnxNode(op, "" if domain == "ai.onnx" else domain, where, inputs, outputs, node)


def _declared_shape(declared: Any) -> tuple[Dimension, ...] | None:
    if not declared.type.HasField("tensor_type") or not declared.type.tensor_type.HasField("shape"):
        return None
    dimensions = declared.type.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in dimensions)


def _trees_opset(model: Any, steps: tuple[OnnxNode, ...]) -> int | None:
    """The version of the operators for trees, if there are any."""
    versions = {o.version for o in model.opset_import if o.domain == TREES_DOMAIN}
    if not any(step.domain == TREES_DOMAIN for step in steps):
        return None
    if len(versions) != 1:
        what = f"the version of {TREES_DOMAIN} is given {'twice' if versions else 'nowhere'}"
        raise malformed_model(what, where="opset_import")
    return int(versions.pop())


def _opset_version(model: Any, needed: bool) -> int:
    """Of the default domain; a file of trees alone does not need it."""
    from onnx.defs import onnx_opset_version

    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    trees = any(o.domain == TREES_DOMAIN for o in model.opset_import)
    if not versions and trees and not needed:
        return int(onnx_opset_version())
    if not versions:
        raise malformed_model("no opset version is given", where="opset_import")
    if len(set(versions)) > 1:
        raise InvalidProblem("two opset versions are given", where="opset_import", fix="keep one of them")
    newest = onnx_opset_version()
    if versions[0] > newest:
        raise Unsupported(
            f"opset {versions[0]} is newer than {newest}, the newest that the installed onnx package knows",
            where="opset_import",
            fix="export with a lower opset, or upgrade onnx",
        )
    if versions[0] < OLDEST_OPSET:
        raise Unsupported(
            f"opset {versions[0]} is older than {OLDEST_OPSET}",
            where="opset_import",
            fix="convert with onnx.version_converter",
        )
    return int(versions[0])


def _declared_kinds(graph: Any) -> dict[str, int]:
    listed = [v for v in (*graph.value_info, *graph.output) if v.type.HasField("tensor_type")]
    return {_decode_text(v.name): int(v.type.tensor_type.elem_type) for v in listed}


def _check_inputs(inputs: Any, tensors: Mapping[str, Any]) -> None:
    """An input that has a default is declared as what that is."""
    for declared in inputs:
        stored = tensors.get(_decode_text(declared.name))
        if stored is None:
            continue
        shape = _declared_shape(declared)
        fits = shape is None or (
            len(shape) == len(stored.dims)
            and all(d in (None, size) for d, size in zip(shape, stored.dims, strict=True))
        )
        if not fits or declared.type.tensor_type.elem_type != stored.data_type:
            what = "the input is declared as something else than its default value"
            raise malformed_model(what, where=f"input {quote_onnx_name(_decode_text(declared.name))}")


def _refuse_two_names(steps: tuple[OnnxNode, ...]) -> None:
    names = [_decode_text(step.message.name) for step in steps if step.message.name]
    for name in {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else ():
        raise malformed_model(f"two nodes are called {quote_onnx_name(name)}")


def _refuse_two_producers(steps: tuple[OnnxNode, ...], tensors: list[str], inputs: list[str]) -> None:
    places = [("initializer", n) for n in tensors] + [("input", n) for n in inputs]
    places += [(step.where, n) for step in steps for n in step.outputs if n]
    seen = set()
    for where, name in places:
        if name in seen:
            raise malformed_model(f"{quote_onnx_name(name)} is defined twice", where=where)
        seen.add(name)


def _decode_attribute(attribute: Any) -> Attribute:
    kind, place = attribute.type, f"attribute {quote_onnx_name(_decode_text(attribute.name))}"
    # The numbers are AttributeProto's FLOAT, INT, STRING, TENSOR, FLOATS, INTS and STRINGS.
    if kind == 1:
        return _require_finite((attribute.f,), place)[0]
    if kind == 2:
        return int(attribute.i)
    if kind == 3:
        return str(attribute.s.decode("utf-8", "replace"))
    if kind == 4 and attribute.name == "nodes_modes":  # of trees: uint8, as no other tensor is
        return _decode_modes(attribute.t)
    if kind == 4:
        return decode_stored_tensor(attribute.t, _decode_text(attribute.t.name or attribute.name))
    if kind == 6:
        return _require_finite(tuple(attribute.floats), place)
    if kind == 7:
        return tuple(int(i) for i in attribute.ints)
    if kind == 8:
        return tuple(str(s.decode("utf-8", "replace")) for s in attribute.strings)
    raise Unsupported(f"{place} is of a kind that is not supported")


def _decode_modes(message: Any) -> Tensor:
    shape, raw = tuple(int(d) for d in message.dims), message.HasField("raw_data")
    stored = np.frombuffer(message.raw_data, np.uint8) if raw else np.array(message.int32_data, np.int64)
    if message.data_type != 2 or len(shape) != 1 or len(stored) != shape[0]:
        raise malformed_model("the modes of tree nodes must be a list of uint8 numbers")
    return stored.astype(np.int64)


def _require_finite(numbers: tuple[float, ...], place: str) -> tuple[float, ...]:
    if not all(math.isfinite(n) for n in numbers):
        raise InvalidProblem(f"{place} is not a finite number", fix="export a network without NaN or Inf")
    return numbers


# TensorProto.DataType: name of the field that holds the numbers when raw_data does not, and numpy's type.
_KINDS: dict[int, tuple[str, np.dtype[Any]]] = {
    1: ("float_data", np.dtype("<f4")),
    6: ("int32_data", np.dtype("<i4")),
    7: ("int64_data", np.dtype("<i8")),
    9: ("int32_data", np.dtype("bool")),
}


def decode_stored_tensor(message: Any, name: str) -> Tensor:
    """The numbers of a tensor that is stored in the file: float32, or integers for shapes and indices."""
    with locate_errors(f"tensor {quote_onnx_name(name)}"):
        return _tensor_array(message)


def _tensor_array(message: Any) -> Tensor:
    if message.data_type not in _KINDS:
        raise Unsupported(
            f"{tensor_type_name(message.data_type)} numbers are not supported",
            fix="export the network in float32",
        )
    field, kind = _KINDS[message.data_type]
    shape = tuple(int(d) for d in message.dims)
    if any(d < 0 for d in shape):
        raise malformed_model(f"negative dimension in shape {list(shape)}")
    size = math.prod(shape)
    if size > MOST_ENTRIES:
        raise Unsupported(
            f"shape {list(shape)} has {size} entries, more than {MOST_ENTRIES}", fix="use a smaller network"
        )
    raw = message.HasField("raw_data")
    stored = len(message.raw_data) // kind.itemsize if raw else len(getattr(message, field))
    if stored != size or (raw and len(message.raw_data) % kind.itemsize):
        raise malformed_model(f"shape {list(shape)} needs {size} numbers, the file holds {stored}")
    flat = np.frombuffer(message.raw_data, kind) if raw else np.array(getattr(message, field), kind)
    array: Tensor = flat.astype(kind.newbyteorder("=")).reshape(shape)
    if kind.kind == "f" and not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        found = "NaN" if np.isnan(array[tuple(place)]) else "Inf"
        raise InvalidProblem(f"{found} at index {place}", fix="repair the weights and export again")
    return array


def tensor_type_name(kind: int) -> str:
    """float64, int8, ...: the name of a TensorProto data type."""
    from onnx import TensorProto

    if kind not in TensorProto.DataType.values():
        return f"type-{kind}"
    name = str(TensorProto.DataType.Name(kind)).lower()
    return {"float": "float32", "double": "float64"}.get(name, name)
