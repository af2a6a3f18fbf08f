"""ONNX operations that are weighted sums: each becomes one dense affine node on flat vectors.

Matrices of a signal with rows or batches become block matrices; the zeros they add change no sum.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    emit_elementwise,
    normalise_axis,
    row_major_signal,
)
from surefoot.formats.onnx.protobuf import Tensor, malformed_model
from surefoot.problem.network import Affine, Combine, Constant, IndexArray, Pairing, freeze_float32


def emit_affine(
    builder: NetworkBuilder, number: int, weights: Tensor, shape: tuple[int, ...]
) -> TensorSignal:
    """weights @ x of a flat value, in this shape."""
    node = Affine(number, freeze_float32(weights), freeze_float32(np.zeros(weights.shape[0])))
    return row_major_signal(builder.emit(node, weights.shape[0]), shape)


def translate_matmul(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_emit_product(builder, given.value(0), given.value(1))]


def _emit_product(builder: NetworkBuilder, left: Value, right: Value) -> TensorSignal:
    if isinstance(left, TensorSignal) and isinstance(right, TensorSignal):
        raise Unsupported("a matrix product of two values that both depend on the input", fix="write it out")
    signal, matrix = (left, right) if isinstance(left, TensorSignal) else (right, left)
    assert isinstance(signal, TensorSignal)
    assert isinstance(matrix, KnownTensor)
    constant = matrix.array
    if constant.dtype != np.float32:
        raise Unsupported(f"a {constant.dtype} matrix meets a float32 value", fix="cast it to float32")
    number = builder.flat(signal)
    # Work on transposes when the constant is on the left: (C X)' = X' C'.
    turned = signal is right
    entries = row_major_signal(number, signal.shape).layout
    rows, columns = (_transpose_last(entries), _transpose_last(constant)) if turned else (entries, constant)
    weights, shape = _block_weights(builder, rows, columns, builder.widths[number])
    if not turned:
        return emit_affine(builder, number, weights, shape)
    rank, order = len(shape), np.arange(math.prod(shape)).reshape(shape)
    back = order if rank < 2 or 1 in (signal.layout.ndim, constant.ndim) else np.swapaxes(order, -1, -2)
    return emit_affine(builder, number, weights[back.ravel()], back.shape)


def _transpose_last(array: Tensor) -> Tensor:
    return array if array.ndim < 2 else np.swapaxes(array, -1, -2)


def _block_weights(
    builder: NetworkBuilder, rows: IndexArray, columns: Tensor, width: int
) -> tuple[Tensor, tuple[int, ...]]:
    """Weights of rows @ columns, where rows holds positions in a flat value, and the shape of the result."""
    if not rows.ndim or not columns.ndim or rows.shape[-1] != columns.shape[0 if columns.ndim == 1 else -2]:
        raise ValueError("inner dimensions differ")
    left = rows[None, :] if rows.ndim == 1 else rows
    right = columns[:, None] if columns.ndim == 1 else columns
    outer = broadcast_shape([left.shape[:-2], right.shape[:-2]])
    shape = (*outer, left.shape[-2], right.shape[-1])
    size = math.prod(shape)
    builder.reserve(size * (width + left.shape[-1]))
    weights = np.zeros((size, width), np.float32)
    places = np.broadcast_to(left[..., :, None, :], (*shape, left.shape[-1])).reshape(size, -1)
    factors = np.swapaxes(right, -1, -2)[..., None, :, :]
    weights[np.arange(size)[:, None], places] = np.broadcast_to(factors, (*shape, left.shape[-1])).reshape(
        size, -1
    )
    kept = [*outer, *shape[-2:][rows.ndim == 1 :]]
    return weights, tuple(kept[:-1] if columns.ndim == 1 else kept)


def translate_gemm(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """alpha * A B + beta * C; with alpha = 1, one affine node."""
    if given.flag("transA", False):
        raise Unsupported("Gemm with transA = 1", fix="transpose the input before it")
    left, right, bias = given.value(0), given.value(1), given.optional(2)
    if len(left.shape) != 2 or len(right.shape) != 2:
        raise ValueError("Gemm multiplies matrices")
    if given.flag("transB", False):
        right = (
            KnownTensor(right.array.T)
            if isinstance(right, KnownTensor)
            else TensorSignal(right.source, right.layout.T)
        )
    if isinstance(left, KnownTensor) and isinstance(right, KnownTensor):
        raise Unsupported("Gemm of constants alone", fix="fold constants before exporting")
    result = _emit_product(builder, left, right)
    if bias is not None and broadcast_shape([result.shape, bias.shape]) != result.shape:
        raise ValueError("the bias is larger than the product")
    if (
        given.opset < 7
        and bias is not None
        and bias.shape != result.shape
        and not given.flag("broadcast", False)
    ):
        raise ValueError("no broadcast is asked for")
    alpha, beta = np.float32(given.number("alpha", 1.0)), np.float32(given.number("beta", 1.0))
    if alpha != 1:
        result = emit_elementwise(builder, result, Constant.MULTIPLY, np.asarray(alpha))
    if bias is None or beta == 0:
        return [result]
    if isinstance(bias, KnownTensor):
        return [
            emit_elementwise(builder, result, Constant.ADD, bias.array if beta == 1 else bias.array * beta)
        ]
    scaled = bias if beta == 1 else emit_elementwise(builder, bias, Constant.MULTIPLY, np.asarray(beta))
    wide = builder.flat(TensorSignal(scaled.source, np.broadcast_to(scaled.layout, result.shape)))
    total = Combine(builder.flat(result), wide, Pairing.ADD)
    return [row_major_signal(builder.emit(total, builder.widths[wide]), result.shape)]


def translate_reduce_sum(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    return [_emit_reduction(builder, given)[0]]


def translate_reduce_mean(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    total, count = _emit_reduction(builder, given)
    return [emit_elementwise(builder, total, Constant.DIVIDE, np.asarray(np.float32(count)))]


def _emit_reduction(builder: NetworkBuilder, given: NodeArguments) -> tuple[TensorSignal, int]:
    """Sums over some axes (all if none are named), and how many entries each sum has."""
    value = given.value(0)
    if isinstance(value, KnownTensor):
        raise Unsupported(f"{given.op} of a constant", fix="fold constants before exporting")
    places, shape = read_reduced_axes(given, value)
    if places is None:
        return value, 1
    number, count = builder.flat(value), places.shape[1]
    builder.reserve(places.shape[0] * builder.widths[number])
    weights = np.zeros((places.shape[0], builder.widths[number]), np.float32)
    weights[np.arange(places.shape[0])[:, None], places] = 1
    return emit_affine(builder, number, weights, shape), count


def read_reduced_axes(given: NodeArguments, value: TensorSignal) -> tuple[IndexArray | None, tuple[int, ...]]:
    """Row by row the entries that become one, as places in the flat value, and the shape of the result.

    None: the axes are empty, and that means nothing is reduced.
    """
    named, rank = given.integers("axes"), value.layout.ndim
    axes = named if named is not None else given.integer_list_input(1, "the axes")
    if not axes and given.flag("noop_with_empty_axes", False):
        return None, value.shape
    reduced = {normalise_axis(a, rank) for a in axes} if axes else set(range(rank))
    kept = [a for a in range(rank) if a not in reduced]
    count, entries = math.prod(value.shape[a] for a in reduced), np.arange(value.layout.size)
    places = np.transpose(entries.reshape(value.shape), [*kept, *sorted(reduced)]).reshape(-1, count)
    keeps = given.flag("keepdims", True)
    shape = [1 if a in reduced else value.shape[a] for a in range(rank) if keeps or a not in reduced]
    return places, tuple(shape)


def translate_batch_norm(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """x * m + a per channel, as runtimes do: m = scale / sqrt(variance + epsilon), a = B - mean * m."""
    value = given.value(0)
    training = given.flag("training_mode", False) or (given.opset < 7 and not given.flag("is_test", False))
    if training or given.results > 1 or not given.flag("spatial", True):
        raise Unsupported(
            "BatchNormalization in training mode", fix="export in evaluation mode (model.eval())"
        )
    if not isinstance(value, TensorSignal) or value.layout.ndim < 2:
        raise Unsupported("BatchNormalization of this input", fix="fold constants before exporting")
    parts = [given.constant_input(i, "a parameter") for i in range(1, 5)]
    scale, offset, mean, variance = parts
    if any(p.shape != (value.shape[1],) or p.dtype != np.float32 for p in parts):
        raise ValueError("one parameter per channel")
    spread = variance + np.float32(given.number("epsilon", 1e-5))
    if (spread <= 0).any():
        raise InvalidProblem("variance + epsilon is not positive", fix="repair the variance")
    factor = scale / np.sqrt(spread)
    shift = offset - mean * factor
    builder.note("batch normalisation folded to a factor and a shift")
    per_channel = (-1, *[1] * (value.layout.ndim - 2))
    scaled = emit_elementwise(builder, value, Constant.MULTIPLY, factor.reshape(per_channel))
    return [emit_elementwise(builder, scaled, Constant.ADD, shift.reshape(per_channel))]


def translate_conv(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """A convolution over any number of axes, written out as a dense matrix."""
    value, kernel = given.value(0), given.constant_input(1, "the kernel")
    if not isinstance(value, TensorSignal) or kernel.dtype != np.float32:
        raise Unsupported("Conv of this input", fix="fold constants before exporting")
    groups, axes = given.integer("group", 1), kernel.ndim - 2
    if axes < 1 or value.layout.ndim != kernel.ndim or value.shape[0] != 1 or groups < 1:
        raise ValueError("the kernel does not fit the input")
    if value.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ValueError("the channels do not fit")
    if (given.integers("kernel_shape") or kernel.shape[2:]) != kernel.shape[2:]:
        raise ValueError("kernel_shape is not the shape of the kernel")
    windows = window_positions(builder, given, value.shape[2:], kernel.shape[2:])
    number = builder.flat(value)
    result = (1, kernel.shape[0], *(len(w[0]) for w in windows))
    builder.reserve(math.prod(result) * builder.widths[number])
    weights = _kernel_matrix(kernel, groups, windows, value.shape)
    convolved = emit_affine(builder, number, weights.reshape(math.prod(result), -1), result)
    if given.optional(2) is None:
        return [convolved]
    bias = given.constant_input(2, "the bias")
    if bias.shape != kernel.shape[:1]:
        raise ValueError("one bias per channel")
    return [emit_elementwise(builder, convolved, Constant.ADD, bias.reshape(-1, *[1] * axes))]


def window_positions(
    builder: NetworkBuilder, given: NodeArguments, sizes: tuple[int, ...], kernel: tuple[int, ...]
) -> list[list[IndexArray]]:
    """The input position each output reads, for every axis and kernel offset; outside the input: padding."""
    axes, automatic = len(sizes), given.text("auto_pad", "NOTSET")
    if automatic not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise InvalidProblem(f"{given.op} with an unknown auto_pad", fix="export with explicit pads")
    if automatic != "NOTSET" and "pads" in given.attributes:
        raise InvalidProblem(f"{given.op} has pads and auto_pad = {automatic}", fix="keep one of them")
    strides = given.integers("strides") or (1,) * axes
    dilations = given.integers("dilations") or (1,) * axes
    pads = given.integers("pads") or (0,) * 2 * axes
    if len(strides) != axes or len(dilations) != axes or len(pads) != 2 * axes:
        raise ValueError("one stride and dilation and two pads per axis")
    if min(*strides, *dilations) < 1 or min(pads) < 0:
        raise malformed_model("strides and dilations must be positive, pads not negative")
    if automatic.startswith("SAME"):
        reaches = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
        pads = _same_pads(sizes, strides, reaches, lower=automatic == "SAME_LOWER")
    windows = []
    for axis, size in enumerate(sizes):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        count = (size + pads[axis] + pads[axes + axis] - reach) // strides[axis] + 1
        if count < 1 or kernel[axis] < 1:
            raise ValueError("the kernel is larger than the input")
        builder.reserve(count * kernel[axis])
        first = np.arange(count) * strides[axis] - pads[axis]
        windows.append([first + offset * dilations[axis] for offset in range(kernel[axis])])
    return windows


def _same_pads(
    sizes: tuple[int, ...], strides: tuple[int, ...], reaches: list[int], *, lower: bool
) -> tuple[int, ...]:
    """As many outputs as strides fit into the input; an odd pad is at the end, or at the start."""
    total = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(sizes, strides, reaches, strict=True)]
    less, more = [t // 2 for t in total], [-(-t // 2) for t in total]
    return (*more, *less) if lower else (*less, *more)


def _kernel_matrix(
    kernel: Tensor, groups: int, windows: list[list[IndexArray]], shape: tuple[int, ...]
) -> Tensor:
    """Weights indexed by output channel, output position, input channel, input position (positions flat)."""
    counts, sizes = [len(w[0]) for w in windows], shape[2:]
    weights = np.zeros((kernel.shape[0], math.prod(counts), shape[1], math.prod(sizes)), np.float32)
    each_out, each_in = kernel.shape[0] // groups, kernel.shape[1]
    flat = kernel.reshape(*kernel.shape[:2], -1)
    for number, offset in enumerate(product(*(range(len(w)) for w in windows))):
        reads = np.meshgrid(*(w[o] for w, o in zip(windows, offset, strict=True)), indexing="ij")
        inside = np.all([(r >= 0) & (r < s) for r, s in zip(reads, sizes, strict=True)], axis=0).ravel()
        outputs = np.flatnonzero(inside)
        positions = np.ravel_multi_index([r.ravel()[inside] for r in reads], sizes)
        for group in range(groups):
            out, inner = each_out * group, each_in * group
            block = weights[out : out + each_out, :, inner : inner + each_in]
            block[:, outputs, :, positions] = flat[out : out + each_out, :, number]
    return weights
