"""Activation functions by their formulas: those that are not nodes of a network themselves become several.

The operations are those of the libraries, in their order, with the functions that a network knows. Where a
library computes the same formula in another way (x / (1 + exp(-x)) for x * sigmoid(x)), its result is within
the rounding error that every answer takes into account.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np

from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    TensorSignal,
    combine_signals,
    divide_signal,
    emit_activation,
    emit_elementwise,
    negate_signal,
)
from surefoot.problem.network import Constant, Pairing, Shape

LARGEST = float(np.finfo(np.float32).max)  # what ONNX itself takes where Clip has no bound
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def add_constant(builder: NetworkBuilder, x: TensorSignal, constant: float) -> TensorSignal:
    return emit_elementwise(builder, x, Constant.ADD, np.array(constant, np.float32))


def multiply_constant(builder: NetworkBuilder, x: TensorSignal, constant: float) -> TensorSignal:
    return emit_elementwise(builder, x, Constant.MULTIPLY, np.array(constant, np.float32))


def emit_absolute(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """The larger of x and -x; the ReLU changes nothing, but bounds see that it is not negative."""
    larger = combine_signals(builder, x, negate_signal(builder, x), Pairing.MAXIMUM)
    return emit_activation(builder, larger, Shape.RELU)


def emit_product(builder: NetworkBuilder, x: TensorSignal, y: TensorSignal) -> TensorSignal:
    return combine_signals(builder, x, y, Pairing.MULTIPLY)


def emit_selu(
    builder: NetworkBuilder, x: TensorSignal, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA
) -> TensorSignal:
    return multiply_constant(builder, emit_activation(builder, x, Shape.ELU, alpha), gamma)


def emit_celu(builder: NetworkBuilder, x: TensorSignal, alpha: float = 1.0) -> TensorSignal:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    if alpha == 1:
        return emit_activation(builder, x, Shape.ELU, 1.0)
    below = divide_signal(builder, emit_activation(builder, x, Shape.CLIP, -LARGEST, 0.0), alpha)
    curve = multiply_constant(builder, emit_activation(builder, below, Shape.ELU, 1.0), alpha)
    return combine_signals(builder, emit_activation(builder, x, Shape.RELU), curve, Pairing.ADD)


def emit_gelu(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """x / 2 (1 + erf(x / sqrt 2))."""
    curve = emit_activation(builder, multiply_constant(builder, x, 1.0 / sqrt(2.0)), Shape.ERF)
    return emit_product(builder, multiply_constant(builder, x, 0.5), add_constant(builder, curve, 1.0))


def emit_gelu_tanh(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    cube = emit_product(builder, emit_product(builder, x, x), x)
    inner = combine_signals(builder, x, multiply_constant(builder, cube, 0.044715), Pairing.ADD)
    curve = emit_activation(builder, multiply_constant(builder, inner, sqrt(2.0 / pi)), Shape.TANH)
    return emit_product(builder, multiply_constant(builder, x, 0.5), add_constant(builder, curve, 1.0))


def emit_silu(builder: NetworkBuilder, x: TensorSignal, alpha: float = 1.0) -> TensorSignal:
    """x sigmoid(alpha x), also called Swish."""
    inner = x if alpha == 1 else multiply_constant(builder, x, alpha)
    return emit_product(builder, x, emit_activation(builder, inner, Shape.SIGMOID))


def emit_mish(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """x tanh(log(1 + exp x))."""
    curve = emit_activation(builder, emit_activation(builder, x, Shape.SOFTPLUS), Shape.TANH)
    return emit_product(builder, x, curve)


def emit_softsign(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """x / (1 + |x|)."""
    divisor = add_constant(builder, emit_absolute(builder, x), 1.0)
    return combine_signals(builder, x, divisor, Pairing.DIVIDE)


def emit_hard_sigmoid(builder: NetworkBuilder, x: TensorSignal, alpha: float, beta: float) -> TensorSignal:
    """alpha x + beta, between 0 and 1."""
    line = add_constant(builder, multiply_constant(builder, x, alpha), beta)
    return emit_activation(builder, line, Shape.CLIP, 0.0, 1.0)


def emit_hard_swish(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    return emit_product(builder, x, emit_hard_sigmoid(builder, x, 1.0 / 6.0, 0.5))


def emit_prelu(builder: NetworkBuilder, x: TensorSignal, slopes: np.ndarray) -> TensorSignal:
    """x, or slope x below zero; for slopes from 0 to 1 the larger of the two, bounded more narrowly."""
    if slopes.size and (slopes == slopes.flat[0]).all():
        return emit_activation(builder, x, Shape.LEAKY_RELU, float(slopes.flat[0]))
    if (slopes >= 0).all() and (slopes <= 1).all():
        sloped = emit_elementwise(builder, x, Constant.MULTIPLY, slopes)
        return combine_signals(builder, x, sloped, Pairing.MAXIMUM)
    below = emit_activation(builder, x, Shape.CLIP, -LARGEST, 0.0)
    sloped = emit_elementwise(builder, below, Constant.MULTIPLY, slopes)
    return combine_signals(builder, emit_activation(builder, x, Shape.RELU), sloped, Pairing.ADD)


def emit_thresholded(builder: NetworkBuilder, x: TensorSignal, alpha: float) -> TensorSignal:
    """x where it is above alpha, else 0."""
    return emit_product(builder, x, emit_comparison(builder, add_constant(builder, x, -alpha)))


def emit_sign(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    above, below = emit_comparison(builder, x), emit_comparison(builder, negate_signal(builder, x))
    return combine_signals(builder, above, negate_signal(builder, below), Pairing.ADD)


def emit_comparison(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    """1 where x > 0, else 0."""
    return emit_activation(builder, x, Shape.STEP)


def _shape_function(
    shape: Shape, *parameters: float
) -> Callable[[NetworkBuilder, TensorSignal], TensorSignal]:
    return lambda builder, x: emit_activation(builder, x, shape, *parameters)


def _keep_signal(_: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    return x


def _emit_log_sigmoid(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    opposite = negate_signal(builder, x)
    return negate_signal(builder, emit_activation(builder, opposite, Shape.SOFTPLUS))


def _emit_tanhshrink(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    opposite = negate_signal(builder, emit_activation(builder, x, Shape.TANH))
    return combine_signals(builder, x, opposite, Pairing.ADD)


def _emit_torch_hard_sigmoid(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    line = emit_activation(builder, add_constant(builder, x, 3.0), Shape.CLIP, 0.0, 6.0)
    return divide_signal(builder, line, 6.0)


def _emit_torch_hard_swish(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    line = emit_activation(builder, add_constant(builder, x, 3.0), Shape.CLIP, 0.0, 6.0)
    return divide_signal(builder, emit_product(builder, x, line), 6.0)


# The classes of torch.nn with the parameters that they have by default, by the name of the function.
TORCH_ACTIVATIONS: dict[str, tuple[str, Callable[[NetworkBuilder, TensorSignal], TensorSignal]]] = {
    "tanh": ("Tanh", _shape_function(Shape.TANH)),
    "relu": ("ReLU", _shape_function(Shape.RELU)),
    "leaky_relu": ("LeakyReLU", _shape_function(Shape.LEAKY_RELU, 0.01)),
    "sigmoid": ("Sigmoid", _shape_function(Shape.SIGMOID)),
    "elu": ("ELU", _shape_function(Shape.ELU, 1.0)),
    "selu": ("SELU", emit_selu),
    "celu": ("CELU", emit_celu),
    "gelu": ("GELU", emit_gelu),
    "silu": ("SiLU", emit_silu),
    "mish": ("Mish", emit_mish),
    "softplus": ("Softplus", _shape_function(Shape.SOFTPLUS)),
    "softsign": ("Softsign", emit_softsign),
    "log_sigmoid": ("LogSigmoid", _emit_log_sigmoid),
    "tanhshrink": ("Tanhshrink", _emit_tanhshrink),
    "relu6": ("ReLU6", _shape_function(Shape.CLIP, 0.0, 6.0)),
    "hardtanh": ("Hardtanh", _shape_function(Shape.CLIP, -1.0, 1.0)),
    "hardsigmoid": ("Hardsigmoid", _emit_torch_hard_sigmoid),
    "hardswish": ("Hardswish", _emit_torch_hard_swish),
    "identity": ("Identity", _keep_signal),
}
