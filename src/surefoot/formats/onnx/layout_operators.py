"""ONNX operations that move entries without computing: slices, transpositions, reshapes, joins.

Each is a function from an array to arrays. It is applied to the numbers of a constant, or to the layout of a
signal, with the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    normalise_axis,
    value_kind,
)
from surefoot.formats.onnx.protobuf import Tensor, malformed_model
from surefoot.problem.network import Join

Movement: TypeAlias = Callable[[Tensor, NodeArguments, NetworkBuilder], Sequence[Tensor]]


def translate_movement(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Rearrange a constant, or the layout of a signal."""
    first = given.value(0)
    if isinstance(first, KnownTensor):
        return [KnownTensor(a) for a in MOVEMENTS[given.op](first.array, given, builder)]
    return [replace(first, layout=a) for a in MOVEMENTS[given.op](first.layout, given, builder)]


def translate_concat(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Constants stay constant; otherwise every part becomes a network value and these are joined."""
    parts = given.all()
    axis = normalise_axis(given.integer("axis", 0), len(parts[0].shape))
    builder.reserve(sum(math.prod(p.shape) for p in parts))
    if all(isinstance(p, KnownTensor) for p in parts):
        return [KnownTensor(np.concatenate([p.array for p in parts if isinstance(p, KnownTensor)], axis))]
    kinds = {value_kind(p) for p in parts}
    numbers, layouts, offset = [], [], 0
    for part in parts:
        if isinstance(part, TensorSignal):
            numbers.append(builder.flat(part))
        elif part.array.dtype == np.float32:
            numbers.append(builder.constant(part.array))
        else:
            raise Unsupported("Concat mixes integers with float32 values", fix="cast them to float32")
        size = math.prod(part.shape)
        layouts.append(np.arange(offset, offset + size, dtype=np.int64).reshape(part.shape))
        offset += size
    layout = np.concatenate(layouts, axis)
    return [TensorSignal(builder.emit(Join(tuple(numbers)), offset), layout, kinds.pop())]


def _flatten_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    axis, rank = given.integer("axis", 1), array.ndim
    if not (-rank if given.opset >= 11 else 0) <= axis <= rank:
        raise malformed_model(f"axis {axis} does not exist in {rank} dimensions")
    front = axis if axis >= 0 else axis + rank
    return [array.reshape(math.prod(array.shape[:front]), -1)]


def _reshape_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    wanted = given.integer_list_input(1, "the shape")
    if wanted is None:
        raise malformed_model("Reshape has no shape")
    keeps_zero = given.flag("allowzero", False)
    if min(wanted, default=0) < -1 or any(
        d == 0 and not keeps_zero and i >= array.ndim for i, d in enumerate(wanted)
    ):
        raise malformed_model(f"shape {list(array.shape)} cannot become {list(wanted)}")
    shape = [array.shape[i] if d == 0 and not keeps_zero else d for i, d in enumerate(wanted)]
    return [array.reshape(shape)]


def _read_axes(given: NodeArguments) -> tuple[int, ...] | None:
    """Attribute before opset 13, second input since."""
    listed = given.integers("axes")
    return listed if listed is not None else given.integer_list_input(1, "the axes")


def _squeeze_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    axes = _read_axes(given)
    if axes is None and len(given.values) > 1:
        raise InvalidProblem("the axes of Squeeze are empty", fix="name them, or leave the input out")
    return [np.squeeze(array) if axes is None else np.squeeze(array, axes)]


def _unsqueeze_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    return [np.expand_dims(array, _read_axes(given) or ())]


def _transpose_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    order = given.integers("perm")
    if order is not None and sorted(order) != list(range(array.ndim)):
        raise malformed_model(f"{list(order)[:12]} is no order of {array.ndim} axes")
    return [np.transpose(array, order)]


def _expand_array(array: Tensor, given: NodeArguments, builder: NetworkBuilder) -> list[Tensor]:
    wanted = given.integer_list_input(1, "the shape") or ()
    shape = np.broadcast_shapes(array.shape, wanted)
    builder.reserve(math.prod(shape))
    return [np.broadcast_to(array, shape)]


def _gather_entries(array: Tensor, given: NodeArguments, builder: NetworkBuilder) -> list[Tensor]:
    indices = given.constant_input(1, "the indices")
    if indices.dtype.kind != "i":
        raise malformed_model("the indices of Gather must be integers")
    axis = normalise_axis(given.integer("axis", 0), array.ndim)
    builder.reserve(array.size // max(1, array.shape[axis]) * indices.size)
    return [np.take(array, indices, axis)]


def _slice_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    """Attributes before opset 10, inputs since."""
    if "starts" in given.attributes:
        starts, ends, axes, steps = (
            given.integers("starts"),
            given.integers("ends"),
            given.integers("axes"),
            None,
        )
    else:
        starts, ends = given.integer_list_input(1, "the start"), given.integer_list_input(2, "the end")
        axes, steps = given.integer_list_input(3, "the axes"), given.integer_list_input(4, "the step")
    if starts is None or ends is None:
        raise malformed_model("Slice has no start or no end")
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    places = [normalise_axis(axis, array.ndim) for axis in axes]
    if 0 in steps or not len(starts) == len(ends) == len(set(places)) == len(axes) == len(steps):
        raise malformed_model("starts, ends, axes and steps of Slice do not fit together")
    cut = [slice(None)] * array.ndim
    for start, end, place, step in zip(starts, ends, places, steps, strict=True):
        cut[place] = _clamp_slice(start, end, step, array.shape[place])
    return [array[tuple(cut)]]


def _clamp_slice(start: int, end: int, step: int, size: int) -> slice:
    """ONNX clamps to the entries that exist; Python clamps differently when going backwards."""
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    first = min(max(start + size if start < 0 else start, 0), highest)
    last = min(max(end + size if end < 0 else end, lowest), highest)
    return slice(first, None if last < 0 else last, step)


def _split_array(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    axis = normalise_axis(given.integer("axis", 0), array.ndim)
    size = array.shape[axis]
    sizes = given.integers("split") or given.integer_list_input(1, "the sizes")
    if sizes is not None and "num_outputs" in given.attributes:
        raise InvalidProblem("Split has sizes and num_outputs", fix="keep one of them")
    if sizes is None:
        parts = given.integer("num_outputs", 0 if given.opset >= 18 else given.results)
        if parts < 1 or (size % parts and given.opset < 18):
            what = f"Split does not say how {size} entries become {given.results} parts"
            raise malformed_model(what)
        each = -(-size // parts)  # all equal, the last one may be smaller
        sizes = tuple(min(each, max(0, size - each * i)) for i in range(parts)) if parts <= size else ()
    if len(sizes) != given.results or sum(sizes) != size or min(sizes) < 0:
        raise malformed_model(f"parts of {list(sizes)[:12]} do not fill {size} entries")
    return list(np.split(array, np.cumsum(sizes)[:-1], axis))


def _keep_array(array: Tensor, _: NodeArguments, __: NetworkBuilder) -> list[Tensor]:
    return [array]


def _ignore_dropout(array: Tensor, given: NodeArguments, _: NetworkBuilder) -> list[Tensor]:
    if given.opset < 7 and not given.flag("is_test", False):
        raise Unsupported("Dropout in training mode", fix="export in evaluation mode (model.eval())")
    for place, what in ((1, "the ratio"), (2, "the training mode")):
        if given.optional(place) is not None and given.constant_input(place, what).ndim:
            raise malformed_model(f"{what} of Dropout must be one number")
    if given.optional(2) is not None and given.constant_input(2, "the training mode").any():
        raise Unsupported("Dropout in training mode", fix="export in evaluation mode (model.eval())")
    return [array]


MOVEMENTS: dict[str, Movement] = {
    "Dropout": _ignore_dropout,
    "Expand": _expand_array,
    "Flatten": _flatten_array,
    "Gather": _gather_entries,
    "Identity": _keep_array,
    "Reshape": _reshape_array,
    "Slice": _slice_array,
    "Split": _split_array,
    "Squeeze": _squeeze_array,
    "Transpose": _transpose_array,
    "Unsqueeze": _unsqueeze_array,
}
