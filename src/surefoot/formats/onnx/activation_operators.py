"""ONNX activations: a function of every entry, with the attributes of its operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.activation_functions import (
    SELU_ALPHA,
    SELU_GAMMA,
    emit_absolute,
    emit_celu,
    emit_gelu,
    emit_gelu_tanh,
    emit_hard_sigmoid,
    emit_hard_swish,
    emit_mish,
    emit_prelu,
    emit_selu,
    emit_sign,
    emit_silu,
    emit_softsign,
    emit_thresholded,
)
from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    emit_activation,
)
from surefoot.problem.network import Shape

_Function = Callable[[NetworkBuilder, TensorSignal, NodeArguments], TensorSignal]


def require_signal(given: NodeArguments) -> TensorSignal:
    """The first input, which depends on the input of the network."""
    first = given.value(0)
    if isinstance(first, TensorSignal):
        return first
    raise Unsupported(f"{given.op} of a constant", fix="fold constants before exporting")


def translate_activation(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [ACTIVATIONS[given.op](builder, require_signal(given), given)]


def _plain_shape(shape: Shape) -> _Function:
    return lambda builder, x, _: emit_activation(builder, x, shape)


def _emit_elu(builder: NetworkBuilder, x: TensorSignal, given: NodeArguments) -> TensorSignal:
    return emit_activation(builder, x, Shape.ELU, _positive_number(given, "alpha", 1.0))


def _emit_scaled_elu(builder: NetworkBuilder, x: TensorSignal, given: NodeArguments) -> TensorSignal:
    alpha, gamma = _positive_number(given, "alpha", SELU_ALPHA), given.number("gamma", SELU_GAMMA)
    return emit_selu(builder, x, alpha, gamma)


def _emit_gelu_form(builder: NetworkBuilder, x: TensorSignal, given: NodeArguments) -> TensorSignal:
    form = given.text("approximate", "none")
    if form not in ("none", "tanh"):
        raise InvalidProblem("Gelu with an unknown approximation", fix='use "none" or "tanh"')
    return emit_gelu_tanh(builder, x) if form == "tanh" else emit_gelu(builder, x)


def _emit_prelu_slopes(builder: NetworkBuilder, x: TensorSignal, given: NodeArguments) -> TensorSignal:
    slopes = given.constant_input(1, "the slope")
    if slopes.dtype != np.float32:
        raise Unsupported(f"PRelu with slopes of {slopes.dtype}", fix="export the network in float32")
    if given.opset < 7 and slopes.ndim == 1 and slopes.size > 1 and len(x.shape) > 1:
        slopes = slopes.reshape(-1, *[1] * (len(x.shape) - 2))  # one for each channel
    if broadcast_shape([x.shape, slopes.shape]) != x.shape:
        raise ValueError("the slopes are larger than the input")
    return emit_prelu(builder, x, np.asarray(np.broadcast_to(slopes, x.shape)))


def _positive_number(given: NodeArguments, name: str, default: float) -> float:
    found = given.number(name, default)
    if np.float32(found) <= 0:
        raise Unsupported(f"{given.op} with {name} = {found:g}", fix=f"use a positive {name}")
    return found


ACTIVATIONS: dict[str, _Function] = {
    "Abs": lambda builder, x, _: emit_absolute(builder, x),
    "Celu": lambda builder, x, given: emit_celu(builder, x, _positive_number(given, "alpha", 1.0)),
    "Cos": _plain_shape(Shape.COS),
    "Elu": _emit_elu,
    "Erf": _plain_shape(Shape.ERF),
    "Exp": _plain_shape(Shape.EXP),
    "Gelu": _emit_gelu_form,
    "HardSigmoid": lambda builder, x, given: emit_hard_sigmoid(
        builder, x, given.number("alpha", 0.2), given.number("beta", 0.5)
    ),
    "HardSwish": lambda builder, x, _: emit_hard_swish(builder, x),
    "LeakyRelu": lambda builder, x, given: emit_activation(
        builder, x, Shape.LEAKY_RELU, given.number("alpha", 0.01)
    ),
    "Mish": lambda builder, x, _: emit_mish(builder, x),
    "PRelu": _emit_prelu_slopes,
    "Relu": _plain_shape(Shape.RELU),
    "Selu": _emit_scaled_elu,
    "Sigmoid": _plain_shape(Shape.SIGMOID),
    "Sign": lambda builder, x, _: emit_sign(builder, x),
    "Sin": _plain_shape(Shape.SIN),
    "Softplus": _plain_shape(Shape.SOFTPLUS),
    "Softsign": lambda builder, x, _: emit_softsign(builder, x),
    "Sqrt": _plain_shape(Shape.SQRT),
    "Swish": lambda builder, x, given: emit_silu(builder, x, given.number("alpha", 1.0)),
    "Tanh": _plain_shape(Shape.TANH),
    "ThresholdedRelu": lambda builder, x, given: emit_thresholded(builder, x, given.number("alpha", 1.0)),
}
ACTIVATION_ATTRIBUTES = {
    "Celu": "alpha",
    "Elu": "alpha",
    "Gelu": "approximate",
    "HardSigmoid": "alpha beta",
    "LeakyRelu": "alpha",
    "Selu": "alpha gamma",
    "Swish": "alpha",
    "ThresholdedRelu": "alpha",
}
