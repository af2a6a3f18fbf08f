"""Interval bounds: for every value of a network a box that contains its exact value for all inputs of a box.

The network is taken as a function of real numbers with exactly its float32 weights; what float32 inference
adds is bounded in `rounding`. All leading axes of the bounds are batch axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from surefoot.network.outward import TINY, Array, Box, centre_radius, gamma, input_box, outward
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

Parameters: TypeAlias = tuple[float, ...]

_SMOOTH_ERROR = 2.0**-49  # relative; numpy's float64 tanh and exp stay below 4 ulp = 2^-50, and two roundings


def interval_bounds(
    network: Network, low: object, high: object, extra: Mapping[int, Box] | None = None
) -> tuple[Box, ...]:
    """A box per value, input first; `extra` gives known bounds of some values, to be intersected with.

    Where the extra bounds contradict the computed ones a box is `empty`: no input satisfies them, and the
    boxes after it mean nothing.
    """
    known = extra or {}
    boxes = [_narrowed(input_box(network.width, low, high), known.get(0))]
    for number, node in enumerate(network.nodes, start=1):
        boxes.append(_narrowed(node_interval(node, boxes), known.get(number)))
    return tuple(boxes)


def node_interval(node: Node, boxes: Sequence[Box]) -> Box:
    """The bounds of one node's value from the bounds of the values before it."""
    with np.errstate(all="ignore"):
        return RULES[type(node)](node, boxes)


def _narrowed(box: Box, known: Box | None) -> Box:
    return box if known is None else box.intersect(known)


def _affine(node: Affine, boxes: Sequence[Box]) -> Box:
    centre, radius = centre_radius(boxes[node.source])
    weights, bias = node.weights.astype(np.float64, copy=False), node.bias.astype(np.float64, copy=False)
    error = gamma(weights.shape[1] + 2)  # of each product with its sums, the bias included
    middle = centre @ weights.T + bias
    spread = (radius + error * (np.abs(centre) + radius)) @ np.abs(weights).T + error * np.abs(bias) + TINY
    low, high = middle - spread, middle + spread
    if np.isfinite(low).all() and np.isfinite(high).all():
        return Box(low, high)  # `error` has room for the rounding of these two as well
    # A middle that overflowed says nothing on either side; finite minus infinite is caught by `outward`.
    middle = np.where(np.isfinite(middle), middle, np.nan)
    return outward(middle - spread, middle + spread)


def _elementwise(node: Elementwise, boxes: Sequence[Box]) -> Box:
    box, constant = boxes[node.source], node.constant.astype(np.float64)
    return CONSTANT[node.kind](box, constant)


def _divide(box: Box, constant: Array) -> Box:
    first, second = box.low / constant, box.high / constant
    defined = constant != 0.0  # division by zero has no value: its bounds are given up
    low, high = np.minimum(first, second), np.maximum(first, second)
    return outward(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def _multiply(box: Box, constant: Array) -> Box:
    first, second = box.low * constant, box.high * constant
    return outward(np.minimum(first, second), np.maximum(first, second))


def _activation(node: Activation, boxes: Sequence[Box]) -> Box:
    return ACTIVATION[node.shape](boxes[node.source], node.parameters)


def _relu(box: Box, _: Parameters) -> Box:
    return Box(np.maximum(box.low, 0.0), np.maximum(box.high, 0.0))


def _leaky(box: Box, parameters: Parameters) -> Box:
    """The extremes are at the ends or, for a negative slope, at the kink."""
    first, second = (np.where(x < 0, x * parameters[0], x) for x in (box.low, box.high))
    low, high = np.minimum(first, second), np.maximum(first, second)
    inside = (box.low < 0) & (box.high > 0)
    return outward(np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high))


def _clip(box: Box, parameters: Parameters) -> Box:
    low, high = (np.minimum(np.maximum(x, parameters[0]), parameters[1]) for x in (box.low, box.high))
    return Box(low, high)


def _tanh(box: Box, _: Parameters) -> Box:
    return _monotone(np.tanh(box.low), np.tanh(box.high), -1.0)


def _sigmoid(box: Box, _: Parameters) -> Box:
    return _monotone(1.0 / (1.0 + np.exp(-box.low)), 1.0 / (1.0 + np.exp(-box.high)), 0.0)


def _monotone(low: Array, high: Array, least: float) -> Box:
    """Values of tanh or sigmoid, moved outward by their error; the functions stay within [least, 1]."""
    lower = np.maximum(low - _SMOOTH_ERROR * np.abs(low) - TINY, least)
    upper = np.minimum(high + _SMOOTH_ERROR * np.abs(high) + TINY, 1.0)
    return Box(np.where(np.isnan(lower), least, lower), np.where(np.isnan(upper), 1.0, upper))


def _combine(node: Combine, boxes: Sequence[Box]) -> Box:
    box = PAIRING[node.pairing](boxes[node.left], boxes[node.right])
    if node.pairing is Pairing.MULTIPLY and node.left == node.right:
        return Box(np.maximum(box.low, 0.0), box.high)  # a square
    return box


def _product(left: Box, right: Box) -> Box:
    corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
    return outward(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _quotient(left: Box, right: Box) -> Box:
    """At the corners, if the divisor keeps its sign; otherwise the bounds are given up."""
    corners = [x / y for x in (left.low, left.high) for y in (right.low, right.high)]
    defined = (right.low > 0) | (right.high < 0)
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return outward(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def _pick(node: Pick, boxes: Sequence[Box]) -> Box:
    box = boxes[node.source]
    return Box(box.low[..., node.indices], box.high[..., node.indices])


def _join(node: Join, boxes: Sequence[Box]) -> Box:
    parts = [boxes[source] for source in node.sources]
    return Box(np.concatenate([p.low for p in parts], -1), np.concatenate([p.high for p in parts], -1))


CONSTANT: dict[Constant, Callable[[Box, Array], Box]] = {
    Constant.ADD: lambda box, constant: outward(box.low + constant, box.high + constant),
    Constant.MULTIPLY: _multiply,
    Constant.DIVIDE: _divide,
}
ACTIVATION: dict[Shape, Callable[[Box, Parameters], Box]] = {
    Shape.RELU: _relu,
    Shape.LEAKY_RELU: _leaky,
    Shape.CLIP: _clip,
    Shape.TANH: _tanh,
    Shape.SIGMOID: _sigmoid,
}
PAIRING: dict[Pairing, Callable[[Box, Box], Box]] = {
    Pairing.ADD: lambda left, right: outward(left.low + right.low, left.high + right.high),
    Pairing.MULTIPLY: _product,
    Pairing.MAXIMUM: lambda left, right: Box(
        np.maximum(left.low, right.low), np.maximum(left.high, right.high)
    ),
    Pairing.DIVIDE: _quotient,
}
RULES: dict[type[Node], Callable[[Any, Sequence[Box]], Box]] = {
    Affine: _affine,
    Elementwise: _elementwise,
    Activation: _activation,
    Combine: _combine,
    Pick: _pick,
    Join: _join,
}
