"""The checker's own picture of a network: nodes over flat vectors of exact numbers.

Value 0 is the input; node i (counting from 0) makes value i + 1 from values before it. Weights are Python
floats that hold a float32 number each: a float is data here, no arithmetic is ever done on one. All of the
checker computes with integers, after `float.as_integer_ratio`.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from struct import iter_unpack

from .float32 import is_float32_number
from .strict_json import BadCertificate, expect_integer, expect_list, expect_number, expect_text
from .trees import TreesNode, check_trees_node

_PARAMETERS = {"relu": 0, "tanh": 0, "sigmoid": 0, "leaky_relu": 1, "clip": 2}
_PARAMETERS |= {"step": 0, "exp": 0, "softplus": 0, "elu": 1, "erf": 0, "sqrt": 0, "sin": 0, "cos": 0}
ENTRIES = 1 << 22  # no value is wider
Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AffineNode:
    """weights . x + bias; the weights stand row by row, one row for each entry of the bias."""

    source: int
    columns: int
    weights: Numbers
    bias: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ElementwiseNode:
    """x + c, x * c or x / c, entry by entry."""

    source: int
    kind: str  # "add", "multiply" or "divide"
    constant: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ActivationNode:
    """A function applied to every entry."""

    source: int
    kind: str  # "relu", "tanh", "leaky_relu", "clip", …
    parameters: Numbers = ()  # slope below zero; low and high; factor of an ELU


@dataclass(frozen=True, slots=True, eq=False)
class CombineNode:
    """Entry by entry of two values."""

    left: int
    right: int
    kind: str  # "sum", "product", "maximum" or "quotient"


@dataclass(frozen=True, slots=True, eq=False)
class PickNode:
    source: int
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class JoinNode:
    sources: tuple[int, ...]


Node = AffineNode | ElementwiseNode | ActivationNode | CombineNode | PickNode | JoinNode | TreesNode


@dataclass(frozen=True, slots=True, eq=False)
class FlatNetwork:
    """`width` inputs; the result is the last value (the input itself if there is no node)."""

    width: int
    nodes: tuple[Node, ...]

    def widths(self) -> tuple[int, ...]:
        """The width of every value, input first; raises `BadCertificate` if the nodes do not fit together."""
        widths = [self.width]
        for place, node in enumerate(self.nodes):
            if any(not 0 <= s <= place for s in flat_node_sources(node)):
                raise BadCertificate(f"network node {place} reads a value that does not exist yet")
            widths.append(_node_width(node, widths, place))
        return tuple(widths)


def flat_node_sources(node: Node) -> tuple[int, ...]:
    """Which values a node reads."""
    match node:
        case CombineNode(left, right, _):
            return (left, right)
        case JoinNode(several):
            return several
        case _:
            return (node.source,)


def _node_width(node: Node, widths: Sequence[int], place: int) -> int:
    match node:
        case AffineNode(source, columns, weights, bias):
            fits, width = columns == widths[source] and len(weights) == columns * len(bias), len(bias)
            exact: Numbers = weights + bias
        case ElementwiseNode(source, kind, constant):
            fits, width, exact = len(constant) == widths[source], widths[source], constant
            if kind == "divide" and 0 in constant:
                raise BadCertificate(f"network node {place} divides by zero")
        case ActivationNode(source, kind, parameters):
            fits, width, exact = len(parameters) == _PARAMETERS[kind], widths[source], parameters
            if kind == "elu" and parameters[0] <= 0:
                raise BadCertificate(f"network node {place} has a factor that is not positive")
            if kind == "clip" and parameters[0] > parameters[-1]:
                raise BadCertificate(f"network node {place} clips to an empty range")
        case CombineNode(left, right, _):
            fits, width, exact = widths[left] == widths[right], widths[left], ()
        case PickNode(source, indices):
            fits, width, exact = all(0 <= i < widths[source] for i in indices), len(indices), ()
        case JoinNode(several):
            fits, width, exact = True, sum(widths[s] for s in several), ()
        case TreesNode(source):
            check_trees_node(node, widths[source], place)
            fits, width, exact = True, node.width, ()
    if not fits or width > ENTRIES:
        raise BadCertificate(f"network node {place} ({type(node).__name__}) does not fit what it reads")
    if not all(map(isfinite, exact)):
        raise BadCertificate(f"network node {place} ({type(node).__name__}) has a number that is not finite")
    return width


def read_network(data: object) -> FlatNetwork:
    """A network written out in a certificate: an object with `width` and `nodes`."""
    if not isinstance(data, dict) or data.keys() != {"width", "nodes"}:
        raise BadCertificate("a network is an object with `width` and `nodes`")
    width = expect_integer(data["width"], 0, ENTRIES, "width of a network")
    network = FlatNetwork(
        width, tuple(_read_node(n, place) for place, n in enumerate(expect_list(data["nodes"], "nodes")))
    )
    network.widths()
    return network


def _read_node(data: object, place: int) -> Node:
    what = f"network node {place}"
    parts = expect_list(data, what)
    kind, rest = (expect_text(parts[0], what) if parts else ""), parts[1:]

    def source(index: int) -> int:
        return expect_integer(rest[index], 0, place, f"source of {what}")

    match kind, len(rest):
        case "affine", 5:
            rows = expect_integer(rest[1], 0, ENTRIES, f"rows of {what}")
            columns = expect_integer(rest[2], 0, ENTRIES, f"columns of {what}")
            bias = _decode_floats(rest[4], what)
            if len(bias) != rows:
                raise BadCertificate(f"{what}: {rows} rows, but a bias of {len(bias)} numbers")
            return AffineNode(source(0), columns, _decode_floats(rest[3], what), bias)
        case (("add" | "multiply" | "divide"), 2):
            return ElementwiseNode(source(0), kind, _decode_floats(rest[1], what))
        case (("sum" | "product" | "maximum" | "quotient"), 2):
            return CombineNode(source(0), source(1), kind)
        case "pick", 2:
            indices = (expect_integer(i, 0, ENTRIES, f"index of {what}") for i in expect_list(rest[1], what))
            return PickNode(source(0), tuple(indices))
        case "join", 1:
            several = expect_list(rest[0], what)
            return JoinNode(tuple(expect_integer(s, 0, place, f"source of {what}") for s in several))
        case "trees", 8:
            return _read_trees(rest, source(0), what)
        case _, count if kind in _PARAMETERS and count == 1 + _PARAMETERS[kind]:
            return ActivationNode(source(0), kind, tuple(_as_float(p, what) for p in rest[1:]))
        case _:
            raise BadCertificate(f"{what}: no such node: `{kind[:40]}` with {len(rest)} arguments")


def _read_trees(rest: list[object], source: int, what: str) -> TreesNode:
    def integers(index: int) -> tuple[int, ...]:
        listed = expect_list(rest[index], what)
        return tuple(expect_integer(i, -ENTRIES, ENTRIES, f"reference of {what}") for i in listed)

    features, lower, upper, roots = (integers(index) for index in (1, 3, 4, 5))
    thresholds, leaves, start = (_decode_floats(rest[index], what) for index in (2, 6, 7))
    return TreesNode(source, features, thresholds, lower, upper, roots, leaves, start)


def _decode_floats(data: object, what: str) -> Numbers:
    """Base64 of little-endian float32 numbers."""
    try:
        raw = b64decode(expect_text(data, what, most=1 << 30), validate=True)
    except (Base64Error, ValueError) as error:
        raise BadCertificate(f"{what}: {error}") from None
    if len(raw) % 4:
        raise BadCertificate(f"{what}: not a whole number of float32 numbers")
    return tuple(v for (v,) in iter_unpack("<f", raw))


def _as_float(data: object, what: str) -> float:
    exact = expect_number(data, what)
    if not is_float32_number(exact):
        raise BadCertificate(f"{what}: a parameter that no float32 number is")
    return float(exact)
