"""Interval bounds: for every value of a network a box that contains its exact value for all inputs of a box.

The network is taken as a function of real numbers with exactly its float32 weights; what float32 inference
adds is bounded in `float32_error`. All leading axes of the bounds are batch axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import (
    TINY,
    Array,
    BoxArray,
    centre_radius,
    check_input_box,
    gamma_factor,
    round_box_outward,
)
from surefoot.network.tree_bounds import tree_interval
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

Parameters: TypeAlias = tuple[float, ...]

_MOST_TURNS = 2.0**20
_SMOOTH_ERROR = 2.0**-49  # relative; numpy's float64 tanh and exp stay below 4 ulp = 2^-50, and two roundings


def interval_bounds(
    network: Network, low: object, high: object, extra: Mapping[int, BoxArray] | None = None
) -> tuple[BoxArray, ...]:
    """A box per value, input first; `extra` gives known bounds of some values, to be intersected with.

    Where the extra bounds contradict the computed ones a box is `empty`: no input satisfies them, and the
    boxes after it mean nothing.
    """
    known = extra or {}
    boxes = [_intersect_known(check_input_box(network.width, low, high), known.get(0))]
    for number, node in enumerate(network.nodes, start=1):
        boxes.append(_intersect_known(node_interval(node, boxes), known.get(number)))
    return tuple(boxes)


def node_interval(node: Node, boxes: Sequence[BoxArray]) -> BoxArray:
    """The bounds of one node's value from the bounds of the values before it."""
    with np.errstate(all="ignore"):
        return RULES[type(node)](node, boxes)


def _intersect_known(box: BoxArray, known: BoxArray | None) -> BoxArray:
    return box if known is None else box.intersect(known)


def _affine_interval(node: Affine, boxes: Sequence[BoxArray]) -> BoxArray:
    centre, radius = centre_radius(boxes[node.source])
    weights, bias = node.weights.astype(np.float64, copy=False), node.bias.astype(np.float64, copy=False)
    error = gamma_factor(weights.shape[1] + 2)  # of each product with its sums, the bias included
    middle = centre @ weights.T + bias
    spread = (radius + error * (np.abs(centre) + radius)) @ np.abs(weights).T + error * np.abs(bias) + TINY
    low, high = middle - spread, middle + spread
    if np.isfinite(low).all() and np.isfinite(high).all():
        return BoxArray(low, high)  # `error` has room for the rounding of these two as well
    # A middle that overflowed says nothing on either side; finite minus infinite is caught by `outward`.
    middle = np.where(np.isfinite(middle), middle, np.nan)
    return round_box_outward(middle - spread, middle + spread)


def _constant_interval(node: Elementwise, boxes: Sequence[BoxArray]) -> BoxArray:
    box, constant = boxes[node.source], node.constant.astype(np.float64)
    return CONSTANT[node.kind](box, constant)


def _divide_by_constant(box: BoxArray, constant: Array) -> BoxArray:
    first, second = box.low / constant, box.high / constant
    defined = constant != 0.0  # division by zero has no value: its bounds are given up
    low, high = np.minimum(first, second), np.maximum(first, second)
    return round_box_outward(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def _multiply_by_constant(box: BoxArray, constant: Array) -> BoxArray:
    first, second = box.low * constant, box.high * constant
    return round_box_outward(np.minimum(first, second), np.maximum(first, second))


def _activation_interval(node: Activation, boxes: Sequence[BoxArray]) -> BoxArray:
    return ACTIVATION[node.shape](boxes[node.source], node.parameters)


def _relu_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return BoxArray(np.maximum(box.low, 0.0), np.maximum(box.high, 0.0))


def _leaky_relu_interval(box: BoxArray, parameters: Parameters) -> BoxArray:
    """The extremes are at the ends or, for a negative slope, at the kink."""
    first, second = (np.where(x < 0, x * parameters[0], x) for x in (box.low, box.high))
    low, high = np.minimum(first, second), np.maximum(first, second)
    inside = (box.low < 0) & (box.high > 0)
    return round_box_outward(
        np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)
    )


def _clip_interval(box: BoxArray, parameters: Parameters) -> BoxArray:
    low, high = (np.minimum(np.maximum(x, parameters[0]), parameters[1]) for x in (box.low, box.high))
    return BoxArray(low, high)


def _tanh_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return _widen_smooth_interval(np.tanh(box.low), np.tanh(box.high), -1.0)


def _sigmoid_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return _widen_smooth_interval(1.0 / (1.0 + np.exp(-box.low)), 1.0 / (1.0 + np.exp(-box.high)), 0.0)


def _step_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return BoxArray((box.low > 0).astype(np.float64), (box.high > 0).astype(np.float64))


def _exp_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return _widen_smooth_interval(np.exp(box.low), np.exp(box.high), 0.0, np.inf)


def _softplus_interval(box: BoxArray, _: Parameters) -> BoxArray:
    low, high = np.logaddexp(0.0, box.low), np.logaddexp(0.0, box.high)
    return _widen_smooth_interval(low, high, 0.0, np.inf)


def _elu_interval(box: BoxArray, parameters: Parameters) -> BoxArray:
    low, high = (
        np.where(x > 0, x, parameters[0] * np.expm1(np.minimum(x, 0.0))) for x in (box.low, box.high)
    )
    return _widen_smooth_interval(low, high, -parameters[0], np.inf)


def _erf_interval(box: BoxArray, _: Parameters) -> BoxArray:
    from scipy.special import erf

    return _widen_smooth_interval(erf(box.low), erf(box.high), -1.0)


def _sqrt_interval(box: BoxArray, _: Parameters) -> BoxArray:
    """Given up where the argument may be below zero: there it has no value."""
    found = round_box_outward(np.sqrt(box.low), np.sqrt(box.high))
    defined = box.low >= 0
    return BoxArray(
        np.where(defined, np.maximum(found.low, 0.0), -np.inf), np.where(defined, found.high, np.inf)
    )


def _sin_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return _wave_interval(box, np.sin(box.low), np.sin(box.high), 0.25)


def _cos_interval(box: BoxArray, _: Parameters) -> BoxArray:
    return _wave_interval(box, np.cos(box.low), np.cos(box.high), 0.0)


def _wave_interval(box: BoxArray, first: Array, last: Array, peak: float) -> BoxArray:
    """The ends, and 1 or -1 where the interval may reach a peak (at `peak` + k turns) or a trough.

    Turns are off by a few units in the last place; the interval is taken to be wider by much more than that.
    """
    room = 2.0**-45 * (1.0 + np.maximum(np.abs(box.low), np.abs(box.high)))
    start, end = (box.low - room) / (2.0 * np.pi), (box.high + room) / (2.0 * np.pi)
    usable = (np.abs(start) < _MOST_TURNS) & (np.abs(end) < _MOST_TURNS)

    def reaches(place: float) -> NDArray[np.bool_]:
        return ~usable | (np.floor(end - place) >= np.ceil(start - place))

    around = _widen_smooth_interval(np.minimum(first, last), np.maximum(first, last), -1.0)
    return BoxArray(
        np.where(reaches(peak + 0.5), -1.0, around.low), np.where(reaches(peak), 1.0, around.high)
    )


def _widen_smooth_interval(low: Array, high: Array, least: float, most: float = 1.0) -> BoxArray:
    """Values of a curved function, moved outward by their error; it stays within [least, most]."""
    lower = np.maximum(low - _SMOOTH_ERROR * np.abs(low) - TINY, least)
    upper = np.minimum(high + _SMOOTH_ERROR * np.abs(high) + TINY, most)
    return BoxArray(np.where(np.isnan(lower), least, lower), np.where(np.isnan(upper), most, upper))


def _pairing_interval(node: Combine, boxes: Sequence[BoxArray]) -> BoxArray:
    box = PAIRING[node.pairing](boxes[node.left], boxes[node.right])
    if node.pairing is Pairing.MULTIPLY and node.left == node.right:
        return BoxArray(np.maximum(box.low, 0.0), box.high)  # a square
    return box


def _product_interval(left: BoxArray, right: BoxArray) -> BoxArray:
    corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
    return round_box_outward(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _quotient_interval(left: BoxArray, right: BoxArray) -> BoxArray:
    """At the corners, if the divisor keeps its sign; otherwise the bounds are given up."""
    corners = [x / y for x in (left.low, left.high) for y in (right.low, right.high)]
    defined = (right.low > 0) | (right.high < 0)
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return round_box_outward(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def _pick_interval(node: Pick, boxes: Sequence[BoxArray]) -> BoxArray:
    box = boxes[node.source]
    return BoxArray(box.low[..., node.indices], box.high[..., node.indices])


def _join_interval(node: Join, boxes: Sequence[BoxArray]) -> BoxArray:
    parts = [boxes[source] for source in node.sources]
    return BoxArray(np.concatenate([p.low for p in parts], -1), np.concatenate([p.high for p in parts], -1))


CONSTANT: dict[Constant, Callable[[BoxArray, Array], BoxArray]] = {
    Constant.ADD: lambda box, constant: round_box_outward(box.low + constant, box.high + constant),
    Constant.MULTIPLY: _multiply_by_constant,
    Constant.DIVIDE: _divide_by_constant,
}
ACTIVATION: dict[Shape, Callable[[BoxArray, Parameters], BoxArray]] = {
    Shape.RELU: _relu_interval,
    Shape.LEAKY_RELU: _leaky_relu_interval,
    Shape.CLIP: _clip_interval,
    Shape.TANH: _tanh_interval,
    Shape.SIGMOID: _sigmoid_interval,
    Shape.STEP: _step_interval,
    Shape.EXP: _exp_interval,
    Shape.SOFTPLUS: _softplus_interval,
    Shape.ELU: _elu_interval,
    Shape.ERF: _erf_interval,
    Shape.SQRT: _sqrt_interval,
    Shape.SIN: _sin_interval,
    Shape.COS: _cos_interval,
}
PAIRING: dict[Pairing, Callable[[BoxArray, BoxArray], BoxArray]] = {
    Pairing.ADD: lambda left, right: round_box_outward(left.low + right.low, left.high + right.high),
    Pairing.MULTIPLY: _product_interval,
    Pairing.MAXIMUM: lambda left, right: BoxArray(
        np.maximum(left.low, right.low), np.maximum(left.high, right.high)
    ),
    Pairing.DIVIDE: _quotient_interval,
}
RULES: dict[type[Node], Callable[[Any, Sequence[BoxArray]], BoxArray]] = {
    Affine: _affine_interval,
    Elementwise: _constant_interval,
    Activation: _activation_interval,
    Combine: _pairing_interval,
    Pick: _pick_interval,
    Join: _join_interval,
    TreeEnsemble: lambda node, boxes: tree_interval(node, boxes[node.source]),
}
