"""Values and gradients of a network for batches of points, in plain float64: for guesses, not for proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from surefoot.network.back_substitution import linear_preimages
from surefoot.network.directed_rounding import Array
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
from surefoot.problem.tree_ensemble import TreeEnsemble, find_leaves


def forward_values(network: Network, points: Array) -> list[Array]:
    """All values, input first; one row per point."""
    values = [points]
    with np.errstate(all="ignore"):
        for node in network.nodes:
            values.append(evaluate_node(node, values))
    return values


def evaluate_node(node: Node, values: Sequence[Array]) -> Array:
    """The value of a node, a row for each point, from those before it."""
    match node:
        case Affine(source, weights, bias):
            result: Array = values[source] @ weights.T + bias
            return result
        case Elementwise(source, Constant.ADD, constant):
            return values[source] + constant.astype(np.float64)
        case Elementwise(source, Constant.MULTIPLY, constant):
            return values[source] * constant.astype(np.float64)
        case Elementwise(source, _, constant):
            return values[source] * (1.0 / constant.astype(np.float64))
        case Activation(source, shape, parameters):
            return apply_activation(values[source], shape, parameters)
        case Combine(left, right, pairing):
            return apply_pairing(values[left], values[right], pairing)
        case Pick(source, indices):
            return values[source][:, indices]
        case Join(several):
            return np.concatenate([values[s] for s in several], axis=1)
        case TreeEnsemble(source):
            return add_leaves(node, values[source])


def add_leaves(node: TreeEnsemble, points: Array) -> Array:
    """The outputs of trees, a row for each point."""
    total = np.broadcast_to(node.start.astype(np.float64), (len(points), node.leaves.shape[1])).copy()
    for reached in find_leaves(node, points).T:
        total += node.leaves[reached]
    return total


def apply_activation(x: Array, shape: Shape, parameters: tuple[float, ...]) -> Array:
    match shape:
        case Shape.RELU:
            return np.maximum(x, 0.0)
        case Shape.LEAKY_RELU:
            return np.where(x < 0, parameters[0] * x, x)
        case Shape.CLIP:
            return np.clip(x, parameters[0], parameters[1])
        case Shape.TANH:
            return np.tanh(x)
        case Shape.SIGMOID:
            return 1.0 / (1.0 + np.exp(-x))
        case _:
            return _CURVES[shape][0](x, parameters)


def apply_pairing(x: Array, y: Array, pairing: Pairing) -> Array:
    match pairing:
        case Pairing.ADD:
            return x + y
        case Pairing.MULTIPLY:
            return x * y
        case Pairing.MAXIMUM:
            return np.maximum(x, y)
        case Pairing.DIVIDE:
            return x / y


def input_gradient(network: Network, values: Sequence[Array], seeds: Array) -> Array:
    """The gradient of seeds . outputs over the inputs, row by row."""
    waiting: dict[int, Array] = {len(network.nodes): seeds}
    with np.errstate(all="ignore"):
        for number in range(len(network.nodes), 0, -1):
            if number in waiting:
                _backward_node(network.nodes[number - 1], values, number, waiting.pop(number), waiting)
    found = waiting.get(0, np.zeros_like(values[0]))
    return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)


def add_coefficients(waiting: dict[int, Array], value: int, part: Array) -> None:
    """Add to the coefficients of a value that are still to be carried back."""
    waiting[value] = waiting[value] + part if value in waiting else part


def _backward_node(
    node: Node, values: Sequence[Array], number: int, rows: Array, waiting: dict[int, Array]
) -> None:
    match node:
        case Activation(source, shape, parameters):
            add_coefficients(
                waiting, source, rows * _activation_slope(values[source], values[number], shape, parameters)
            )
        case Combine(left, right, pairing):
            of_left, of_right = _pair_slopes(values[left], values[right], pairing)
            add_coefficients(waiting, left, rows * of_left)
            add_coefficients(waiting, right, rows * of_right)
        case _:
            for source, part in linear_preimages(node, rows, [value.shape[1] for value in values]):
                add_coefficients(waiting, source, part)


def _activation_slope(x: Array, y: Array, shape: Shape, parameters: tuple[float, ...]) -> Array:
    match shape:
        case Shape.RELU:
            return (x > 0).astype(np.float64)
        case Shape.LEAKY_RELU:
            return np.where(x < 0, parameters[0], 1.0)
        case Shape.CLIP:
            return ((x > parameters[0]) & (x < parameters[1])).astype(np.float64)
        case Shape.TANH:
            return 1.0 - y * y
        case Shape.SIGMOID:
            return y * (1.0 - y)
        case _:
            return _CURVES[shape][1](x, parameters)


def _erf_values(x: Array) -> Array:
    from scipy.special import erf

    return np.asarray(erf(x), dtype=np.float64)


_Curve: TypeAlias = Callable[[Array, tuple[float, ...]], Array]
# Value and slope; that of a step is a guide for searches only: most where it is nearest to jump.
_CURVES: dict[Shape, tuple[_Curve, _Curve]] = {
    Shape.STEP: (lambda x, _: (x > 0).astype(np.float64), lambda x, _: 1.0 / (1.0 + x * x)),
    Shape.EXP: (lambda x, _: np.exp(x), lambda x, _: np.exp(x)),
    Shape.SOFTPLUS: (lambda x, _: np.logaddexp(0.0, x), lambda x, _: 1.0 / (1.0 + np.exp(-x))),
    Shape.ELU: (
        lambda x, p: np.where(x > 0, x, p[0] * np.expm1(np.minimum(x, 0.0))),
        lambda x, p: np.where(x > 0, 1.0, p[0] * np.exp(np.minimum(x, 0.0))),
    ),
    Shape.ERF: (lambda x, _: _erf_values(x), lambda x, _: 1.1283791670955126 * np.exp(-x * x)),
    Shape.SQRT: (lambda x, _: np.sqrt(x), lambda x, _: 0.5 / np.sqrt(np.maximum(x, 1e-300))),
    Shape.SIN: (lambda x, _: np.sin(x), lambda x, _: np.cos(x)),
    Shape.COS: (lambda x, _: np.cos(x), lambda x, _: -np.sin(x)),
}


def _pair_slopes(x: Array, y: Array, pairing: Pairing) -> tuple[Array, Array]:
    match pairing:
        case Pairing.ADD:
            return np.ones_like(x), np.ones_like(x)
        case Pairing.MULTIPLY:
            return y, x
        case Pairing.MAXIMUM:
            larger = (x >= y).astype(np.float64)
            return larger, 1.0 - larger
        case Pairing.DIVIDE:
            return 1.0 / y, -x / (y * y)
