"""Small dense networks with one activation between their layers: values, gradients and Adam, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[Any]  # float64, or float32 where layers are large
Layers: TypeAlias = list[tuple[Floats, Floats]]  # weights (outputs x inputs) and biases

# of each activation: its value, and its slope where it has that value
_ACTIVATIONS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "relu": (lambda total: np.maximum(total, 0.0), lambda value: value > 0),
    "tanh": (np.tanh, lambda value: 1 - value * value),
    "sigmoid": (lambda total: 0.5 + 0.5 * np.tanh(0.5 * total), lambda value: value * (1 - value)),
}


def initialise_layers(
    widths: tuple[int, ...], generator: np.random.Generator, last: float, kind: type = np.float64
) -> Layers:
    """He's initialisation; the last layer begins small."""
    found: Layers = []
    for number, (before, after) in enumerate(pairwise(widths)):
        size = last if number == len(widths) - 2 else np.sqrt(2 / before)
        weights = generator.normal(size=(after, before)) * size
        found.append((weights.astype(kind), np.zeros(after, dtype=kind)))
    return found


def forward_layers(layers: Layers, inputs: Floats, activation: str = "relu") -> list[Floats]:
    """Inputs, the values after each hidden layer, and the outputs."""
    values, activate = [inputs], _ACTIVATIONS[activation][0]
    for number, (weights, bias) in enumerate(layers):
        total = values[-1] @ weights.T + bias
        values.append(total if number == len(layers) - 1 else activate(total))
    return values


def backpropagate_layers(
    layers: Layers, values: list[Floats], slopes: Floats, activation: str = "relu"
) -> tuple[Layers, Floats]:
    """From slopes of the outputs to those of all weights, and of the inputs."""
    found: Layers = []
    steepness = _ACTIVATIONS[activation][1]
    for (weights, _), before, after in zip(
        reversed(layers), reversed(values[:-1]), reversed(values[1:]), strict=True
    ):
        if found:
            slopes = slopes * steepness(after)
        found.append((slopes.T @ before, slopes.sum(axis=0)))
        slopes = slopes @ weights
    return found[::-1], slopes


class Adam:
    """Kingma and Ba, 2015."""

    def __init__(self, layers: Layers, rate: float) -> None:
        self.rate, self.count = rate, 0
        self.means = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]
        self.squares = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]

    def step(self, layers: Layers, slopes: Layers) -> None:
        """Down the slopes, in place."""
        self.count += 1
        scale = self.rate * sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        for values, steepness, means, squares in zip(layers, slopes, self.means, self.squares, strict=True):
            for value, slope, mean, square in zip(values, steepness, means, squares, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope * slope - square)
                value -= scale * mean / (np.sqrt(square) + 1e-8)


def update_target(target: Layers, layers: Layers, share: float) -> None:
    """The target moves by a share of the way."""
    for targets, values in zip(target, layers, strict=True):
        for aim, value in zip(targets, values, strict=True):
            aim += share * (value - aim)


def copy_layers(layers: Layers) -> Layers:
    return [(w.copy(), b.copy()) for w, b in layers]
