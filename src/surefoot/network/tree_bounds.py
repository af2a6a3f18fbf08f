"""Bounds of tree ensembles over boxes: the leaves that a box can reach, tree by tree.

The sum of the trees' extremes bounds the ensemble, whatever the leaves have to do with each other; that is
exact for one tree, and for several where the box has been split until each has one leaf left.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor
from surefoot.problem.tree_ensemble import (
    LeafCells,
    TreeEnsemble,
    count_addends,
    leaf_cells,
    leaves_below,
    tree_slices,
)

Mask = NDArray[np.bool_]
_WORK = 2**23  # entries of one array


def reachable_leaves(node: TreeEnsemble, box: BoxArray) -> Mask:
    """Which cells (columns) some point of each box (rows) lies in; every cell of a tree of an empty box."""
    low, high = np.ascontiguousarray(box.low), np.ascontiguousarray(box.high)
    return _find_reachable(node, low.tobytes(), high.tobytes(), low.shape[-1])


@lru_cache(maxsize=8)  # the same boxes are asked about several times
def _find_reachable(node: TreeEnsemble, low_bytes: bytes, high_bytes: bytes, width: int) -> Mask:
    cells = leaf_cells(node)
    low, high = (np.frombuffer(b, dtype=np.float64).reshape(-1, width) for b in (low_bytes, high_bytes))
    found = np.ones((len(low), len(cells.leaf)), dtype=np.bool_)
    for column in range(cells.feature.shape[1]):
        entry = cells.feature[:, column]
        found &= (low[:, entry] <= cells.high[:, column]) & (high[:, entry] > cells.low[:, column])
    some = np.logical_or.reduceat(found, cells.first, axis=1) if len(cells.leaf) else found
    if not some.all():
        counts = np.diff(np.append(cells.first, len(cells.leaf)))
        found |= np.repeat(~some, counts, axis=1)
    found.setflags(write=False)
    return found


def _used_cells(cells: LeafCells, reached: Mask) -> tuple[Mask, Array, NDArray[np.int64]]:
    """Without the cells that no box reaches: the others' columns, values and the first of each tree."""
    used = np.flatnonzero(reached.any(axis=0))
    return reached[:, used], cells.values[used], np.searchsorted(used, cells.first)


def tree_interval(node: TreeEnsemble, box: BoxArray) -> BoxArray:
    """Bounds of every output; any leading axes are batch axes."""
    cells, shape = leaf_cells(node), box.low.shape[:-1]
    width = node.leaves.shape[1]
    flat = BoxArray(box.low.reshape(-1, box.low.shape[-1]), box.high.reshape(-1, box.high.shape[-1]))
    low = np.broadcast_to(node.start.astype(np.float64), (len(flat.low), width)).copy()
    high = low.copy()
    step = max(1, _WORK // max(1, len(cells.leaf) * max(1, width)))
    for begin in range(0, len(low), step):
        part = slice(begin, begin + step)
        if node.roots.size:
            reached, values, first = _used_cells(cells, reachable_leaves(node, flat.pick(part)))
            least = np.where(reached[..., None], values, np.inf)
            most = np.where(reached[..., None], values, -np.inf)
            low[part] += np.minimum.reduceat(least, first, axis=1).sum(axis=1)
            high[part] += np.maximum.reduceat(most, first, axis=1).sum(axis=1)
    if count_addends(node) > 1:
        error = gamma_factor(count_addends(node) + 2) * tree_magnitudes(node)
        low, high = low - error, high + error
    return BoxArray(low.reshape(*shape, width), high.reshape(*shape, width))


@lru_cache(maxsize=64)
def tree_magnitudes(node: TreeEnsemble) -> Array:
    """At least the sum of the largest absolute values of all addends, by output."""
    total = np.abs(node.start.astype(np.float64))
    for root in node.roots.tolist():
        total = total + np.abs(node.leaves[leaves_below(node, root)].astype(np.float64)).max(axis=0)
    return np.asarray(total * (1.0 + gamma_factor(count_addends(node) + 2)))


@lru_cache(maxsize=64)
def tree_ranges(node: TreeEnsemble) -> Array:
    """At least the difference of any two values of every output."""
    cells = leaf_cells(node)
    total = np.zeros(node.leaves.shape[1])
    for part in tree_slices(cells):
        total = total + (cells.values[part].max(axis=0) - cells.values[part].min(axis=0))
    return np.asarray(total * (1.0 + gamma_factor(2 * node.roots.size + 4)))


def bound_tree_rows(node: TreeEnsemble, box: BoxArray, rows: Array) -> tuple[Array, Array]:
    """The least value of each row . outputs over its box, and a bound of the rounding in it.

    `rows`: (boxes or 1, rows, outputs); one leaf of a tree gives all its outputs, so a row is bounded as a
    whole.
    """
    cells = leaf_cells(node)
    rows = np.broadcast_to(rows, (len(box.low), *rows.shape[1:]))
    least = rows @ node.start.astype(np.float64)
    step = max(1, _WORK // max(1, len(cells.leaf) * rows.shape[1]))
    for begin in range(0, len(least) if node.roots.size else 0, step):
        part = slice(begin, begin + step)
        reached, values, first = _used_cells(cells, reachable_leaves(node, box.pick(part)))
        heights = np.where(reached[:, None], rows[part] @ values.T, np.inf)
        least[part] += np.minimum.reduceat(heights, first, axis=2).sum(axis=2)
    count = count_addends(node) + node.leaves.shape[1] + 4
    slack = gamma_factor(count) * (np.abs(rows) @ tree_magnitudes(node)) + TINY
    return least, slack


def lowest_outputs(node: TreeEnsemble, box: BoxArray, row: Array) -> tuple[Array, Array]:
    """About where a row (one per box) is least: that value, and the sum of the leaves that give it."""
    cells = leaf_cells(node)
    total = np.broadcast_to(node.start.astype(np.float64), row.shape).copy()
    step = max(1, _WORK // max(1, len(cells.leaf)))
    for begin in range(0, len(total) if node.roots.size else 0, step):
        part = slice(begin, begin + step)
        reached, values, first = _used_cells(cells, reachable_leaves(node, box.pick(part)))
        heights = np.where(reached, row[part] @ values.T, np.inf)
        ends = [*first.tolist()[1:], heights.shape[1]]
        for start, end in zip(first.tolist(), ends, strict=True):
            total[part] += values[start + heights[:, start:end].argmin(axis=1)]
    return (row * total).sum(axis=1), total


def are_constant_on_boxes(node: TreeEnsemble, box: BoxArray) -> Mask:
    """For which boxes every tree has one leaf."""
    return np.asarray(reachable_leaves(node, box).sum(axis=1) == node.roots.size)


def split_gains(node: TreeEnsemble, box: BoxArray, row: Array) -> Array:
    """By entry of the input: what the trees with a threshold of it in the box leave open, per unit of it."""
    cells, gains = leaf_cells(node), np.zeros_like(box.low)
    if not node.roots.size:
        return gains
    heights, reached = row @ cells.values.T, reachable_leaves(node, box)
    least = np.minimum.reduceat(np.where(reached, heights, np.inf), cells.first, axis=1)
    most = np.maximum.reduceat(np.where(reached, heights, -np.inf), cells.first, axis=1)
    counts = np.diff(np.append(cells.first, len(cells.leaf)))
    spread = np.where(reached, np.repeat(most - least, counts, axis=1), 0.0)
    for column in range(cells.feature.shape[1]):
        entry = cells.feature[:, column]
        low, high = box.low[:, entry], box.high[:, entry]
        inside = (cells.low[:, column] >= low) & (cells.low[:, column] < high)
        inside |= (cells.high[:, column] >= low) & (cells.high[:, column] < high)
        part = np.where(inside, spread, 0.0)
        for tested in np.unique(entry).tolist():
            gains[:, tested] += part[:, entry == tested].sum(axis=1)
    width = box.high - box.low
    return np.divide(gains, width, out=np.zeros_like(gains), where=(width > 0) & np.isfinite(width))
