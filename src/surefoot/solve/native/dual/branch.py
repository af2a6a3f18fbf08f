"""Which neuron to split next, and the two halves."""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import TINY, Array
from surefoot.solve.native.dual.ascend import Ascent
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.layered import Indices


def best_neurons(domains: Domains, a: Ascent) -> Indices:
    """The neuron of each open sub-domain whose relaxation may cost most; -1 if no neuron is undecided.

    `domains` are the open ones. The cost is the coefficient times the largest gap between chord and ReLU.
    Where the line below is in use it counts little: its slope is free to fit.
    """
    undecided = domains.phase == 0
    width = np.where(undecided, domains.upper - domains.lower, 1.0)
    gap = np.where(undecided, -domains.lower * domains.upper / width, 0.0)
    score = gap * np.maximum(-a.after, 0.001 * a.after) + np.where(undecided, TINY, -1.0)
    best = score.argmax(axis=1)
    found: Indices = np.where(undecided.any(axis=1), best, -1)
    return found


def likely_phase(a: Ascent, neurons: Indices) -> Array:
    """1 where the averaged point of the relaxation has the neuron on, else -1."""
    value = np.take_along_axis(a.before, neurons[:, None], axis=1)[:, 0]
    return np.where(value >= 0.0, 1.0, -1.0)
