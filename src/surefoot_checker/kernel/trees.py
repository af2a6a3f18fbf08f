"""Decision trees in a network: which leaves an input reaches, and which some point of a box may reach.

Thresholds and leaves are Python floats that hold a float32 number each; here they are compared, which is
exact, and nothing else is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from .strict_json import BadCertificate

Numbers = tuple[float, ...]
MOST_VISITS = 1 << 20  # branches and leaves of one tree that are looked at for one box


@dataclass(frozen=True, slots=True, eq=False)
class TreesNode:
    """start + one leaf of each tree; a reference is the number of a branch, or -1 - that of a leaf."""

    source: int
    features: tuple[int, ...]
    thresholds: Numbers
    lower: tuple[int, ...]  # where x[feature] <= threshold
    upper: tuple[int, ...]
    roots: tuple[int, ...]
    leaves: Numbers  # row by row
    start: Numbers

    @property
    def width(self) -> int:
        return len(self.start)

    def addends(self) -> int:
        """How many numbers make an output; a start of zeros changes nothing."""
        return len(self.roots) + any(self.start)

    def leaf(self, number: int) -> Numbers:
        return self.leaves[number * self.width : (number + 1) * self.width]


def check_trees_node(node: TreesNode, read: int, place: int) -> None:
    """Raise `BadCertificate` unless every path leads to a leaf and all numbers are finite."""
    count, width = len(node.features), node.width
    what = f"network node {place} (trees)"
    if (
        not width
        or len(node.leaves) % width
        or {len(node.thresholds), len(node.lower), len(node.upper)} != {count}
    ):
        raise BadCertificate(f"{what} has lists that do not fit each other")
    leaves = len(node.leaves) // width
    both = zip(node.lower, node.upper, strict=True)
    for before, several in enumerate([node.roots, *both], start=-1):
        if any(not -leaves <= r < count or 0 <= r <= before for r in several):
            raise BadCertificate(f"{what} refers to a branch or leaf that it does not have, or back")
    if not all(0 <= f < read for f in node.features):
        raise BadCertificate(f"{what} tests an entry that it does not read")
    if not all(map(isfinite, (*node.thresholds, *node.leaves, *node.start))):
        raise BadCertificate(f"{what} has a number that is not finite")


def reached_leaf(node: TreesNode, root: int, inputs: Sequence[Any], thresholds: Sequence[Any]) -> int:
    """The leaf of one tree; `thresholds`: as numbers that compare with the inputs."""
    place = root
    while place >= 0:
        below = inputs[node.features[place]] <= thresholds[place]
        place = (node.lower if below else node.upper)[place]
    return -1 - place


def reachable_leaf_numbers(
    node: TreesNode, root: int, cuts: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> Iterator[int]:
    """The leaves of one tree that some point of a box reaches; it may name one more than once.

    All bounds are in units of some grid, and so are `cuts`: the thresholds, rounded down. That loses nothing:
    for an integer l, l <= t if and only if l <= floor(t).
    """
    waiting: list[tuple[int, dict[int, tuple[float, float]]]] = [(root, {})]
    visits = 0
    while waiting:
        place, tests = waiting.pop()
        visits += 1
        if visits > MOST_VISITS:
            raise BadCertificate("a tree with more paths than are looked at")
        if place < 0:
            yield -1 - place
            continue
        feature, threshold = node.features[place], node.thresholds[place]
        above, upto = tests.get(feature, (-inf, inf))  # what earlier tests of this entry say
        if high[feature] > cuts[place] and threshold < upto:
            waiting.append((node.upper[place], {**tests, feature: (max(above, threshold), upto)}))
        if low[feature] <= cuts[place] and threshold > above:
            waiting.append((node.lower[place], {**tests, feature: (above, min(upto, threshold))}))
