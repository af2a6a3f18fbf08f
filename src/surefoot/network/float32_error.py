"""How far float32 inference can be from the exact real function of a network.

Covers any order of summation, fused multiply-add or not, round to nearest, results below the normal
range rounded or flushed to zero, tanh, exp and their like within ACTIVATION_ULPS units in the last place
(of 1 at least where some compute a difference). An error of infinity says that a result may leave the float32
range, or that a divisor may vanish. The same rules with
`roundings=2` bound the distance between two such computations; `float32_radius` bounds that of one node from
its exact function of what was computed before (docs/certificates.md, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot.network.directed_rounding import Array, BoxArray, gamma_factor, round_down, round_up
from surefoot.network.interval import interval_bounds
from surefoot.network.tree_bounds import tree_magnitudes, tree_ranges
from surefoot.problem.network import (
    CURVED,
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
from surefoot.problem.tree_ensemble import TreeEnsemble, count_addends

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


LARGEST_ANGLE = 1e20  # of which the reference has a sine and a cosine


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
    the other computation differs from it by the error. Lower bounds matter for divisors, steps, roots.
    `roundings` may be a fraction: float64 makes up for less than 2^-20 of a float32 rounding.
    """
    with np.errstate(all="ignore"):
        errors, sizes, whole = [first], [_widen_magnitude(magnitudes[0], first)], [False]
        for node, magnitude in zip(network.nodes, magnitudes[1:], strict=True):
            whole.append(_is_whole(node, whole, sizes))
            if isinstance(node, Affine) and whole[-1] and np.isfinite(errors[node.source]).all():
                # Sums of whole numbers that float32 has: nothing is lost.
                errors.append(errors[node.source] @ np.abs(node.weights).astype(np.float64).T)
            elif isinstance(node, Activation) and node.shape in _CURVED_RULES:
                errors.append(_curved_error(node, sizes, errors, magnitude, roundings))
            else:
                errors.append(_RULES[type(node)](node, sizes, errors, roundings))
            sizes.append(_limit_size(node, _widen_magnitude(magnitude, errors[-1])))
    return errors


def _widen_magnitude(magnitude: BoxArray, error: Array) -> BoxArray:
    """Bounds of the absolute value in either computation."""
    return BoxArray(round_down(magnitude.low - error), round_up(magnitude.high + error))


def _is_whole(node: Node, whole: Sequence[bool], sizes: Sequence[BoxArray]) -> bool:
    """Whether all entries are whole numbers below 2^24 in either computation, partial sums included."""
    match node:
        case Activation(_, Shape.STEP, _):
            return True
        case Activation(source, Shape.RELU, _) | Pick(source, _):
            return whole[source]
        case Join(several):
            return all(whole[source] for source in several)
        case Affine(source, weights, bias) if whole[source]:
            if (weights % 1).any() or (bias % 1).any():
                return False
            total = sizes[source].high @ np.abs(weights).astype(np.float64).T + np.abs(bias)
            return bool((total < 2.0**24 - 1).all())
        case _:
            return False


def _limit_size(node: Node, size: BoxArray) -> BoxArray:
    """What is clipped lies between the limits in either computation, however far apart they are."""
    if not (isinstance(node, Activation) and node.shape is Shape.CLIP):
        return size
    low, high = node.parameters
    return BoxArray(
        np.maximum(size.low, max(low, -high, 0.0)), np.minimum(size.high, max(abs(low), abs(high)))
    )


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


def _with_own_rounding(node: Node | None, result: Array, carried: Array | float, roundings: float) -> Array:
    """Errors carried over, and those of one evaluation with results of this size; None: rounded once."""
    match node:
        case TreeEnsemble():
            return tree_radius(node, carried, roundings) + np.zeros_like(result)
        case Affine(_, weights, _):
            return affine_radius(weights.shape[1], result, carried, roundings)
        case Activation(_, Shape.STEP, _):
            own = np.zeros_like(result)
        case Activation(_, shape, _) if shape in CURVED and shape is not Shape.SQRT:
            # A unit in the last place is at most 2^-23 of the result, and less than SMALLEST below that.
            own = ACTIVATION_ULPS * (2 * UNIT32 * result + SMALLEST)
        case _:
            own = UNIT32 * result + SMALLEST
    return _unless_overflow(_round_error_up(carried + roundings * own), result)


def affine_radius(columns: int, total: Array, carried: Array | float = 0.0, roundings: float = 1.0) -> Array:
    """Of sums of so many products and a bias, whose sizes add up to `total`.

    A product is rounded once and takes part in at most `columns` sums; each of these 2 * columns operations
    may also lose SMALLEST, which the remaining roundings at most double.
    """
    relative = _float32_gamma(columns + 1)
    own = relative * total + (4 * columns + 4) * SMALLEST
    return _unless_overflow(
        _round_error_up(carried + roundings * own, columns + 8), total * (1.0 + relative), columns + 8
    )


def tree_radius(node: TreeEnsemble, carried: Array | float = 0.0, roundings: float = 1.0) -> Array:
    """Of a sum of leaves in any order, which is exact if it has one addend alone."""
    count, total = count_addends(node), tree_magnitudes(node)
    if count < 2:
        return np.asarray(carried + np.zeros_like(total))
    relative = _float32_gamma(count - 1)
    own = relative * total + 4 * count * SMALLEST
    return _unless_overflow(_round_error_up(carried + roundings * own), total * (1.0 + relative))


def float32_radius(
    node: Node, boxes: Sequence[BoxArray], box: BoxArray, is_input: bool, absolute: tuple[Array, Array] | None
) -> Array | None:
    """How far float32 moves one node, from the boxes of the values that it reads; None: it is exact.

    `box` is that of the exact result; `is_input`: the node makes the input vector of a call, whose entries
    are rounded once however they come about; `absolute`: weights and bias of an affine node without signs.
    """
    if is_input:
        return _with_own_rounding(None, box.magnitude, 0.0, 1.0)
    result = box.magnitude
    with np.errstate(all="ignore"):
        match node:
            case Pick() | Join() | Activation(_, Shape.RELU | Shape.CLIP, _) | Combine(_, _, Pairing.MAXIMUM):
                return None
            case Affine(source):
                assert absolute is not None
                result = boxes[source].magnitude @ absolute[0].T + absolute[1]
            case Activation(source, Shape.TANH, _):
                result = np.minimum(boxes[source].magnitude, 1.0)  # |tanh x| <= |x|
            case Activation(_, Shape.STEP, _):
                return None  # the exact function of what was computed before
            case Activation(_, shape, parameters) if shape in _CURVED_RULES or shape is Shape.SIGMOID:
                result = np.maximum(result, _own_size(shape, parameters))
            case Combine(_, right, Pairing.DIVIDE):
                away = (boxes[right].low >= SMALLEST) | (boxes[right].high <= -SMALLEST)
                result = np.where(away, result, np.inf)
        return _with_own_rounding(node, result, 0.0, 1.0)


def widen_by_radius(box: BoxArray, by: Array) -> BoxArray:
    """The box with a radius added on both sides, rounded outward."""
    with np.errstate(all="ignore"):
        low, high = round_down(box.low - by), round_up(box.high + by)
    return BoxArray(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _affine_error(
    node: Affine, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    weights, bias = np.abs(node.weights).astype(np.float64), np.abs(node.bias).astype(np.float64)
    total, carried = sizes[node.source].high @ weights.T + bias, errors[node.source] @ weights.T
    return _with_own_rounding(node, total, carried, roundings)


def _constant_error(
    node: Elementwise, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    constant = np.abs(node.constant).astype(np.float64)
    size, error = sizes[node.source].high, errors[node.source]
    match node.kind:
        case Constant.ADD:
            return _with_own_rounding(node, size + constant, error, roundings)
        case Constant.MULTIPLY:
            return _with_own_rounding(node, size * constant, error * constant, roundings)
        case Constant.DIVIDE:
            return _with_own_rounding(node, size / constant, error / constant, roundings)


def _activation_error(
    node: Activation, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    size, error = sizes[node.source].high, errors[node.source]
    match node.shape:
        case Shape.RELU | Shape.CLIP:
            return error  # exact, and no two arguments are brought further apart
        case Shape.LEAKY_RELU:
            slope = abs(node.parameters[0])
            return _with_own_rounding(node, size * slope, error * max(1.0, slope), roundings)
        case Shape.TANH:
            return _with_own_rounding(node, np.minimum(size, 1.0), error, roundings)  # |tanh x| <= |x|
        case Shape.SIGMOID:
            return _with_own_rounding(node, np.ones_like(size), 0.25 * error, roundings)
        case _:
            raise AssertionError("curved functions have rules of their own")


def _own_size(shape: Shape, parameters: tuple[float, ...]) -> float:
    """What the units of a computed value are counted of at least: inner results may be as large."""
    match shape:
        case Shape.EXP | Shape.SQRT:
            return 0.0
        case Shape.ELU:
            return parameters[0]
        case _:
            return 1.0


def _curved_error(
    node: Activation,
    sizes: Sequence[BoxArray],
    errors: Sequence[Array],
    magnitude: BoxArray,
    roundings: float,
) -> Array:
    """From the slopes of the functions: what an error of the argument can move them by, and their own error.

    `magnitude` bounds the value in one of the two computations.
    """
    size, error = sizes[node.source], errors[node.source]
    carried = _CURVED_RULES[node.shape](size, error, magnitude.high, node.parameters)
    result = np.maximum(magnitude.high, _own_size(node.shape, node.parameters))
    return _with_own_rounding(node, round_up(result + carried), carried, roundings)


def _carried_by_wave(size: BoxArray, error: Array, _: Array, __: tuple[float, ...]) -> Array:
    """The reference has no sine of angles beyond a limit: there nothing is known."""
    return np.where((size.high <= LARGEST_ANGLE) & np.isfinite(error), error, np.inf)


def _carried_by_step(size: BoxArray, error: Array, _: Array, __: tuple[float, ...]) -> Array:
    """None if the argument keeps its sign in both computations."""
    return np.where(np.isfinite(error), np.where((error == 0) | (size.low > 0), 0.0, 1.0), np.inf)


def _carried_by_exp(_: BoxArray, error: Array, value: Array, __: tuple[float, ...]) -> Array:
    """exp a - exp b = exp b (exp(a - b) - 1); a computed value may be too small by its own error."""
    grown = value * (1.0 + 2.0**-20) * np.expm1(error) * (1.0 + 2.0**-40) + 8 * SMALLEST * np.exp(error)
    return np.where(np.isfinite(error), grown, np.inf)


def _carried_by_sqrt(size: BoxArray, error: Array, _: Array, __: tuple[float, ...]) -> Array:
    """|a - b| / (sqrt a + sqrt b); unknown where only one of the two might be below zero."""
    carried = np.where(size.low > 0, error / np.sqrt(np.maximum(size.low, SMALLEST)), np.inf)
    return np.where(error == 0, 0.0, carried * (1.0 + 2.0**-40))


def _carried_with_slope(steepest: float) -> Callable[[BoxArray, Array, Array, tuple[float, ...]], Array]:
    return lambda _, error, __, ___: error * steepest


_CURVED_RULES: dict[Shape, Callable[[BoxArray, Array, Array, tuple[float, ...]], Array]] = {
    Shape.STEP: _carried_by_step,
    Shape.EXP: _carried_by_exp,
    Shape.SQRT: _carried_by_sqrt,
    Shape.SOFTPLUS: _carried_with_slope(1.0),
    Shape.ELU: lambda _, error, __, parameters: error * max(1.0, parameters[0]),
    Shape.ERF: _carried_with_slope(1.13),  # 2 / sqrt(pi)
    Shape.SIN: _carried_by_wave,
    Shape.COS: _carried_by_wave,
}


def _tree_error(
    node: TreeEnsemble, _: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    """Where what is tested is not exact, another leaf may be reached: anything that the trees can say."""
    tested = np.unique(node.features)
    moved = (errors[node.source][..., tested] > 0).any(axis=-1, keepdims=True)
    return tree_radius(node, np.where(moved, tree_ranges(node), 0.0), roundings)


def _pairing_error(
    node: Combine, sizes: Sequence[BoxArray], errors: Sequence[Array], roundings: float
) -> Array:
    left, right = sizes[node.left].high, sizes[node.right].high
    left_error, right_error = errors[node.left], errors[node.right]
    match node.pairing:
        case Pairing.MAXIMUM:
            return np.maximum(left_error, right_error)
        case Pairing.ADD:
            return _with_own_rounding(node, left + right, left_error + right_error, roundings)
        case Pairing.MULTIPLY:
            carried = left * right_error + right * left_error
            return _with_own_rounding(node, left * right, carried, roundings)
        case Pairing.DIVIDE:
            # a/b - c/d = (a - c)/d + a/b * (d - b)/d. Some processors take what is below SMALLEST for zero.
            least = np.where(sizes[node.right].low >= SMALLEST, sizes[node.right].low, 0.0)
            quotient = left / least
            carried = left_error / least + quotient * (right_error / least)
            return _with_own_rounding(node, quotient, carried, roundings)


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
    TreeEnsemble: _tree_error,
}
