"""ONNX operations that choose: comparisons, conditions, and tables that are read by index.

A truth value is 1 or 0, made by a step: x > y is the step of x - y, whose sign is exact. An index is a whole
number; a table of n rows read by it is a one-hot vector of n entries times the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.activation_functions import (
    add_constant,
    emit_absolute,
    emit_comparison,
    emit_product,
)
from surefoot.formats.onnx.linear_operators import emit_affine
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    combine_signals,
    emit_elementwise,
    negate_signal,
    normalise_axis,
    row_major_signal,
    signal_of_constant,
)
from surefoot.formats.onnx.one_hot import emit_one_hot
from surefoot.formats.onnx.protobuf import malformed_model
from surefoot.problem.network import Constant, Join, Pairing

MOST_ROWS = 1 << 16  # of a table
WHOLE_FLOAT32 = 1 << 24


def translate_comparison(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    left, right = given.value(0), given.value(1)
    for value in (left, right):
        kind = str(value.array.dtype) if isinstance(value, KnownTensor) else value.kind
        if kind not in ("float32", "bool" if given.op == "Equal" else "float32"):
            raise Unsupported(f"{given.op} of {kind} values that depend on the input", fix="compare float32")
    match given.op:
        case "Greater":
            found = _is_above(builder, left, right)
        case "Less":
            found = _is_above(builder, right, left)
        case "GreaterOrEqual":
            found = _invert_truth(builder, _is_above(builder, right, left))
        case "LessOrEqual":
            found = _invert_truth(builder, _is_above(builder, left, right))
        case _:
            apart = combine_signals(
                builder, _is_above(builder, left, right), _is_above(builder, right, left), Pairing.MAXIMUM
            )
            found = _invert_truth(builder, apart)
    return [replace(found, kind="bool")]


def _is_above(builder: NetworkBuilder, left: Value, right: Value) -> TensorSignal:
    """1 where left > right: constants of truth values count as 1 and 0 too."""
    left, right = (_as_numbers(value) for value in (left, right))
    if isinstance(right, KnownTensor):
        assert isinstance(left, TensorSignal)
        return emit_comparison(builder, emit_elementwise(builder, left, Constant.ADD, -right.array))
    opposite = negate_signal(builder, right)
    if isinstance(left, KnownTensor):
        return emit_comparison(builder, emit_elementwise(builder, opposite, Constant.ADD, left.array))
    return emit_comparison(builder, combine_signals(builder, left, opposite, Pairing.ADD))


def _as_numbers(value: Value) -> Value:
    if isinstance(value, KnownTensor):
        return KnownTensor(value.array.astype(np.float32)) if value.array.dtype == np.bool_ else value
    return replace(value, kind="float32")


def _invert_truth(builder: NetworkBuilder, x: TensorSignal) -> TensorSignal:
    return add_constant(builder, negate_signal(builder, x), 1.0)


def translate_logic(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    values = [signal_of_constant(builder, _as_numbers(v)) for v in given.all()]
    plain = [replace(v, kind="float32") for v in values]
    match given.op, plain:
        case "Not", [x]:
            found = _invert_truth(builder, x)
        case "And", [x, y]:
            found = emit_product(builder, x, y)
        case "Or", [x, y]:
            found = combine_signals(builder, x, y, Pairing.MAXIMUM)
        case _, [x, y]:
            found = emit_absolute(
                builder, combine_signals(builder, x, negate_signal(builder, y), Pairing.ADD)
            )
        case _:
            raise malformed_model(f"{given.op} has the wrong number of inputs")
    return [replace(found, kind="bool")]


def translate_where(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """A constant condition moves entries; another one weighs both sides by 1 and 0."""
    condition, then, otherwise = given.value(0), given.value(1), given.value(2)
    shape = broadcast_shape([condition.shape, then.shape, otherwise.shape])
    sides = [signal_of_constant(builder, v) for v in (then, otherwise)]
    wide = [TensorSignal(s.source, np.broadcast_to(s.layout, shape)) for s in sides]
    if isinstance(condition, KnownTensor):
        numbers = [builder.flat(s) for s in wide]
        size = math.prod(shape)
        places = np.arange(size).reshape(shape)
        chosen = np.where(condition.array.astype(bool), places, places + size)
        return [TensorSignal(builder.emit(Join(tuple(numbers)), 2 * size), chosen)]
    truth = replace(condition, kind="float32")
    first = emit_product(builder, wide[0], truth)
    second = emit_product(builder, wide[1], _invert_truth(builder, truth))
    return [combine_signals(builder, first, second, Pairing.ADD)]


def translate_lookup(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Gather from a constant table by an input that is an index."""
    table, index = given.constant_input(0, "the table"), given.value(1)
    assert isinstance(index, TensorSignal)
    if table.dtype != np.float32 or table.ndim < 1:
        raise Unsupported(
            "Gather from a table that is not of float32 numbers", fix="cast it before exporting"
        )
    axis = normalise_axis(given.integer("axis", 0), table.ndim)
    rows = np.moveaxis(table, axis, 0)
    hot, count = _emit_hot_index(builder, index, rows.shape[0]), index.layout.size
    each = rows[0].size
    builder.reserve(count * each * builder.widths[hot])
    weights = np.zeros((count, each, count, rows.shape[0]), np.float32)
    weights[np.arange(count), :, np.arange(count), :] = rows.reshape(rows.shape[0], -1).T
    found = emit_affine(builder, hot, weights.reshape(count * each, -1), (*index.shape, *rows.shape[1:]))
    order = [*range(index.layout.ndim, index.layout.ndim + axis), *range(index.layout.ndim)]
    order += range(index.layout.ndim + axis, found.layout.ndim)
    return [replace(found, layout=np.transpose(found.layout, order))]


def translate_one_hot(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """A one-hot vector along a new axis, with two constants for on and off."""
    index = given.value(0)
    depth, values = given.constant_input(1, "the depth"), given.constant_input(2, "the values")
    if not isinstance(index, TensorSignal) or depth.size != 1 or values.shape != (2,):
        raise Unsupported("OneHot of this input", fix="give it an index, a depth and two values")
    off, on = (float(v) for v in values)
    hot = _emit_hot_index(builder, index, int(depth.flat[0]))
    found = row_major_signal(hot, (*index.shape, int(depth.flat[0])))
    if (off, on) != (0.0, 1.0):
        found = add_constant(
            builder, emit_elementwise(builder, found, Constant.MULTIPLY, np.array(on - off, np.float32)), off
        )
        if float(np.float32(np.float32(on - off) + np.float32(off))) != on:
            raise Unsupported("OneHot with values whose difference is rounded", fix="use 0 and 1")
    axis = normalise_axis(given.integer("axis", -1), index.layout.ndim + 1)
    return [replace(found, layout=np.moveaxis(found.layout, -1, axis), kind=str(values.dtype))]


def _emit_hot_index(builder: NetworkBuilder, index: TensorSignal, count: int) -> int:
    """Each entry of an index as a one-hot vector, one after the other; the input is a number below that."""
    if index.kind not in ("int32", "int64") or index.source != 0:
        raise Unsupported("an index that is computed", fix="read the index from an input of integers")
    if not 1 <= count <= MOST_ROWS:
        raise Unsupported(f"a table of {count} rows", fix=f"use at most {MOST_ROWS}")
    for place in index.layout.ravel().tolist():
        builder.read_index(place, count)
    return emit_one_hot(builder, builder.flat(index), (count,) * index.layout.size)


COMPARISONS: dict[str, Callable[[NetworkBuilder, NodeArguments], list[Value]]] = {
    **dict.fromkeys(("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"), translate_comparison),
    **dict.fromkeys(("And", "Or", "Not", "Xor"), translate_logic),
}
