"""ONNX files: the part of the format (onnx.proto, IR version 3 and later) that float32 networks need.

From the bytes to nodes, tensors, inputs and outputs by name; nothing is computed here. Whatever is not known
to be harmless is refused: functions, sparse and external tensors, other element types, NaN and infinity.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..untrusted_file import ReadError, decompress_gzip, quote_for_message
from .protobuf import Message, float32_numbers

MOST_ENTRIES = 2**24  # of one tensor, and of everything a network is made of together
OPSETS = range(7, 25)  # the versions of the operators whose meaning is the one implemented here
MOST_IR = 14  # the versions of the format that are known here
FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9  # TensorProto.DataType


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant: numbers row by row."""

    shape: tuple[int, ...]
    numbers: Sequence[float] | Sequence[int]
    kind: int = FLOAT

    @property
    def whole(self) -> bool:
        """Are they integers, or truth values?"""
        return self.kind != FLOAT


Attribute: TypeAlias = int | float | str | tuple[int, ...] | tuple[float, ...] | Tensor


@dataclass(frozen=True, slots=True)
class OnnxFileNode:
    """One node of the graph; its attributes are decoded when it is translated."""

    op: str
    where: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    message: Message

    def attributes(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for message in self.message.messages(5):
            name = message.text(1)
            if name in found:
                raise ReadError(f"attribute {quote_for_message(name)} occurs twice")
            found[name] = _decode_attribute(message, name)
        return found


@dataclass(frozen=True, slots=True)
class OnnxFileGraph:
    steps: tuple[OnnxFileNode, ...]  # in the order of the file
    tensors: Mapping[str, Message]  # decoded by `tensor` when they are needed
    inputs: Mapping[str, Message]  # those that are no tensors
    outputs: tuple[str, ...]
    opset: int
    declared: Mapping[str, int]  # types of tensors that nodes make, where the file says them


def decode_onnx_graph(data: bytes) -> OnnxFileGraph:
    """The graph of a model, plain or gzipped."""
    model = Message(decompress_gzip(data))
    if 7 not in model or model.whole(1) < 1:
        raise ReadError("this is no ONNX model")
    if model.whole(1) > MOST_IR:
        raise ReadError(f"version {model.whole(1)} of the format is not read by the checker")
    if 25 in model:
        raise ReadError("models with functions of their own are not read by the checker")
    versions = [o.whole(2) for o in model.messages(8) if o.text(1) in ("", "ai.onnx")]
    if len(versions) != 1 or versions[0] not in OPSETS:
        raise ReadError(f"operator set {versions} is not read by the checker")
    graph = model.message(7)
    if 15 in graph:
        raise ReadError("sparse tensors are not read by the checker")
    tensors = _by_name(graph.messages(5), 8)
    listed = _by_name(graph.messages(11), 1)
    for name in listed.keys() & tensors.keys():
        _check_default(listed[name], tensors[name])
    inputs = {n: i for n, i in listed.items() if n not in tensors}
    steps = tuple(_decode_node(number, message) for number, message in enumerate(graph.messages(1)))
    made = [*tensors, *inputs, *(o for s in steps for o in s.outputs if o)]
    if len(made) != len(set(made)):
        raise ReadError("a name is defined twice")
    names = [s.message.text(3) for s in steps if s.message.text(3)]
    if len(names) != len(set(names)):
        raise ReadError("two nodes have the same name")
    listed_types = ((v.text(1), v.message(2)) for v in (*graph.messages(13), *graph.messages(12)) if 2 in v)
    known = {name: kind.message(1) for name, kind in listed_types if 1 in kind}
    declared = {name: kind.whole(1) for name, kind in known.items()}
    return OnnxFileGraph(
        steps, tensors, inputs, tuple(o.text(1) for o in graph.messages(12)), versions[0], declared
    )


def _check_default(declared: Message, stored: Message) -> None:
    """An input with a default value is declared as what that is."""
    kind = declared.message(2).message(1)
    dims = kind.message(2).messages(1) if 2 in kind else None
    sizes = stored.wholes(1)
    if kind.whole(1) != stored.whole(2) or (
        dims is not None
        and (
            len(dims) != len(sizes)
            or any(1 in d and d.whole(1) != n for d, n in zip(dims, sizes, strict=True))
        )
    ):
        raise ReadError("an input is declared as something else than its default value")


def _by_name(messages: Sequence[Message], number: int) -> dict[str, Message]:
    found = {message.text(number): message for message in messages}
    if len(found) != len(messages):
        raise ReadError("a name is defined twice")
    return found


def _decode_node(number: int, message: Message) -> OnnxFileNode:
    op = message.text(4)
    if message.text(7) not in ("", "ai.onnx") or message.text(8):
        raise ReadError(
            f"operator {quote_for_message(op)} of domain {quote_for_message(message.text(7))} "
            "is not read by the checker"
        )
    return OnnxFileNode(
        op, f"node {number} ({op})", tuple(message.texts(1)), tuple(message.texts(2)), message
    )


def input_shape(message: Message) -> tuple[int, ...]:
    """The shape of a declared input of float32 numbers, a symbolic first dimension taken as one."""
    kind = message.message(2).message(1)
    if kind.whole(1) != FLOAT or 2 not in kind:
        raise ReadError("the input is no float32 tensor of a known shape")
    shape = [d.whole(1) if 1 in d else None for d in kind.message(2).messages(1)]
    if len(shape) > 1 and shape[0] is None:
        shape[0] = 1
    known = tuple(d for d in shape if d is not None and d > 0)
    if len(known) != len(shape) or math.prod(known) > MOST_ENTRIES:
        raise ReadError("the shape of the input is not known, empty or too large")
    return known


def read_stored_tensor(message: Message) -> Tensor:
    """The numbers of a tensor, all of them inside the file and finite."""
    if 13 in message or message.whole(14):
        raise ReadError("external data is not read by the checker")
    if 3 in message:
        raise ReadError("tensors in segments are not read by the checker")
    kind, shape = message.whole(2), tuple(message.wholes(1))
    if kind not in (FLOAT, INT32, INT64, BOOL):
        raise ReadError(f"numbers of type {kind} are not read by the checker")
    if any(d < 0 for d in shape) or math.prod(shape) > MOST_ENTRIES:
        raise ReadError("a tensor has a negative dimension or too many entries")
    numbers = _stored_numbers(message, kind)
    if len(numbers) != math.prod(shape):
        raise ReadError(f"shape {list(shape)} needs {math.prod(shape)} numbers, the file has {len(numbers)}")
    if kind == FLOAT and not all(map(math.isfinite, numbers)):
        raise ReadError("a weight is NaN or infinite")
    return Tensor(shape, numbers, kind)


def _stored_numbers(message: Message, kind: int) -> Sequence[float] | Sequence[int]:
    """Raw bytes, or the list that belongs to the type; never both."""
    field = {FLOAT: 4, INT64: 7}.get(kind, 5)
    if any(n in message for n in (4, 5, 6, 7, 10, 11) if n != field or 9 in message):
        raise ReadError("a tensor has numbers in several places")
    if 9 not in message:
        return message.numbers(4) if kind == FLOAT else message.wholes(field)
    raw = message.byte_run(9)
    letter, size = {FLOAT: ("f", 4), INT32: ("i", 4), INT64: ("q", 8), BOOL: ("?", 1)}[kind]
    if len(raw) % size:
        raise ReadError("a tensor is cut off")
    if kind == FLOAT:
        return float32_numbers(raw)
    return [int(n) for n in struct.unpack(f"<{len(raw) // size}{letter}", raw)]


def _decode_attribute(message: Message, name: str) -> Attribute:
    """The value of an attribute; its type (field 20) says which field holds it."""
    kind = message.whole(20)
    if 21 in message:
        raise ReadError(f"attribute {quote_for_message(name)} refers to a function")
    if kind == 1:
        number = message.number(2)
        return _require_finite(0.0 if number is None else number)
    if kind == 2:
        return message.whole(3)
    if kind == 3:
        return message.text(4)
    if kind == 4:
        return read_stored_tensor(message.message(5))
    if kind == 6:
        return tuple(_require_finite(n) for n in message.numbers(7))
    if kind == 7:
        return tuple(message.wholes(8))
    raise ReadError(f"attribute {quote_for_message(name)} is of a kind that is not read by the checker")


def _require_finite(number: float) -> float:
    if not math.isfinite(number):
        raise ReadError("a constant is NaN, infinite or overflows float32")
    return number


def round_constant(number: float) -> float:
    """The nearest float32 number."""
    try:
        return _require_finite(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise ReadError("a constant overflows float32") from None
