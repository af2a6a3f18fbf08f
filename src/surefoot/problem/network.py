"""Feed-forward networks: a list of nodes over flat vectors, float32 as deployed, arrays read-only.

Value 0 is the input; node i (counting from 0) produces value i+1 from values before it. Shapes, batches and
branches that do not matter are resolved by the readers in `formats/`: here every value is one flat vector.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.problem.tree_ensemble import TreeEnsemble, check_trees
from surefoot.term.arguments import check_fields, take_instance, take_text, take_tuple, whole_number

Array32: TypeAlias = NDArray[np.float32]
IndexArray: TypeAlias = NDArray[np.int64]


def freeze_float32(values: object) -> Array32:
    """A read-only, contiguous float32 copy."""
    array = np.array(values, dtype=np.float32, order="C")
    array.setflags(write=False)
    return array


def freeze_indices(values: object) -> IndexArray:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """weights @ x + bias; weights has one row per output."""

    source: int
    weights: Array32
    bias: Array32


class Constant(Enum):
    ADD = "add"
    MULTIPLY = "multiply"
    DIVIDE = "divide"


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """x + c, x * c or x / c with a constant vector of the same width."""

    source: int
    kind: Constant
    constant: Array32


class Shape(Enum):
    RELU = "relu"
    LEAKY_RELU = "leaky_relu"  # parameter: slope below zero
    CLIP = "clip"  # parameters: low, high
    TANH = "tanh"
    SIGMOID = "sigmoid"
    STEP = "step"  # 1 above zero, else 0
    EXP = "exp"
    SOFTPLUS = "softplus"  # log(1 + exp x)
    ELU = "elu"  # parameter: a > 0; a (exp x - 1) below zero
    ERF = "erf"  # the error function
    SQRT = "sqrt"  # no value below zero
    SIN = "sin"
    COS = "cos"


PIECEWISE_LINEAR = frozenset({Shape.RELU, Shape.LEAKY_RELU, Shape.CLIP})
CURVED = frozenset(Shape) - PIECEWISE_LINEAR  # also the step: no line through its jump


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """A function applied to every entry."""

    source: int
    shape: Shape
    parameters: tuple[float, ...] = ()  # exactly representable in float32


class Pairing(Enum):
    ADD = "add"
    MULTIPLY = "multiply"
    MAXIMUM = "maximum"
    DIVIDE = "divide"


@dataclass(frozen=True, slots=True, eq=False)
class Combine:
    """Entry by entry: left + right, left * right, the larger one, or left / right."""

    left: int
    right: int
    pairing: Pairing


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """The entries of x at these positions: slices, permutations, repetitions."""

    source: int
    indices: IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Several values one after the other."""

    sources: tuple[int, ...]


Node: TypeAlias = Affine | Elementwise | Activation | Combine | Pick | Join | TreeEnsemble


@dataclass(frozen=True, slots=True)
class IndexInput:
    """Input `place` is a whole number from 0 to `count` - 1, as the file reads it."""

    place: int
    count: int


class Remembered(Enum):
    """How large a value of the memory of a recurrent network can be, in float32 as in real numbers."""

    UNIT = "unit"  # from -1 to 1: a tanh, a product of one with a sigmoid, a mean of one with what was before
    SUM = "sum"  # at most one more than before: the cell of an LSTM
    ANY = "any"


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """`width` inputs; the result is the value of the last node (the input itself if there are none).

    With a `memory` of n values the last n inputs are what the last n outputs were at the decision before, and
    0 at the first: `problem/policy_memory.py` makes variables of them before anything runs.

    A reader may leave out a last softmax or argmax: then `head` says so, and the outputs are the scores
    before it. They serve to choose an action, but they are not what the file computes.
    """

    width: int
    nodes: tuple[Node, ...]
    name: str = "network"
    notes: tuple[str, ...] = ()  # what the reader did: "softmax before argmax dropped"
    head: str = ""  # "softmax" (also of logarithms) or "argmax"; not part of the digest, as no node is it
    scores: str = ""  # with a head: what the file calls the outputs, if it has a name for them
    indices: tuple[IndexInput, ...] = ()  # where whole numbers are read; on others it is another function
    memory: tuple[Remembered, ...] = ()  # of a recurrent network
    _widths: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        nodes = take_tuple(
            take_instance(Affine, Elementwise, Activation, Combine, Pick, Join, TreeEnsemble), "nodes"
        )
        check_fields(
            self, width=whole_number, nodes=nodes, name=take_text, notes=take_tuple(take_text, "notes")
        )
        if any(not 0 <= index.place < self.width for index in self.indices):
            raise InvalidProblem("the network has an index that is none of its inputs")
        if any(index.place >= self.width - len(self.memory) for index in self.indices):
            raise InvalidProblem("the network has an index in its memory")
        object.__setattr__(self, "_widths", self._derive_widths())
        if self.memory and not (len(self.memory) < self.width and len(self.memory) < self.outputs):
            raise InvalidProblem("the network is nothing but memory")

    def widths(self) -> tuple[int, ...]:
        """The width of every value, input first."""
        return self._widths

    def _derive_widths(self) -> tuple[int, ...]:
        """The widths; raises if the nodes do not fit together."""
        widths = [self.width]
        for number, node in enumerate(self.nodes):
            if any(not 0 <= s <= number for s in node_sources(node)):
                raise InvalidProblem(f"network node {number} reads a value that does not exist yet")
            widths.append(_node_width(node, widths, number))
        return tuple(widths)

    @property
    def outputs(self) -> int:
        return self.widths()[-1]

    @property
    def observed(self) -> int:
        """How many inputs are observed: those before the memory."""
        return self.width - len(self.memory)

    @property
    def decided(self) -> int:
        """How many outputs decide: those before the memory."""
        return self.outputs - len(self.memory)

    def is_piecewise_linear(self) -> bool:
        return not any(
            (isinstance(n, Activation) and n.shape in CURVED)
            or (isinstance(n, Combine) and n.pairing in (Pairing.MULTIPLY, Pairing.DIVIDE))
            for n in self.nodes
        )

    def has_trees(self) -> bool:
        """Whether it jumps: a decision tree is constant between its thresholds."""
        return any(isinstance(n, TreeEnsemble) for n in self.nodes)

    def divisors(self) -> frozenset[int]:
        """The values by which another one is divided: where one of them is zero the network has no value."""
        return frozenset(
            n.right for n in self.nodes if isinstance(n, Combine) and n.pairing is Pairing.DIVIDE
        )

    def digest(self) -> str:
        """SHA-256 of the structure and every weight: equal digests mean the same function, bit for bit."""
        h = hashlib.sha256(str(self.width).encode())
        for node in self.nodes:
            h.update(type(node).__name__.encode())
            for f in fields(node):
                value = getattr(node, f.name)
                h.update(
                    value.tobytes() + str(value.shape).encode()
                    if isinstance(value, np.ndarray)
                    else repr(value).encode()
                )
        if self.memory:
            h.update(" ".join(kind.value for kind in self.memory).encode())
        return h.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Network({self.name}, {self.width} inputs, {len(self.nodes)} nodes, sha256 {self.digest()[:12]})"
        )


def shift_node_sources(node: Node, by: int) -> Node:
    """The node when all values that it reads have moved on by so many places."""
    match node:
        case Combine(left, right, _):
            return replace(node, left=left + by, right=right + by)
        case Join(several):
            return replace(node, sources=tuple(s + by for s in several))
        case _:
            return replace(node, source=node.source + by)


def node_sources(node: Node) -> tuple[int, ...]:
    """Which values a node reads."""
    match node:
        case Combine(left, right, _):
            return (left, right)
        case Join(several):
            return several
        case _:
            return (node.source,)


def _node_width(node: Node, widths: list[int], number: int) -> int:
    def require(fits: bool) -> None:
        if not fits:
            raise InvalidProblem(
                f"network node {number} ({type(node).__name__}) does not fit the width of its input"
            )

    match node:
        case Affine(source, weights, bias):
            require(
                weights.ndim == 2 and weights.shape[1] == widths[source] and bias.shape == (weights.shape[0],)
            )
            return int(weights.shape[0])
        case Elementwise(source, _, constant):
            require(constant.shape == (widths[source],))
            return widths[source]
        case Activation(source, _, _):
            return widths[source]
        case Combine(left, right, _):
            require(widths[left] == widths[right])
            return widths[left]
        case Pick(source, indices):
            require(
                indices.ndim == 1
                and (indices.size == 0 or (indices.min() >= 0 and indices.max() < widths[source]))
            )
            return int(indices.size)
        case Join(several):
            return sum(widths[s] for s in several)
        case TreeEnsemble(source):
            check_trees(node, widths[source], number)
            return int(node.leaves.shape[1])


def dense_network(
    layers: list[tuple[object, object]], hidden: Shape = Shape.RELU, name: str = "network"
) -> Network:
    """A plain multi-layer network from (weights, bias) pairs, `hidden` between the layers."""
    nodes: list[Node] = []
    for i, (weights, bias) in enumerate(layers):
        if i:
            nodes.append(Activation(len(nodes), hidden))
        nodes.append(Affine(len(nodes), freeze_float32(weights), freeze_float32(bias)))
    first = nodes[0]
    assert isinstance(first, Affine)
    return Network(int(first.weights.shape[1]), tuple(nodes), name)
