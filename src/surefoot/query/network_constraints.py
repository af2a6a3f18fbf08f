"""A piecewise-linear network as constraints: one walk over its nodes, in the words of whoever writes them.

Everything is a sum with constant factors or a choice between two sums. Writers for solvers that know ReLUs
(`ReluWriter`) get leaky ReLU, clip and the larger of two values as sums of ReLUs; those that know `if` get
them as choices (`ChoiceWriter`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.problem.tree_ensemble import TreeEnsemble

V = TypeVar("V")
Place: TypeAlias = tuple[int, int]  # number of a value of the network, the input is 0, and of an entry in it
Factor: TypeAlias = float | Fraction


class NetworkWriter(ABC, Generic[V]):
    """Writes the entries of the values of a network; `V` is what an entry is."""

    @abstractmethod
    def affine(self, inputs: Sequence[tuple[float, V]], bias: float, place: Place) -> V:
        """A weighted sum, under a name of its own: sums put into sums would grow without limit."""

    @abstractmethod
    def combine(self, parts: Sequence[tuple[Factor, V]], constant: Factor, place: Place | None) -> V:
        """A weighted sum; its place if it is an entry of a value."""

    @abstractmethod
    def relu(self, x: V, source: Place | None) -> V: ...

    @abstractmethod
    def leaky_relu(self, x: V, slope: Fraction, place: Place, source: Place) -> V: ...

    @abstractmethod
    def clip(self, x: V, low: Fraction, high: Fraction, place: Place) -> V: ...

    @abstractmethod
    def maximum(self, x: V, y: V, place: Place) -> V: ...

    def define(self, x: V, place: Place) -> V:
        """Called for every entry; may give it a name."""
        return x


class ReluWriter(NetworkWriter[V]):
    def leaky_relu(self, x: V, slope: Fraction, place: Place, source: Place) -> V:
        positive = self.relu(x, source)
        return x if positive is x else self.combine(((slope, x), (1 - slope, positive)), 0, place)

    def clip(self, x: V, low: Fraction, high: Fraction, place: Place) -> V:
        if low > high:
            return self.combine((), high, place)
        above_low, above_high = (self.relu(self.combine(((1, x),), -end, None), None) for end in (low, high))
        return self.combine(((1, above_low), (-1, above_high)), low, place)

    def maximum(self, x: V, y: V, place: Place) -> V:
        excess = self.relu(self.combine(((1, y), (-1, x)), 0, None), None)
        return self.combine(((1, x), (1, excess)), 0, place)


class ChoiceWriter(NetworkWriter[V]):
    @abstractmethod
    def choose(self, x: V, relation: str, y: V, then: V, otherwise: V) -> V:
        """One value where `x relation y` holds, another elsewhere; the relation is `<` or `>=`."""

    def _number(self, value: Factor) -> V:
        return self.combine((), value, None)

    def relu(self, x: V, source: Place | None) -> V:
        return self.maximum(x, self._number(0), (0, 0))

    def leaky_relu(self, x: V, slope: Fraction, place: Place, source: Place) -> V:
        return self.choose(x, "<", self._number(0), self.combine(((slope, x),), 0, place), x)

    def clip(self, x: V, low: Fraction, high: Fraction, place: Place) -> V:
        above = self.choose(x, "<", self._number(low), self._number(low), x)
        return self.choose(self._number(high), "<", above, self._number(high), above)

    def maximum(self, x: V, y: V, place: Place) -> V:
        return self.choose(x, ">=", y, x, y)


def exact_weight(value: Factor) -> Fraction:
    """The number that a float is; an infinity or no number is refused."""
    try:
        return Fraction(value)
    except (ValueError, OverflowError):
        raise InvalidProblem("the network has a weight that is not a finite number") from None


def write_network(network: Network, inputs: Sequence[V], writer: NetworkWriter[V]) -> list[V]:
    """The outputs; `Unsupported` for what is not piecewise linear."""
    values = [list(inputs)]
    for number, node in enumerate(network.nodes, start=1):
        entries = _write_node(node, number, values, writer)
        values.append([writer.define(x, (number, i)) for i, x in enumerate(entries)])
    return values[-1]


def _write_node(node: Node, number: int, values: list[list[V]], writer: NetworkWriter[V]) -> list[V]:
    match node:
        case Affine(source, weights, bias):
            rows = enumerate(zip(weights.tolist(), bias.tolist(), strict=True))
            return [
                writer.affine([(w, x) for w, x in zip(row, values[source], strict=True) if w], b, (number, i))
                for i, (row, b) in rows
            ]
        case Elementwise(source, kind, constant):
            pairs = enumerate(zip(values[source], constant.tolist(), strict=True))
            return [writer.combine(*_constant_parts(x, kind, c), (number, i)) for i, (x, c) in pairs]
        case Activation(source, shape, parameters):
            ends = [exact_weight(p) for p in parameters]
            return [
                _write_activation(writer, x, shape, ends, (number, i), (source, i))
                for i, x in enumerate(values[source])
            ]
        case Combine(left, right, pairing):
            several = enumerate(zip(values[left], values[right], strict=True))
            return [_write_pair(writer, x, y, pairing, (number, i)) for i, (x, y) in several]
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(sources):
            return [x for source in sources for x in values[source]]
        case TreeEnsemble(source):
            return _write_trees(node, number, values[source], writer)


def _write_trees(node: TreeEnsemble, number: int, x: Sequence[V], writer: NetworkWriter[V]) -> list[V]:
    """Choices within choices, the later branches first."""
    if not isinstance(writer, ChoiceWriter):
        raise Unsupported("decision trees are choices between constants", fix="use the native solver or z3")
    found = []
    tests = list(zip(node.features.tolist(), node.thresholds.tolist(), strict=True))
    for output, start in enumerate(node.start.tolist()):
        leaves = [writer.combine((), value, None) for value in node.leaves[:, output].tolist()]
        branches: dict[int, V] = {-1 - i: leaf for i, leaf in enumerate(leaves)}
        for place in range(len(tests) - 1, -1, -1):
            lower, upper = (branches[int(a[place])] for a in (node.lower, node.upper))
            threshold = writer.combine((), tests[place][1], None)
            branches[place] = writer.choose(threshold, "<", x[tests[place][0]], upper, lower)
        parts = tuple((1, branches[int(root)]) for root in node.roots)
        found.append(writer.combine(parts, start, (number, output)))
    return found


def _constant_parts(x: V, kind: Constant, c: float) -> tuple[tuple[tuple[Factor, V]], Factor]:
    match kind:
        case Constant.ADD:
            return ((1, x),), c
        case Constant.MULTIPLY:
            return ((c, x),), 0
        case Constant.DIVIDE:
            return ((1 / exact_weight(c), x),), 0


def _write_activation(
    writer: NetworkWriter[V], x: V, shape: Shape, parameters: list[Fraction], place: Place, source: Place
) -> V:
    match shape:
        case Shape.RELU:
            return writer.relu(x, source)
        case Shape.LEAKY_RELU:
            return writer.leaky_relu(x, parameters[0], place, source)
        case Shape.CLIP:
            return writer.clip(x, parameters[0], parameters[1], place)
        case _:
            raise Unsupported(
                f"{shape.value} is not piecewise linear", fix="use a solver for smooth activations"
            )


def _write_pair(writer: NetworkWriter[V], x: V, y: V, pairing: Pairing, place: Place) -> V:
    match pairing:
        case Pairing.ADD:
            return writer.combine(((1, x), (1, y)), 0, place)
        case Pairing.MAXIMUM:
            return writer.maximum(x, y, place)
        case Pairing.MULTIPLY:
            raise Unsupported(
                "a product of two values is not piecewise linear", fix="use a solver for products"
            )
        case Pairing.DIVIDE:
            raise Unsupported(
                "a quotient of two values is not piecewise linear", fix="use a solver for quotients"
            )
