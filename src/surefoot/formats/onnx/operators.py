"""ONNX operations that compute, and the table of every operation the reader knows.

Nothing here may change how a float32 result is rounded: an operation becomes the same operation, or one that
is exactly equal (x - c is x + (-c), the minimum is the negated maximum of the negated).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.constant_folding import (
    FOLDED,
    translate_cast,
    translate_constant,
    translate_constant_of_shape,
    translate_shape,
)
from surefoot.formats.onnx.layout_operators import MOVEMENTS, translate_concat, translate_movement
from surefoot.formats.onnx.linear_operators import (
    translate_batch_norm,
    translate_conv,
    translate_gemm,
    translate_matmul,
    translate_reduce_mean,
    translate_reduce_sum,
)
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    combine_signals,
    emit_activation,
    emit_elementwise,
    negate_signal,
    row_major_signal,
)
from surefoot.formats.onnx.protobuf import Tensor
from surefoot.problem.network import Constant, Pairing, Shape

Translation: TypeAlias = Callable[[NetworkBuilder, NodeArguments], list[Value]]
LARGEST = float(np.finfo(np.float32).max)  # what ONNX itself takes where Clip has no bound
MOST_FACTORS = 8


@dataclass(frozen=True, slots=True)
class _Operator:
    translate: Translation
    attributes: frozenset[str] = frozenset()  # every other attribute is refused


def _translate_add(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_add_values(builder, given.value(0), given.value(1))]


def _add_values(builder: NetworkBuilder, left: Value, right: Value) -> TensorSignal:
    match left, right:
        case TensorSignal(), TensorSignal():
            return combine_signals(builder, left, right, Pairing.ADD)
        case TensorSignal(), KnownTensor(array):
            return emit_elementwise(builder, left, Constant.ADD, array)
        case KnownTensor(array), TensorSignal():
            return emit_elementwise(builder, right, Constant.ADD, array)
    raise AssertionError("constants are folded before")


def _translate_sub(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    opposite = KnownTensor(-right.array) if isinstance(right, KnownTensor) else negate_signal(builder, right)
    return [_add_values(builder, left, opposite)]


def _translate_mul(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    match given.value(0), given.value(1):
        case TensorSignal() as left, TensorSignal() as right:
            return [combine_signals(builder, left, right, Pairing.MULTIPLY)]
        case (TensorSignal() as signal, KnownTensor(array)) | (KnownTensor(array), TensorSignal() as signal):
            return [emit_elementwise(builder, signal, Constant.MULTIPLY, array)]
    raise AssertionError("constants are folded before")


def _translate_div(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, TensorSignal):
        return [combine_signals(builder, _as_signal(builder, left), right, Pairing.DIVIDE)]
    if not right.array.all():
        raise InvalidProblem("division by zero", fix="repair the constant")
    assert isinstance(left, TensorSignal)
    return [emit_elementwise(builder, left, Constant.DIVIDE, right.array)]


def _as_signal(builder: NetworkBuilder, value: Value) -> TensorSignal:
    if isinstance(value, TensorSignal):
        return value
    if value.array.dtype != np.float32:
        raise Unsupported(f"a {value.array.dtype} constant meets a float32 value", fix="cast it to float32")
    return row_major_signal(builder.constant(value.array), value.shape)


def _translate_neg(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [negate_signal(builder, _require_signal(given))]


def _require_signal(given: NodeArguments) -> TensorSignal:
    first = given.value(0)
    if isinstance(first, KnownTensor):
        raise Unsupported(f"{given.op} of a constant", fix="fold constants before exporting")
    return first


def _translate_pow(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    signal, exponents = _require_signal(given), given.constant_input(1, "the exponent")
    exponent = float(exponents.flat[0]) if exponents.size else 0.0
    if (exponents != exponent).any() or exponent not in range(1, MOST_FACTORS + 1):
        raise Unsupported(f"Pow by anything but one integer from 1 to {MOST_FACTORS}", fix="write a product")
    shape = broadcast_shape([signal.shape, exponents.shape])
    factor = product = TensorSignal(signal.source, np.broadcast_to(signal.layout, shape))
    for _ in range(int(exponent) - 1):
        product = combine_signals(builder, product, factor, Pairing.MULTIPLY)
    return [product]


def _translate_activation(shape: Shape) -> Translation:
    return lambda builder, given: [emit_activation(builder, _require_signal(given), shape)]


def _translate_leaky_relu(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    slope = given.number("alpha", 0.01)
    return [emit_activation(builder, _require_signal(given), Shape.LEAKY_RELU, slope)]


def _translate_clip(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Bounds are attributes before opset 11, inputs since; either may be absent."""
    low, high = given.number("min", -LARGEST), given.number("max", LARGEST)
    if given.optional(1) is not None:
        low = _scalar_bound(given.constant_input(1, "the lower bound"))
    if given.optional(2) is not None:
        high = _scalar_bound(given.constant_input(2, "the upper bound"))
    return [_clip_signal(builder, _require_signal(given), low, high)]


def _clip_signal(builder: NetworkBuilder, signal: TensorSignal, low: float, high: float) -> TensorSignal:
    if low > high:
        raise InvalidProblem(f"lower bound {low:g} is above upper bound {high:g}", fix="repair the bounds")
    if low == 0 and high == LARGEST:
        return emit_activation(builder, signal, Shape.RELU)
    return emit_activation(builder, signal, Shape.CLIP, low, high)


def _scalar_bound(array: Tensor) -> float:
    if array.size != 1 or array.ndim > 1:
        raise Unsupported("a bound that is not a single number", fix="export with scalar bounds")
    return float(array.flat[0])


def _translate_max(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_emit_extremum(builder, _read_operands(given), -1.0)]


def _translate_min(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_emit_extremum(builder, _read_operands(given), 1.0)]


def _read_operands(given: NodeArguments) -> list[Value]:
    """The operands; before opset 8 they are not broadcast."""
    values = given.all()
    if given.opset < 8 and len({v.shape for v in values}) > 1:
        raise InvalidProblem(f"{given.op} does not broadcast at opset {given.opset}", fix="use a newer opset")
    return values


def _emit_extremum(builder: NetworkBuilder, values: list[Value], sign: float) -> TensorSignal:
    """The maximum (sign -1) or minimum (sign 1); a bound that is one number everywhere is a clip."""
    result, *others = sorted(values, key=lambda v: isinstance(v, KnownTensor))
    assert isinstance(result, TensorSignal)
    for other in others:
        if isinstance(other, KnownTensor) and other.array.size and (other.array == other.array.flat[0]).all():
            shape, bound = broadcast_shape([result.shape, other.shape]), float(other.array.flat[0])
            wide = TensorSignal(result.source, np.broadcast_to(result.layout, shape))
            result = _clip_signal(builder, wide, *((bound, LARGEST) if sign < 0 else (-LARGEST, bound)))
            continue
        right = _as_signal(builder, other)
        if sign < 0:
            result = combine_signals(builder, result, right, Pairing.MAXIMUM)
        else:
            both = negate_signal(builder, result), negate_signal(builder, right)
            result = negate_signal(builder, combine_signals(builder, *both, Pairing.MAXIMUM))
    return result


def _refuse_signals(_: NetworkBuilder, given: NodeArguments) -> list[Value]:
    raise Unsupported(
        f"{given.op} of values that depend on the network's input", fix="export without branches"
    )


def _attribute_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOVED = {
    "Dropout": "ratio seed",
    "Flatten": "axis",
    "Gather": "axis",
    "Reshape": "allowzero",
    "Slice": "starts ends axes",
    "Split": "axis split num_outputs",
    "Squeeze": "axes",
    "Transpose": "perm",
    "Unsqueeze": "axes",
}
OPERATIONS: dict[str, _Operator] = {
    **{op: _Operator(translate_movement, _attribute_names(_MOVED.get(op, ""))) for op in MOVEMENTS},
    "Add": _Operator(_translate_add),
    "BatchNormalization": _Operator(
        translate_batch_norm, _attribute_names("epsilon momentum training_mode spatial")
    ),
    "Cast": _Operator(translate_cast, _attribute_names("to saturate")),
    "Clip": _Operator(_translate_clip, _attribute_names("min max")),
    "Concat": _Operator(translate_concat, _attribute_names("axis")),
    "Constant": _Operator(
        translate_constant, _attribute_names("value value_float value_floats value_int value_ints")
    ),
    "ConstantOfShape": _Operator(translate_constant_of_shape, _attribute_names("value")),
    "Conv": _Operator(translate_conv, _attribute_names("auto_pad dilations group kernel_shape pads strides")),
    "Div": _Operator(_translate_div),
    "Equal": _Operator(_refuse_signals),
    "Gemm": _Operator(translate_gemm, _attribute_names("alpha beta transA transB")),
    "LeakyRelu": _Operator(_translate_leaky_relu, _attribute_names("alpha")),
    "MatMul": _Operator(translate_matmul),
    "Max": _Operator(_translate_max),
    "Min": _Operator(_translate_min),
    "Mul": _Operator(_translate_mul),
    "Neg": _Operator(_translate_neg),
    "Pow": _Operator(_translate_pow),
    "ReduceMean": _Operator(translate_reduce_mean, _attribute_names("axes keepdims noop_with_empty_axes")),
    "ReduceSum": _Operator(translate_reduce_sum, _attribute_names("axes keepdims noop_with_empty_axes")),
    "Relu": _Operator(_translate_activation(Shape.RELU)),
    "Shape": _Operator(translate_shape, _attribute_names("start end")),
    "Sigmoid": _Operator(_translate_activation(Shape.SIGMOID)),
    "Sub": _Operator(_translate_sub),
    "Tanh": _Operator(_translate_activation(Shape.TANH)),
    "Where": _Operator(_refuse_signals),
}


def translate_onnx_node(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The outputs of a node: computed now if every input is constant, otherwise as network nodes."""
    operation = OPERATIONS[given.op]
    if (
        given.op in FOLDED
        and given.values
        and all(v is None or isinstance(v, KnownTensor) for v in given.values)
    ):
        return FOLDED[given.op](given)
    return operation.translate(builder, given)
