"""Trees over a part of the search space: the leaves that can be reached, as integers, and their extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from ..kernel.strict_json import Refused
from ..kernel.trees import TreesNode, reachable_leaf_numbers
from .subdomain import PrecisionGrid, ReachedLeaves, SubdomainState

Bounds = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True, eq=False)
class ScaledTrees:
    """The numbers of a node as integers: leaves and start times `factor`, exactly."""

    cuts: list[int]  # thresholds in units of the grid, rounded down
    leaves: list[tuple[int, ...]]
    start: tuple[int, ...]
    factor: int
    sizes: list[int]  # sums of the largest absolute values of all addends, in units of the grid, rounded up


def scale_trees(grid: PrecisionGrid, node: TreesNode) -> ScaledTrees:
    """The same numbers for one precision; made once."""
    found = grid.trees.get(id(node))
    if found is None:
        found = grid.trees[id(node)] = _scale_numbers(grid, node)
    assert isinstance(found, ScaledTrees)
    return found


def _scale_numbers(grid: PrecisionGrid, node: TreesNode) -> ScaledTrees:
    ratios = [t.as_integer_ratio() for t in node.thresholds]
    cuts = [(n << grid.bits) // d for n, d in ratios]
    numbers = [w.as_integer_ratio() for w in (*node.leaves, *node.start)]
    factor = max((d for _, d in numbers), default=1)  # all are powers of two
    whole = [n * (factor // d) for n, d in numbers]
    width = node.width
    leaves = [tuple(whole[i : i + width]) for i in range(0, len(node.leaves), width)]
    start = tuple(whole[len(node.leaves) :])
    total = [abs(s) for s in start]
    for root in node.roots:
        below = _leaves_below(node, root)
        total = [t + max(abs(leaves[i][j]) for i in below) for j, t in enumerate(total)]
    sizes = [-((-t << grid.bits) // factor) for t in total]
    return ScaledTrees(cuts, leaves, start, factor, sizes)


def _leaves_below(node: TreesNode, root: int) -> set[int]:
    seen, waiting = {root}, [root]
    while waiting:
        place = waiting.pop()
        if place >= 0:
            fresh = {node.lower[place], node.upper[place]} - seen
            seen |= fresh
            waiting += fresh
    return {-1 - place for place in seen if place < 0}


def cached_leaves(grid: PrecisionGrid, state: SubdomainState, v: int) -> ReachedLeaves:
    """What each tree of value v may add, while its source stays within the bounds of the state."""
    found = state.lines.get(v)
    if not isinstance(found, ReachedLeaves):
        node, source = grid.values[v].node, grid.values[v].sources[0]
        assert isinstance(node, TreesNode)
        scaled = scale_trees(grid, node)
        several = []
        for root in node.roots:
            numbers = reachable_leaf_numbers(node, root, scaled.cuts, state.low[source], state.high[source])
            leaves = [scaled.leaves[i] for i in dict.fromkeys(numbers)]
            # An empty box reaches nothing: then anything is true.
            several.append(leaves or [scaled.leaves[i] for i in sorted(_leaves_below(node, root))])
        found = state.lines[v] = ReachedLeaves(tuple(several), scaled.start, scaled.factor)
    return found


def tree_extremes(grid: PrecisionGrid, leaves: ReachedLeaves) -> Bounds:
    """Bounds of every output."""
    low, high = list(leaves.start), list(leaves.start)
    for several in leaves.trees:
        low = [a + min(column) for a, column in zip(low, zip(*several, strict=True), strict=True)]
        high = [b + max(column) for b, column in zip(high, zip(*several, strict=True), strict=True)]
    bits, factor = grid.bits, leaves.factor
    return [(a << bits) // factor for a in low], [-((-b << bits) // factor) for b in high]


def least_of_row(leaves: ReachedLeaves, vector: Sequence[Any]) -> Any:
    """The least value of vector . outputs, times the factor: one leaf of a tree gives all its outputs."""
    total = sum(map(mul, vector, leaves.start))
    for several in leaves.trees:
        total += min(sum(map(mul, vector, leaf)) for leaf in several)
    return total


def tree_radius(grid: PrecisionGrid, node: TreesNode) -> list[int] | None:
    """How far a float32 sum in any order can be from the exact one: not at all for a single addend."""
    count = node.addends()
    if count < 2:
        return None
    if count >= 1 << 23:
        raise Refused("a sum of so many trees has no useful rounding error")
    lost, rest = -(-(4 * count << grid.bits) >> 126), (1 << 24) - (count - 1)
    return [lost - (-size * (count - 1) // rest) for size in scale_trees(grid, node).sizes]
