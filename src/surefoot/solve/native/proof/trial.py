"""Whether multipliers refute a set of atoms with the bounds of a certificate, and what they cut off."""

from __future__ import annotations

import numpy as np

from surefoot.network.linear import Planes
from surefoot.network.outward import Box
from surefoot.solve.native.bounding.lines import COARSE
from surefoot.solve.native.bounding.refute import contracted
from surefoot.solve.native.bounding.substitute import Bounded
from surefoot.solve.native.bounding.views import View
from surefoot.solve.native.problem import Mask
from surefoot.solve.native.proof.steps import UNIT, Refutation

_MARGIN = 1e-7  # relative: room for the fixed-point arithmetic of a reader


def refutation(seen: View) -> Refutation:
    """The multipliers that the search found, in the numbers that a certificate holds."""
    size = np.abs(seen.row).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        row = np.where(size > 0, np.rint(seen.row / size * UNIT), 0.0)
    below = {v: np.rint(np.clip(s, 0.0, 1.0) * COARSE) / COARSE for v, s in seen.below.items()}
    return Refutation(row, below)


def refuted_by(part: Bounded, trial: Refutation, lenient: Mask) -> Mask:
    """For which boxes the multipliers give a bound that is positive with room to spare."""
    found = part.with_slopes(trial.below)
    closed = _positive(found, trial)
    if lenient.any() and part.radii:
        closed = closed | (lenient & _positive(found.in_reals(), trial))
    return closed


def _positive(found: Bounded, trial: Refutation) -> Mask:
    plane, box = found.below(trial.row[:, None]), found.boxes[0]
    with np.errstate(all="ignore"):
        size = (np.abs(plane.coefficients[:, 0]) * box.magnitude).sum(axis=1) + np.abs(plane.constant[:, 0])
        return np.asarray(plane.minimum(box)[:, 0] > _MARGIN * size)


def cut_box(part: Bounded, trial: Refutation) -> Box:
    """The part of each box that the inequality leaves, widened a little."""
    found, box = part.with_slopes(trial.below), part.boxes[0]
    plane = found.below(trial.row[:, None])
    least = plane.minimum(box)
    with np.errstate(all="ignore"):
        size = (np.abs(plane.coefficients) * box.magnitude[:, None]).sum(axis=2) + np.abs(plane.constant)
    looser = Planes(plane.coefficients, plane.constant)
    return contracted(looser, least - _MARGIN * size, box)
