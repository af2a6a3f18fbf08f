"""Variants of ONNX nodes that move entries: shapes, axes, indices and sizes, as attributes and as inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto
from tests.formats.onnx_models import node, weights

Written = tuple[str, Sequence[NodeProto], tuple[int, ...], Mapping[str, Any]]
LONG, INT, BOOL, HALF = np.int64, np.int32, np.bool_, np.float16


def arrays(*numbers: Any, kind: Any = LONG) -> np.ndarray:
    return np.array(numbers, kind)


def one(op: str, inputs: str, shape: tuple[int, ...], constants: Mapping[str, Any], **more: Any) -> Written:
    """One node; `said` tells variants apart whose constants differ."""
    outputs, said = more.pop("outputs", "y"), more.pop("said", "")
    empty = [name for name, value in more.items() if value == []]
    made = node(op, inputs, outputs, **{n: v for n, v in more.items() if n not in empty})
    made.attribute.extend(AttributeProto(name=n, type=AttributeProto.INTS) for n in empty)
    return f"{op} {inputs} -> {outputs} {said} {more}", [made], shape, constants


def with_axes(op: str, shape: tuple[int, ...], choices: Sequence[Any]) -> Iterator[Written]:
    more: list[dict[str, Any]] = [{}]
    if op.startswith("Reduce"):
        more = [{}, {"keepdims": 0}, {"noop_with_empty_axes": 1}, {"keepdims": 2}]
    for others in more:
        yield one(op, "x", shape, {}, **others)
        yield one(op, "x -", shape, {}, **others)
        for axes in choices:
            said = str(axes)
            yield one(op, "x", shape, {}, axes=axes, **others)
            yield one(op, "x a", shape, {"a": arrays(*axes)}, said=said, **others)
    axes = choices[0]
    yield one(op, "x a", shape, {"a": arrays(*axes)}, axes=axes)
    yield one(op, "x a", shape, {"a": arrays(*axes, kind=INT)}, said="int32")
    yield one(op, "x a", shape, {"a": arrays(*axes, kind=np.float32)}, said="float")
    yield one(op, "x a", shape, {"a": np.int64(axes[0])}, said="scalar")
    yield one(op, "x a", shape, {"a": np.array([axes])}, said="matrix")
    yield one(op, "x a a", shape, {"a": arrays(*axes)}, said="three")


def reshape() -> Iterator[Written]:
    shapes = (
        (4, 1),
        (2, 2),
        (-1,),
        (0, -1),
        (-1, -1),
        (5,),
        (0, 0),
        (0, 4),
        (1, 1, 4),
        (-1, 0),
        (2, -2),
        (0, 0, 0, -1),
    )
    for wanted in shapes:
        for more in ({}, {"allowzero": 1}, {"allowzero": 0}, {"allowzero": 2}):
            yield one("Reshape", "x s", (1, 4), {"s": arrays(*wanted)}, said=str(wanted), **more)
    yield one("Reshape", "x s", (1, 4), {"s": arrays(4, 1, kind=INT)}, said="int32")
    yield one("Reshape", "x s", (1, 4), {"s": arrays(4, 1, kind=np.float32)}, said="float")
    yield one("Reshape", "x s", (1, 4), {"s": np.array([[4, 1]])}, said="matrix")
    yield one("Reshape", "x s", (1, 4), {"s": np.int64(4)}, said="scalar")
    yield one("Reshape", "x s", (1, 4), {"s": arrays()}, said="empty")
    yield one("Reshape", "x s", (1,), {"s": arrays()}, said="to scalar")
    yield one("Reshape", "x", (1, 4), {})


def slices() -> Iterator[Written]:
    yield one("Slice", "x", (1, 4), {}, starts=[0, 1], ends=[1, 3])
    yield one("Slice", "x", (1, 4), {}, starts=[1], ends=[3], axes=[1])
    yield one("Slice", "x", (1, 4), {}, starts=[1], ends=[3], axes=[1], steps=[1])
    yield one("Slice", "x", (1, 4), {}, starts=[1], axes=[1])
    ones = {"s": arrays(1), "e": arrays(3), "a": arrays(1), "t": arrays(1)}
    for inputs in ("x", "x s", "x s e", "x s e a", "x s e a t", "x s e - t", "x s e a t t"):
        yield one("Slice", inputs, (1, 4), ones)
    yield one("Slice", "x s e a", (1, 4), ones, axes=[1])
    for name, changed in (
        ("reverse", {"s": arrays(-1), "e": arrays(-9), "t": arrays(-1)}),
        ("step 0", {"t": arrays(0)}),
        ("step 2", {"s": arrays(0), "e": arrays(9), "t": arrays(2)}),
        ("empty", {"s": arrays(3), "e": arrays(1)}),
        ("axis -1", {"a": arrays(-1)}),
        ("axis 2", {"a": arrays(2)}),
        ("axis -3", {"a": arrays(-3)}),
        ("lengths", {"s": arrays(0, 1)}),
        ("twice", {"s": arrays(0, 1), "e": arrays(2, 3), "a": arrays(1, 1), "t": arrays(1, 1)}),
        ("int32", {k: v.astype(INT) for k, v in ones.items()}),
        ("mixed", {"e": arrays(3, kind=INT)}),
        ("float", {k: v.astype(np.float32) for k, v in ones.items()}),
        ("scalars", {k: v[0] for k, v in ones.items()}),
        ("matrices", {k: v[None] for k, v in ones.items()}),
    ):
        yield one("Slice", "x s e a t", (1, 4), {**ones, **changed}, said=name)


def split() -> Iterator[Written]:
    shapes, outputs = ((1, 4), (1, 5)), ("a b", "a b c", "a")
    for shape in shapes:
        for results in outputs:
            joined = node("Concat", results, "y", axis=1)
            for inputs, constants, more in (
                ("x", {}, {}),
                ("x", {}, {"num_outputs": len(results.split())}),
                ("x", {}, {"num_outputs": 2}),
                ("x", {}, {"num_outputs": 4}),
                ("x", {}, {"split": [1, 3]}),
                ("x", {}, {"split": [2, 2]}),
                ("x", {}, {"split": [2, 3]}),
                ("x", {}, {"split": [4, 0]}),
                ("x s", {"s": arrays(1, 3)}, {}),
                ("x s", {"s": arrays(2, 3)}, {}),
                ("x s", {"s": arrays(1, 1, 3)}, {}),
                ("x s", {"s": arrays(-1, 5)}, {}),
                ("x s", {"s": arrays(4)}, {}),
                ("x s", {"s": arrays(1, 3, kind=INT)}, {}),
                ("x s", {"s": np.array([[1, 3]])}, {}),
                ("x s", {"s": arrays(1, 3)}, {"num_outputs": 2}),
                ("x s", {"s": arrays(1, 3)}, {"split": [1, 3]}),
                ("x -", {}, {}),
            ):
                made = node("Split", inputs, results, axis=1, **more)
                said = {k: v.tolist() for k, v in constants.items()}
                yield f"Split {shape} {results} {inputs} {said} {more}", [made, joined], shape, constants


def moving() -> Iterator[Written]:
    for axis in (None, 0, 1, 2, -1, -2, -3, 3):
        more = {} if axis is None else {"axis": axis}
        yield one("Flatten", "x", (1, 4), {}, **more)
        yield one("Flatten", "x", (1, 2, 3), {}, said="three", **more)
        yield one("Concat", "x x", (1, 4), {}, **more)
        yield one("Concat", "x c", (1, 4), {"c": weights(1, 2)}, **more)
        yield one("Concat", "x c", (1, 4), {"c": arrays(1, 2, 3, 4)[None]}, said="integers", **more)
        yield one("Gather", "x i", (1, 4), {"i": arrays(0, 2)}, **more)
    yield one("Concat", "", (1, 4), {}, axis=1)
    yield one("Concat", "x", (1, 4), {}, axis=1)
    for indices in (
        arrays(0, -1),
        arrays(0, 4),
        arrays(-5),
        np.int64(1),
        arrays([0, 1], [1, 0]),
        arrays(0, 1, kind=INT),
        arrays(0, 1, kind=np.float32),
        arrays(1, 0, kind=BOOL),
        arrays(0, kind=np.uint8),
        arrays(),
    ):
        yield one("Gather", "x i", (1, 4), {"i": indices}, axis=1, said=f"{indices.tolist()} {indices.dtype}")
    yield one("Gather", "x", (1, 4), {}, axis=1)
    for perm in ([1, 0], [0, 1], [0], [0, 0], [0, 1, 2], [-1, 0], [], [0, 2]):
        yield one("Transpose", "x", (1, 4), {}, perm=perm)
    yield one("Transpose", "x", (1, 4), {})
    yield one("Transpose", "x p", (1, 4), {"p": arrays(1, 0)})
    for wanted in (
        arrays(3, 4),
        arrays(2, 1, 4),
        arrays(1),
        arrays(5),
        arrays(-1, 4),
        arrays(),
        arrays(3, 4, kind=INT),
        np.array([[3, 4]]),
        np.int64(4),
        arrays(0, 4),
    ):
        yield one("Expand", "x s", (1, 4), {"s": wanted}, said=f"{wanted.tolist()} {wanted.dtype}")
    yield one("Expand", "x", (1, 4), {})
    for inputs in ("x", "x r", "x r t", "x - t", "x - f", "x r t t"):
        given = {"r": np.float32(0.5), "t": np.bool_(False), "f": np.int64(0)}
        for more in ({}, {"ratio": 0.5}, {"seed": 3}):
            yield one("Dropout", inputs, (1, 4), given, **more)
    yield one("Dropout", "x r t", (1, 4), {"r": np.float32(0.5), "t": np.bool_(True)}, said="training")
    yield one("Dropout", "x r", (1, 4), {"r": arrays(0.5, kind=np.float32)}, said="vector")
    for to in (1, 6, 7, 9, 10, 11, 0, 99):
        yield one("Cast", "x", (1, 4), {}, to=to)
    yield one("Cast", "x", (1, 4), {})
