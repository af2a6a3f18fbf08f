"""Which neurons of a sub-domain are worth a tighter bound, and which ones to split."""

from __future__ import annotations

import numpy as np

from surefoot.network.directed_rounding import TINY, Array
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, Mask
from surefoot.solvers.native.relu_splitting.dual_ascent import DualAscent
from surefoot.solvers.native.relu_splitting.dual_bound import DualProblem
from surefoot.solvers.native.relu_splitting.neuron_bounds import ClippedBounds, clip_first_layer
from surefoot.solvers.native.relu_splitting.sub_domains import ReluDomains

_LEAST_CLIP = 0.03  # share of the width of a neuron's bounds; smaller gains are not worth a line in a proof


def clip_worthwhile_neurons(c: DualProblem, still: ReluDomains, a: DualAscent) -> ClippedBounds:
    """Bounds of undecided neurons of the first layer, where they gain enough.

    With one hidden layer only of those whose chord is in use; else the bounds of deeper ones rest on all.
    """
    s = c.slices[0]
    lower, upper = still.lower[:, s], still.upper[:, s]
    wanted = (still.phase[:, s] == 0) & (lower < 0.0) & (upper > 0.0)
    if len(c.slices) == 1:
        wanted &= a.after < 0.0
    clipped = clip_first_layer(c, still, wanted)
    place = (clipped.rows, clipped.neurons)
    lower, upper = lower[place], upper[place]
    least = _LEAST_CLIP * (upper - lower)
    rises, falls = clipped.lower > lower + least, clipped.upper < upper - least
    np.copyto(clipped.lower, -np.inf, where=~rises)
    np.copyto(clipped.upper, np.inf, where=~falls)
    return clipped.pick(rises | falls)


def _relaxation_gap(lower: Array, upper: Array) -> Array:
    """The largest distance between ReLU and chord."""
    found: Array = np.maximum(-lower, 0.0) * np.maximum(upper, 0.0) / np.maximum(upper - lower, TINY)
    return found


def branching_scores(c: DualProblem, domains: ReluDomains, a: DualAscent, weight: Array | float) -> Array:
    """What the relaxation of each neuron of each open sub-domain may cost; -1 where it is decided.

    The cost is the coefficient times the largest gap between chord and ReLU. Where the line below is in use
    it counts little: its slope is free to fit. What other rows might need counts as little.
    """
    gap = _relaxation_gap(domains.lower, domains.upper)
    score = weight * gap * (np.maximum(-a.after, 0.001 * a.after) + 0.001 * c.chordal) + TINY
    found: Array = np.where(domains.phase == 0, score, -1.0)
    return found


def likely_on(a: DualAscent, neurons: Indices) -> Mask:
    """Where the averaged point of the relaxation has the neuron on."""
    on: Mask = np.take_along_axis(a.before, neurons[:, None], axis=1)[:, 0] >= 0.0
    return on
