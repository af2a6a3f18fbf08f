"""Decision trees and sums of them as one node of a network, and the cells of the input space of their leaves.

Every test of every tree is `x[feature] <= threshold`, of float32 numbers, so that there is no doubt which
leaf an input reaches. Readers bring all other tests into this form. Trees may share branches; a reference to
a branch is its number, to a leaf -1 - its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]
MOST_CELLS = 2**20  # of all trees of an ensemble; bounds look at each of them
MOST_CELL_ENTRIES = 2**25


@dataclass(frozen=True, slots=True, eq=False)
class TreeEnsemble:
    """start + the leaf of the first tree + the leaf of the second + ..., in this order in float32."""

    source: int
    features: Indices  # by branch: which entry is tested
    thresholds: Floats  # ... and against what
    lower: Indices  # where to go on if it is at most the threshold; branches lead to later ones only
    upper: Indices  # ... and if it is above
    roots: Indices  # by tree
    leaves: Floats  # by leaf: a row of one number per output
    start: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LeafCells:
    """Leaf by leaf, tree by tree: low < x[feature] <= high for each of its tests (merged by feature).

    Leaves that no input reaches are left out, so the cells of a tree part the input space.
    """

    first: Indices  # by tree: its first cell
    leaf: Indices  # by cell
    feature: Indices  # (cells, most tests): padded with tests that everything passes
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    values: NDArray[np.float64] = field(repr=False)  # (cells, outputs)


def check_trees(node: TreeEnsemble, width: int, number: int) -> None:
    """Raise unless the references lead from the roots to leaves, and all numbers are finite."""
    count = node.features.size
    shapes = {a.shape for a in (node.features, node.thresholds, node.lower, node.upper)}
    fits = shapes == {(count,)} and node.leaves.ndim == 2 and node.start.shape == node.leaves.shape[1:]
    fits = fits and node.roots.ndim == 1 and bool(((node.features >= 0) & (node.features < width)).all())
    if fits:
        ahead = np.arange(count)
        for children in (node.lower, node.upper, node.roots):
            fits = fits and bool(((children >= -len(node.leaves)) & (children < count)).all())
        for children in (node.lower, node.upper):
            fits = fits and bool(((children < 0) | (children > ahead)).all())
    if not fits:
        raise InvalidProblem(f"network node {number} (TreeEnsemble) does not fit the width of its input")
    if not all(np.isfinite(a).all() for a in (node.thresholds, node.leaves, node.start)):
        raise InvalidProblem(f"network node {number} (TreeEnsemble) has a number that is not finite")


def find_leaves(node: TreeEnsemble, inputs: Floats | NDArray[np.float64]) -> Indices:
    """The leaf of every tree, a row for each input."""
    walk = _walking_tables(node)
    place = np.broadcast_to(walk.roots, (len(inputs), walk.roots.size)).copy()
    first = (np.arange(len(inputs), dtype=np.int64) * inputs.shape[1])[:, None]
    flat = np.ascontiguousarray(inputs).ravel()
    for _ in range(walk.depth):
        above = ~(flat[first + walk.features[place]] <= walk.thresholds[place])
        place = walk.children[2 * place + above]
    return place - node.features.size


@dataclass(frozen=True, slots=True, eq=False)
class _WalkingTables:
    """Branches, and after them the leaves as branches that lead to themselves: every walk is as long."""

    features: Indices
    thresholds: Floats
    children: Indices  # two for each
    roots: Indices
    depth: int


@lru_cache(maxsize=64)
def _walking_tables(node: TreeEnsemble) -> _WalkingTables:
    count, leaves = node.features.size, len(node.leaves)
    own = np.arange(count, count + leaves)

    def number(references: Indices) -> Indices:
        return np.where(references < 0, count - 1 - references, references)

    children = np.concatenate(
        [np.stack([number(node.lower), number(node.upper)], 1), np.stack([own, own], 1)]
    )
    depth = np.zeros(count + leaves, dtype=np.int64)
    for place in range(count - 1, -1, -1):  # children come later
        depth[place] = 1 + depth[children[place]].max()
    return _WalkingTables(
        np.concatenate([node.features, np.zeros(leaves, dtype=np.int64)]),
        np.concatenate([node.thresholds, np.zeros(leaves, dtype=np.float32)]),
        children.ravel(),
        number(node.roots),
        int(depth[number(node.roots)].max(initial=0)),
    )


def count_addends(node: TreeEnsemble) -> int:
    """How many numbers make an output; a start of zeros changes nothing."""
    return int(node.roots.size) + bool(node.start.any())


def leaves_below(node: TreeEnsemble, root: int) -> list[int]:
    """The leaves of a tree, whether or not an input reaches them."""
    seen, waiting = {root}, [root]
    while waiting:
        place = waiting.pop()
        if place >= 0:
            fresh = {int(node.lower[place]), int(node.upper[place])} - seen
            seen |= fresh
            waiting += fresh
    return sorted(-1 - place for place in seen if place < 0)


@lru_cache(maxsize=64)
def leaf_cells(node: TreeEnsemble) -> LeafCells:
    """The cells of all trees; `Unsupported` if there are too many to look at."""
    first, found = [], list[tuple[int, dict[int, tuple[float, float]]]]()
    for root in node.roots.tolist():
        first.append(len(found))
        for cell in _walk_cells(node, root):
            found.append(cell)
            if len(found) > MOST_CELLS:
                raise Unsupported(f"more than {MOST_CELLS} leaves of trees", fix="use a smaller ensemble")
    most = max((len(tests) for _, tests in found), default=0)
    if len(found) * max(most, node.leaves.shape[1]) > MOST_CELL_ENTRIES:
        raise Unsupported("trees with too many tests or outputs", fix="use a smaller ensemble")
    shape = len(found), most
    feature, low, high = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf), np.full(shape, np.inf)
    for place, (_, tests) in enumerate(found):
        for column, (entry, (least, greatest)) in enumerate(tests.items()):
            feature[place, column] = entry
            low[place, column], high[place, column] = least, greatest
    leaf = np.array([number for number, _ in found], dtype=np.int64)
    return LeafCells(
        np.array(first, dtype=np.int64), leaf, feature, low, high, node.leaves[leaf].astype(np.float64)
    )


def _walk_cells(node: TreeEnsemble, root: int) -> Iterator[tuple[int, dict[int, tuple[float, float]]]]:
    """The leaves of one tree from left to right, with the tests on the way."""
    features, thresholds = node.features, node.thresholds
    waiting: list[tuple[int, dict[int, tuple[float, float]]]] = [(root, {})]
    while waiting:
        place, tests = waiting.pop()
        if place < 0:
            yield -1 - place, tests
            continue
        entry, threshold = int(features[place]), float(thresholds[place])
        low, high = tests.get(entry, (-np.inf, np.inf))
        if threshold < high:
            inside = tests | {entry: (max(low, threshold), high)}
            waiting.append((int(node.upper[place]), inside))
        if threshold > low:
            inside = tests | {entry: (low, min(high, threshold))}
            waiting.append((int(node.lower[place]), inside))


@lru_cache(maxsize=64)
def sorted_thresholds(node: TreeEnsemble) -> dict[int, Floats]:
    """The different thresholds of every tested entry, from the least to the greatest."""
    entries = np.unique(node.features).tolist()
    return {entry: np.unique(node.thresholds[node.features == entry]) for entry in entries}


def tree_slices(cells: LeafCells) -> list[slice]:
    """The cells of each tree."""
    ends = [*cells.first.tolist(), len(cells.leaf)]
    return [slice(start, end) for start, end in pairwise(ends)]
