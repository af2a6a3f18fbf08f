"""What a network computes: exactly, or in the reference arithmetic.

That is float32, with sums from the first input to the last. A float32 number is kept in a float. Products of
two are exact in float64, and a sum or quotient rounded to float64 and then to float32 is the correctly
rounded one (53 >= 2 * 24 + 2), so that rounding each result once more to float32 is IEEE float32 arithmetic.
Only quotients below the normal range are refused. tanh, exp and their like are the float32 numbers nearest to
their true values, which are enclosed in integers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm
from operator import add, mul
from typing import Any, NoReturn

from ..bounds.curved_functions import CURVES
from ..bounds.smooth_functions import enclose_logistic, enclose_tanh
from .float32 import fraction_to_float32
from .network import (
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
from .strict_json import Refused
from .trees import TreesNode, reached_leaf

Values = Sequence[float]
_BITS = 256  # for tanh, exp and their like


def _floats_to_float32(values: list[float]) -> Values:
    """Each number rounded to the nearest float32."""
    return array("f", values)


def reference_outputs(network: FlatNetwork, inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The outputs for exact inputs, each of which is rounded first; refused where a value is not finite."""
    return tuple(map(Fraction, network_function(network)([fraction_to_float32(x) for x in inputs])))


def network_function(network: FlatNetwork) -> Callable[[Values], Values]:
    """The function from inputs to outputs; refuses where a value is not finite."""
    steps = [compile_node(node, flat_node_sources(node), FLOAT32) for node in network.nodes]

    def evaluate_inputs(inputs: Values) -> Values:
        values = [inputs]
        for step in steps:
            values.append(step(values))
            if not all(map(isfinite, values[-1])):
                raise Refused("a value of the network that is not finite")
        return values[-1]

    return evaluate_inputs


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What numbers are, and how the operations on them differ."""

    number: Callable[[float], Any]  # a constant of the network
    rounded: Callable[[list[Any]], Any]  # the results of one operation on all entries
    affine: Callable[[AffineNode], Callable[[Any], Any]]
    divide: Callable[[Any, Any], Any]
    smooth: Callable[[str, Any, list[Any]], Any]  # tanh, sigmoid and the other curves


def compile_node(
    node: Node, sources: Sequence[int], arithmetic: Arithmetic
) -> Callable[[Sequence[Any]], Any]:
    """The function from all values before a node to its own."""
    first, rounded = sources[0] if sources else 0, arithmetic.rounded
    match node:
        case AffineNode():
            product = arithmetic.affine(node)
            return lambda values: product(values[first])
        case ElementwiseNode(_, kind, constant):
            two, numbers = _binary_function(kind, arithmetic), [arithmetic.number(c) for c in constant]
            return lambda values: rounded([two(x, c) for x, c in zip(values[first], numbers, strict=True)])
        case CombineNode(_, _, kind):
            both, other = _binary_function(kind, arithmetic), sources[1]
            return lambda values: rounded(
                [both(x, y) for x, y in zip(values[first], values[other], strict=True)]
            )
        case ActivationNode(_, kind, parameters):
            one = _activation_function(kind, [arithmetic.number(p) for p in parameters], arithmetic)
            return lambda values: rounded([one(x) for x in values[first]])
        case PickNode(_, indices):
            return lambda values: [values[first][i] for i in indices]
        case JoinNode():
            return lambda values: [x for s in sources for x in values[s]]
        case TreesNode():
            grown = _add_leaves(node, arithmetic)
            return lambda values: grown(values[first])


def _add_leaves(node: TreesNode, arithmetic: Arithmetic) -> Callable[[Any], Any]:
    """One tree after the other is added to the start."""
    thresholds = [arithmetic.number(t) for t in node.thresholds]
    start = [arithmetic.number(s) for s in node.start]

    def add_reached(inputs: Any) -> Any:
        total = arithmetic.rounded(start)
        for root in node.roots:
            leaf = node.leaf(reached_leaf(node, root, inputs, thresholds))
            total = arithmetic.rounded([t + arithmetic.number(w) for t, w in zip(total, leaf, strict=True)])
        return total

    return add_reached


def _binary_function(kind: str, arithmetic: Arithmetic) -> Callable[[Any, Any], Any]:
    match kind:
        case "add" | "sum":
            return add
        case "multiply" | "product":
            return mul
        case "maximum":
            return max
        case _:
            return arithmetic.divide


def _activation_function(kind: str, parameters: list[Any], arithmetic: Arithmetic) -> Callable[[Any], Any]:
    match kind, parameters:
        case "relu", _:
            zero = arithmetic.number(0.0)
            return lambda x: max(x, zero)
        case "leaky_relu", [slope]:
            return lambda x: x * slope if x < 0 else x
        case "clip", [low, high]:
            return lambda x: min(max(x, low), high)
        case "step", _:
            zero, one = arithmetic.number(0.0), arithmetic.number(1.0)
            return lambda x: one if x > 0 else zero
        case _:
            return lambda x: arithmetic.smooth(kind, x, parameters)


def _affine_float32(node: AffineNode) -> Callable[[Values], Values]:
    """Sums from the first input to the last starting with 0, then the bias."""
    by_input = [node.weights[i :: node.columns] for i in range(node.columns)]

    def multiply_inputs(inputs: Values) -> Values:
        total: Values = [0.0] * len(node.bias)
        for x, column in zip(inputs, by_input, strict=True):
            products = _floats_to_float32([w * x for w in column])
            total = _floats_to_float32([t + p for t, p in zip(total, products, strict=True)])
        return _floats_to_float32([t + b for t, b in zip(total, node.bias, strict=True)])

    return multiply_inputs


def _divide_float32(x: float, y: float) -> float:
    if y == 0:
        raise Refused("a division by zero in the network")
    found = x / y
    if 0 < abs(found) < 2.0**-126:
        raise Refused("a quotient below the normal range in the network")
    return found


def _smooth_float32(kind: str, x: float, parameters: list[float]) -> float:
    """The float32 number nearest to every number of the enclosure; x is a whole number of 2^-149."""
    ends = _enclose_curve(kind, int(Fraction(x) * (1 << _BITS)), [p.as_integer_ratio() for p in parameters])
    low, high = (fraction_to_float32(Fraction(end, 1 << _BITS)) for end in ends)
    if low != high:
        raise Refused(f"a value of {kind} that lies too near to the middle of two float32 numbers")
    return low


def _enclose_curve(kind: str, x: int, parameters: list[tuple[int, int]]) -> tuple[int, int]:
    match kind:
        case "tanh":
            return enclose_tanh(x, _BITS)
        case "sigmoid":
            return enclose_logistic(x, _BITS)
        case _:
            return CURVES[kind](x, x, _BITS, parameters)


def _affine_exactly(node: AffineNode) -> Callable[[list[Fraction]], list[Fraction]]:
    rows, bias, factor = integer_weights(node)

    def multiply_inputs(inputs: list[Fraction]) -> list[Fraction]:
        whole, scale = over_common_denominator(inputs)
        sums = [sum(map(mul, row, whole)) for row in rows]
        return [Fraction(s + b * scale, factor * scale) for s, b in zip(sums, bias, strict=True)]

    return multiply_inputs


def integer_weights(node: AffineNode) -> tuple[list[list[int]], list[int], int]:
    """The exact rows of weights and the bias times a power of two, and that power."""
    ratios = [w.as_integer_ratio() for w in node.weights + node.bias]
    factor = max((d for _, d in ratios), default=1)
    whole = [n * (factor // d) for n, d in ratios]
    width, split = node.columns, len(node.weights)
    return [whole[i * width : (i + 1) * width] for i in range(len(node.bias))], whole[split:], factor


def over_common_denominator(fractions: Sequence[Fraction]) -> tuple[list[int], int]:
    """Numerators, and the positive denominator of them all."""
    scale = lcm(*(x.denominator for x in fractions))
    return [x.numerator * (scale // x.denominator) for x in fractions], scale


def _divide_exactly(x: Fraction, y: Fraction) -> Fraction:
    if not y:
        raise Refused("a division by zero")
    return x / y


def _refuse_smooth(kind: str, x: Fraction, parameters: list[Fraction]) -> NoReturn:
    raise Refused(f"a network with {kind} has no exact values")


FLOAT32 = Arithmetic(float, _floats_to_float32, _affine_float32, _divide_float32, _smooth_float32)
EXACT = Arithmetic(Fraction, list, _affine_exactly, _divide_exactly, _refuse_smooth)
