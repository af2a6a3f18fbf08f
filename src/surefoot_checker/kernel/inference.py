"""What a network computes, in the reference arithmetic: float32, sums from the first input to the last.

A float32 number is kept in a float. Products of two are exact in float64, and a sum or quotient rounded
to float64 and then to float32 is the correctly rounded one (53 >= 2 * 24 + 2), so that rounding each result
once more to float32 is IEEE float32 arithmetic. Only quotients below the normal range are refused. tanh and
sigmoid are the float32 numbers nearest to their true values, which are enclosed in integers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, isfinite, nextafter
from struct import pack, unpack
from typing import Any

from ..bounds.smooth_functions import Pair, enclose_logistic, enclose_tanh
from .network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    Node,
    PickNode,
)
from .strict_json import Refused

Values = Sequence[float]
_LARGEST = (2 - 2**-23) * 2.0**127
_WHOLE = 1 << 24  # whole numbers up to here are float32 numbers
_BITS = 256  # for tanh and sigmoid


def _floats_to_float32(values: list[float]) -> Values:
    """Each number rounded to the nearest float32."""
    return array("f", values)


def fraction_to_float32(value: Any) -> float:
    """The float32 nearest to an exact number, ties to even."""
    if type(value) is int and -_WHOLE <= value <= _WHOLE:
        return float(value)
    exact = Fraction(value)
    if abs(exact) > _LARGEST:
        raise Refused("an input of the network beyond the range of float32")
    guess = float(array("f", [float(exact)])[0])
    around = [
        c
        for c in (guess, _neighbour_float32(guess, inf), _neighbour_float32(guess, -inf))
        if abs(c) <= _LARGEST
    ]
    return min(around, key=lambda c: (abs(Fraction(c) - exact), _is_odd(c)))


def _neighbour_float32(value: float, towards: float) -> float:
    if value == 0:
        return 2.0**-149 if towards > 0 else -(2.0**-149)
    (bits,) = unpack("<i", pack("<f", value))
    away = (towards > value) is (value > 0)
    (found,) = unpack("<f", pack("<i", bits + (1 if away else -1)))
    return float(found) if isfinite(found) else nextafter(_LARGEST, inf)


def _is_odd(value: float) -> bool:
    (bits,) = unpack("<i", pack("<f", value))
    return bool(bits & 1)


def is_float32_number(value: Fraction) -> bool:
    """Is this a float32 number?"""
    return abs(value) <= _LARGEST and Fraction(fraction_to_float32(value)) == value


def reference_outputs(network: FlatNetwork, inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The outputs for exact inputs, each of which is rounded first; refused where a value is not finite."""
    return tuple(map(Fraction, network_function(network)([fraction_to_float32(x) for x in inputs])))


def network_function(network: FlatNetwork) -> Callable[[Values], Values]:
    """The function from inputs to outputs; refuses where a value is not finite."""
    steps = [_compile_node(node) for node in network.nodes]

    def evaluate_inputs(inputs: Values) -> Values:
        values = [inputs]
        for step in steps:
            values.append(step(values))
            if not all(map(isfinite, values[-1])):
                raise Refused("a value of the network that is not finite")
        return values[-1]

    return evaluate_inputs


def _compile_node(node: Node) -> Callable[[list[Values]], Values]:
    match node:
        case AffineNode(source, columns, weights, bias):
            by_input = [weights[i::columns] for i in range(columns)]
            return lambda values: _affine_outputs(values[source], by_input, bias)
        case ElementwiseNode(source, kind, constant):
            two = _TWO[kind]
            return lambda values: _floats_to_float32(
                [two(x, c) for x, c in zip(values[source], constant, strict=True)]
            )
        case ActivationNode(source, kind, parameters):
            one = _ONE[kind]
            return lambda values: _floats_to_float32([one(x, parameters) for x in values[source]])
        case CombineNode(left, right, kind):
            both = _TWO[kind]
            return lambda values: _floats_to_float32(
                [both(x, y) for x, y in zip(values[left], values[right], strict=True)]
            )
        case PickNode(source, indices):
            return lambda values: [values[source][i] for i in indices]
        case JoinNode(several):
            return lambda values: [x for s in several for x in values[s]]


def _affine_outputs(inputs: Values, by_input: list[tuple[float, ...]], bias: tuple[float, ...]) -> Values:
    total: Values = [0.0] * len(bias)
    for x, column in zip(inputs, by_input, strict=True):
        products = _floats_to_float32([w * x for w in column])
        total = _floats_to_float32([t + p for t, p in zip(total, products, strict=True)])
    return _floats_to_float32([t + b for t, b in zip(total, bias, strict=True)])


def _divide_float32(x: float, y: float) -> float:
    if y == 0:
        raise Refused("a division by zero in the network")
    found = x / y
    if 0 < abs(found) < 2.0**-126:
        raise Refused("a quotient below the normal range in the network")
    return found


_TWO: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "sum": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "product": lambda x, y: x * y,
    "maximum": max,
    "divide": _divide_float32,
    "quotient": _divide_float32,
}


def _round_enclosure(function: Callable[[int, int], Pair], x: float) -> float:
    """The float32 number nearest to every number of the enclosure; x is a whole number of 2^-149."""
    ends = function(int(Fraction(x) * (1 << _BITS)), _BITS)
    low, high = (fraction_to_float32(Fraction(end, 1 << _BITS)) for end in ends)
    if low != high:
        raise Refused("a value of tanh or sigmoid that lies too near to the middle of two float32 numbers")
    return low


_ONE: dict[str, Callable[[float, tuple[float, ...]], float]] = {
    "relu": lambda x, _: max(x, 0.0),
    "leaky_relu": lambda x, slope: x * slope[0] if x < 0 else x,
    "clip": lambda x, ends: min(max(x, ends[0]), ends[1]),
    "tanh": lambda x, _: _round_enclosure(enclose_tanh, x),
    "sigmoid": lambda x, _: _round_enclosure(enclose_logistic, x),
}
