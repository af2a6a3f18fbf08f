"""ONNX operations that bring entries to mean and spread, or to a distribution: by their formulas."""

from __future__ import annotations

import math

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.activation_functions import LARGEST, add_constant, emit_product
from surefoot.formats.onnx.activation_operators import require_signal
from surefoot.formats.onnx.linear_operators import emit_affine
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    combine_signals,
    divide_signal,
    emit_activation,
    emit_elementwise,
    negate_signal,
    normalise_axis,
    signal_of_constant,
)
from surefoot.problem.network import Constant, Pairing, Shape


def translate_layer_norm(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """(x - mean) (1 / sqrt(variance + epsilon)) scale + bias over the last axes, as the standard has it."""
    value = require_signal(given)
    if given.results > 1 or given.integer("stash_type", 1) != 1:
        raise Unsupported("LayerNormalization with several results", fix="export the inference graph")
    axis = normalise_axis(given.integer("axis", -1), value.layout.ndim)
    found = emit_layer_norm(builder, value, axis, given.number("epsilon", 1e-5))
    for place, kind in ((1, Constant.MULTIPLY), (2, Constant.ADD)):
        if given.optional(place) is not None:
            constant = given.constant_input(place, "a parameter")
            if broadcast_shape([value.shape, constant.shape]) != value.shape:
                raise ValueError("one parameter for each normalised entry")
            found = emit_elementwise(builder, found, kind, constant)
    return [found]


def emit_layer_norm(builder: NetworkBuilder, value: TensorSignal, axis: int, epsilon: float) -> TensorSignal:
    """Mean 0 and spread 1 over the axes from this one on."""
    count = math.prod(value.shape[axis:])
    apart = combine_signals(
        builder, value, negate_signal(builder, _emit_row_means(builder, value, axis, count)), Pairing.ADD
    )
    variance = _emit_row_means(builder, emit_product(builder, apart, apart), axis, count)
    # Sums of squares are not negative, in float32 neither: the limits change nothing, but bounds see them.
    least = np.float32(epsilon)
    if not least > 0:
        raise Unsupported(f"a normalisation with epsilon = {epsilon:g}", fix="use a positive epsilon")
    variance = emit_activation(
        builder, add_constant(builder, variance, epsilon), Shape.CLIP, float(least), LARGEST
    )
    root = float(np.nextafter(np.sqrt(least), np.float32(0)))
    spread = emit_activation(
        builder, emit_activation(builder, variance, Shape.SQRT), Shape.CLIP, root, LARGEST
    )
    return emit_product(builder, apart, emit_reciprocal(builder, spread))


def emit_reciprocal(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    one = signal_of_constant(builder, KnownTensor(np.ones(x.shape, np.float32)))
    return combine_signals(builder, one, x, Pairing.DIVIDE)


def translate_reciprocal(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [emit_reciprocal(builder, require_signal(given))]


def _emit_row_means(builder: NetworkBuilder, value: TensorSignal, axis: int, count: int) -> TensorSignal:
    """The means over the last axes, which stay with length 1."""
    number, rows = builder.flat(value), value.layout.size // count
    builder.reserve(rows * builder.widths[number])
    weights = np.kron(np.eye(rows, dtype=np.float32), np.ones((1, count), np.float32))
    shape = (*value.shape[:axis], *[1] * (value.layout.ndim - axis))
    return divide_signal(builder, emit_affine(builder, number, weights, shape), count)
