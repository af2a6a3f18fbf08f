"""Planes below combinations of the outputs of a network, from the boxes of its values."""

from collections.abc import Sequence

import numpy as np

from surefoot.network.back_substitution import AbsoluteWeights, Planes, ValueBounds, back_substitute_rows
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.relaxation import relax_value
from surefoot.problem.network import Network


def planes_below_outputs(network: Network, values: Sequence[BoxArray], rows: object) -> Planes:
    """Planes below rows @ outputs on the input box; `values` from `linear_bounds`, of one box or a batch."""
    single = values[0].low.ndim == 1
    boxes = [b.pick(None) for b in values] if single else values
    relaxations = [relax_value(node, boxes) for node in network.nodes]
    found = ValueBounds(network, AbsoluteWeights(network), boxes, relaxations)
    planes = back_substitute_rows(found, np.asarray(rows, dtype=np.float64)[None], len(network.nodes))
    return planes.pick(0) if single else planes
