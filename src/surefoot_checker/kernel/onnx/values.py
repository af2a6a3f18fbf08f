"""What flows through an ONNX graph while it is read, and the list of network nodes that grows meanwhile.

A tensor is a constant or a signal: a network value with a layout that says which of its entries stands
where. Nodes that nothing needs are dropped at the end.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar, cast

from ..float32 import LARGEST_FLOAT32
from ..network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    Node,
    PickNode,
    flat_node_sources,
)
from ..untrusted_file import ReadError, quote_for_message
from .model import MOST_ENTRIES, Attribute, Tensor
from .shapes import Rearrangement, Shape, broadcast_positions, common_shape


@dataclass(frozen=True, slots=True)
class FlatSignal:
    """A tensor that depends on the input: its entry number n is entry layout[n] of a network value."""

    source: int
    shape: Shape
    layout: Sequence[int]


Value: TypeAlias = Tensor | FlatSignal


AnyValue = TypeVar("AnyValue", bound=Tensor | FlatSignal)


def rearrange_value(value: AnyValue, to: Rearrangement) -> AnyValue:
    if isinstance(value, FlatSignal):
        moved: Value = FlatSignal(value.source, to.shape, [value.layout[p] for p in to.positions])
    else:
        moved = Tensor(to.shape, [value.numbers[p] for p in to.positions], value.kind)
    return cast("AnyValue", moved)


def broadcast_value(value: AnyValue, shape: Shape) -> AnyValue:
    if value.shape == shape:
        return value
    return rearrange_value(value, broadcast_positions(value.shape, shape))


@dataclass(slots=True)
class FlatNetworkBuilder:
    """The nodes so far, and the width of every value, input first."""

    widths: list[int]
    nodes: list[Node] = field(default_factory=list)
    reserved: int = 0

    def reserve(self, entries: int) -> None:
        """Count entries before they are allocated: small files can describe huge networks."""
        self.reserved += entries
        if self.reserved > MOST_ENTRIES:
            raise ReadError(f"the network would have more than {MOST_ENTRIES} entries")

    def emit(self, node: Node, shape: Shape) -> FlatSignal:
        width = math.prod(shape)
        self.reserve(width)
        self.nodes.append(node)
        self.widths.append(width)
        return FlatSignal(len(self.nodes), shape, range(width))

    def flat(self, signal: FlatSignal) -> int:
        """A value with the entries of the signal in order: its own value, or a pick from it."""
        width = self.widths[signal.source]
        if len(signal.layout) == width and all(p == n for n, p in enumerate(signal.layout)):
            return signal.source
        return self.emit(PickNode(signal.source, tuple(signal.layout)), (len(signal.layout),)).source

    def wide(self, signal: FlatSignal, shape: Shape) -> int:
        """The number of a value that holds the signal broadcast to a shape."""
        return self.flat(broadcast_value(signal, shape))

    def affine(self, source: int, weights: array[float], shape: Shape) -> FlatSignal:
        node = AffineNode(source, self.widths[source], tuple(weights), (0.0,) * math.prod(shape))
        return self.emit(node, shape)

    def matrix(self, rows: int, columns: int) -> array[float]:
        """Zeros for the weights of an affine node."""
        self.reserve(rows * columns)
        return array("f", bytes(4 * rows * columns))

    def constant(self, value: Tensor) -> FlatSignal:
        """A constant where a value is needed: zero times the first input, plus the constant."""
        numbers, count = require_floats(value), len(value.numbers)
        first = self.emit(PickNode(0, (0,)), (1,)).source
        return self.emit(AffineNode(first, 1, (0.0,) * count, numbers), value.shape)

    def elementwise(self, kind: str, signal: FlatSignal, constant: Tensor) -> FlatSignal:
        """With a constant; a sum right after an affine node without bias becomes one with it."""
        shape = common_shape(signal.shape, constant.shape)
        source = self.wide(signal, shape)
        vector = require_floats(broadcast_value(constant, shape))
        before = self.nodes[source - 1] if source else None
        if kind == "add" and isinstance(before, AffineNode) and not any(before.bias):
            return self.emit(replace(before, bias=vector), shape)
        return self.emit(ElementwiseNode(source, kind, vector), shape)

    def pair(self, kind: str, left: FlatSignal, right: FlatSignal) -> FlatSignal:
        shape = common_shape(left.shape, right.shape)
        first, second = self.wide(left, shape), self.wide(right, shape)
        return self.emit(CombineNode(first, second, kind), shape)

    def activation(self, kind: str, signal: FlatSignal, *parameters: float) -> FlatSignal:
        return self.emit(ActivationNode(self.flat(signal), kind, parameters), signal.shape)

    def between(self, signal: FlatSignal, low: float, high: float) -> FlatSignal:
        if low > high:
            raise ReadError("the lower bound of Clip is above the upper one")
        if low == 0 and high == LARGEST_FLOAT32:
            return self.activation("relu", signal)
        return self.activation("clip", signal, low, high)

    def join(self, parts: Sequence[Value], to: Rearrangement) -> FlatSignal:
        numbers = tuple(self.flat(p if isinstance(p, FlatSignal) else self.constant(p)) for p in parts)
        whole = self.emit(JoinNode(numbers), to.shape)
        return FlatSignal(whole.source, to.shape, to.positions)

    def network(self, output: int) -> FlatNetwork:
        """The nodes that a value needs, renumbered; it becomes the last one."""
        needed = {0, output}
        for number in range(output, 0, -1):
            if number in needed:
                needed.update(flat_node_sources(self.nodes[number - 1]))
        place = {old: new for new, old in enumerate(sorted(needed))}
        nodes = (_renumber_sources(self.nodes[n - 1], place) for n in sorted(needed) if n)
        return FlatNetwork(self.widths[0], tuple(nodes))


def _renumber_sources(node: Node, place: dict[int, int]) -> Node:
    match node:
        case CombineNode(left, right, _):
            return replace(node, left=place[left], right=place[right])
        case JoinNode(several):
            return JoinNode(tuple(place[s] for s in several))
        case _:
            return replace(node, source=place[node.source])


def require_floats(value: Tensor) -> tuple[float, ...]:
    if value.whole:
        raise ReadError("integers meet float32 numbers")
    return tuple(value.numbers)


@dataclass(frozen=True, slots=True)
class OnnxOperands:
    """What the node that is being translated is given."""

    op: str
    values: tuple[Value | None, ...]  # None: an optional input that is left out
    attributes: dict[str, Attribute]
    results: int  # how many outputs it has
    opset: int

    def optional(self, place: int) -> Value | None:
        return self.values[place] if place < len(self.values) else None

    def value(self, place: int) -> Value:
        if (found := self.optional(place)) is None:
            raise ReadError(f"input {place} is missing")
        return found

    def all(self) -> list[Value]:
        return [self.value(n) for n in range(max(1, len(self.values)))]

    def constant(self, place: int) -> Tensor:
        if isinstance(found := self.value(place), FlatSignal):
            raise ReadError(f"input {place} depends on the input of the network")
        return found

    def signal(self, place: int) -> FlatSignal:
        if isinstance(found := self.value(place), FlatSignal):
            return found
        raise ReadError("a constant here is not read by the checker")

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The integers of an attribute; that attributes are of their types was checked by the signature."""
        return cast("tuple[int, ...] | None", self.attributes.get(name))

    def wholes(self, place: int) -> tuple[int, ...] | None:
        """The integers of a constant input."""
        if self.optional(place) is None:
            return None
        constant = self.constant(place)
        if not constant.whole or len(constant.shape) != 1:
            raise ReadError(f"input {place} must be a list of integers")
        return tuple(int(n) for n in constant.numbers)

    def either(self, name: str, place: int) -> tuple[int, ...] | None:
        """Integers that are an attribute in older files, an input in newer ones; None if neither is there."""
        found, other = self.integers(name), self.wholes(place)
        if found is not None and other is not None:
            raise ReadError(f"attribute {quote_for_message(name)} and input {place} say the same thing")
        return found if found is not None else other

    def whole(self, name: str, default: int) -> int:
        return cast("int", self.attributes.get(name, default))

    def flag(self, name: str, default: bool) -> bool:
        if (found := self.whole(name, int(default))) in (0, 1):
            return bool(found)
        raise ReadError(f"attribute {quote_for_message(name)} must be 0 or 1")

    def number(self, name: str, default: float) -> float:
        return cast("float", self.attributes.get(name, default))
