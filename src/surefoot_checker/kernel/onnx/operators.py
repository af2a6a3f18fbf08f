"""What every ONNX operator becomes (docs/certificates.md, section 7): a table, and a function for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..float32 import LARGEST_FLOAT32
from ..untrusted_file import ReadError
from . import shapes
from .linear import emit_conv, emit_gemm, emit_matmul, emit_reduce_mean, emit_reduce_sum
from .model import BOOL, FLOAT, INT32, INT64, Tensor, round_constant
from .values import (
    FlatNetworkBuilder,
    FlatSignal,
    OnnxOperands,
    Value,
    broadcast_value,
    rearrange_value,
    require_floats,
)

Translation: TypeAlias = Callable[[FlatNetworkBuilder, OnnxOperands], list[Value]]
MOST_FACTORS = 8  # of a power
_TYPES = (FLOAT, INT32, INT64, BOOL)


def emit_operator(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    """The results of one node, whose signature was checked; computed at once if all it reads is constant."""
    if given.op in FOLDED and all(isinstance(v, Tensor) for v in given.values):
        return [_fold_constants(given)]
    return OPERATORS[given.op](builder, given)


def _fold_constants(given: OnnxOperands) -> Tensor:
    """Arithmetic on constants, float32 results rounded once.

    A float64 operation on float32 numbers, rounded to float32, is the float32 operation: 53 >= 2 * 24 + 2.
    """
    operands = [given.constant(n) for n in range(len(given.values))]
    kind = operands[0].kind
    if kind != FLOAT and given.op == "Relu":
        raise ReadError("Relu of integers is not read by the checker")
    shape = shapes.common_shape(*(o.shape for o in operands))
    columns = [broadcast_value(o, shape).numbers for o in operands]
    apply = FOLDED[given.op]
    if kind != FLOAT:
        if given.op == "Div":
            raise ReadError("a quotient of integers is not read by the checker")
        return _integer_tensor(shape, [int(apply(*row)) for row in zip(*columns, strict=True)], kind)
    if given.op == "Div" and not all(columns[1]):
        raise ReadError("division by zero")
    return Tensor(shape, [round_constant(apply(*row)) for row in zip(*columns, strict=True)])


def _integer_tensor(shape: shapes.Shape, numbers: Sequence[float] | Sequence[int], kind: int) -> Tensor:
    """Integers that overflow no type: those of a file may be of 32 bits."""
    if any(not -(2**31) <= n < 2**31 for n in numbers):
        raise ReadError("an integer of more than 32 bits is not read by the checker")
    return Tensor(shape, numbers, kind)


FOLDED: dict[str, Callable[..., float]] = {
    "Add": lambda x, y: x + y,
    "Div": lambda x, y: x / y,
    "Mul": lambda x, y: x * y,
    "Neg": lambda x: -x,
    "Relu": lambda x: max(x, 0.0),
    "Sub": lambda x, y: x - y,
}


def _emit_constant(_: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    if len(given.attributes) != 1:
        raise ReadError("Constant needs exactly one attribute")
    ((name, found),) = given.attributes.items()
    if isinstance(found, Tensor):
        return [found]
    kind = INT64 if name in ("value_int", "value_ints") else FLOAT
    if isinstance(found, tuple):
        return [Tensor((len(found),), found, kind)]
    assert not isinstance(found, str)
    return [Tensor((), [found], kind)]


def _emit_shape(_: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    shape = given.value(0).shape
    return [Tensor((len(shape),), list(shape), INT64)]


def _emit_cast(_: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    """Between integers and float32 numbers, for constants; a signal is float32 and stays so."""
    value, kind = given.value(0), given.whole("to", 0)
    if kind not in _TYPES or (isinstance(value, FlatSignal) and kind != FLOAT):
        raise ReadError(f"Cast to type {kind} is not read by the checker")
    if isinstance(value, FlatSignal) or value.whole == (kind != FLOAT):
        if kind == BOOL:
            raise ReadError("Cast to truth values is not read by the checker")
        return [value if isinstance(value, FlatSignal) else _integer_tensor(value.shape, value.numbers, kind)]
    if kind == FLOAT:
        return [Tensor(value.shape, [round_constant(n) for n in value.numbers])]
    if kind == BOOL or any(n != int(n) for n in value.numbers):
        raise ReadError("Cast of fractions to integers is not read by the checker")
    return [_integer_tensor(value.shape, [int(n) for n in value.numbers], kind)]


def _emit_move(move: Callable[[shapes.Shape, OnnxOperands], shapes.Rearrangement]) -> Translation:
    return lambda _, given: [rearrange_value(given.value(0), move(given.value(0).shape, given))]


def _emit_dropout(_: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    if any(given.optional(place) is not None and given.constant(place).shape for place in (1, 2)):
        raise ReadError("the ratio and the training mode of Dropout must be one number")
    if given.optional(2) is not None and any(given.constant(2).numbers):
        raise ReadError("Dropout in training mode")
    return [given.value(0)]


def _reshape_entries(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    return shapes.reshape_positions(shape, given.wholes(1) or (), given.flag("allowzero", False))


def _flatten_entries(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    axis = given.whole("axis", 1)
    if axis < 0 and given.opset < 11:
        raise ReadError("Flatten counts axes from the front before opset 11")
    return shapes.flatten_positions(shape, axis)


def _squeeze_axes(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    axes = given.either("axes", 1)
    if axes is None and len(given.values) > 1:
        raise ReadError("the axes of Squeeze are empty")
    return shapes.squeeze_positions(shape, axes)


def _gather_entries(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    indices = given.constant(1)
    places = tuple(int(n) for n in indices.numbers)
    return shapes.gather_positions(shape, places, indices.shape, given.whole("axis", 0))


def _slice_entries(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    starts, ends = given.either("starts", 1), given.either("ends", 2)
    if starts is None or ends is None:
        raise ReadError("Slice has no start or no end")
    return shapes.slice_axis_positions(shape, starts, ends, given.either("axes", 3), given.wholes(4))


def _expand_entries(shape: shapes.Shape, given: OnnxOperands) -> shapes.Rearrangement:
    wanted = given.wholes(1) or ()
    return shapes.broadcast_positions(shape, shapes.common_shape(shape, wanted))


def _emit_split(_: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    value, parts = given.value(0), given.whole("num_outputs", given.results)
    sizes = given.either("split", 1)
    said = "num_outputs" in given.attributes
    if parts != given.results or (given.opset >= 18 and said is not (sizes is None)):
        raise ReadError("Split needs either sizes or num_outputs, which is the number of results")
    if sizes is None and given.opset < 18:
        size = value.shape[shapes.axis_in_rank(given.whole("axis", 0), len(value.shape))]
        if size % parts:
            raise ReadError(f"Split of {size} entries into {parts} equal parts")
    return [
        rearrange_value(value, to)
        for to in shapes.split_positions(value.shape, given.whole("axis", 0), sizes, parts)
    ]


def _emit_concat(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    parts = given.all()
    to = shapes.concat_positions([p.shape for p in parts], given.whole("axis", 0))
    if any(isinstance(p, FlatSignal) for p in parts):
        return [builder.join(parts, to)]
    if len({p.kind for p in parts if isinstance(p, Tensor)}) != 1:
        raise ReadError("Concat mixes types of numbers")
    numbers = [n for p in parts if isinstance(p, Tensor) for n in p.numbers]
    return [rearrange_value(Tensor((len(numbers),), numbers, given.constant(0).kind), to)]


def _add_values(builder: FlatNetworkBuilder, left: Value, right: Value) -> FlatSignal:
    if isinstance(left, FlatSignal) and isinstance(right, FlatSignal):
        return builder.pair("sum", left, right)
    return _emit_with_constant(builder, "add", left, right)


def _emit_with_constant(builder: FlatNetworkBuilder, kind: str, left: Value, right: Value) -> FlatSignal:
    """For operations that do not care which side the constant is on."""
    if isinstance(left, FlatSignal) and isinstance(right, Tensor):
        return builder.elementwise(kind, left, right)
    if isinstance(left, Tensor) and isinstance(right, FlatSignal):
        return builder.elementwise(kind, right, left)
    raise ReadError("this arithmetic on constants is not read by the checker")


def _negate_signal(builder: FlatNetworkBuilder, signal: FlatSignal) -> FlatSignal:
    return builder.elementwise("multiply", signal, Tensor((), [-1.0]))


def _emit_subtract(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, FlatSignal):
        return [_add_values(builder, left, _negate_signal(builder, right))]
    return [_add_values(builder, left, Tensor(right.shape, [-n for n in require_floats(right)]))]


def _emit_multiply(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(left, FlatSignal) and isinstance(right, FlatSignal):
        return [builder.pair("product", left, right)]
    return [_emit_with_constant(builder, "multiply", left, right)]


def _emit_divide(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, FlatSignal):
        above = left if isinstance(left, FlatSignal) else builder.constant(left)
        return [builder.pair("quotient", above, right)]
    if not all(right.numbers):
        raise ReadError("division by zero")
    return [builder.elementwise("divide", given.signal(0), right)]


def _emit_power(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    signal, exponents = given.signal(0), given.constant(1)
    powers = set(exponents.numbers)
    if len(powers) != 1 or not powers <= set(range(1, MOST_FACTORS + 1)):
        raise ReadError(f"Pow is read by the checker only for one integer from 1 to {MOST_FACTORS}")
    shape = shapes.common_shape(signal.shape, exponents.shape)
    factor = result = broadcast_value(signal, shape)
    for _ in range(int(powers.pop()) - 1):
        result = builder.pair("product", result, factor)
    return [result]


def _emit_activation(kind: str) -> Translation:
    return lambda builder, given: [builder.activation(kind, given.signal(0))]


def _emit_leaky_relu(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    return [builder.activation("leaky_relu", given.signal(0), given.number("alpha", round_constant(0.01)))]


def _emit_clip(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    """Bounds are attributes in older files, inputs in newer ones; either may be absent."""
    bounds = []
    for place, (name, default) in enumerate((("min", -LARGEST_FLOAT32), ("max", LARGEST_FLOAT32)), start=1):
        if given.optional(place) is None:
            bounds.append(given.number(name, default))
            continue
        numbers = require_floats(given.constant(place))
        if len(numbers) != 1 or len(given.constant(place).shape) > 1 or name in given.attributes:
            raise ReadError("a bound of Clip must be one number")
        bounds.append(numbers[0])
    return [builder.between(given.signal(0), *bounds)]


def _emit_extremum(largest: bool) -> Translation:
    """Maximum or minimum; a bound that is the same number everywhere is a clip."""

    def translation(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
        if given.opset < 8 and len({v.shape for v in given.all()}) > 1:
            raise ReadError("an extremum does not broadcast before opset 8")
        result, *others = sorted(given.all(), key=lambda v: isinstance(v, Tensor))
        if not isinstance(result, FlatSignal):
            raise ReadError("an extremum of constants is not read by the checker")
        for other in others:
            if isinstance(other, Tensor) and len(set(require_floats(other))) == 1:
                shape, bound = shapes.common_shape(result.shape, other.shape), require_floats(other)[0]
                ends = (bound, LARGEST_FLOAT32) if largest else (-LARGEST_FLOAT32, bound)
                result = builder.between(broadcast_value(result, shape), *ends)
                continue
            right = other if isinstance(other, FlatSignal) else builder.constant(other)
            if largest:
                result = builder.pair("maximum", result, right)
            else:
                both = _negate_signal(builder, result), _negate_signal(builder, right)
                result = _negate_signal(builder, builder.pair("maximum", *both))
        return [result]

    return translation


# What each operator becomes; how it is written is checked by its signature.
OPERATORS: dict[str, Translation] = {
    "Add": lambda builder, given: [_add_values(builder, given.value(0), given.value(1))],
    "Cast": _emit_cast,
    "Clip": _emit_clip,
    "Concat": _emit_concat,
    "Constant": _emit_constant,
    "Conv": emit_conv,
    "Div": _emit_divide,
    "Dropout": _emit_dropout,
    "Expand": _emit_move(_expand_entries),
    "Flatten": _emit_move(_flatten_entries),
    "Gather": _emit_move(_gather_entries),
    "Gemm": emit_gemm,
    "Identity": lambda _, given: [given.value(0)],
    "LeakyRelu": _emit_leaky_relu,
    "MatMul": emit_matmul,
    "Max": _emit_extremum(True),
    "Min": _emit_extremum(False),
    "Mul": _emit_multiply,
    "Neg": lambda builder, given: [_negate_signal(builder, given.signal(0))],
    "Pow": _emit_power,
    "ReduceMean": emit_reduce_mean,
    "ReduceSum": emit_reduce_sum,
    "Relu": _emit_activation("relu"),
    "Reshape": _emit_move(_reshape_entries),
    "Shape": _emit_shape,
    "Sigmoid": _emit_activation("sigmoid"),
    "Slice": _emit_move(_slice_entries),
    "Split": _emit_split,
    "Squeeze": _emit_move(_squeeze_axes),
    "Sub": _emit_subtract,
    "Tanh": _emit_activation("tanh"),
    "Transpose": _emit_move(lambda shape, given: shapes.transpose_positions(shape, given.integers("perm"))),
    "Unsqueeze": _emit_move(
        lambda shape, given: shapes.unsqueeze_positions(shape, given.either("axes", 1) or ())
    ),
}
