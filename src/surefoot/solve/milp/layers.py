"""Piecewise-linear networks as rows of a mixed-integer program.

A value is a list of float expressions over columns. An affine layer gets a column per output; a ReLU whose
sign is not settled by the bounds gets a column and a 0-1 column. Everything else is rewriting: leaky ReLU,
clip and the larger of two values are sums of ReLUs. Weights are float32, so rows are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter

from surefoot.errors import Unsupported
from surefoot.network.outward import Box
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.query.linear import Linear, linearise
from surefoot.query.query import NetworkCall
from surefoot.solve.milp.program import Program, rounded_down, rounded_up


@dataclass(frozen=True, slots=True)
class Expression:
    """Sum of coefficient times column, plus a constant; low and high bound its value."""

    low: float
    high: float
    constant: float = 0.0
    entries: dict[int, float] = field(default_factory=dict)


def encode_call(program: Program, call: NetworkCall, bounds: Sequence[Box]) -> None:
    """Rows that tie a call's output quantities to its inputs."""
    values = [
        [
            _input(program, linearise(t), low, high)
            for t, low, high in zip(call.inputs, *_ends(bounds[0]), strict=True)
        ]
    ]
    for node, box in zip(call.network.nodes, bounds[1:], strict=True):
        values.append(_node(program, node, values, box))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        entries = _plus(dict(value.entries), {program.names[name]: -1.0})
        room = rounded_up(extra)
        program.row(-room - value.constant, room - value.constant, entries)


def _ends(box: Box) -> tuple[list[float], list[float]]:
    return box.low.tolist(), box.high.tolist()


def _input(program: Program, linear: Linear, low: float, high: float) -> Expression:
    """A column of its own unless the input is just a quantity: its row may need rounding."""
    if len(linear.coefficients) == 1 and linear.coefficients[0][1] == 1 and not linear.constant:
        return Expression(low, high, 0.0, {program.names[linear.coefficients[0][0]]: 1.0})
    column = program.column(low, high)
    slip = rounded_up(program.slip(linear))
    entries = {program.names[n]: float(c) for n, c in linear.coefficients} | {column: -1.0}
    program.row(rounded_down(-linear.constant) - slip, rounded_up(-linear.constant) + slip, entries)
    return Expression(low, high, 0.0, {column: 1.0})


def _node(program: Program, node: Node, values: list[list[Expression]], box: Box) -> list[Expression]:
    low, high = _ends(box)
    match node:
        case Affine(source, weights, bias):
            rows = zip(weights.tolist(), bias.tolist(), low, high, strict=True)
            return [_weighted(program, values[source], *row) for row in rows]
        case Elementwise(source, kind, constant):
            parts = zip(values[source], constant.tolist(), low, high, strict=True)
            return [_shifted(x, kind, c, lowest, highest) for x, c, lowest, highest in parts]
        case Activation(source, shape, parameters):
            return [activation(program, x, shape, parameters) for x in values[source]]
        case Combine(left, right, pairing):
            pairs = zip(values[left], values[right], low, high, strict=True)
            return [_pair(program, x, y, pairing, lowest, highest) for x, y, lowest, highest in pairs]
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(several):
            return [x for s in several for x in values[s]]


def _weighted(
    program: Program, inputs: list[Expression], weights: list[float], bias: float, low: float, high: float
) -> Expression:
    entries: dict[int, float] = {}
    constant = bias
    for x, weight in zip(inputs, weights, strict=True):
        if weight:
            constant += weight * x.constant
            entries = _plus(entries, x.entries, weight)
    if not entries:
        return Expression(low, high, constant)
    column = program.column(low, high)
    entries[column] = -1.0
    program.row(-constant, -constant, entries)
    return Expression(low, high, 0.0, {column: 1.0})


def _plus(left: dict[int, float], right: dict[int, float], factor: float = 1.0) -> dict[int, float]:
    for column, coefficient in right.items():
        left[column] = left.get(column, 0.0) + factor * coefficient
    return left


def _shifted(x: Expression, kind: Constant, c: float, low: float, high: float) -> Expression:
    match kind:
        case Constant.ADD:
            return Expression(low, high, x.constant + c, x.entries)
        case Constant.MULTIPLY:
            return Expression(low, high, x.constant * c, {k: v * c for k, v in x.entries.items()})
        case Constant.DIVIDE:
            return Expression(low, high, x.constant / c, {k: v / c for k, v in x.entries.items()})


def activation(program: Program, x: Expression, shape: Shape, parameters: tuple[float, ...]) -> Expression:
    match shape:
        case Shape.RELU:
            return _relu(program, x)
        case Shape.LEAKY_RELU:
            slope = parameters[0]
            ends = (x.low if x.low >= 0 else slope * x.low), (x.high if x.high >= 0 else slope * x.high)
            if x.low >= 0:
                return x
            positive = _relu(program, x)
            return _sum(_scaled(x, slope), _scaled(positive, 1.0 - slope), min(0.0, *ends), max(0.0, *ends))
        case Shape.CLIP:
            low, high = parameters
            if low > high:
                return Expression(high, high, high)
            above_low = _relu(program, _offset(x, -low))
            above_high = _relu(program, _offset(x, -high))
            return _offset(_sum(above_low, _scaled(above_high, -1.0), 0.0, high - low), low)
        case Shape.TANH | Shape.SIGMOID:
            raise Unsupported(
                f"{shape.value} is not piecewise linear", fix="use a solver for smooth activations"
            )


def _relu(program: Program, x: Expression) -> Expression:
    if x.low >= 0:
        return x
    if x.high <= 0:
        return Expression(0.0, 0.0)
    column, phase = program.column(0.0, x.high), program.column(0.0, 1.0, whole=True)
    program.row(x.constant, inf, _plus({column: 1.0}, x.entries, -1.0))  # y >= x
    program.row(
        -inf, x.constant - x.low, _plus({column: 1.0, phase: -x.low}, x.entries, -1.0)
    )  # y <= x - low*(1-d)
    program.row(-inf, 0.0, {column: 1.0, phase: -x.high})  # y <= high*d
    return Expression(0.0, x.high, 0.0, {column: 1.0})


def _outward(low: float, high: float) -> tuple[float, float]:
    """Bounds that were each rounded once."""
    return nextafter(low, -inf), nextafter(high, inf)


def _offset(x: Expression, by: float) -> Expression:
    return Expression(*_outward(x.low + by, x.high + by), x.constant + by, x.entries)


def _scaled(x: Expression, factor: float) -> Expression:
    ends = sorted((x.low * factor, x.high * factor))
    return Expression(*_outward(*ends), x.constant * factor, {k: v * factor for k, v in x.entries.items()})


def _sum(x: Expression, y: Expression, low: float, high: float) -> Expression:
    return Expression(low, high, x.constant + y.constant, _plus(dict(x.entries), y.entries))


def _pair(
    program: Program, x: Expression, y: Expression, pairing: Pairing, low: float, high: float
) -> Expression:
    match pairing:
        case Pairing.ADD:
            return _sum(x, y, low, high)
        case Pairing.MAXIMUM:  # x + relu(y - x)
            excess = _sum(y, _scaled(x, -1.0), *_outward(y.low - x.high, y.high - x.low))
            return _sum(x, _relu(program, excess), low, high)
        case Pairing.MULTIPLY:
            raise Unsupported(
                "a product of two values is not piecewise linear", fix="use a solver for products"
            )
        case Pairing.DIVIDE:
            raise Unsupported(
                "a quotient of two values is not piecewise linear", fix="use a solver for quotients"
            )
