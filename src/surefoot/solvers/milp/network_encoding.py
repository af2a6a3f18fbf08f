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
from surefoot.network.directed_rounding import BoxArray
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
from surefoot.query.query import NetworkCall
from surefoot.solvers.milp.program import MixedIntegerProgram, rounded_down, rounded_up
from surefoot.term.linear import LinearForm, linearise_term


@dataclass(frozen=True, slots=True)
class _AffineExpression:
    """Sum of coefficient times column, plus a constant; low and high bound its value."""

    low: float
    high: float
    constant: float = 0.0
    entries: dict[int, float] = field(default_factory=dict)


def encode_milp_call(program: MixedIntegerProgram, call: NetworkCall, bounds: Sequence[BoxArray]) -> None:
    """Rows that tie a call's output quantities to its inputs."""
    values = [
        [
            _encode_input(program, linearise_term(t), low, high)
            for t, low, high in zip(call.inputs, *_box_ends(bounds[0]), strict=True)
        ]
    ]
    for node, box in zip(call.network.nodes, bounds[1:], strict=True):
        values.append(_encode_node(program, node, values, box))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        entries = _add_entries(dict(value.entries), {program.names[name]: -1.0})
        room = rounded_up(extra)
        program.row(-room - value.constant, room - value.constant, entries)


def _box_ends(box: BoxArray) -> tuple[list[float], list[float]]:
    return box.low.tolist(), box.high.tolist()


def _encode_input(
    program: MixedIntegerProgram, linear: LinearForm, low: float, high: float
) -> _AffineExpression:
    """A column of its own unless the input is just a quantity: its row may need rounding."""
    if len(linear.coefficients) == 1 and linear.coefficients[0][1] == 1 and not linear.constant:
        return _AffineExpression(low, high, 0.0, {program.names[linear.coefficients[0][0]]: 1.0})
    column = program.column(low, high)
    slip = rounded_up(program.slip(linear))
    entries = {program.names[n]: float(c) for n, c in linear.coefficients} | {column: -1.0}
    program.row(rounded_down(-linear.constant) - slip, rounded_up(-linear.constant) + slip, entries)
    return _AffineExpression(low, high, 0.0, {column: 1.0})


def _encode_node(
    program: MixedIntegerProgram, node: Node, values: list[list[_AffineExpression]], box: BoxArray
) -> list[_AffineExpression]:
    low, high = _box_ends(box)
    match node:
        case Affine(source, weights, bias):
            rows = zip(weights.tolist(), bias.tolist(), low, high, strict=True)
            return [_encode_affine(program, values[source], *row) for row in rows]
        case Elementwise(source, kind, constant):
            parts = zip(values[source], constant.tolist(), low, high, strict=True)
            return [_apply_constant(x, kind, c, lowest, highest) for x, c, lowest, highest in parts]
        case Activation(source, shape, parameters):
            return [_encode_activation(program, x, shape, parameters) for x in values[source]]
        case Combine(left, right, pairing):
            pairs = zip(values[left], values[right], low, high, strict=True)
            return [
                _encode_pairing(program, x, y, pairing, lowest, highest) for x, y, lowest, highest in pairs
            ]
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(several):
            return [x for s in several for x in values[s]]


def _encode_affine(
    program: MixedIntegerProgram,
    inputs: list[_AffineExpression],
    weights: list[float],
    bias: float,
    low: float,
    high: float,
) -> _AffineExpression:
    entries: dict[int, float] = {}
    constant = bias
    for x, weight in zip(inputs, weights, strict=True):
        if weight:
            constant += weight * x.constant
            entries = _add_entries(entries, x.entries, weight)
    if not entries:
        return _AffineExpression(low, high, constant)
    column = program.column(low, high)
    entries[column] = -1.0
    program.row(-constant, -constant, entries)
    return _AffineExpression(low, high, 0.0, {column: 1.0})


def _add_entries(left: dict[int, float], right: dict[int, float], factor: float = 1.0) -> dict[int, float]:
    for column, coefficient in right.items():
        left[column] = left.get(column, 0.0) + factor * coefficient
    return left


def _apply_constant(
    x: _AffineExpression, kind: Constant, c: float, low: float, high: float
) -> _AffineExpression:
    match kind:
        case Constant.ADD:
            return _AffineExpression(low, high, x.constant + c, x.entries)
        case Constant.MULTIPLY:
            return _AffineExpression(low, high, x.constant * c, {k: v * c for k, v in x.entries.items()})
        case Constant.DIVIDE:
            return _AffineExpression(low, high, x.constant / c, {k: v / c for k, v in x.entries.items()})


def _encode_activation(
    program: MixedIntegerProgram, x: _AffineExpression, shape: Shape, parameters: tuple[float, ...]
) -> _AffineExpression:
    match shape:
        case Shape.RELU:
            return _encode_relu(program, x)
        case Shape.LEAKY_RELU:
            slope = parameters[0]
            ends = (x.low if x.low >= 0 else slope * x.low), (x.high if x.high >= 0 else slope * x.high)
            if x.low >= 0:
                return x
            positive = _encode_relu(program, x)
            return _add_expressions(
                _scale_expression(x, slope),
                _scale_expression(positive, 1.0 - slope),
                min(0.0, *ends),
                max(0.0, *ends),
            )
        case Shape.CLIP:
            low, high = parameters
            if low > high:
                return _AffineExpression(high, high, high)
            above_low = _encode_relu(program, _add_offset(x, -low))
            above_high = _encode_relu(program, _add_offset(x, -high))
            return _add_offset(
                _add_expressions(above_low, _scale_expression(above_high, -1.0), 0.0, high - low), low
            )
        case Shape.TANH | Shape.SIGMOID:
            raise Unsupported(
                f"{shape.value} is not piecewise linear", fix="use a solver for smooth activations"
            )


def _encode_relu(program: MixedIntegerProgram, x: _AffineExpression) -> _AffineExpression:
    if x.low >= 0:
        return x
    if x.high <= 0:
        return _AffineExpression(0.0, 0.0)
    column, phase = program.column(0.0, x.high), program.column(0.0, 1.0, whole=True)
    program.row(x.constant, inf, _add_entries({column: 1.0}, x.entries, -1.0))  # y >= x
    program.row(
        -inf, x.constant - x.low, _add_entries({column: 1.0, phase: -x.low}, x.entries, -1.0)
    )  # y <= x - low*(1-d)
    program.row(-inf, 0.0, {column: 1.0, phase: -x.high})  # y <= high*d
    return _AffineExpression(0.0, x.high, 0.0, {column: 1.0})


def _round_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds that were each rounded once."""
    return nextafter(low, -inf), nextafter(high, inf)


def _add_offset(x: _AffineExpression, by: float) -> _AffineExpression:
    return _AffineExpression(*_round_outward(x.low + by, x.high + by), x.constant + by, x.entries)


def _scale_expression(x: _AffineExpression, factor: float) -> _AffineExpression:
    ends = sorted((x.low * factor, x.high * factor))
    return _AffineExpression(
        *_round_outward(*ends), x.constant * factor, {k: v * factor for k, v in x.entries.items()}
    )


def _add_expressions(
    x: _AffineExpression, y: _AffineExpression, low: float, high: float
) -> _AffineExpression:
    return _AffineExpression(low, high, x.constant + y.constant, _add_entries(dict(x.entries), y.entries))


def _encode_pairing(
    program: MixedIntegerProgram,
    x: _AffineExpression,
    y: _AffineExpression,
    pairing: Pairing,
    low: float,
    high: float,
) -> _AffineExpression:
    match pairing:
        case Pairing.ADD:
            return _add_expressions(x, y, low, high)
        case Pairing.MAXIMUM:  # x + relu(y - x)
            excess = _add_expressions(
                y, _scale_expression(x, -1.0), *_round_outward(y.low - x.high, y.high - x.low)
            )
            return _add_expressions(x, _encode_relu(program, excess), low, high)
        case Pairing.MULTIPLY:
            raise Unsupported(
                "a product of two values is not piecewise linear", fix="use a solver for products"
            )
        case Pairing.DIVIDE:
            raise Unsupported(
                "a quotient of two values is not piecewise linear", fix="use a solver for quotients"
            )
