"""How far a float32 evaluation of one node can be from its exact function of the values computed before.

The rules of docs/certificates.md, section 4: any order of summation, fused or not, results below the normal
range kept or flushed, tanh and sigmoid within four units in the last place. Radii are rounded up; infinity
says that a result may leave the float32 range, or that a divisor may vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.network.directed_rounding import Array, BoxArray, gamma_factor, round_down, round_up
from surefoot.network.float32_error import LARGEST, SMALLEST, UNIT32
from surefoot.problem.network import Activation, Affine, Combine, Elementwise, Node, Pairing, Shape


def float32_radius(
    node: Node, boxes: Sequence[BoxArray], box: BoxArray, is_input: bool, absolute: tuple[Array, Array] | None
) -> Array | None:
    """Per entry, from the boxes of the values that the node reads; None: the result is exact.

    `box` is that of the exact result; `is_input`: the node makes the input vector of a call, whose entries
    are rounded once however they come about; `absolute`: weights and bias of an affine node without signs.
    """
    if is_input:
        return _single_rounding_radius(box.magnitude)
    with np.errstate(all="ignore"):
        match node:
            case Affine(source):
                assert absolute is not None
                return _affine_radius(boxes[source].magnitude, *absolute)
            case Activation(source, shape, _):
                return _activation_radius(shape, boxes[source].magnitude, box)
            case Combine(_, right, Pairing.DIVIDE):
                divisor = boxes[right]
                away = (divisor.low >= SMALLEST) | (divisor.high <= -SMALLEST)
                return np.where(away, _single_rounding_radius(box.magnitude), np.inf)
            case Elementwise() | Combine(_, _, Pairing.ADD | Pairing.MULTIPLY):
                return _single_rounding_radius(box.magnitude)
            case _:
                return None


def _single_rounding_radius(size: Array) -> Array:
    return _round_radius_up(np.where(size * (1.0 + UNIT32) <= LARGEST, UNIT32 * size + SMALLEST, np.inf), 4)


def _affine_radius(size: Array, weights: Array, bias: Array) -> Array:
    columns = weights.shape[1]
    total = _round_radius_up(size @ weights.T + bias, columns + 2)
    share = (columns + 1) * UNIT32
    if share >= 0.5:
        return np.full_like(total, np.inf)
    relative = share / (1.0 - share)
    found = _round_radius_up(relative * total + (4 * columns + 4) * SMALLEST, 8)
    return np.where(_round_radius_up(total * (1.0 + relative), 4) <= LARGEST, found, np.inf)


def _activation_radius(shape: Shape, size: Array, box: BoxArray) -> Array | None:
    match shape:
        case Shape.LEAKY_RELU:
            return _single_rounding_radius(box.magnitude)
        case Shape.TANH:
            return _round_radius_up(4.0 * (2.0 * UNIT32 * np.minimum(size, 1.0) + SMALLEST), 4)
        case Shape.SIGMOID:
            return np.full_like(size, 4.0 * (2.0 * UNIT32 + SMALLEST) * (1.0 + gamma_factor(2)))
        case _:
            return None


def _round_radius_up(value: Array, operations: int) -> Array:
    return value * (1.0 + gamma_factor(operations))


def widen_by_radius(box: BoxArray, by: Array) -> BoxArray:
    """The box with a radius added on both sides, rounded outward."""
    with np.errstate(all="ignore"):
        low, high = round_down(box.low - by), round_up(box.high + by)
    return BoxArray(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
