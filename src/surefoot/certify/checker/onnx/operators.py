"""What every ONNX operator becomes (docs/certificates.md, section 7): a table, and a function for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..file import ReadError, shown
from . import shapes
from .linear import conv, gemm, matmul, reduce_mean, reduce_sum
from .model import BOOL, FLOAT, INT32, INT64, Tensor, rounded
from .values import LARGEST, Arguments, Builder, Signal, Value, floats, moved

Translation: TypeAlias = Callable[[Builder, Arguments], list[Value]]
MOST_FACTORS = 8  # of a power
_TYPES = (FLOAT, INT32, INT64, BOOL)


def translate(builder: Builder, given: Arguments) -> list[Value]:
    """The results of one node, computed at once where all it reads is constant."""
    if given.op not in OPERATORS:
        raise ReadError(f"operator {shown(given.op)} is not read by the checker")
    translation, attributes = OPERATORS[given.op]
    if unknown := given.attributes.keys() - set(attributes.split()):
        raise ReadError(f"attribute {shown(min(unknown))} is not read by the checker")
    if given.op in FOLDED and given.values and all(isinstance(v, Tensor) for v in given.values):
        return [_folded(given)]
    return translation(builder, given)


def _folded(given: Arguments) -> Tensor:
    """Arithmetic on constants, float32 results rounded once.

    A float64 operation on float32 numbers, rounded to float32, is the float32 operation: 53 >= 2 * 24 + 2.
    """
    operands = [given.constant(n) for n in range(len(given.values))]
    kind = operands[0].kind
    if kind != FLOAT and given.op == "Relu":
        raise ReadError("Relu of integers is not read by the checker")
    if any(o.kind != kind for o in operands) or len(operands) != (1 if given.op in ("Neg", "Relu") else 2):
        raise ReadError("arithmetic on constants of different types or a wrong number of them")
    shape = shapes.common_shape(*(o.shape for o in operands))
    spread = [moved(o, shapes.broadcast(o.shape, shape)) for o in operands]
    columns = [s.numbers for s in spread if isinstance(s, Tensor)]
    apply = FOLDED[given.op]
    if kind != FLOAT:
        if given.op == "Div":
            raise ReadError("a quotient of integers is not read by the checker")
        return _whole(shape, [int(apply(*row)) for row in zip(*columns, strict=True)], kind)
    if given.op == "Div" and not all(columns[1]):
        raise ReadError("division by zero")
    return Tensor(shape, [rounded(apply(*row)) for row in zip(*columns, strict=True)])


def _whole(shape: shapes.Shape, numbers: Sequence[float] | Sequence[int], kind: int) -> Tensor:
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


def _constant(_: Builder, given: Arguments) -> list[Value]:
    if len(given.attributes) != 1 or given.values:
        raise ReadError("Constant needs exactly one attribute")
    ((name, found),) = given.attributes.items()
    if isinstance(found, Tensor) and name == "value":
        return [found]
    if type(found) is int and name == "value_int":
        return [Tensor((), [found], INT64)]
    if isinstance(found, float) and name == "value_float":
        return [Tensor((), [found])]
    if isinstance(found, tuple) and name in ("value_ints", "value_floats"):
        return [Tensor((len(found),), list(found), INT64 if name == "value_ints" else FLOAT)]
    raise ReadError(f"attribute {shown(name)} is not of the type that its name says")


def _shape(_: Builder, given: Arguments) -> list[Value]:
    shape = given.value(0).shape
    return [Tensor((len(shape),), list(shape), INT64)]


def _cast(_: Builder, given: Arguments) -> list[Value]:
    """Between integers and float32 numbers, for constants; a signal is float32 and stays so."""
    value, kind = given.value(0), given.whole("to", 0)
    if kind not in _TYPES or (isinstance(value, Signal) and kind != FLOAT):
        raise ReadError(f"Cast to type {kind} is not read by the checker")
    if isinstance(value, Signal) or value.whole == (kind != FLOAT):
        if kind == BOOL:
            raise ReadError("Cast to truth values is not read by the checker")
        return [value if isinstance(value, Signal) else _whole(value.shape, value.numbers, kind)]
    if kind == FLOAT:
        return [Tensor(value.shape, [rounded(n) for n in value.numbers])]
    if kind == BOOL or any(n != int(n) for n in value.numbers):
        raise ReadError("Cast of fractions to integers is not read by the checker")
    return [_whole(value.shape, [int(n) for n in value.numbers], kind)]


def _moving(move: Callable[[shapes.Shape, Arguments], shapes.Moved]) -> Translation:
    return lambda _, given: [moved(given.value(0), move(given.value(0).shape, given))]


def _same(_: Builder, given: Arguments) -> list[Value]:
    return [given.value(0)]


def _dropout(_: Builder, given: Arguments) -> list[Value]:
    if any(given.optional(place) is not None and given.constant(place).shape for place in (1, 2)):
        raise ReadError("the ratio and the training mode of Dropout must be one number")
    if given.optional(2) is not None and any(given.constant(2).numbers):
        raise ReadError("Dropout in training mode")
    return [given.value(0)]


def _reshape(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    return shapes.reshape(shape, given.wholes(1) or (), given.flag("allowzero", False))


def _flatten(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    axis = given.whole("axis", 1)
    if axis < 0 and given.opset < 11:
        raise ReadError("Flatten counts axes from the front before opset 11")
    return shapes.flatten(shape, axis)


def _squeeze(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    axes = given.either("axes", 1)
    if axes is None and len(given.values) > 1:
        raise ReadError("the axes of Squeeze are empty")
    return shapes.squeeze(shape, axes)


def _gather(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    indices = given.constant(1)
    places = tuple(int(n) for n in indices.numbers)
    return shapes.gather(shape, places, indices.shape, given.whole("axis", 0))


def _slice(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    starts, ends = given.either("starts", 1), given.either("ends", 2)
    if starts is None or ends is None:
        raise ReadError("Slice has no start or no end")
    return shapes.slices(shape, starts, ends, given.either("axes", 3), given.wholes(4))


def _expand(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    wanted = given.wholes(1) or ()
    return shapes.broadcast(shape, shapes.common_shape(shape, wanted))


def _unsqueeze(shape: shapes.Shape, given: Arguments) -> shapes.Moved:
    return shapes.unsqueeze(shape, given.either("axes", 1) or ())


def _split(_: Builder, given: Arguments) -> list[Value]:
    value, parts = given.value(0), given.whole("num_outputs", given.results)
    sizes = given.either("split", 1)
    said = "num_outputs" in given.attributes
    if parts != given.results or (given.opset >= 18 and said is not (sizes is None)):
        raise ReadError("Split needs either sizes or num_outputs, which is the number of results")
    if sizes is None and given.opset < 18:
        size = value.shape[shapes.axis_within(given.whole("axis", 0), len(value.shape))]
        if size % parts:
            raise ReadError(f"Split of {size} entries into {parts} equal parts")
    return [moved(value, to) for to in shapes.split(value.shape, given.whole("axis", 0), sizes, parts)]


def _concat(builder: Builder, given: Arguments) -> list[Value]:
    parts = given.all()
    to = shapes.joined([p.shape for p in parts], given.whole("axis", 0))
    if any(isinstance(p, Signal) for p in parts):
        return [builder.join(parts, to)]
    if len({p.kind for p in parts if isinstance(p, Tensor)}) != 1:
        raise ReadError("Concat mixes types of numbers")
    numbers = [n for p in parts if isinstance(p, Tensor) for n in p.numbers]
    return [moved(Tensor((len(numbers),), numbers, given.constant(0).kind), to)]


def _add(builder: Builder, given: Arguments) -> list[Value]:
    return [_sum(builder, given.value(0), given.value(1))]


def _sum(builder: Builder, left: Value, right: Value) -> Signal:
    if isinstance(left, Signal) and isinstance(right, Signal):
        return builder.pair("sum", left, right)
    return _with_constant(builder, "add", left, right)


def _with_constant(builder: Builder, kind: str, left: Value, right: Value) -> Signal:
    """For operations that do not care which side the constant is on."""
    if isinstance(left, Signal) and isinstance(right, Tensor):
        return builder.elementwise(kind, left, right)
    if isinstance(left, Tensor) and isinstance(right, Signal):
        return builder.elementwise(kind, right, left)
    raise ReadError("this arithmetic on constants is not read by the checker")


def _negated(builder: Builder, signal: Signal) -> Signal:
    return builder.elementwise("multiply", signal, Tensor((), [-1.0]))


def _negate(builder: Builder, given: Arguments) -> list[Value]:
    return [_negated(builder, given.signal(0))]


def _subtract(builder: Builder, given: Arguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, Signal):
        return [_sum(builder, left, _negated(builder, right))]
    return [_sum(builder, left, Tensor(right.shape, [-n for n in floats(right)]))]


def _multiply(builder: Builder, given: Arguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(left, Signal) and isinstance(right, Signal):
        return [builder.pair("product", left, right)]
    return [_with_constant(builder, "multiply", left, right)]


def _divide(builder: Builder, given: Arguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(right, Signal):
        above = left if isinstance(left, Signal) else builder.constant(left)
        return [builder.pair("quotient", above, right)]
    if not all(right.numbers):
        raise ReadError("division by zero")
    return [builder.elementwise("divide", given.signal(0), right)]


def _power(builder: Builder, given: Arguments) -> list[Value]:
    signal, exponents = given.signal(0), given.constant(1)
    powers = set(exponents.numbers)
    if len(powers) != 1 or not powers <= set(range(1, MOST_FACTORS + 1)):
        raise ReadError(f"Pow is read by the checker only for one integer from 1 to {MOST_FACTORS}")
    shape = shapes.common_shape(signal.shape, exponents.shape)
    factor = result = moved(signal, shapes.broadcast(signal.shape, shape))
    for _ in range(int(powers.pop()) - 1):
        assert isinstance(result, Signal)
        assert isinstance(factor, Signal)
        result = builder.pair("product", result, factor)
    return [result]


def _activation(kind: str) -> Translation:
    return lambda builder, given: [builder.activation(kind, given.signal(0))]


def _leaky(builder: Builder, given: Arguments) -> list[Value]:
    return [builder.activation("leaky_relu", given.signal(0), given.number("alpha", rounded(0.01)))]


def _clip(builder: Builder, given: Arguments) -> list[Value]:
    """Bounds are attributes in older files, inputs in newer ones; either may be absent."""
    bounds = []
    for place, (name, default) in enumerate((("min", -LARGEST), ("max", LARGEST)), start=1):
        if given.optional(place) is None:
            bounds.append(given.number(name, default))
            continue
        numbers = floats(given.constant(place))
        if len(numbers) != 1 or len(given.constant(place).shape) > 1 or name in given.attributes:
            raise ReadError("a bound of Clip must be one number")
        bounds.append(numbers[0])
    return [builder.between(given.signal(0), *bounds)]


def _extremum(largest: bool) -> Translation:
    """Maximum or minimum; a bound that is the same number everywhere is a clip."""

    def translation(builder: Builder, given: Arguments) -> list[Value]:
        if given.opset < 8 and len({v.shape for v in given.all()}) > 1:
            raise ReadError("an extremum does not broadcast before opset 8")
        result, *others = sorted(given.all(), key=lambda v: isinstance(v, Tensor))
        if not isinstance(result, Signal):
            raise ReadError("an extremum of constants is not read by the checker")
        for other in others:
            if isinstance(other, Tensor) and len(set(floats(other))) == 1:
                shape, bound = shapes.common_shape(result.shape, other.shape), floats(other)[0]
                wide = moved(result, shapes.broadcast(result.shape, shape))
                assert isinstance(wide, Signal)
                result = builder.between(wide, *((bound, LARGEST) if largest else (-LARGEST, bound)))
                continue
            right = other if isinstance(other, Signal) else builder.constant(other)
            if largest:
                result = builder.pair("maximum", result, right)
            else:
                both = _negated(builder, result), _negated(builder, right)
                result = _negated(builder, builder.pair("maximum", *both))
        return [result]

    return translation


# What each operator becomes, and the attributes it may have; every other one is refused.
OPERATORS: dict[str, tuple[Translation, str]] = {
    "Add": (_add, ""),
    "Cast": (_cast, "to saturate"),
    "Clip": (_clip, "min max"),
    "Concat": (_concat, "axis"),
    "Constant": (_constant, "value value_float value_floats value_int value_ints"),
    "Conv": (conv, "auto_pad dilations group kernel_shape pads strides"),
    "Div": (_divide, ""),
    "Dropout": (_dropout, "ratio seed"),
    "Expand": (_moving(_expand), ""),
    "Flatten": (_moving(_flatten), "axis"),
    "Gather": (_moving(_gather), "axis"),
    "Gemm": (gemm, "alpha beta transA transB"),
    "Identity": (_same, ""),
    "LeakyRelu": (_leaky, "alpha"),
    "MatMul": (matmul, ""),
    "Max": (_extremum(True), ""),
    "Min": (_extremum(False), ""),
    "Mul": (_multiply, ""),
    "Neg": (_negate, ""),
    "Pow": (_power, ""),
    "ReduceMean": (reduce_mean, "axes keepdims noop_with_empty_axes"),
    "ReduceSum": (reduce_sum, "axes keepdims noop_with_empty_axes"),
    "Relu": (_activation("relu"), ""),
    "Reshape": (_moving(_reshape), "allowzero"),
    "Shape": (_shape, ""),
    "Sigmoid": (_activation("sigmoid"), ""),
    "Slice": (_moving(_slice), "starts ends axes"),
    "Split": (_split, "axis split num_outputs"),
    "Squeeze": (_moving(_squeeze), "axes"),
    "Sub": (_subtract, ""),
    "Tanh": (_activation("tanh"), ""),
    "Transpose": (_moving(lambda shape, given: shapes.transpose(shape, given.integers("perm"))), "perm"),
    "Unsqueeze": (_moving(_unsqueeze), "axes"),
}
