"""ONNX operations over windows and axes: the largest entry, the smallest, the mean."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.activation_operators import require_signal
from surefoot.formats.onnx.linear_operators import (
    emit_affine,
    read_reduced_axes,
    window_positions,
)
from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    combine_signals,
    emit_elementwise,
    negate_signal,
    row_major_signal,
)
from surefoot.formats.onnx.protobuf import malformed_model
from surefoot.problem.network import Constant, IndexArray, Pairing

MOST_ENTRIES = 1 << 12  # of one window


def translate_max_pool(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The largest entry of each window; what lies outside never is the largest."""
    if given.results > 1 or given.integer("storage_order", 0):
        raise Unsupported("MaxPool with indices", fix="export without return_indices")
    value = _pooled_signal(given)
    places, inside, shape = _window_entries(builder, given, value)
    return [_emit_largest(builder, value, np.where(inside, places, _first_inside(places, inside)), shape)]


def translate_average_pool(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The sum of each window, divided by its entries; padding counts as zeros if it is included."""
    value = _pooled_signal(given)
    places, inside, shape = _window_entries(builder, given, value)
    counts = np.full(len(places), places.shape[1])
    if not given.flag("count_include_pad", False):
        counts = inside.sum(axis=1)
    return [_emit_means(builder, value, places, inside, counts, shape)]


def translate_global_average(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    value, places, shape = _whole_channels(given)
    counts = np.full(len(places), places.shape[1])
    return [_emit_means(builder, value, places, np.ones(places.shape, np.bool_), counts, shape)]


def translate_global_max(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_emit_largest(builder, *_whole_channels(given))]


def translate_reduce_max(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    value = require_signal(given)
    places, shape = read_reduced_axes(given, value)
    return [value if places is None else _emit_largest(builder, value, places, shape)]


def translate_reduce_min(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    value = require_signal(given)
    places, shape = read_reduced_axes(given, value)
    if places is None:
        return [value]
    largest = _emit_largest(builder, negate_signal(builder, value), places, shape)
    return [negate_signal(builder, largest)]


def _pooled_signal(given: NodeArguments) -> TensorSignal:
    value = require_signal(given)
    if value.layout.ndim < 3 or value.shape[0] != 1:
        raise ValueError("one image with channels")
    if given.flag("ceil_mode", False):
        raise Unsupported(f"{given.op} with ceil_mode = 1", fix="export without ceil_mode")
    return value


def _window_entries(
    builder: NetworkBuilder, given: NodeArguments, value: TensorSignal
) -> tuple[IndexArray, np.ndarray, tuple[int, ...]]:
    """Row by row the entries of each window as places in the flat value, and which of them exist."""
    kernel = given.integers("kernel_shape")
    if kernel is None or len(kernel) != value.layout.ndim - 2 or math.prod(kernel) > MOST_ENTRIES:
        raise malformed_model(f"{given.op} has no window that fits its input")
    sizes = value.shape[2:]
    windows = window_positions(builder, given, sizes, kernel)
    shape = (1, value.shape[1], *(len(w[0]) for w in windows))
    builder.reserve(math.prod(shape) * math.prod(kernel))
    columns, exists = [], []
    for offset in product(*map(range, kernel)):
        reads = np.meshgrid(*(w[o] for w, o in zip(windows, offset, strict=True)), indexing="ij")
        inside = np.all([(r >= 0) & (r < s) for r, s in zip(reads, sizes, strict=True)], axis=0).ravel()
        clipped = [np.clip(r.ravel(), 0, s - 1) for r, s in zip(reads, sizes, strict=True)]
        columns.append(np.ravel_multi_index(clipped, sizes))
        exists.append(inside)
    area, channels = math.prod(sizes), np.arange(value.shape[1])
    one = np.stack(columns, axis=1)
    places = (channels[:, None, None] * area + one[None]).reshape(-1, one.shape[1])
    inside = np.tile(np.stack(exists, axis=1), (value.shape[1], 1))
    if not inside.any(axis=1).all():
        raise Unsupported(f"{given.op} with a window in the padding alone", fix="use fewer pads")
    return places, inside, shape


def _first_inside(places: IndexArray, inside: np.ndarray) -> IndexArray:
    """An entry that exists, for each window: it may be looked at twice."""
    return np.asarray(places[np.arange(len(places)), inside.argmax(axis=1)][:, None])


def _whole_channels(given: NodeArguments) -> tuple[TensorSignal, IndexArray, tuple[int, ...]]:
    value = require_signal(given)
    if value.layout.ndim < 3:
        raise ValueError("an image with channels")
    shape = (*value.shape[:2], *[1] * (value.layout.ndim - 2))
    return value, np.arange(value.layout.size).reshape(math.prod(shape), -1), shape


def _emit_largest(
    builder: NetworkBuilder, value: TensorSignal, places: IndexArray, shape: tuple[int, ...]
) -> TensorSignal:
    """The largest of the entries of each row; halved until one is left, so that bounds pass few nodes."""
    if places.shape[1] > MOST_ENTRIES:
        raise Unsupported(f"the largest of {places.shape[1]} entries", fix=f"use at most {MOST_ENTRIES}")
    builder.reserve(places.size)
    flat = value.layout.ravel()[places]
    columns = [TensorSignal(value.source, flat[:, j]) for j in range(flat.shape[1])]
    while len(columns) > 1:
        pairs = zip(columns[::2], columns[1::2], strict=False)
        larger = [combine_signals(builder, a, b, Pairing.MAXIMUM) for a, b in pairs]
        columns = larger + columns[len(columns) - len(columns) % 2 :]
    return TensorSignal(columns[0].source, columns[0].layout.reshape(shape))


def _emit_means(
    builder: NetworkBuilder,
    value: TensorSignal,
    places: IndexArray,
    inside: np.ndarray,
    counts: np.ndarray,
    shape: tuple[int, ...],
) -> TensorSignal:
    number = builder.flat(value)
    builder.reserve(len(places) * builder.widths[number])
    weights = np.zeros((len(places), builder.widths[number]), np.float32)
    rows = np.broadcast_to(np.arange(len(places))[:, None], places.shape)
    weights[rows[inside], places[inside]] = 1
    total = emit_affine(builder, number, weights, (len(places),))
    mean = emit_elementwise(builder, total, Constant.DIVIDE, counts.astype(np.float32))
    return row_major_signal(builder.flat(mean), shape)
