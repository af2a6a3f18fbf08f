"""Networks in exact rational arithmetic: no rounding anywhere.

A value is a vector of integers over one common denominator, so that a layer is a product of integers: weights
are multiples of a power of two. Nothing is reduced on the way; denominators grow by a few bytes per layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from operator import add, mul, truediv

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
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
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.term.evaluate import Undefined

_ROOM = 62 - 24  # places by which a mantissa can be moved within 64 bits
_ARITHMETIC = {Constant.ADD: add, Constant.MULTIPLY: mul, Constant.DIVIDE: truediv}


@dataclass(frozen=True, slots=True)
class _ScaledVector:
    """The vector numerators / denominator."""

    numerators: list[int]
    denominator: int


def exact_outputs(network: Network, inputs: Sequence[Fraction]) -> list[Fraction]:
    """The real value of a network at these inputs; `Unsupported` for tanh, exp and their like.

    `Undefined` where a value of the network is divided by one that is zero.
    """
    if len(inputs) != network.width:
        raise InvalidProblem(f"the network has {network.width} inputs, not {len(inputs)}")
    return list(_cached_outputs(network, tuple(Fraction(x) for x in inputs)))


@lru_cache(maxsize=4)
def _cached_outputs(network: Network, inputs: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """A solution is looked at several times: by who finds it, and by those who verify it."""
    values = [_scaled_from_fractions(inputs)]
    for node in network.nodes:
        values.append(_evaluate_node(node, values))
    return tuple(_scaled_to_fractions(values[-1]))


def _scaled_from_fractions(numbers: Sequence[Fraction]) -> _ScaledVector:
    common = lcm(*(n.denominator for n in numbers))
    return _ScaledVector([n.numerator * (common // n.denominator) for n in numbers], common)


def _scaled_to_fractions(value: _ScaledVector) -> list[Fraction]:
    return [Fraction(n, value.denominator) for n in value.numerators]


def _evaluate_node(node: Node, values: list[_ScaledVector]) -> _ScaledVector:
    match node:
        case Affine(source, weights, bias):
            return _apply_affine(values[source], weights, bias)
        case Elementwise(source, kind, constant):
            return _apply_constant(values[source], kind, constant)
        case Activation(source, shape, parameters):
            return _apply_activation(values[source], shape, [Fraction(p) for p in parameters])
        case Combine(left, right, pairing):
            return _combine_vectors(values[left], values[right], pairing)
        case Pick(source, indices):
            return _ScaledVector(
                [values[source].numerators[int(i)] for i in indices], values[source].denominator
            )
        case Join(several):
            return _concatenate_vectors([values[s] for s in several])
        case TreeEnsemble(source):
            return _add_leaves(node, values[source])


def dyadic_integers(array: Array32) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.object_]], int]:
    """Integers n (same shape) and an exponent e >= 0 such that array = n / 2**e exactly."""
    if not np.isfinite(array).all():
        raise InvalidProblem("the network has a weight that is not a finite number")
    mantissas, exponents = np.frexp(array.astype(np.float64))
    whole = (mantissas * 2.0**24).astype(np.int64)  # float32 has 24 significant bits
    shifts = exponents.astype(np.int64) - 24
    used = shifts[whole != 0]
    exponent = max(0, -int(used.min())) if used.size else 0
    places = np.where(whole == 0, 0, shifts + exponent)
    if places.max(initial=0) <= _ROOM:
        return np.left_shift(whole, places).astype(object), exponent
    return np.left_shift(whole.astype(object), places.astype(object)), exponent


def _apply_affine(x: _ScaledVector, weights: Array32, bias: Array32) -> _ScaledVector:
    if not np.isfinite(weights).all():
        raise InvalidProblem("the network has a weight that is not a finite number")
    counts = [j for j, n in enumerate(x.numerators) if n]  # after a ReLU many are zero
    rows, weight_exponent = dyadic_integers(weights[:, counts])
    constants, bias_exponent = dyadic_integers(bias)
    some = np.array([x.numerators[j] for j in counts], dtype=object)
    products = rows @ some if counts else np.zeros(len(bias), dtype=object)
    exponent = max(weight_exponent, bias_exponent)
    up, factor = 1 << (exponent - weight_exponent), x.denominator << (exponent - bias_exponent)
    numerators = [int(p) * up + int(c) * factor for p, c in zip(products, constants, strict=True)]
    return _ScaledVector(numerators, x.denominator << exponent)


def _add_leaves(node: TreeEnsemble, x: _ScaledVector) -> _ScaledVector:
    given, total = _scaled_to_fractions(x), [Fraction(float(s)) for s in node.start]
    for root in node.roots.tolist():
        place = int(root)
        while place >= 0:
            below = given[int(node.features[place])] <= Fraction(float(node.thresholds[place]))
            place = int((node.lower if below else node.upper)[place])
        total = [t + Fraction(float(w)) for t, w in zip(total, node.leaves[-1 - place], strict=True)]
    return _scaled_from_fractions(total)


def _apply_constant(x: _ScaledVector, kind: Constant, constant: Array32) -> _ScaledVector:
    if not np.isfinite(constant).all() or (kind is Constant.DIVIDE and (constant == 0).any()):
        raise InvalidProblem("the network has a constant that is not a finite number, or divides by zero")
    constants = [Fraction(float(c)) for c in constant]
    values = map(_ARITHMETIC[kind], _scaled_to_fractions(x), constants)
    return _scaled_from_fractions(list(values))


def _apply_activation(x: _ScaledVector, shape: Shape, parameters: list[Fraction]) -> _ScaledVector:
    match shape:
        case Shape.RELU:
            return _ScaledVector([max(n, 0) for n in x.numerators], x.denominator)
        case Shape.LEAKY_RELU:
            up, down = parameters[0].denominator, parameters[0].numerator
            return _ScaledVector([n * (down if n < 0 else up) for n in x.numerators], x.denominator * up)
        case Shape.CLIP:
            low, high = parameters
            return _scaled_from_fractions([min(max(v, low), high) for v in _scaled_to_fractions(x)])
        case Shape.STEP:
            return _ScaledVector([int(n > 0) for n in x.numerators], 1)
        case _:
            raise Unsupported(
                f"exact evaluation of a network with {shape.value}",
                fix="use a piecewise-linear network, or float32 replay",
            )


def _combine_vectors(x: _ScaledVector, y: _ScaledVector, pairing: Pairing) -> _ScaledVector:
    if pairing is Pairing.MULTIPLY:
        products = [a * b for a, b in zip(x.numerators, y.numerators, strict=True)]
        return _ScaledVector(products, x.denominator * y.denominator)
    if pairing is Pairing.DIVIDE:
        if not all(y.numerators):
            raise Undefined("the network divides by a value that is zero at these inputs")
        return _scaled_from_fractions(
            [a / b for a, b in zip(_scaled_to_fractions(x), _scaled_to_fractions(y), strict=True)]
        )
    left, right = _common_denominator(x, y)
    if pairing is Pairing.ADD:
        numerators = [a + b for a, b in zip(left.numerators, right.numerators, strict=True)]
    else:
        numerators = [max(a, b) for a, b in zip(left.numerators, right.numerators, strict=True)]
    return _ScaledVector(numerators, left.denominator)


def _common_denominator(*values: _ScaledVector) -> list[_ScaledVector]:
    shared = lcm(*(v.denominator for v in values))
    return [_ScaledVector([n * (shared // v.denominator) for n in v.numerators], shared) for v in values]


def _concatenate_vectors(values: list[_ScaledVector]) -> _ScaledVector:
    parts = _common_denominator(*values)
    return _ScaledVector([n for p in parts for n in p.numerators], parts[0].denominator if parts else 1)
