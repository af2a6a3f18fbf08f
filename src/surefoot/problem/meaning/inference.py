"""What a network computes: the reference that every kernel, encoding and replay is tested against.

Every operation is IEEE float32, rounded to nearest. Sums over inputs run sequentially from the first input to
the last, the bias is added at the end, nothing is fused; trees are added from the first to the last. tanh,
exp and their like are correctly rounded. The work is vectorised over the batch and over outputs only, which
does not change any result.
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
from surefoot.problem.tree_ensemble import TreeEnsemble, find_leaves
from surefoot.term.elementary import PI, elementary_decimal
from surefoot.term.float32 import round_to_float32

_ROWS = 512  # rows worked on at a time, so that they stay in the cache; no effect on results
_WIDE = 160  # outputs
_DIGITS = Context(prec=140)
_UNSURE = 2.0**-49  # relative error that numpy's double tanh and exp surely stay below
_LARGEST_ANGLE = 2.0**20  # up to here numpy's sine surely keeps that
_LEAST_TERM = Decimal(10) ** -125


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
            values.append(infer_node(node, values))
    return values


def infer_node(node: Node, values: list[Array32]) -> Array32:
    """The value of one node for a batch, from the values before it."""
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
        case TreeEnsemble(source):
            return _infer_trees(node, values[source])


def _infer_trees(node: TreeEnsemble, x: Array32) -> Array32:
    """One tree after the other is added to the start."""
    result = np.empty((len(x), node.leaves.shape[1]), dtype=np.float32)
    for begin in range(0, len(x), _ROWS):
        total = result[begin : begin + _ROWS]
        total[:] = node.start
        for reached in find_leaves(node, x[begin : begin + _ROWS]).T:
            total += node.leaves[reached]
    return result


def _infer_affine(x: Array32, weights: Array32, bias: Array32) -> Array32:
    if len(x) == 1:
        return _infer_affine_row(x[0], weights, bias)
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


def _infer_affine_row(x: Array32, weights: Array32, bias: Array32) -> Array32:
    """The same sums in the same order, from 0 on: `accumulate` adds one term after the other by one call, but
    one output after the other; where there are many outputs, adding whole rows is faster."""
    terms = np.zeros((len(x) + 1, len(bias)), dtype=np.float32)
    np.multiply(weights.T, x[:, None], out=terms[1:])
    if len(bias) >= _WIDE:
        total = terms[0]
        for products in terms[1:]:
            total += products
        return np.asarray(total[None] + bias, dtype=np.float32)
    np.add.accumulate(terms, axis=0, out=terms)
    return np.asarray(terms[-1:] + bias, dtype=np.float32)


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


def _step_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return np.where(np.isnan(x), x, x > 0).astype(np.float32)


def _exp_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return _correctly_rounded(x, np.exp(x.astype(np.float64)), _DIGITS.exp)


def _softplus_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return _correctly_rounded(x, np.logaddexp(0.0, x.astype(np.float64)), _exact_softplus)


def _elu_float32(x: Array32, parameters: tuple[np.float32, ...]) -> Array32:
    below, factor = np.minimum(x, np.float32(0)), Decimal(float(parameters[0]))

    def exactly(value: Decimal) -> Decimal:
        return _DIGITS.multiply(factor, _DIGITS.subtract(_DIGITS.exp(value), Decimal(1)))

    close = float(parameters[0]) * np.expm1(below.astype(np.float64))
    return np.where(x > 0, x, _correctly_rounded(below, close, exactly))


def _erf_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    from scipy.special import erf

    return _correctly_rounded(x, erf(x.astype(np.float64)), _exact_erf)


def _sqrt_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return np.sqrt(x)


def _sin_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return _wave_float32(x, np.sin, "sin")


def _cos_float32(x: Array32, _: tuple[np.float32, ...]) -> Array32:
    return _wave_float32(x, np.cos, "cos")


def _wave_float32(
    x: Array32, wave: Callable[[NDArray[np.float64]], NDArray[np.float64]], name: str
) -> Array32:
    """No value for angles that the exact sine refuses."""
    angle = np.where(abs(x) < _LARGEST_ANGLE, x, np.nan).astype(np.float64)
    return _correctly_rounded(x, wave(angle), lambda value: elementary_decimal(name, value))


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


def _exact_softplus(x: Decimal) -> Decimal:
    return x if x > 400 else _DIGITS.ln(_DIGITS.add(Decimal(1), _DIGITS.exp(x)))


def _exact_erf(x: Decimal) -> Decimal:
    """2 / sqrt(pi) times the sum of (-1)^n x^(2n + 1) / (n! (2n + 1)); beyond 5 float32 has only 1."""
    if abs(x) > 5:
        return Decimal(1).copy_sign(x)
    square, power, total, n = _DIGITS.multiply(x, x), x, x, 0
    while abs(power) > abs(x) * _LEAST_TERM:
        n += 1
        power = _DIGITS.divide(_DIGITS.multiply(power.copy_negate(), square), Decimal(n))
        total = _DIGITS.add(total, _DIGITS.divide(power, Decimal(2 * n + 1)))
    return _DIGITS.divide(_DIGITS.multiply(total, Decimal(2)), _DIGITS.sqrt(PI))


def _exact_sigmoid(x: Decimal) -> Decimal:
    return _DIGITS.divide(Decimal(1), _DIGITS.add(Decimal(1), _DIGITS.exp(x.copy_negate())))


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
    Shape.STEP: _step_float32,
    Shape.EXP: _exp_float32,
    Shape.SOFTPLUS: _softplus_float32,
    Shape.ELU: _elu_float32,
    Shape.ERF: _erf_float32,
    Shape.SQRT: _sqrt_float32,
    Shape.SIN: _sin_float32,
    Shape.COS: _cos_float32,
}
