"""What is true of a small query, found without the native solver.

Many points are evaluated at once. Whole inputs are tried exhaustively. Piecewise-linear networks are
evaluated exactly (see `random_queries`), smooth ones and products up to an error far below `SURE`, and where
float32 inference is meant, in float32.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks.random_queries import Linear, Small
from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Join,
    Network,
    Pairing,
    Pick,
    Shape,
)

SURE = 1e-6  # margin beyond which a rounding error cannot matter
Values = dict[str, Array]


def inexact(case: Small) -> bool:
    return case.kind in ("smooth", "product")


def is_finite(case: Small) -> bool:
    """Few enough points to try them all."""
    return all(v.whole or v.low >= v.high for v in case.free)


def points(case: Small, generator: np.random.Generator, count: int) -> Array:
    """All points if these are few, else multiples of 1/64 and bounds; empty where a region is."""
    if any(v.low > v.high for v in case.free):
        return np.zeros((0, len(case.free)))
    if is_finite(case):
        ranges = [range(int(v.low), int(v.high) + 1) if v.whole else [float(v.low)] for v in case.free]
        return np.array(list(product(*ranges)), dtype=np.float64)
    columns = []
    for v in case.free:
        low, high = float(v.low), float(v.high)
        if v.whole:
            column = generator.integers(int(low), int(high) + 1, count).astype(np.float64)
        else:
            column = np.clip(np.round(generator.uniform(low, high, count) * 64) / 64, low, high)
            column = np.where(generator.random(count) < 0.15, low, column)
            column = np.where(generator.random(count) < 0.15, high, column)
        columns.append(column)
    return np.stack(columns, 1)


def satisfied(case: Small, some: Array, margin: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points satisfy all clauses, every comparison by at least this margin."""
    values: Values = {v.name: some[:, i] for i, v in enumerate(case.free)}
    for call in case.calls:
        inputs = np.stack([_at(linear, values, len(some)) for linear in call.inputs], 1)
        if case.kind == "float32":
            inputs = inputs.astype(np.float32)
        outputs = forward(call.network, inputs).astype(np.float64)
        values |= {name: outputs[:, i] for i, name in enumerate(call.outputs)}
    good = np.ones(len(some), dtype=bool)
    for clause in case.clauses:
        holds = np.zeros(len(some), dtype=bool)
        for atom in clause:
            height = _at(atom.linear, values, len(some))
            if atom.relation == "=":
                holds |= height == 0 if margin == 0 else np.zeros(len(some), dtype=bool)
            else:
                holds |= height < -margin if atom.relation == "<" and margin == 0 else height <= -margin
        good &= holds
    return good


def _at(linear: Linear, values: Values, count: int) -> Array:
    total = np.full(count, linear.get("", 0.0))
    for name, coefficient in linear.items():
        if name:
            total = total + coefficient * values[name]
    return total


def forward(network: Network, inputs: Array) -> Array:
    """A second reading of what nodes mean, in the arithmetic of the inputs."""
    values = [inputs]
    for node in network.nodes:
        match node:
            case Affine(source, weights, bias):
                values.append(values[source] @ weights.T.astype(inputs.dtype) + bias.astype(inputs.dtype))
            case Activation(source, shape, parameters):
                values.append(_activation(values[source], shape, parameters))
            case Combine(left, right, pairing):
                operation = {Pairing.ADD: np.add, Pairing.MULTIPLY: np.multiply, Pairing.MAXIMUM: np.maximum}
                values.append(operation[pairing](values[left], values[right]))
            case Pick(source, indices):
                values.append(values[source][:, indices])
            case Join(several):
                values.append(np.concatenate([values[s] for s in several], 1))
            case Elementwise():
                raise NotImplementedError("random queries have no such node")
    return values[-1]


def _activation(x: Array, shape: Shape, parameters: tuple[float, ...]) -> Array:
    match shape:
        case Shape.RELU:
            return np.maximum(x, 0.0)
        case Shape.LEAKY_RELU:
            return np.where(x > 0, x, parameters[0] * x)
        case Shape.CLIP:
            return np.clip(x, *parameters)
        case Shape.TANH:
            return np.tanh(x)
        case Shape.SIGMOID:
            return 0.5 * (1.0 + np.tanh(0.5 * x))
