"""Every operator that the ONNX readers know, in right and wrong ways to write it, at every opset.

Attributes that became inputs, inputs that became attributes, too many and too few of both, other types of
numbers, other ranks and lengths. Which of these are right is for onnxruntime to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper
from tests.formats.onnx_models import node, proto, weights
from tests.formats.onnx_moving import (
    BOOL,
    HALF,
    INT,
    LONG,
    Written,
    arrays,
    moving,
    one,
    reshape,
    slices,
    split,
    with_axes,
)

OPSETS = (7, 8, 9, 11, 12, 13, 14, 18, 24)  # where operators changed most
ATTRIBUTES: dict[str, Any] = {
    "axis": 1, "axes": [1], "keepdims": 1, "alpha": 0.5, "beta": 0.5, "min": -1.0, "max": 1.0, "perm": [1, 0],
    "to": 1, "split": [2, 2], "num_outputs": 2, "starts": [0], "ends": [2], "epsilon": 1e-5, "spatial": 1,
    "momentum": 0.9, "training_mode": 0, "ratio": 0.5, "seed": 1, "allowzero": 0, "noop_with_empty_axes": 0,
    "saturate": 1, "broadcast": 0, "consumed_inputs": [0], "is_test": 1, "start": 0, "end": 2, "transA": 0,
    "transB": 0, "round_mode": "up", "bogus": 3,
}  # fmt: skip
WRONG_TYPES: dict[str, Any] = {
    "axis": 1.0, "axes": 1, "keepdims": 1.0, "alpha": 1, "min": 0, "perm": 1, "to": 1.0, "ratio": 1,
    "allowzero": [0], "transB": 1.0, "num_outputs": [2],
}  # fmt: skip


def unary(op: str) -> Iterator[Written]:
    for shape in ((1, 4), (4,), (1, 2, 3)):
        yield one(op, "x", shape, {})
    yield one(op, "x c", (1, 4), {"c": weights(4)})
    yield one(op, "", (1, 4), {})
    yield one(op, "x", (1, 4), {}, outputs="y z")


def binary(op: str) -> Iterator[Written]:
    for constant in (
        weights(4) + 2,
        weights(1, 4) + 2,
        weights(1, 1, 4),
        weights(3, 1),
        weights(),
        weights(2),
        weights(0),
    ):
        yield one(op, "x c", (1, 4), {"c": constant}, said=str(constant.shape))
        yield one(op, "c x", (1, 4), {"c": constant}, said=str(constant.shape))
    yield one(op, "x x", (1, 4), {})
    yield one(op, "x", (1, 4), {})
    yield one(op, "x x x", (1, 4), {})
    if op not in ("Max", "Min"):  # onnxruntime itself crashes on a gap among any number of inputs
        yield one(op, "x -", (1, 4), {})
        yield one(op, "- x", (1, 4), {})
    for kind in (LONG, INT, BOOL, HALF, np.float64):
        yield one(op, "x c", (1, 4), {"c": arrays(1, 2, 3, 4, kind=kind)}, said=str(kind))
    yield one(op, "x c", (1, 4), {"c": arrays(2, kind=LONG)}, said="one")
    yield one(op, "x c", (1, 4), {"c": np.float32(2)}, said="scalar")


def clip() -> Iterator[Written]:
    low, high = np.float32(-0.5), np.float32(0.5)
    yield one("Clip", "x", (1, 4), {})
    for attributes in ({"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.5}, {"min": 0.5, "max": -0.5}):
        yield one("Clip", "x", (1, 4), {}, **attributes)
    yield one("Clip", "x a b", (1, 4), {"a": low, "b": high})
    yield one("Clip", "x a", (1, 4), {"a": low})
    yield one("Clip", "x - b", (1, 4), {"b": high})
    yield one("Clip", "x a b c", (1, 4), {"a": low, "b": high, "c": high})
    yield one("Clip", "x a b", (1, 4), {"a": arrays(low, kind=np.float32), "b": high}, said="one entry")
    yield one("Clip", "x a b", (1, 4), {"a": weights(1, 1), "b": high}, said="matrix")
    yield one("Clip", "x a b", (1, 4), {"a": weights(4), "b": high}, said="vector")
    yield one("Clip", "x a b", (1, 4), {"a": high, "b": low}, said="crossed")
    for kind in (LONG, INT, np.float64):
        yield one("Clip", "x a", (1, 4), {"a": kind(0)}, said=str(kind))
    yield one("Clip", "x a", (1, 4), {"a": low}, max=0.5)
    yield one("Clip", "x a", (1, 4), {"a": low}, min=0.1)


def gemm() -> Iterator[Written]:
    square = weights(4, 4)
    for bias in (
        None,
        weights(4),
        weights(1, 4),
        weights(4, 1),
        weights(1),
        weights(),
        weights(1, 1, 4),
        weights(2),
        weights(1, 1),
    ):
        given = {"W": square} | ({} if bias is None else {"b": bias})
        said = "" if bias is None else str(bias.shape)
        for more in (
            {},
            {"alpha": 0.5, "beta": 2.0},
            {"transB": 1},
            {"transB": 2},
            {"beta": 0.0},
            {"beta": 1},
        ):
            yield one("Gemm", "x W" + ("" if bias is None else " b"), (1, 4), given, said=said, **more)
    yield one("Gemm", "x W b", (4,), {"W": square, "b": weights(4)}, said="vector")
    yield one("Gemm", "x W b", (1, 1, 4), {"W": square, "b": weights(4)}, said="three")
    yield one("Gemm", "x W b", (1, 4), {"W": weights(1, 4, 4), "b": weights(4)}, said="stack")
    yield one("Gemm", "x W b", (1, 4), {"W": weights(3, 4), "b": weights(4)}, said="misfit")
    yield one("Gemm", "x", (1, 4), {})
    yield one("Gemm", "x W -", (1, 4), {"W": square})
    yield one("Gemm", "x W b b", (1, 4), {"W": square, "b": weights(4)})
    yield one("Gemm", "x W b", (1, 4), {"W": square, "b": arrays(1, 2, 3, 4)}, said="integers")
    yield one("Gemm", "x W b", (1, 4), {"W": square, "b": weights(4)}, broadcast=1)


def products() -> Iterator[Written]:
    for shape, matrix in (
        ((1, 4), (4, 3)), ((4,), (4, 3)), ((4,), (4,)), ((1, 4), (4,)), ((1, 2, 4), (4, 3)),
        ((1, 2, 4), (2, 4, 3)), ((1, 4), (3, 4)), ((1, 4), ()), ((1, 4), (1, 4, 1)),
    ):  # fmt: skip
        yield one("MatMul", "x W", shape, {"W": weights(*matrix)}, said=f"{shape} {matrix}")
        yield one("MatMul", "W x", shape, {"W": weights(*matrix)}, said=f"{shape} {matrix}")
    yield one("MatMul", "x W", (1, 4), {"W": np.ones((4, 2), LONG)}, said="integers")
    yield one("MatMul", "x", (1, 4), {})
    yield one("MatMul", "x W W", (1, 4), {"W": weights(4, 4)})


def conv() -> Iterator[Written]:
    kernel = weights(2, 1, 2, 2)
    for more in (
        {}, {"kernel_shape": [2, 2]}, {"kernel_shape": [3, 3]}, {"kernel_shape": [2]}, {"pads": [1, 1, 1, 1]},
        {"pads": [1, 1]}, {"pads": [0, 0, 0, -1]}, {"strides": [2, 2]}, {"strides": [0, 1]}, {"strides": [1]},
        {"dilations": [2, 2]}, {"group": 1}, {"group": 2}, {"group": 0}, {"auto_pad": "VALID"},
        {"auto_pad": "NOTSET", "pads": [1, 1, 1, 1]}, {"auto_pad": "VALID", "pads": [1, 1, 1, 1]},
        {"auto_pad": "SAME_UPPER"}, {"auto_pad": "ODD"},
    ):  # fmt: skip
        for bias in (None, weights(2), weights(1), weights(2, 1), weights(3), weights()):
            given = {"W": kernel} | ({} if bias is None else {"b": bias})
            said = "" if bias is None else str(bias.shape)
            yield one("Conv", "x W" + ("" if bias is None else " b"), (1, 1, 3, 3), given, said=said, **more)
    yield one("Conv", "x W", (1, 1, 3), {"W": weights(2, 1, 2)}, said="line")
    yield one("Conv", "x W", (1, 1), {"W": weights(2, 1)}, said="none")
    yield one("Conv", "x W", (1, 3, 3), {"W": kernel}, said="rank")
    yield one("Conv", "x W", (1, 2, 3, 3), {"W": kernel}, said="channels")
    yield one("Conv", "x W", (1, 2, 3, 3), {"W": kernel}, group=2)
    yield one("Conv", "x W", (1, 1, 1, 1), {"W": kernel}, said="small")
    yield one("Conv", "x", (1, 1, 3, 3), {})


def normalization() -> Iterator[Written]:
    four = {n: np.abs(weights(2, seed=i)) + np.float32(0.1) for i, n in enumerate("sbmv")}
    for more in (
        {},
        {"epsilon": 0.1},
        {"training_mode": 1},
        {"training_mode": 0},
        {"spatial": 1},
        {"spatial": 0},
        {"momentum": 0.5},
        {"is_test": 1},
    ):
        for shape in ((1, 2), (1, 2, 3), (2,)):
            yield one("BatchNormalization", "x s b m v", shape, four, said=str(shape), **more)
    yield one("BatchNormalization", "x s b m", (1, 2), four)
    yield one("BatchNormalization", "x s b m v v", (1, 2), four)
    yield one("BatchNormalization", "x s b m v", (1, 3), four, said="misfit")
    yield one("BatchNormalization", "x s b m v", (1, 2), {**four, "s": arrays(1, 2)}, said="integers")


def constants() -> Iterator[Written]:
    stored = helper.make_tensor("", TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])
    for more in (
        {"value": stored}, {"value_float": 2.0}, {"value_floats": [1.0, 2.0, 3.0, 4.0]}, {"value_int": 2},
        {"value_ints": [1, 2, 3, 4]}, {}, {"value": stored, "value_float": 1.0}, {"value_string": "a"},
    ):  # fmt: skip
        yield f"Constant {list(more)}", [node("Constant", "", "c", **more), node("Add", "x c")], (1, 4), {}
    yield "Constant x", [node("Constant", "x", "c", value=stored), node("Add", "x c")], (1, 4), {}
    for shape in (arrays(4), arrays(1, 4), arrays(), arrays(4, kind=INT), arrays(-1)):
        for more in (
            {},
            {"value": helper.make_tensor("", 1, [1], [2.0])},
            {"value": helper.make_tensor("", 1, [2], [2.0, 1.0])},
            {"value": helper.make_tensor("", 1, [], [2.0])},
        ):
            made = [node("ConstantOfShape", "s", "c", **more), node("Add", "x c")]
            yield f"ConstantOfShape {shape.tolist()} {shape.dtype} {list(more)}", made, (1, 4), {"s": shape}
    for more in ({}, {"start": 1}, {"start": 0, "end": 2}, {"start": -1}, {"end": 9}):
        yield f"Shape {more}", [node("Shape", "x", "s", **more), node("Reshape", "x s")], (1, 4), {}
    for kind in (LONG, INT, BOOL):
        made = [node("Cast", "c", "d", to=1), node("Add", "x d")]
        yield f"Cast {kind}", made, (1, 4), {"c": arrays(1, 0, 1, 1, kind=kind)}
    for op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "MatMul", "Pow"):
        for left, right in (
            (LONG, LONG),
            (LONG, INT),
            (np.float32, np.float32),
            (np.float32, LONG),
            (INT, INT),
        ):
            made = [node(op, "c d", "e"), node("Cast", "e", "f", to=1), node("Add", "x f")]
            given = {"c": arrays(4, 5, 6, 7, kind=left), "d": arrays(1, 2, 3, 4, kind=right)}
            yield f"{op} of constants {left} {right}", made, (1, 4), given
    for op in ("Neg", "Relu"):
        for kind in (LONG, INT, np.float32):
            made = [node(op, "c", "e"), node("Cast", "e", "f", to=1), node("Add", "x f")]
            yield f"{op} of constant {kind}", made, (1, 4), {"c": arrays(-4, 5, 6, 7, kind=kind)}
    for kind in (BOOL, LONG):
        made = [node("Where", "w c d", "e"), node("Add", "x e")]
        given = {"w": arrays(1, 0, 1, 1, kind=kind), "c": weights(4), "d": weights(4, seed=2)}
        yield f"Where {kind}", made, (1, 4), given
    for left, right in ((LONG, LONG), (LONG, INT), (np.float32, np.float32), (BOOL, BOOL)):
        made = [node("Equal", "a b", "w"), node("Where", "w c d", "e"), node("Add", "x e")]
        given = {
            "a": arrays(1, 0, 1, 1, kind=left),
            "b": arrays(1, 1, 1, 0, kind=right),
            "c": weights(4),
            "d": weights(4, seed=2),
        }
        yield f"Equal {left} {right}", made, (1, 4), given


UNARY = (
    "Identity",
    "Neg",
    "Relu",
    "Sigmoid",
    "Tanh",
    "LeakyRelu",
    "Abs",
    "Celu",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Mish",
    "Selu",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Swish",
    "ThresholdedRelu",
    "Reciprocal",
)
BINARY = ("Add", "Div", "Max", "Min", "Mul", "Pow", "Sub")


def with_attributes() -> Iterator[Written]:
    """Each attribute that any operator has, on a plain node of each operator, of its type and of another."""
    four = {n: np.abs(weights(4, seed=i)) + np.float32(0.1) for i, n in enumerate("sbmv")}
    plain: list[tuple[str, str, Mapping[str, Any], str]] = [
        *((op, "x", {}, "y") for op in (*UNARY, "Clip", "Dropout", "Flatten", "Transpose", "Squeeze")),
        *((op, "x", {}, "y") for op in ("ReduceSum", "ReduceMean", "Shape")),
        *((op, "x c", {"c": weights(4) + 2}, "y") for op in BINARY),
        ("Concat", "x x", {}, "y"),
        ("Gather", "x i", {"i": arrays(0)}, "y"),
        ("Gemm", "x W", {"W": weights(4, 4)}, "y"),
        ("MatMul", "x W", {"W": weights(4, 4)}, "y"),
        ("Reshape", "x i", {"i": arrays(4, 1)}, "y"),
        ("Expand", "x i", {"i": arrays(3, 4)}, "y"),
        ("Slice", "x i i", {"i": arrays(0)}, "y"),
        ("Split", "x", {}, "y"),
        ("Unsqueeze", "x", {}, "y"),
        ("BatchNormalization", "x s b m v", four, "y"),
        ("Cast", "x", {}, "y"),
    ]  # fmt: skip
    for op, inputs, given, result in plain:
        for name, value in [*ATTRIBUTES.items(), *WRONG_TYPES.items()]:
            yield one(op, inputs, (1, 4), given, outputs=result, said=type(value).__name__, **{name: value})


def written() -> Iterator[Written]:
    for op in UNARY:
        yield from unary(op)
    for op in BINARY:
        yield from binary(op)
    yield from clip()
    yield from with_axes("Squeeze", (1, 4, 1), ([0], [2], [-1], [0, 2], [1], [3], [-4], [0, 0], []))
    yield from with_axes("Unsqueeze", (1, 4), ([0], [2], [-1], [0, 3], [4], [-4], [0, 0], []))
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
        yield from with_axes(op, (1, 4), ([1], [0], [-1], [0, 1], [2], [-3], [1, 1], []))
    for several in (
        reshape,
        slices,
        split,
        gemm,
        products,
        conv,
        normalization,
        moving,
        constants,
        with_attributes,
    ):
        yield from several()


def models(opset: int) -> Iterator[tuple[str, bytes]]:
    """Every variant at one opset; those that helpers of the onnx package refuse to write are left out."""
    for name, nodes, shape, given in written():
        made: ModelProto = proto(nodes, shape, given, opset=opset)
        yield f"opset {opset}: {name}", bytes(made.SerializeToString())
