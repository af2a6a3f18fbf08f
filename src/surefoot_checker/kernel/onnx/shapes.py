"""ONNX operators that move entries without computing: each is a list of positions and the shape they fill.

The same positions rearrange the numbers of a constant and the layout of a value that depends on the input.
Row by row everywhere; sizes are compared with the limit before a list is built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ..untrusted_file import ReadError
from .model import MOST_ENTRIES

Shape: TypeAlias = tuple[int, ...]


class Rearrangement(NamedTuple):
    """A tensor whose entry number n is the entry number positions[n] of the one it was made from."""

    shape: Shape
    positions: list[int]


def keep_order(shape: Iterable[int]) -> Rearrangement:
    """The same entries one after the other, in another shape."""
    wanted = tuple(shape)
    return Rearrangement(wanted, list(range(math.prod(wanted))))


def shape_strides(shape: Shape) -> list[int]:
    """How far apart neighbours along each axis lie."""
    result = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        result[axis] = result[axis + 1] * shape[axis + 1]
    return result


def grid_positions(axes: Sequence[tuple[Sequence[int], int]]) -> list[int]:
    """For (indices, stride) of every axis: the sums index * stride, the last axis changing fastest."""
    if math.prod(len(indices) for indices, _ in axes) > MOST_ENTRIES:
        raise ReadError("a tensor would have too many entries")
    positions = [0]
    for indices, stride in axes:
        offsets = [i * stride for i in indices]
        positions = [p + o for p in positions for o in offsets]
    return positions


def axis_in_rank(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ReadError(f"there is no axis {axis} in {rank} dimensions")
    return axis % rank


def common_shape(*shapes: Shape) -> Shape:
    """What several shapes broadcast to."""
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise ReadError(f"shapes {[list(s) for s in shapes]} do not fit together")
        result.append(others.pop() if others else 1)
    if math.prod(result) > MOST_ENTRIES:
        raise ReadError("a tensor would have too many entries")
    return tuple(result)


def broadcast_positions(shape: Shape, wanted: Shape) -> Rearrangement:
    if common_shape(shape, wanted) != wanted:
        raise ReadError(f"shape {list(shape)} does not broadcast to {list(wanted)}")
    padded = (1,) * (len(wanted) - len(shape)) + shape
    steps = [0] * (len(wanted) - len(shape)) + shape_strides(shape)
    return Rearrangement(
        wanted,
        grid_positions(
            [([0] * w if p == 1 else range(w), s) for w, p, s in zip(wanted, padded, steps, strict=True)]
        ),
    )


def reshape_positions(shape: Shape, wanted: Sequence[int], zero_is_zero: bool) -> Rearrangement:
    """A dimension 0 is that of the input (unless `allowzero`), -1 whatever is left."""
    sizes = list(wanted)
    for axis, size in enumerate(sizes):
        if size == 0 and not zero_is_zero:
            if axis >= len(shape):
                raise ReadError("Reshape copies a dimension that does not exist")
            sizes[axis] = shape[axis]
    total = math.prod(shape)
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        if known <= 0 or total % known:
            raise ReadError(f"shape {list(shape)} cannot become {list(wanted)}")
        sizes[sizes.index(-1)] = total // known
    if any(size < 0 for size in sizes) or math.prod(sizes) != total:
        raise ReadError(f"shape {list(shape)} cannot become {list(wanted)}")
    return keep_order(sizes)


def flatten_positions(shape: Shape, axis: int) -> Rearrangement:
    if not -len(shape) <= axis <= len(shape):
        raise ReadError(f"there is no axis {axis} in {len(shape)} dimensions")
    front = math.prod(shape[: axis if axis >= 0 else axis + len(shape)])
    return keep_order((front, math.prod(shape) // max(front, 1)))


def squeeze_positions(shape: Shape, axes: Sequence[int] | None) -> Rearrangement:
    named = [a for a, d in enumerate(shape) if d == 1] if axes is None else axes
    gone = {axis_in_rank(a, len(shape)) for a in named}
    if len(gone) != len(named) or any(shape[a] != 1 for a in gone):
        raise ReadError(f"shape {list(shape)} cannot lose axes {sorted(gone)}")
    return keep_order(d for a, d in enumerate(shape) if a not in gone)


def unsqueeze_positions(shape: Shape, axes: Sequence[int]) -> Rearrangement:
    rank = len(shape) + len(axes)
    new = {axis_in_rank(a, rank) for a in axes}
    if len(new) != len(axes):
        raise ReadError("Unsqueeze names an axis twice")
    rest = iter(shape)
    return keep_order(1 if a in new else next(rest) for a in range(rank))


def transpose_positions(shape: Shape, order: Sequence[int] | None) -> Rearrangement:
    axes = list(order) if order is not None else list(range(len(shape)))[::-1]
    if sorted(axes) != list(range(len(shape))):
        raise ReadError(f"{axes} is no order of {len(shape)} axes")
    steps = shape_strides(shape)
    return Rearrangement(
        tuple(shape[a] for a in axes), grid_positions([(range(shape[a]), steps[a]) for a in axes])
    )


def _select_positions(shape: Shape, lists: dict[int, Sequence[int]]) -> Rearrangement:
    """The listed indices along some axes, everything along the others."""
    axes = [lists.get(a, range(d)) for a, d in enumerate(shape)]
    return Rearrangement(
        tuple(map(len, axes)), grid_positions(list(zip(axes, shape_strides(shape), strict=True)))
    )


def gather_positions(shape: Shape, indices: Sequence[int], indices_shape: Shape, axis: int) -> Rearrangement:
    place = axis_in_rank(axis, len(shape))
    size = shape[place]
    if any(not -size <= i < size for i in indices):
        raise ReadError(f"Gather reads outside {size} entries")
    _, positions = _select_positions(shape, {place: [i % size for i in indices]})
    return Rearrangement((*shape[:place], *indices_shape, *shape[place + 1 :]), positions)


def slice_axis_positions(
    shape: Shape,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> Rearrangement:
    """Negative ends count from the back; then everything is clamped to the entries that exist."""
    named = [axis_in_rank(a, len(shape)) for a in (range(len(starts)) if axes is None else axes)]
    jumps = [1] * len(starts) if steps is None else list(steps)
    if not len(starts) == len(ends) == len(named) == len(jumps) == len(set(named)) or 0 in jumps:
        raise ReadError("starts, ends, axes and steps of Slice do not fit together")
    lists: dict[int, Sequence[int]] = {}
    for start, end, axis, step in zip(starts, ends, named, jumps, strict=True):
        size = shape[axis]
        lowest, highest = (0, size) if step > 0 else (-1, size - 1)
        first = min(max(start + size if start < 0 else start, 0), highest)
        last = min(max(end + size if end < 0 else end, lowest), highest)
        lists[axis] = range(first, last, step)
    return _select_positions(shape, lists)


def split_positions(shape: Shape, axis: int, sizes: Sequence[int] | None, parts: int) -> list[Rearrangement]:
    """Parts of the given sizes; without them equal ones, of which the last may be smaller."""
    place = axis_in_rank(axis, len(shape))
    if sizes is None:
        each = -(-shape[place] // max(parts, 1))
        sizes = [min(each, max(0, shape[place] - each * i)) for i in range(parts)]
    if len(sizes) != parts or sum(sizes) != shape[place] or min(sizes, default=0) < 1:
        raise ReadError(f"parts of {list(sizes)[:12]} do not fill {shape[place]} entries")
    ends = [sum(sizes[: i + 1]) for i in range(parts)]
    return [
        _select_positions(shape, {place: range(end - size, end)})
        for end, size in zip(ends, sizes, strict=True)
    ]


def concat_positions(shapes: Sequence[Shape], axis: int) -> Rearrangement:
    """Concat: positions in all parts, written one after the other."""
    place = axis_in_rank(axis, len(shapes[0]))
    if len({(*s[:place], *s[place + 1 :]) for s in shapes}) != 1 or len({len(s) for s in shapes}) != 1:
        raise ReadError(f"shapes {[list(s) for s in shapes]} cannot be joined along axis {axis}")
    chunks = [math.prod(s[place:]) for s in shapes]
    offsets = [sum(math.prod(s) for s in shapes[:i]) for i in range(len(shapes))]
    positions: list[int] = []
    for row in range(math.prod(shapes[0][:place])):
        for chunk, offset in zip(chunks, offsets, strict=True):
            positions.extend(range(offset + row * chunk, offset + (row + 1) * chunk))
    total = sum(s[place] for s in shapes)
    return Rearrangement((*shapes[0][:place], total, *shapes[0][place + 1 :]), positions)
