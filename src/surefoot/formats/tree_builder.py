"""Trees as files write them, as one node of a network: every test becomes `x <= threshold` in float32.

x < t is x <= the float32 number before t, and a test of equality is two tests. Missing values do not occur:
what is observed always has a value, so it does not matter which way a file sends them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.network import freeze_float32, freeze_indices
from surefoot.problem.tree_ensemble import MOST_CELLS, TreeEnsemble

BRANCH_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@dataclass(frozen=True, slots=True)
class FileBranch:
    """A test as the file writes it, and the numbers of the nodes where it leads."""

    mode: str
    feature: int
    threshold: float  # a float32 number
    holds: int
    fails: int


@dataclass(frozen=True, slots=True)
class FileLeaf:
    """What a leaf adds to each output."""

    values: tuple[float, ...]


FileNode = FileBranch | FileLeaf


@dataclass(slots=True)
class _Growth:
    """Branches and leaves so far."""

    tests: list[tuple[int, float]]
    lower: list[int]
    upper: list[int]
    leaves: list[tuple[float, ...]]


def grow_trees(
    trees: Sequence[tuple[str, int, Mapping[int, FileNode]]], source: int, start: Sequence[float]
) -> TreeEnsemble:
    """The node of several trees, each with its name, the number of its root and its nodes by number."""
    growth = _Growth([], [], [], [])
    roots = [_grow_tree(growth, *tree) for tree in trees]
    _refuse_many_paths(growth, roots)
    leaves = np.array(growth.leaves, dtype=np.float32).reshape(len(growth.leaves), len(start))
    return TreeEnsemble(
        source,
        freeze_indices([feature for feature, _ in growth.tests]),
        freeze_float32([threshold for _, threshold in growth.tests]),
        freeze_indices(growth.lower),
        freeze_indices(growth.upper),
        freeze_indices(roots),
        freeze_float32(leaves),
        freeze_float32(start),
    )


def _grow_tree(growth: _Growth, name: str, root: int, nodes: Mapping[int, FileNode]) -> int:
    """The reference of the root; numbers are given on the way down, so that branches lead to later ones."""
    found: dict[int, int] = {}
    waiting: list[tuple[int, list[tuple[list[int], int]]]] = [(root, [])]
    while waiting:
        number, asked = waiting.pop()
        if number in found:
            raise InvalidProblem(f"{name} leads to node {number} twice", fix="export the model again")
        if number not in nodes:
            raise InvalidProblem(f"{name} has no node {number}", fix="export the model again")
        match nodes[number]:
            case FileLeaf(values):
                growth.leaves.append(values)
                found[number] = -len(growth.leaves)
            case FileBranch() as branch:
                found[number] = len(growth.tests)
                waiting += _add_tests(growth, branch, name)
        for children, place in asked:
            children[place] = found[number]
        if len(growth.leaves) + len(growth.tests) > 2 * MOST_CELLS:
            raise Unsupported(f"more than {MOST_CELLS} leaves of trees", fix="use a smaller ensemble")
    return found[root]


def _add_tests(
    growth: _Growth, branch: FileBranch, name: str
) -> list[tuple[int, list[tuple[list[int], int]]]]:
    """The tests of a branch; what is returned says which children are still to be filled in."""
    if branch.mode not in BRANCH_MODES:
        shown = "".join(c for c in branch.mode[:40] if c.isprintable())
        raise Unsupported(f"{name} has a node of mode `{shown}`", fix="use numerical splits only")
    at, before = branch.threshold, _number_before(branch.threshold, name)
    first = len(growth.tests)
    lower, upper = growth.lower, growth.upper
    strict = branch.mode in ("BRANCH_LT", "BRANCH_GTE")
    if branch.mode in ("BRANCH_EQ", "BRANCH_NEQ"):
        growth.tests += [(branch.feature, before), (branch.feature, at)]
        lower += [0, 0]
        upper += [first + 1, 0]
        same, other = (branch.holds, branch.fails)[:: 1 if branch.mode == "BRANCH_EQ" else -1]
        return [(other, [(lower, first), (upper, first + 1)]), (same, [(lower, first + 1)])]
    growth.tests.append((branch.feature, before if strict else at))
    lower.append(0)
    upper.append(0)
    below, above = (branch.holds, branch.fails)[:: 1 if branch.mode in ("BRANCH_LEQ", "BRANCH_LT") else -1]
    return [(above, [(upper, first)]), (below, [(lower, first)])]


def _number_before(threshold: float, name: str) -> float:
    before = float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))
    if not np.isfinite(threshold) or not np.isfinite(before):
        raise InvalidProblem(
            f"{name} has a threshold that is not a finite number", fix="export the model again"
        )
    return before


def _refuse_many_paths(growth: _Growth, roots: Sequence[int]) -> None:
    """Tests of equality share what follows: there may be far more paths than leaves."""
    paths: dict[int, int] = {}
    for place in range(len(growth.tests) - 1, -1, -1):
        children = growth.lower[place], growth.upper[place]
        paths[place] = min(sum(paths.get(child, 1) for child in children), MOST_CELLS + 1)
    if sum(paths.get(root, 1) for root in roots) > MOST_CELLS:
        raise Unsupported(f"more than {MOST_CELLS} leaves of trees", fix="use a smaller ensemble")
