"""ONNX operators that are weighted sums: each becomes one affine node with a dense matrix, bias zero.

A bias that follows is put into it by the rule for sums with a constant. The zeros that a dense matrix adds
change no sum.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from itertools import product

from ..untrusted_file import ReadError
from .model import Tensor, round_constant
from .shapes import (
    Shape,
    axis_in_rank,
    broadcast_positions,
    common_shape,
    grid_positions,
    shape_strides,
    transpose_positions,
)
from .values import FlatNetworkBuilder, FlatSignal, OnnxOperands, Value, rearrange_value, require_floats


def emit_matmul(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    left, right = given.value(0), given.value(1)
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return [_constant_product(builder, left, right)]
    return [_emit_product(builder, left, right)]


def _dot_products(left: Shape, right: Shape) -> tuple[Shape, Iterator[tuple[slice, slice]]]:
    """The shape of a product of matrices, stacks of them or vectors, and what each entry is a sum over."""
    if not left or not right:
        raise ReadError("a matrix product with a scalar")
    first = left if len(left) > 1 else (1, *left)
    second = right if len(right) > 1 else (*right, 1)
    rows, inner, columns = first[-2], first[-1], second[-1]
    if second[-2] != inner or 0 in (*first, *second):
        raise ReadError(f"shapes {list(left)} and {list(right)} cannot be multiplied")
    outer = common_shape(first[:-2], second[:-2])
    kept = (*outer, *[rows][: len(left) - 1], *[columns][: len(right) - 1])
    pairs = zip(
        broadcast_positions(first[:-2], outer).positions,
        broadcast_positions(second[:-2], outer).positions,
        strict=True,
    )
    starts = [(i * rows * inner, j * inner * columns) for i, j in pairs]

    def walk() -> Iterator[tuple[slice, slice]]:
        for (one, other), row, column in product(starts, range(rows), range(columns)):
            last = other + column + (inner - 1) * columns
            yield (
                slice(one + row * inner, one + (row + 1) * inner, 1),
                slice(other + column, last + 1, columns),
            )

    return kept, walk()


def _emit_product(builder: FlatNetworkBuilder, left: Value, right: Value) -> FlatSignal:
    """An affine node; one of the two is constant."""
    signal, constant = (left, right) if isinstance(left, FlatSignal) else (right, left)
    if not isinstance(signal, FlatSignal) or not isinstance(constant, Tensor):
        raise ReadError("a product of two constants or two signals is not read by the checker")
    shape, dots = _dot_products(left.shape, right.shape)
    source, numbers = builder.flat(signal), array("f", require_floats(constant))
    width = builder.widths[source]
    weights = builder.matrix(math.prod(shape), width)
    for number, (across, down) in enumerate(dots):
        entries, factors = (across, down) if signal is left else (down, across)
        start = number * width
        weights[start + entries.start : start + entries.stop : entries.step] = numbers[factors]
    return builder.affine(source, weights, shape)


def _constant_product(builder: FlatNetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    """Float32 arithmetic from the first product to the last, each rounded."""
    one, other = require_floats(left), require_floats(right)
    shape, dots = _dot_products(left.shape, right.shape)
    builder.reserve(len(one) * len(other))
    results = []
    for across, down in dots:
        total = 0.0
        for x, y in zip(one[across], other[down], strict=True):
            total = round_constant(total + round_constant(x * y))
        results.append(total)
    return Tensor(shape, results)


def emit_gemm(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    """alpha A B + beta C: a product, then a factor unless alpha is 1, then a sum."""
    if given.flag("transA", False):
        raise ReadError("Gemm with transA is not read by the checker")
    left, right, bias = given.value(0), given.value(1), given.optional(2)
    if len(left.shape) != 2 or len(right.shape) != 2:
        raise ReadError("Gemm multiplies matrices")
    if given.flag("transB", False):
        right = rearrange_value(right, transpose_positions(right.shape, None))
    result = _emit_product(builder, left, right)
    if bias is not None and common_shape(result.shape, bias.shape) != result.shape:
        raise ReadError("the bias of Gemm is larger than the product")
    alpha, beta = given.number("alpha", 1.0), given.number("beta", 1.0)
    if alpha != 1:
        result = builder.elementwise("multiply", result, Tensor((), [alpha]))
    if bias is None or beta == 0:
        return [result]
    if isinstance(bias, Tensor):
        scaled = [n if beta == 1 else round_constant(n * beta) for n in require_floats(bias)]
        return [builder.elementwise("add", result, Tensor(bias.shape, scaled))]
    raise ReadError("Gemm with a bias that depends on the input is not read by the checker")


def emit_reduce_sum(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    return [_emit_axis_sums(builder, given)[0]]


def emit_reduce_mean(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    total, count = _emit_axis_sums(builder, given)
    return [builder.elementwise("divide", total, Tensor((), [round_constant(count)]))]


def _emit_axis_sums(builder: FlatNetworkBuilder, given: OnnxOperands) -> tuple[FlatSignal, int]:
    """Sums over some axes (all if none are named), and of how many entries each."""
    signal, axes = given.signal(0), given.either("axes", 1)
    rank, steps = len(signal.shape), shape_strides(signal.shape)
    if not axes and given.flag("noop_with_empty_axes", False):
        return signal, 1
    summed = sorted({axis_in_rank(a, rank) for a in axes} if axes else range(rank))
    kept = [a for a in range(rank) if a not in summed]
    sizes = {a: (range(signal.shape[a]), steps[a]) for a in range(rank)}
    offsets = grid_positions([sizes[a] for a in summed])
    source = builder.flat(signal)
    starts = grid_positions([sizes[a] for a in kept])
    width = builder.widths[source]
    weights = builder.matrix(len(starts), width)
    for row, start in enumerate(starts):
        for offset in offsets:
            weights[row * width + start + offset] = 1.0
    keeps = given.flag("keepdims", True)
    shape = [1 if a in summed else signal.shape[a] for a in range(rank) if keeps or a not in summed]
    return builder.affine(source, weights, tuple(shape)), len(offsets)


def emit_conv(builder: FlatNetworkBuilder, given: OnnxOperands) -> list[Value]:
    """A convolution over any number of axes, written out; then its bias."""
    signal, kernel = given.signal(0), given.constant(1)
    if given.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise ReadError("Conv with automatic pads is not read by the checker")
    if given.attributes.get("auto_pad") == "VALID" and "pads" in given.attributes:
        raise ReadError("Conv with two kinds of pads")
    groups, sizes, axes = given.whole("group", 1), kernel.shape[2:], len(kernel.shape) - 2
    if axes < 1 or len(signal.shape) != axes + 2 or signal.shape[0] != 1 or groups < 1:
        raise ReadError("the kernel of Conv does not fit the input")
    if signal.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups or 0 in kernel.shape:
        raise ReadError("the channels of Conv do not fit")
    if (given.integers("kernel_shape") or sizes) != sizes:
        raise ReadError("kernel_shape is not the shape of the kernel")
    windows = [_conv_windows(builder, given, axis, signal.shape[2:], sizes) for axis in range(axes)]
    counts = tuple(len(w) for w in windows)
    source = builder.flat(signal)
    weights = _kernel_matrix(builder, source, signal.shape, kernel, groups, windows)
    result = builder.affine(source, weights, (1, kernel.shape[0], *counts))
    if given.optional(2) is None:
        return [result]
    bias = given.constant(2)
    if bias.shape != kernel.shape[:1]:
        raise ReadError("the bias of Conv does not fit")
    wide = Tensor((kernel.shape[0], *(1,) * axes), bias.numbers, bias.kind)
    return [builder.elementwise("add", result, wide)]


def _conv_windows(
    builder: FlatNetworkBuilder, given: OnnxOperands, axis: int, sizes: Shape, kernel: Shape
) -> list[list[int | None]]:
    """For every output along an axis the positions it reads, None in the padding."""
    axes = len(sizes)
    paces = given.integers("strides") or (1,) * axes
    dilations = given.integers("dilations") or (1,) * axes
    pads = given.integers("pads") or (0,) * (2 * axes)
    if not len(paces) == len(dilations) == axes or len(pads) != 2 * axes:
        raise ReadError("Conv needs one stride and dilation and two pads per axis")
    if min(paces) < 1 or min(dilations) < 1 or min(pads) < 0:
        raise ReadError("strides and dilations of Conv must be positive, pads not negative")
    reach = dilations[axis] * (kernel[axis] - 1) + 1
    count = (sizes[axis] + pads[axis] + pads[axes + axis] - reach) // paces[axis] + 1
    if count < 1:
        raise ReadError("the kernel of Conv is larger than its input")
    builder.reserve(count * kernel[axis])
    result: list[list[int | None]] = []
    for output in range(count):
        first = output * paces[axis] - pads[axis]
        reads = (first + offset * dilations[axis] for offset in range(kernel[axis]))
        result.append([p if 0 <= p < sizes[axis] else None for p in reads])
    return result


def _kernel_matrix(
    builder: FlatNetworkBuilder,
    source: int,
    shape: Shape,
    kernel: Tensor,
    groups: int,
    windows: list[list[list[int | None]]],
) -> array[float]:
    """One row per output channel and position."""
    width, numbers = builder.widths[source], require_floats(kernel)
    channels, each = kernel.shape[0], kernel.shape[1]
    steps, area, size = shape_strides(shape[2:]), math.prod(shape[2:]), math.prod(kernel.shape[2:])
    positions = list(product(*windows))
    weights = builder.matrix(channels * len(positions), width)
    for channel in range(channels):
        group = channel // (channels // groups)
        for number, reads in enumerate(positions):
            row = (channel * len(positions) + number) * width
            for offset, places in enumerate(product(*reads)):
                if None in places:
                    continue
                place = sum(p * s for p, s in zip(places, steps, strict=True) if p is not None)
                for inner in range(each):
                    entry = (group * each + inner) * area + place
                    weights[row + entry] = numbers[(channel * each + inner) * size + offset]
    return weights
