"""What flows through an ONNX graph while it is read, and the list of network nodes that grows meanwhile.

A tensor is either known (a constant) or a signal: a flat network value with a layout that says which of its
entries stands where. Slices, transpositions, reshapes and broadcasts then only rearrange the layout, and
become a `Pick` when an operation needs the entries in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypeAlias

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.protobuf import MOST_ENTRIES, Attribute, Tensor, malformed_model, quote_onnx_name
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Combine,
    Constant,
    Elementwise,
    IndexArray,
    IndexInput,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Remembered,
    Shape,
    freeze_float32,
    freeze_indices,
    node_sources,
)


@dataclass(frozen=True, slots=True, eq=False)
class KnownTensor:
    """A constant tensor: float32, integer or bool."""

    array: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


@dataclass(frozen=True, slots=True, eq=False)
class TensorSignal:
    """A tensor that depends on the input: entry [i, j] is entry layout[i, j] of a flat network value."""

    source: int
    layout: IndexArray
    kind: str = "float32"  # or "bool": 1 and 0; "int32", "int64": an index

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape


Value: TypeAlias = KnownTensor | TensorSignal


@dataclass(frozen=True, slots=True, eq=False)
class NodeArguments:
    """The inputs and attributes of the node being read, with typed access that raises readable errors."""

    op: str
    values: tuple[Value | None, ...]  # None: an optional input that is left out
    attributes: Mapping[str, Attribute]
    results: int  # how many outputs the node has
    opset: int  # of the file: some operators have changed

    def value(self, place: int) -> Value:
        if (found := self.optional(place)) is None:
            raise malformed_model(f"{self.op} needs at least {place + 1} inputs")
        return found

    def optional(self, place: int) -> Value | None:
        return self.values[place] if place < len(self.values) else None

    def all(self) -> list[Value]:
        return [self.value(i) for i in range(max(1, len(self.values)))]

    def constant_input(self, place: int, what: str) -> Tensor:
        """A constant input."""
        value = self.value(place)
        if isinstance(value, TensorSignal):
            raise Unsupported(f"{what} of {self.op} depends on the network's input", fix="make it a constant")
        return value.array

    def integer_list_input(self, place: int, what: str) -> tuple[int, ...] | None:
        """A constant input that lists integers, or None if it is left out."""
        if self.optional(place) is None:
            return None
        array = self.constant_input(place, what)
        if array.dtype.kind != "i" or array.ndim != 1:
            raise malformed_model(f"{what} of {self.op} must be a list of integers")
        return tuple(int(i) for i in array.ravel())

    def integer(self, name: str, default: int) -> int:
        found = self.attributes.get(name, default)
        return found if isinstance(found, int) else self._wrong(name, "an integer")

    def flag(self, name: str, default: bool) -> bool:
        found = self.integer(name, int(default))
        return bool(found) if found in (0, 1) else self._wrong(name, "0 or 1")

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attributes.get(name)
        if found is None:
            return None
        if isinstance(found, tuple) and all(isinstance(i, int) for i in found):
            return tuple(int(i) for i in found)
        return self._wrong(name, "a list of integers")

    def number(self, name: str, default: float) -> float:
        found = self.attributes.get(name, default)
        return found if isinstance(found, float) else self._wrong(name, "a float")

    def text(self, name: str, default: str) -> str:
        found = self.attributes.get(name, default)
        return found if isinstance(found, str) else self._wrong(name, "a string")

    def _wrong(self, name: str, expected: str) -> NoReturn:
        raise malformed_model(f"attribute {quote_onnx_name(name)} of {self.op} must be {expected}")


def normalise_axis(axis: int, rank: int) -> int:
    """The axis counted from the front; ONNX allows negative ones."""
    if not -rank <= axis < rank:
        raise malformed_model(f"axis {axis} does not exist in {rank} dimensions")
    return axis % rank


def broadcast_shape(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape, refused before anything of that size exists if it is too large."""
    shape = np.broadcast_shapes(*shapes)
    if math.prod(shape) > MOST_ENTRIES:
        raise network_size_error()
    return shape


def network_size_error() -> Unsupported:
    return Unsupported(
        f"the network would have more than {MOST_ENTRIES} entries", fix="use a smaller network"
    )


@dataclass(frozen=True, slots=True, eq=False)
class CarriedState:
    """What a recurrent layer starts from, what it ends with, and how large that can be."""

    first: Value
    last: TensorSignal
    kind: Remembered


@dataclass(slots=True)
class NetworkBuilder:
    """The network nodes emitted so far; `widths` has one entry more, for the input."""

    widths: list[int]
    nodes: list[Node] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reserved: int = 0
    indices: dict[int, int] = field(default_factory=dict)  # inputs that are whole numbers below these
    carried: list[CarriedState] = field(default_factory=list)  # of recurrent layers, in the order of nodes
    memory: tuple[Remembered, ...] = ()  # what the last inputs and outputs are

    def reserve(self, entries: int) -> None:
        """Count entries before they are allocated: small files can describe huge networks."""
        self.reserved += entries
        if self.reserved > MOST_ENTRIES:
            raise network_size_error()

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def emit(self, node: Node, width: int) -> int:
        for array in (getattr(node, name, None) for name in ("weights", "bias", "constant")):
            if array is not None and not np.isfinite(array).all():
                raise Unsupported("a constant overflows float32", fix="scale the weights down")
        self.nodes.append(node)
        self.widths.append(width)
        return len(self.nodes)

    def emit_any(self, node: Node) -> int:
        """A node that changes no width, or moves entries."""
        match node:
            case Pick(_, indices):
                return self.emit(node, int(indices.size))
            case Join(several):
                return self.emit(node, sum(self.widths[s] for s in several))
            case _:
                return self.emit(node, self.widths[node_sources(node)[0]])

    def read_index(self, place: int, count: int) -> None:
        """An input is read as a whole number from 0 to count - 1."""
        self.indices[place] = min(count, self.indices.get(place, count))

    def index_inputs(self) -> tuple[IndexInput, ...]:
        return tuple(IndexInput(place, count) for place, count in sorted(self.indices.items()))

    def flat(self, signal: TensorSignal) -> int:
        """The number of a network value that holds the signal's entries in order."""
        wanted = signal.layout.ravel()
        if np.array_equal(wanted, np.arange(self.widths[signal.source])):
            return signal.source
        return self.emit(Pick(signal.source, freeze_indices(wanted)), wanted.size)

    def constant(self, array: Array32) -> int:
        """A network value that is constant: zero times one of the inputs, plus the constant."""
        first = self.emit(Pick(0, freeze_indices([0])), 1)
        self.reserve(array.size)
        return self.emit(
            Affine(first, freeze_float32(np.zeros((array.size, 1))), freeze_float32(array.ravel())),
            array.size,
        )

    def network(self, output: int, name: str) -> Network:
        """The nodes that the output needs, renumbered."""
        needed = {output}
        for number in range(output, 0, -1):
            if number in needed:
                needed.update(node_sources(self.nodes[number - 1]))
        kept = sorted(needed | {0})
        place = {old: new for new, old in enumerate(kept)}
        nodes = tuple(_renumber_node(self.nodes[n - 1], place) for n in kept if n)
        return Network(
            self.widths[0],
            nodes,
            name,
            tuple(self.notes),
            indices=self.index_inputs(),
            memory=self.memory,
        )


def _renumber_node(node: Node, place: Mapping[int, int]) -> Node:
    match node:
        case Combine(left, right, _):
            return replace(node, left=place[left], right=place[right])
        case Join(several):
            return replace(node, sources=tuple(place[s] for s in several))
        case _:
            return replace(node, source=place[node.source])


def row_major_signal(source: int, shape: tuple[int, ...]) -> TensorSignal:
    """The signal whose entries are those of a network value, row by row."""
    return TensorSignal(source, np.arange(math.prod(shape), dtype=np.int64).reshape(shape))


def emit_elementwise(
    builder: NetworkBuilder, signal: TensorSignal, kind: Constant, constant: Tensor
) -> TensorSignal:
    """x + c, x * c or x / c after broadcasting; a bias right after a matrix product becomes its bias."""
    if constant.dtype != np.float32:
        raise Unsupported(f"a {constant.dtype} constant meets a float32 value", fix="cast it to float32")
    shape = broadcast_shape([signal.shape, constant.shape])
    source = builder.flat(TensorSignal(signal.source, np.broadcast_to(signal.layout, shape)))
    vector = freeze_float32(np.broadcast_to(constant, shape).ravel())
    before = builder.nodes[source - 1] if source else None
    # A sum with zero bias, then + c: the same two roundings as a sum with bias c.
    if kind is Constant.ADD and isinstance(before, Affine) and not before.bias.any():
        return row_major_signal(
            builder.emit(Affine(before.source, before.weights, vector), vector.size), shape
        )
    return row_major_signal(builder.emit(Elementwise(source, kind, vector), vector.size), shape)


def negate_signal(builder: NetworkBuilder, signal: TensorSignal) -> TensorSignal:
    return emit_elementwise(builder, signal, Constant.MULTIPLY, np.array(-1, np.float32))


def combine_signals(
    builder: NetworkBuilder, left: TensorSignal, right: TensorSignal, pairing: Pairing
) -> TensorSignal:
    """Entry by entry, after broadcasting."""
    shape = broadcast_shape([left.shape, right.shape])
    numbers = [builder.flat(TensorSignal(s.source, np.broadcast_to(s.layout, shape))) for s in (left, right)]
    node = Combine(numbers[0], numbers[1], pairing)
    return row_major_signal(builder.emit(node, builder.widths[numbers[0]]), shape)


def emit_activation(
    builder: NetworkBuilder, signal: TensorSignal, shape: Shape, *parameters: float
) -> TensorSignal:
    """A function of every entry."""
    number = builder.flat(signal)
    node = Activation(number, shape, tuple(float(np.float32(p)) for p in parameters))
    return row_major_signal(builder.emit(node, builder.widths[number]), signal.shape)


def divide_signal(builder: NetworkBuilder, x: TensorSignal, divisor: float) -> TensorSignal:
    """Every entry divided by one number."""
    return emit_elementwise(builder, x, Constant.DIVIDE, np.array(divisor, np.float32))


def signal_of_constant(builder: NetworkBuilder, value: Value) -> TensorSignal:
    """A value of the network, where a constant meets one."""
    if isinstance(value, TensorSignal):
        return value
    if value.array.dtype != np.float32:
        raise Unsupported(f"a {value.array.dtype} constant meets a float32 value", fix="cast it to float32")
    return row_major_signal(builder.constant(value.array), value.shape)


def value_kind(value: Value) -> str:
    """float32, int64, bool, …"""
    return str(value.array.dtype) if isinstance(value, KnownTensor) else value.kind
