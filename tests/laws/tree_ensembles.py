"""Small random tree ensembles and queries about them, for laws."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from surefoot.problem.network import Network, freeze_float32, freeze_indices
from surefoot.problem.tree_ensemble import TreeEnsemble

EVEN = [-2.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0]


def random_trees(
    rng: np.random.Generator,
    inputs: int,
    outputs: int,
    trees: int,
    branches: int,
    *,
    even: bool,
    source: int = 0,
) -> TreeEnsemble:
    """Trees with up to so many branches each; `even`: with thresholds and leaves of few digits."""
    features: list[int] = []
    thresholds: list[float] = []
    lower: list[int] = []
    upper: list[int] = []
    roots, leaves = [], 0

    def number() -> float:
        return float(rng.choice(EVEN)) if even else float(rng.normal())

    for _ in range(trees):
        count = int(rng.integers(0, branches + 1))
        first, open_sides = len(features), [None] if not count else []
        if not count:
            roots.append(-1 - leaves)
            leaves += 1
            continue
        roots.append(first)
        for i in range(count):
            place = len(features)
            features.append(int(rng.integers(inputs)))
            thresholds.append(number())
            lower.append(0)
            upper.append(0)
            if i:
                side = open_sides.pop(int(rng.integers(len(open_sides))))
                assert side is not None
                side[0][side[1]] = place
            open_sides += [(lower, place), (upper, place)]
        for side in open_sides:
            assert side is not None
            side[0][side[1]] = -1 - leaves
            leaves += 1
    values = (
        rng.choice([-1.0, 0.0, 0.25, 0.5, 1.0], (leaves, outputs))
        if even
        else rng.normal(size=(leaves, outputs))
    )
    start = np.zeros(outputs) if rng.integers(2) else rng.choice([-0.5, 0.0, 0.125], outputs)
    return TreeEnsemble(
        0,
        freeze_indices(features),
        freeze_float32(thresholds),
        freeze_indices(lower),
        freeze_indices(upper),
        freeze_indices(roots),
        freeze_float32(values.reshape(leaves, outputs)),
        freeze_float32(start),
    )


@st.composite
def tree_networks(draw: st.DrawFn, inputs: int = 2, outputs: int = 2) -> Network:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees, branches = draw(st.integers(1, 4)), draw(st.integers(0, 6))
    return Network(inputs, (random_trees(rng, inputs, outputs, trees, branches, even=draw(st.booleans())),))


def plain_outputs(node: TreeEnsemble, x: list[Fraction]) -> list[Fraction]:
    """The sum of the leaves, written out."""
    total = [Fraction(float(s)) for s in node.start]
    for root in node.roots:
        place = int(root)
        while place >= 0:
            goes_lower = x[node.features[place]] <= Fraction(float(node.thresholds[place]))
            place = int(node.lower[place] if goes_lower else node.upper[place])
        total = [t + Fraction(float(v)) for t, v in zip(total, node.leaves[-1 - place], strict=True)]
    return total


def cell_points(node: TreeEnsemble, entry: int, low: Fraction, high: Fraction) -> list[Fraction]:
    """In turn thresholds in an interval (and its ends) and middles between them: every cell has one."""
    cuts = sorted(
        {Fraction(float(t)) for f, t in zip(node.features, node.thresholds, strict=True) if f == entry}
    )
    inside = [c for c in cuts if low <= c <= high]
    ends = sorted({low, *inside, high})
    return sorted({*ends, *((a + b) / 2 for a, b in pairwise(ends))})
