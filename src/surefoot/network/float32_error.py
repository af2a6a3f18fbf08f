"""How far float32 inference can be from the exact real function of a network.

Covers any order of summation, with or without fused multiply-add, round to nearest, results below the normal
range rounded or flushed to zero, tanh and sigmoid within ACTIVATION_ULPS units in the last place. An error of
infinity says that a result may leave the float32 range, or that a divisor may vanish. The same rules with
`roundings=2` bound the distance between two such computations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot.network.directed_rounding import Array, BoxArray, gamma_factor, round_down, round_up
from surefoot.network.interval import interval_bounds
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

ACTIVATION_ULPS = 4  # the tanh of common runtimes is off by up to 2.7
UNIT32 = 2.0**-24  # relative error of one float32 rounding
SMALLEST = 2.0**-126  # the smallest normal number: no result below it is off by more
LARGEST = float(np.finfo(np.float32).max)


def error_bounds(
    network: Network,
    low: object,
    high: object,
    *,
    input_rounding: bool,
    values: Sequence[BoxArray] | None = None,
) -> Array:
    """A bound of |float32 result - exact result at x| per output, for every x of the box.

    With `input_rounding` x is real and the network receives float32(x); without, x has float32 entries.
    `values`: bounds of the exact values on this box where better ones than intervals are at hand.
    """
    return _value_errors(network, low, high, input_rounding, values)[-1]


def may_overflow_float32(
    network: Network, low: object, high: object, values: Sequence[BoxArray] | None = None
) -> bool:
    """Whether some intermediate result, partial sums included, may leave the float32 range on this box.

    It may where a divisor can be zero, or so close to it that rounding can make it zero. `values`: see above.
    """
    return not all(np.isfinite(error).all() for error in _value_errors(network, low, high, True, values))


def _value_errors(
    network: Network, low: object, high: object, input_rounding: bool, values: Sequence[BoxArray] | None
) -> list[Array]:
    boxes = interval_bounds(network, low, high) if values is None else values
    magnitudes = [_magnitude_box(box) for box in boxes]
    first, largest = np.zeros_like(magnitudes[0].high), magnitudes[0].high
    if input_rounding:
        first = _unless_overflow(_round_error_up(UNIT32 * largest + SMALLEST), largest)
    return propagate_rounding_errors(network, magnitudes, first, roundings=1)


def _magnitude_box(box: BoxArray) -> BoxArray:
    return BoxArray(np.maximum(np.maximum(box.low, -box.high), 0.0), box.magnitude)


def propagate_rounding_errors(
    network: Network, magnitudes: Sequence[BoxArray], first: Array, *, roundings: float
) -> list[Array]:
    """Error bounds of every value from those of the input.

    `magnitudes` bound each absolute value in one computation, the exact one or (`roundings=2`) a float32 one;
    the other computation differs from it by the error. Lower bounds matter for divisors only. `roundings`
    may be a fraction: float64 makes up for less than 2^-20 of a float32 rounding.
    """
    with np.errstate(all="ignore"):
        errors, sizes = [first], [_widen_magnitude(magnitudes[0], first)]
        for node, magnitude in zip(network.nodes, magnitudes[1:], strict=True):
            errors.append(_RULES[type(node)](node, sizes, errors, roundings))
            sizes.append(_widen_magnitude(magnitude, errors[-1]))
    return errors


def _widen_magnitude(magnitude: BoxArray, error: Array) -> BoxArray:
    """Bounds of the absolute value in either computation."""
    return BoxArray(round_down(magnitude.low - error), round_up(magnitude.high + error))


def _float32_gamma(operations: int) -> float:
    """Relative error of that many float32 roundings."""
    relative = operations * UNIT32
    return relative / (1.0 - relative) * (1.0 + gamma_factor(2)) if relative < 0.5 else np.inf


def _round_error_up(error: Array, operations: int = 8) -> Array:
    """At least the exact value of a sum of non-negative terms that took `operations` float64 roundings."""
    return error * (1.0 + gamma_factor(operations))


def _unless_overflow(error: Array, size: Array, operations: int = 8) -> Array:
    """The error if no result of this size, rounded in float32 or here, exceeds the range; else infinity."""
    return np.where(
        _round_error_up(size, operations) * (1.0 + 2 * UNIT32) + SMALLEST <= LARGEST, error, np.inf
    )


def _affine_error(
    node: Affine, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    weights, bias = np.abs(node.weights).astype(np.float64), np.abs(node.bias).astype(np.float64)
    count = weights.shape[1]
    total = sizes[node.source].high @ weights.T + bias
    # A product is rounded once and takes part in at most `count` sums; each of these 2 * count operations may
    # also lose SMALLEST, which the remaining roundings at most double.
    rounded = _float32_gamma(count + 1) * total + (4 * count + 4) * SMALLEST
    carried = errors[node.source] @ weights.T
    return _unless_overflow(
        _round_error_up(carried + roundings * rounded, count + 8),
        total * (1.0 + _float32_gamma(count + 1)),
        count + 8,
    )


def _constant_error(
    node: Elementwise, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    constant = np.abs(node.constant).astype(np.float64)
    size, error = sizes[node.source].high, errors[node.source]
    match node.kind:
        case Constant.ADD:
            result, carried = size + constant, error
        case Constant.MULTIPLY:
            result, carried = size * constant, error * constant
        case Constant.DIVIDE:
            result, carried = size / constant, error / constant
    return _error_of_one_rounding(result, carried, roundings)


def _error_of_one_rounding(result: Array, carried: Array, roundings: float) -> Array:
    return _unless_overflow(_round_error_up(carried + roundings * (UNIT32 * result + SMALLEST)), result)


def _activation_error(
    node: Activation, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    size, error = sizes[node.source].high, errors[node.source]
    match node.shape:
        case Shape.RELU | Shape.CLIP:
            return error  # exact, and no two arguments are brought further apart
        case Shape.LEAKY_RELU:
            slope = abs(node.parameters[0])
            return _error_of_one_rounding(size * slope, error * max(1.0, slope), roundings)
        case Shape.TANH:
            steepness, most = 1.0, np.minimum(size, 1.0)  # |tanh x| <= |x|
        case Shape.SIGMOID:
            steepness, most = 0.25, np.ones_like(size)
    # A unit in the last place is at most 2^-23 of the result, and less than SMALLEST below the normal range.
    unit = 2 * UNIT32 * most + SMALLEST
    return _round_error_up(steepness * error + roundings * ACTIVATION_ULPS * unit)


def _pairing_error(
    node: Combine, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    left, right = sizes[node.left].high, sizes[node.right].high
    left_error, right_error = errors[node.left], errors[node.right]
    match node.pairing:
        case Pairing.MAXIMUM:
            return np.maximum(left_error, right_error)
        case Pairing.ADD:
            return _error_of_one_rounding(left + right, left_error + right_error, roundings)
        case Pairing.MULTIPLY:
            return _error_of_one_rounding(left * right, left * right_error + right * left_error, roundings)
        case Pairing.DIVIDE:
            # a/b - c/d = (a - c)/d + a/b * (d - b)/d. Some processors take what is below SMALLEST for zero.
            least = np.where(sizes[node.right].low >= SMALLEST, sizes[node.right].low, 0.0)
            quotient = left / least
            return _error_of_one_rounding(
                quotient, left_error / least + quotient * (right_error / least), roundings
            )


def _pick_error(node: Pick, _: Sequence[BoxArray], errors: Sequence[Array], __: float) -> Array:
    return errors[node.source][..., node.indices]


def _join_error(node: Join, _: Sequence[BoxArray], errors: Sequence[Array], __: float) -> Array:
    return np.concatenate([errors[source] for source in node.sources], axis=-1)


_RULES: dict[type[Node], Callable[[Any, Sequence[BoxArray], Sequence[Array], float], Array]] = {
    Affine: _affine_error,
    Elementwise: _constant_error,
    Activation: _activation_error,
    Combine: _pairing_error,
    Pick: _pick_error,
    Join: _join_error,
}
