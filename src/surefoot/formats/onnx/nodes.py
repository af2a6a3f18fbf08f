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
from surefoot.formats.onnx.constants import FOLDED, cast, constant, constant_of_shape, shape_of
from surefoot.formats.onnx.file import Tensor
from surefoot.formats.onnx.linear import batch_normalization, conv, gemm, matmul, reduce_mean, reduce_sum
from surefoot.formats.onnx.movement import MOVEMENTS, concat, move
from surefoot.formats.onnx.values import (
    Arguments,
    Builder,
    Known,
    Signal,
    Value,
    broadcast,
    elementwise,
    in_order,
)
from surefoot.problem.network import Activation, Combine, Constant, Pairing, Shape

Translation: TypeAlias = Callable[[Builder, Arguments], list[Value]]
LARGEST = float(np.finfo(np.float32).max)  # what ONNX itself takes where Clip has no bound
MOST_FACTORS = 8


@dataclass(frozen=True, slots=True)
class Operation:
    translate: Translation
    attributes: frozenset[str] = frozenset()  # every other attribute is refused


def negated(builder: Builder, signal: Signal) -> Signal:
    return elementwise(builder, signal, Constant.MULTIPLY, np.array(-1, np.float32))


def pair(builder: Builder, left: Signal, right: Signal, pairing: Pairing) -> Signal:
    shape = broadcast([left.shape, right.shape])
    numbers = [builder.flat(Signal(s.source, np.broadcast_to(s.layout, shape))) for s in (left, right)]
    node = Combine(numbers[0], numbers[1], pairing)
    return in_order(builder.emit(node, builder.widths[numbers[0]]), shape)


def _add(builder: Builder, given: Arguments) -> list[Value]:
    return [_sum(builder, given.value(0), given.value(1))]


def _sum(builder: Builder, left: Value, right: Value) -> Signal:
    match left, right:
        case Signal(), Signal():
            return pair(builder, left, right, Pairing.ADD)
        case Signal(), Known(array):
            return elementwise(builder, left, Constant.ADD, array)
        case Known(array), Signal():
            return elementwise(builder, right, Constant.ADD, array)
    raise AssertionError("constants are folded before")


def _subtract(builder: Builder, given: Arguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    opposite = Known(-right.array) if isinstance(right, Known) else negated(builder, right)
    return [_sum(builder, left, opposite)]


def _multiply(builder: Builder, given: Arguments) -> list[Value]:
    match given.value(0), given.value(1):
        case Signal() as left, Signal() as right:
            return [pair(builder, left, right, Pairing.MULTIPLY)]
        case (Signal() as signal, Known(array)) | (Known(array), Signal() as signal):
            return [elementwise(builder, signal, Constant.MULTIPLY, array)]
    raise AssertionError("constants are folded before")


def _divide(builder: Builder, given: Arguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, Signal):
        return [pair(builder, _as_signal(builder, left), right, Pairing.DIVIDE)]
    if not right.array.all():
        raise InvalidProblem("division by zero", fix="repair the constant")
    assert isinstance(left, Signal)
    return [elementwise(builder, left, Constant.DIVIDE, right.array)]


def _as_signal(builder: Builder, value: Value) -> Signal:
    if isinstance(value, Signal):
        return value
    if value.array.dtype != np.float32:
        raise Unsupported(f"a {value.array.dtype} constant meets a float32 value", fix="cast it to float32")
    return in_order(builder.constant(value.array), value.shape)


def _negate(builder: Builder, given: Arguments) -> list[Value]:
    return [negated(builder, _signal(given))]


def _signal(given: Arguments) -> Signal:
    first = given.value(0)
    if isinstance(first, Known):
        raise Unsupported(f"{given.op} of a constant", fix="fold constants before exporting")
    return first


def _power(builder: Builder, given: Arguments) -> list[Value]:
    signal, exponents = _signal(given), given.known(1, "the exponent")
    exponent = float(exponents.flat[0]) if exponents.size else 0.0
    if (exponents != exponent).any() or exponent not in range(1, MOST_FACTORS + 1):
        raise Unsupported(f"Pow by anything but one integer from 1 to {MOST_FACTORS}", fix="write a product")
    shape = broadcast([signal.shape, exponents.shape])
    factor = product = Signal(signal.source, np.broadcast_to(signal.layout, shape))
    for _ in range(int(exponent) - 1):
        product = pair(builder, product, factor, Pairing.MULTIPLY)
    return [product]


def activation(builder: Builder, signal: Signal, shape: Shape, *parameters: float) -> Signal:
    number = builder.flat(signal)
    node = Activation(number, shape, tuple(float(np.float32(p)) for p in parameters))
    return in_order(builder.emit(node, builder.widths[number]), signal.shape)


def _plain(shape: Shape) -> Translation:
    return lambda builder, given: [activation(builder, _signal(given), shape)]


def _leaky(builder: Builder, given: Arguments) -> list[Value]:
    slope = given.number("alpha", 0.01)
    return [activation(builder, _signal(given), Shape.LEAKY_RELU, slope)]


def _clip(builder: Builder, given: Arguments) -> list[Value]:
    """Bounds are attributes before opset 11, inputs since; either may be absent."""
    low, high = given.number("min", -LARGEST), given.number("max", LARGEST)
    if given.optional(1) is not None:
        low = _scalar(given.known(1, "the lower bound"))
    if given.optional(2) is not None:
        high = _scalar(given.known(2, "the upper bound"))
    return [_between(builder, _signal(given), low, high)]


def _between(builder: Builder, signal: Signal, low: float, high: float) -> Signal:
    if low > high:
        raise InvalidProblem(f"lower bound {low:g} is above upper bound {high:g}", fix="repair the bounds")
    if low == 0 and high == LARGEST:
        return activation(builder, signal, Shape.RELU)
    return activation(builder, signal, Shape.CLIP, low, high)


def _scalar(array: Tensor) -> float:
    if array.size != 1 or array.ndim > 1:
        raise Unsupported("a bound that is not a single number", fix="export with scalar bounds")
    return float(array.flat[0])


def _maximum(builder: Builder, given: Arguments) -> list[Value]:
    return [_largest(builder, _alike(given), -1.0)]


def _minimum(builder: Builder, given: Arguments) -> list[Value]:
    return [_largest(builder, _alike(given), 1.0)]


def _alike(given: Arguments) -> list[Value]:
    """The operands; before opset 8 they are not broadcast."""
    values = given.all()
    if given.opset < 8 and len({v.shape for v in values}) > 1:
        raise InvalidProblem(f"{given.op} does not broadcast at opset {given.opset}", fix="use a newer opset")
    return values


def _largest(builder: Builder, values: list[Value], sign: float) -> Signal:
    """The maximum (sign -1) or minimum (sign 1); a bound that is one number everywhere is a clip."""
    result, *others = sorted(values, key=lambda v: isinstance(v, Known))
    assert isinstance(result, Signal)
    for other in others:
        if isinstance(other, Known) and other.array.size and (other.array == other.array.flat[0]).all():
            shape, bound = broadcast([result.shape, other.shape]), float(other.array.flat[0])
            wide = Signal(result.source, np.broadcast_to(result.layout, shape))
            result = _between(builder, wide, *((bound, LARGEST) if sign < 0 else (-LARGEST, bound)))
            continue
        right = _as_signal(builder, other)
        if sign < 0:
            result = pair(builder, result, right, Pairing.MAXIMUM)
        else:
            both = negated(builder, result), negated(builder, right)
            result = negated(builder, pair(builder, *both, Pairing.MAXIMUM))
    return result


def _known_only(_: Builder, given: Arguments) -> list[Value]:
    raise Unsupported(
        f"{given.op} of values that depend on the network's input", fix="export without branches"
    )


def _names(text: str) -> frozenset[str]:
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
OPERATIONS: dict[str, Operation] = {
    **{op: Operation(move, _names(_MOVED.get(op, ""))) for op in MOVEMENTS},
    "Add": Operation(_add),
    "BatchNormalization": Operation(batch_normalization, _names("epsilon momentum training_mode spatial")),
    "Cast": Operation(cast, _names("to saturate")),
    "Clip": Operation(_clip, _names("min max")),
    "Concat": Operation(concat, _names("axis")),
    "Constant": Operation(constant, _names("value value_float value_floats value_int value_ints")),
    "ConstantOfShape": Operation(constant_of_shape, _names("value")),
    "Conv": Operation(conv, _names("auto_pad dilations group kernel_shape pads strides")),
    "Div": Operation(_divide),
    "Equal": Operation(_known_only),
    "Gemm": Operation(gemm, _names("alpha beta transA transB")),
    "LeakyRelu": Operation(_leaky, _names("alpha")),
    "MatMul": Operation(matmul),
    "Max": Operation(_maximum),
    "Min": Operation(_minimum),
    "Mul": Operation(_multiply),
    "Neg": Operation(_negate),
    "Pow": Operation(_power),
    "ReduceMean": Operation(reduce_mean, _names("axes keepdims noop_with_empty_axes")),
    "ReduceSum": Operation(reduce_sum, _names("axes keepdims noop_with_empty_axes")),
    "Relu": Operation(_plain(Shape.RELU)),
    "Shape": Operation(shape_of, _names("start end")),
    "Sigmoid": Operation(_plain(Shape.SIGMOID)),
    "Sub": Operation(_subtract),
    "Tanh": Operation(_plain(Shape.TANH)),
    "Where": Operation(_known_only),
}


def translate(builder: Builder, given: Arguments) -> list[Value]:
    """The outputs of a node: computed now if every input is constant, otherwise as network nodes."""
    operation = OPERATIONS[given.op]
    if given.op in FOLDED and given.values and all(v is None or isinstance(v, Known) for v in given.values):
        return FOLDED[given.op](given)
    return operation.translate(builder, given)
