"""What a network computes: the reference that every kernel, encoding and replay is tested against.

Every operation is IEEE float32, rounded to nearest. Sums over inputs run sequentially from the first input to
the last, the bias is added at the end, nothing is fused. tanh and sigmoid are correctly rounded. The work is
vectorised over the batch and over outputs only, which does not change any result.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
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

_ROWS = 512  # rows worked on at a time, so that they stay in the cache; no effect on results
_DIGITS = Context(prec=140)
_WHOLE = 2**24  # up to here every whole number is a float32 number
_TO_INFINITY = 2**128 - 2**103  # halfway between the largest float32 and the power of two above it
_UNSURE = 2.0**-49  # relative error that numpy's double tanh and exp surely stay below


def infer_outputs(network: Network, inputs: Array32) -> Array32:
    """Outputs for a batch of inputs (one row each), bit for bit as defined above."""
    return infer_all_values(network, inputs)[-1]


def infer_all_values(network: Network, inputs: Array32) -> list[Array32]:
    """Every value of the network for a batch: the inputs, then one array per node."""
    values = [np.asarray(inputs, dtype=np.float32)]
    if values[0].ndim != 2 or values[0].shape[1] != network.width:
        raise ValueError(f"expected a batch of {network.width} inputs, got shape {values[0].shape}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        for node in network.nodes:
            values.append(_infer_node(node, values))
    return values


def _infer_node(node: Node, values: list[Array32]) -> Array32:
    match node:
        case Affine(source, weights, bias):
            return _infer_affine(values[source], weights, bias)
        case Elementwise(source, kind, constant):
            return CONSTANT[kind](values[source], constant)
        case Activation(source, shape, parameters):
            return ACTIVATION[shape](values[source], tuple(np.float32(p) for p in parameters))
        case Combine(left, right, pairing):
            return PAIRING[pairing](values[left], values[right])
        case Pick(source, indices):
            return values[source][:, indices]
        case Join(several):
            return np.concatenate([values[s] for s in several], axis=1)


def _infer_affine(x: Array32, weights: Array32, bias: Array32) -> Array32:
    columns = np.ascontiguousarray(weights.T)
    result = np.empty((x.shape[0], weights.shape[0]), dtype=np.float32)
    for start in range(0, x.shape[0], _ROWS):
        rows, total = x[start : start + _ROWS], result[start : start + _ROWS]
        total[:] = 0
        product = np.empty_like(total)
        for i in range(x.shape[1]):
            np.multiply(rows[:, i : i + 1], columns[i], out=product)
            total += product
        total += bias
    return result


def _relu_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return np.maximum(x, np.float32(0))


def _leaky_relu_float32(x: Array32, parameters: tuple[np.float32, ...]) -> Array32:
    return np.where(x < 0, x * parameters[0], x)


def _clip_float32(x: Array32, parameters: tuple[np.float32, ...]) -> Array32:
    return np.minimum(np.maximum(x, parameters[0]), parameters[1])


def _tanh_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return _correctly_rounded(x, np.tanh(x.astype(np.float64)), _exact_tanh)


def _sigmoid_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    wide = x.astype(np.float64)
    return _correctly_rounded(x, 1.0 / (1.0 + np.exp(-wide)), _exact_sigmoid)


def _correctly_rounded(
    x: Array32, close: NDArray[np.float64], exactly: Callable[[Decimal], Decimal]
) -> Array32:
    """Round `close` to float32; where its error could change the result, decide with 140 digits."""
    result = close.astype(np.float32)
    low, high = (close * (1 - _UNSURE)).astype(np.float32), (close * (1 + _UNSURE)).astype(np.float32)
    for where in np.argwhere((low != high) & ~np.isnan(close)):
        value = exactly(Decimal(float(x[tuple(where)])))
        result[tuple(where)] = round_to_float32(Fraction(value))
    return result


def _exact_tanh(x: Decimal) -> Decimal:
    if abs(x) > 60:
        return Decimal(1).copy_sign(x)
    e = _DIGITS.exp(_DIGITS.multiply(x, Decimal(2)))
    return _DIGITS.divide(_DIGITS.subtract(e, Decimal(1)), _DIGITS.add(e, Decimal(1)))


def _exact_sigmoid(x: Decimal) -> Decimal:
    return _DIGITS.divide(Decimal(1), _DIGITS.add(Decimal(1), _DIGITS.exp(-x)))


CONSTANT: dict[Constant, Callable[[Array32, Array32], Array32]] = {
    Constant.ADD: lambda x, c: x + c,
    Constant.MULTIPLY: lambda x, c: x * c,
    Constant.DIVIDE: lambda x, c: x / c,
}
PAIRING: dict[Pairing, Callable[[Array32, Array32], Array32]] = {
    Pairing.ADD: lambda x, y: x + y,
    Pairing.MULTIPLY: lambda x, y: x * y,
    Pairing.MAXIMUM: lambda x, y: np.maximum(x, y),
    Pairing.DIVIDE: lambda x, y: x / y,
}
ACTIVATION: dict[Shape, Callable[[Array32, tuple[np.float32, ...]], Array32]] = {
    Shape.RELU: _relu_float32,
    Shape.LEAKY_RELU: _leaky_relu_float32,
    Shape.CLIP: _clip_float32,
    Shape.TANH: _tanh_float32,
    Shape.SIGMOID: _sigmoid_float32,
}


def round_to_float32(value: bool | int | float | Fraction) -> np.float32:
    """The float32 nearest to an exact number (ties to even; beyond the range, an infinity)."""
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return np.float32(value)
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact.numerator) <= _WHOLE:
        return np.float32(exact.numerator)
    if abs(exact) >= _TO_INFINITY:
        return np.float32(np.inf if exact > 0 else -np.inf)
    largest = np.finfo(np.float32).max
    with np.errstate(over="ignore", under="ignore"):
        guess = np.clip(np.float32(float(exact)), -largest, largest)
        candidates = [guess, *(np.nextafter(guess, np.float32(end)) for end in (-np.inf, np.inf))]
    near = [c for c in candidates if np.isfinite(c)]
    best = min(abs(Fraction(float(c)) - exact) for c in near)
    ties = [c for c in near if abs(Fraction(float(c)) - exact) == best]
    return ties[0] if len(ties) == 1 else next(c for c in ties if not int(c.view(np.uint32)) & 1)


def contains_float32(low: Fraction, high: Fraction) -> bool:
    """Is there a finite float32 number between two exact numbers?"""
    first = round_to_float32(low)
    if first == -np.inf or (np.isfinite(first) and Fraction(float(first)) < low):
        first = np.nextafter(first, np.float32(np.inf))
    return bool(np.isfinite(first)) and Fraction(float(first)) <= high
