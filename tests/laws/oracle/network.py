"""Tiny networks: their outputs in float32 in the documented order of operations, and their ONNX files."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save
from tests.laws.oracle.model import Layer
from tests.laws.oracle.terms import Value


def outputs_of(layers: Sequence[Layer], inputs: Sequence[Value]) -> list[np.float32]:
    """Observed terms rounded once, sums over inputs from the first to the last, the bias at the end."""
    values = [nearest_float32(Fraction(x)) for x in inputs]
    for place, layer in enumerate(layers):
        values = [affine(row, bias, values) for row, bias in zip(layer.weights, layer.bias, strict=True)]
        if place + 1 < len(layers):
            values = [max(x, np.float32(0)) for x in values]
    return values


def nearest_float32(value: Fraction) -> np.float32:
    """The nearest float32, ties to even, without a double in between."""
    guess = np.float32(float(value))
    around = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]

    def distance(x: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(x)) - value), int(x.view(np.uint32)) % 2

    return min(around, key=distance)


def affine(row: Sequence[int], bias: int, values: Sequence[np.float32]) -> np.float32:
    total = np.float32(0)
    for weight, x in zip(row, values, strict=True):
        total = np.float32(total + np.float32(np.float32(weight) * x))
    return np.float32(total + np.float32(bias))


def softmax_shares(outputs: Sequence[np.float32]) -> list[Fraction]:
    """Float64 exponentials of differences to the largest output, as exact numbers, divided by their sum."""
    top = max(outputs)
    parts = [Fraction(math.exp(float(x) - float(top))) for x in outputs]
    return [part / sum(parts) for part in parts]


def write_network(
    layers: Sequence[Layer], path: Path, *, batch: bool, softmax: bool = False, activation: str = "Relu"
) -> None:
    width, height = len(layers[0].weights[0]), len(layers[-1].weights)
    nodes, tensors, current = [], [], "observation"
    for i, layer in enumerate(layers):
        flat = [float(w) for row in layer.weights for w in row]
        shape = [len(layer.weights), len(layer.weights[0])]
        tensors.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, shape, flat))
        tensors.append(
            helper.make_tensor(f"b{i}", TensorProto.FLOAT, shape[:1], [float(b) for b in layer.bias])
        )
        last = i + 1 == len(layers)
        result = "scores" if last else f"z{i}"
        nodes.append(helper.make_node("Gemm", [current, f"w{i}", f"b{i}"], [result], transB=1))
        if not last:
            nodes.append(helper.make_node(activation, [result], [f"h{i}"]))
        current = f"h{i}"
    end = "scores"
    if softmax:
        nodes.append(helper.make_node("Softmax", ["scores"], ["shares"], axis=-1))
        end = "shares"
    rows = "batch" if batch else 1
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "policy",
        [value("observation", TensorProto.FLOAT, [rows, width])],
        [value(end, TensorProto.FLOAT, [rows, height])],
        tensors,
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
