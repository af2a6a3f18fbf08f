"""Open boxes of a search: how they are kept, split and put on whole or float32 numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask


@dataclass(slots=True)
class BoxDomains(BatchRecord):
    """A batch of boxes; `known` are bounds of inner values that hold on them."""

    box: BoxArray
    known: dict[int, BoxArray]
    alive: Mask  # (batch, sets): which sets may still be satisfied
    node: NDArray[np.int64]  # the place in the tree of a certificate
    stubborn: NDArray[np.int64]  # for how many splits only float32 rounding has kept a box open

    def __len__(self) -> int:
        return len(self.node)


def round_box_inward(box: BoxArray, whole: Mask) -> BoxArray:
    """Bounds of whole inputs moved inward to such numbers."""
    return BoxArray(np.where(whole, np.ceil(box.low), box.low), np.where(whole, np.floor(box.high), box.high))


def round_boxes_to_grid(problem: CompiledQuery, box: BoxArray) -> BoxArray:
    """Bounds of whole and float32 inputs moved inward to such numbers."""
    if not problem.grid.any():
        return box
    box, single = round_box_inward(box, problem.whole), problem.single
    near = box.low[:, single].astype(np.float32)
    box.low[:, single] = np.where(near < box.low[:, single], np.nextafter(near, np.float32(np.inf)), near)
    near = box.high[:, single].astype(np.float32)
    box.high[:, single] = np.where(near > box.high[:, single], np.nextafter(near, np.float32(-np.inf)), near)
    return box


def halve_boxes(
    box: BoxArray,
    column: NDArray[np.intp],
    whole: Mask,
    single: Mask | None = None,
    places: Array | None = None,
) -> tuple[BoxArray, BoxArray]:
    """Both halves of each box along one input; neighbours on a grid, a common end otherwise.

    `whole`, `single`: inputs that are whole or float32 numbers; `places`: where to split instead, if not NaN.
    """
    rows = np.arange(len(column))
    low, high = box.low[rows, column], box.high[rows, column]
    middle = 0.5 * low + 0.5 * high
    if places is not None:
        middle = np.where(np.isnan(places), middle, places)
    left = np.where(whole[column], np.floor(middle), middle)
    right = np.where(whole[column], np.floor(middle) + 1.0, middle)
    if single is not None:
        near = middle.astype(np.float32)
        near = np.where(near > middle, np.nextafter(near, np.float32(-np.inf)), near)
        left = np.where(single[column], near, left)
        right = np.where(single[column], np.nextafter(near, np.float32(np.inf)), right)
    first, second = BoxArray(box.low, box.high.copy()), BoxArray(box.low.copy(), box.high)
    first.high[rows, column] = left
    second.low[rows, column] = right
    return first, second


def splittable_inputs(problem: CompiledQuery, box: BoxArray) -> Mask:
    """Inputs wide enough to be split: a grid has another number, a real is more than a few ulps wide."""
    size = np.maximum(np.abs(box.low), np.abs(box.high))
    wide = (box.high - box.low) > np.where(problem.grid, 0.0, 2.0**-44 * size + 2.0**-200)
    return wide & problem.free


def split_into_points(problem: CompiledQuery, one: BoxDomains, able: Mask, most: int) -> BoxDomains | None:
    """The points of one box as boxes of their own, if only whole numbers vary in it and these are few."""
    varying = np.flatnonzero(able)
    if not problem.whole[varying].all():
        return None
    low, high = one.box.low[0], one.box.high[0]
    counts = high[varying] - low[varying] + 1
    if not 1 < counts.prod() <= most:
        return None
    choices = [np.arange(low[i], high[i] + 1) for i in varying]
    table = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(varying))
    many = one.pick([0] * len(table))
    many.box.low[:, varying] = many.box.high[:, varying] = table
    return many
