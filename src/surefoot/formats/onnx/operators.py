"""ONNX operations that compute, and the table of every operation the reader knows.

Nothing here may change how a float32 result is rounded: an operation becomes the same operation, or one that
is exactly equal (x - c is x + (-c), the minimum is the negated maximum of the negated).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.activation_functions import LARGEST
from surefoot.formats.onnx.activation_operators import (
    ACTIVATION_ATTRIBUTES,
    ACTIVATIONS,
    require_signal,
    translate_activation,
)
from surefoot.formats.onnx.choice_operators import (
    COMPARISONS,
    translate_lookup,
    translate_one_hot,
    translate_where,
)
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
    divide_signal,
    emit_activation,
    emit_elementwise,
    negate_signal,
    signal_of_constant,
)
from surefoot.formats.onnx.normalization_operators import (
    emit_reciprocal,
    translate_layer_norm,
    translate_reciprocal,
)
from surefoot.formats.onnx.pooling_operators import (
    translate_average_pool,
    translate_global_average,
    translate_global_max,
    translate_max_pool,
    translate_reduce_max,
    translate_reduce_min,
)
from surefoot.formats.onnx.protobuf import Tensor
from surefoot.formats.onnx.recurrent_operators import RECURRENT, translate_recurrent
from surefoot.problem.network import Constant, Pairing, Shape

Translation: TypeAlias = Callable[[NetworkBuilder, NodeArguments], list[Value]]
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
        return [combine_signals(builder, signal_of_constant(builder, left), right, Pairing.DIVIDE)]
    if not right.array.all():
        raise InvalidProblem("division by zero", fix="repair the constant")
    assert isinstance(left, TensorSignal)
    return [emit_elementwise(builder, left, Constant.DIVIDE, right.array)]


def _translate_neg(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [negate_signal(builder, require_signal(given))]


def _translate_sum(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The sum of several values, from the first on; for the mean it is divided by their number."""
    values = given.all()
    total = values[0]
    for value in values[1:]:
        if isinstance(total, KnownTensor) and isinstance(value, KnownTensor):
            broadcast_shape([total.shape, value.shape])
            total = KnownTensor(total.array + value.array)
        else:
            total = _add_values(builder, total, value)
    if given.op == "Mean" and len(values) > 1:
        assert isinstance(total, TensorSignal)
        total = divide_signal(builder, total, len(values))
    return [total]


def _translate_pow(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    signal, exponents = require_signal(given), given.constant_input(1, "the exponent")
    exponent = float(exponents.flat[0]) if exponents.size else 0.0
    if exponents.size == 1 and exponent == 0.5 and exponents.ndim <= signal.layout.ndim:
        return [emit_activation(builder, signal, Shape.SQRT)]
    if exponents.size == 1 and exponent == -1 and exponents.ndim <= signal.layout.ndim:
        return [emit_reciprocal(builder, signal)]
    if (exponents != exponent).any() or exponent not in range(1, MOST_FACTORS + 1):
        raise Unsupported(
            f"Pow by anything but one integer from 1 to {MOST_FACTORS}, 1/2 or -1", fix="write a product"
        )
    shape = broadcast_shape([signal.shape, exponents.shape])
    factor = product = TensorSignal(signal.source, np.broadcast_to(signal.layout, shape))
    for _ in range(int(exponent) - 1):
        product = combine_signals(builder, product, factor, Pairing.MULTIPLY)
    return [product]


def _translate_clip(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Bounds are attributes before opset 11, inputs since; either may be absent."""
    low, high = given.number("min", -LARGEST), given.number("max", LARGEST)
    if given.optional(1) is not None:
        low = _scalar_bound(given.constant_input(1, "the lower bound"))
    if given.optional(2) is not None:
        high = _scalar_bound(given.constant_input(2, "the upper bound"))
    return [_clip_signal(builder, require_signal(given), low, high)]


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
        right = signal_of_constant(builder, other)
        if sign < 0:
            result = combine_signals(builder, result, right, Pairing.MAXIMUM)
        else:
            both = negate_signal(builder, result), negate_signal(builder, right)
            result = negate_signal(builder, combine_signals(builder, *both, Pairing.MAXIMUM))
    return result


def _attribute_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOVED = {
    "Dropout": "ratio seed is_test",
    "Flatten": "axis",
    "Gather": "axis",
    "Reshape": "allowzero",
    "Slice": "starts ends axes",
    "Split": "axis split num_outputs",
    "Squeeze": "axes",
    "Transpose": "perm",
    "Unsqueeze": "axes",
}
_WINDOW = "auto_pad dilations kernel_shape pads strides"
_REDUCED = _attribute_names("axes keepdims noop_with_empty_axes")
# What may be done with truth values and indices that depend on the input.
_OF_ANY_KIND = frozenset({*MOVEMENTS, *COMPARISONS, "Cast", "Concat", "OneHot", "Shape", "Where"})
OPERATIONS: dict[str, _Operator] = {
    **{op: _Operator(translate_movement, _attribute_names(_MOVED.get(op, ""))) for op in MOVEMENTS},
    **{
        op: _Operator(translate_activation, _attribute_names(ACTIVATION_ATTRIBUTES.get(op, "")))
        for op in ACTIVATIONS
    },
    **{op: _Operator(translate, _attribute_names("axis broadcast")) for op, translate in COMPARISONS.items()},
    **{
        op: _Operator(
            translate_recurrent,
            _attribute_names("activations direction hidden_size input_forget layout linear_before_reset"),
        )
        for op in RECURRENT
    },
    "Add": _Operator(_translate_add, _attribute_names("axis broadcast")),
    "AveragePool": _Operator(
        translate_average_pool, _attribute_names(f"{_WINDOW} count_include_pad ceil_mode")
    ),
    "BatchNormalization": _Operator(
        translate_batch_norm, _attribute_names("epsilon momentum training_mode spatial is_test")
    ),
    "Cast": _Operator(translate_cast, _attribute_names("to saturate")),
    "Clip": _Operator(_translate_clip, _attribute_names("min max")),
    "Concat": _Operator(translate_concat, _attribute_names("axis")),
    "Constant": _Operator(
        translate_constant, _attribute_names("value value_float value_floats value_int value_ints")
    ),
    "ConstantOfShape": _Operator(translate_constant_of_shape, _attribute_names("value")),
    "Conv": _Operator(translate_conv, _attribute_names("auto_pad dilations group kernel_shape pads strides")),
    "Div": _Operator(_translate_div, _attribute_names("axis broadcast")),
    "Gemm": _Operator(translate_gemm, _attribute_names("alpha beta transA transB broadcast")),
    "GlobalAveragePool": _Operator(translate_global_average),
    "GlobalMaxPool": _Operator(translate_global_max),
    "LayerNormalization": _Operator(translate_layer_norm, _attribute_names("axis epsilon stash_type")),
    "MatMul": _Operator(translate_matmul),
    "Max": _Operator(_translate_max),
    "MaxPool": _Operator(translate_max_pool, _attribute_names(f"{_WINDOW} ceil_mode storage_order")),
    "Mean": _Operator(_translate_sum),
    "Min": _Operator(_translate_min),
    "Mul": _Operator(_translate_mul, _attribute_names("axis broadcast")),
    "Neg": _Operator(_translate_neg),
    "Pow": _Operator(_translate_pow, _attribute_names("axis broadcast")),
    "OneHot": _Operator(translate_one_hot, _attribute_names("axis")),
    "Reciprocal": _Operator(translate_reciprocal),
    "ReduceMax": _Operator(translate_reduce_max, _REDUCED),
    "ReduceMean": _Operator(translate_reduce_mean, _REDUCED),
    "ReduceMin": _Operator(translate_reduce_min, _REDUCED),
    "ReduceSum": _Operator(translate_reduce_sum, _REDUCED),
    "Shape": _Operator(translate_shape, _attribute_names("start end")),
    "Sub": _Operator(_translate_sub, _attribute_names("axis broadcast")),
    "Sum": _Operator(_translate_sum),
    "Where": _Operator(translate_where),
}


def translate_onnx_node(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The outputs of a node: computed now if every input is constant, otherwise as network nodes."""
    operation = OPERATIONS[given.op]
    given = align_broadcast(given)
    if (
        given.op in FOLDED
        and given.values
        and all(v is None or isinstance(v, KnownTensor) for v in given.values)
    ):
        return FOLDED[given.op](given)
    for value in given.values:
        if isinstance(value, TensorSignal) and value.kind != "float32" and given.op not in _OF_ANY_KIND:
            what = f"{given.op} of {value.kind} values that depend on the input"
            raise Unsupported(what, fix="cast them to float32 before")
    if given.op == "Gather" and isinstance(given.optional(1), TensorSignal):
        return translate_lookup(builder, given)
    return operation.translate(builder, given)


def align_broadcast(given: NodeArguments) -> NodeArguments:
    """Before opset 7 the second operand is broadcast only if the node says so, along an axis of the first."""
    if given.opset >= 7 or given.op not in _OLD_BROADCAST or len(given.values) < 2:
        return given
    left, right = given.value(0), given.value(1)
    if not given.flag("broadcast", False):
        if left.shape != right.shape:
            raise ValueError("no broadcast is asked for")
        return given
    axis = given.integer("axis", len(left.shape) - len(right.shape))
    if not 0 <= axis <= len(left.shape) - len(right.shape):
        raise ValueError("the axis does not fit")
    shape = (*right.shape, *[1] * (len(left.shape) - axis - len(right.shape)))
    aligned: Value = (
        KnownTensor(right.array.reshape(shape))
        if isinstance(right, KnownTensor)
        else replace(right, layout=right.layout.reshape(shape))
    )
    if broadcast_shape([left.shape, shape]) != left.shape:
        raise ValueError("the second operand is larger")
    return replace(given, values=(left, aligned, *given.values[2:]))


_OLD_BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
