"""Symbols of cells: the sets x = c + G e, how boxes become such sets, and how there stay few symbols.

Girard (2005): the symbols that matter least together become one symbol for each variable. The first symbols
are those of the start box; they are kept, so that it is known along which of them to split.
"""

from __future__ import annotations

import numpy as np

from surefoot.engines.reach.conditions import Mask
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.form_series import UNIT

WORTH = 62 / 32  # a symbol is replaced if no more of its range is left; the checker does so from 63 / 32 on
OUTWARD = 2.0**-22  # of the bounds of a symbol: more than what the checker rounds


def forms_of_box(low: Array, high: Array) -> Array:
    """Boxes (cells, variables) as forms (cells, variables, 2 + variables)."""
    cells, count = low.shape
    forms = np.zeros((cells, count, count + 2))
    forms[..., 0] = 0.5 * low + 0.5 * high
    radius = np.maximum(high - forms[..., 0], forms[..., 0] - low)
    radius = np.where(low == high, 0.0, radius * (1 + 4 * UNIT))
    forms[:, np.arange(count), np.arange(1, count + 1)] = radius
    return forms


def absorb_radii(forms: Array) -> Array:
    """Radii become symbols, one for each variable that has one anywhere."""
    cells, count, width = forms.shape
    active = np.flatnonzero((forms[..., -1] > 0).any(0))
    found = np.zeros((cells, count, width + len(active)))
    found[..., : width - 1] = forms[..., :-1]
    found[:, active, width - 1 + np.arange(len(active))] = forms[:, active, -1]
    return found


def add_symbols(forms: Array, more: int) -> Array:
    """The same forms with symbols that they do not depend on."""
    found = np.zeros((*forms.shape[:-1], forms.shape[-1] + more))
    found[..., : forms.shape[-1] - 1] = forms[..., :-1]
    found[..., -1] = forms[..., -1]
    return found


def reduce_symbols(forms: Array, limit: int, kept: int) -> Array:
    """At most `limit` symbols behind the first `kept` ones; radii are 0 and stay so.

    Boxes of boxes lose much where a system turns, so this is done seldom: once there are more than `limit`,
    two thirds of so many are left.
    """
    cells, count, width = forms.shape
    symbols = width - 2 - kept
    if symbols <= limit:
        return forms
    tail = forms[..., 1 + kept : -1]
    size = np.abs(tail)
    weight = size.sum(1) - size.max(1)
    keep = max(2 * limit // 3 - count, 0)
    order = np.argsort(-weight, axis=1, kind="stable")
    order = np.concatenate([np.sort(order[:, :keep], 1), order[:, keep:]], 1)
    rest = np.take_along_axis(size, order[:, None, keep:], 2).sum(2) * (1 + 2 * symbols * UNIT)
    found = np.zeros((cells, count, 2 + kept + keep + count))
    found[..., : 1 + kept] = forms[..., : 1 + kept]
    found[..., 1 + kept : 1 + kept + keep] = np.take_along_axis(tail, order[:, None, :keep], 2)
    places = np.arange(count)
    found[:, places, 1 + kept + keep + places] = rest
    return found


def narrow_forms(forms: Array, assumed: Array) -> tuple[Array, Mask]:
    """Forms where all that is assumed, (cells, conditions, …) over the same symbols, is at most 0; and the
    cells where that is possible.

    c + sum a_j e_j - r <= 0 bounds each e_j by what the others can be at least. A symbol whose range shrinks
    is replaced by the middle of that and half of its width times a new one, as the checker does.
    """
    cells, _, width = forms.shape
    assumed = np.where(np.isfinite(assumed).all(-1, keepdims=True), assumed, 0.0)
    low, high = np.full((cells, width - 2), -1.0), np.ones((cells, width - 2))
    possible = np.ones(cells, bool)
    slack = np.abs(assumed).sum(-1) * (4 * width * UNIT)
    for place in (*range(assumed.shape[1]), *range(assumed.shape[1])):
        slopes = assumed[:, place, 1:-1]
        least = np.minimum(slopes * low, slopes * high)
        total = assumed[:, place, 0] - assumed[:, place, -1] + least.sum(-1) - slack[:, place]
        possible &= total <= 0
        with np.errstate(all="ignore"):
            bound = (least - total[:, None]) / slopes
        high = np.where(slopes > 0, np.minimum(high, bound + OUTWARD), high)
        low = np.where(slopes < 0, np.maximum(low, bound - OUTWARD), low)
        possible &= (low <= high).all(1)
    changed: Mask = np.asarray(high - low <= WORTH) & possible[:, None]
    if not changed.any():
        return forms, possible
    middle, half = np.where(changed, 0.5 * (low + high), 0.0), np.where(changed, 0.5 * (high - low), 1.0)
    found = forms.copy()
    found[..., 1:-1] *= half[:, None]
    found[..., 0] += (forms[..., 1:-1] * middle[:, None]).sum(-1)
    lost = (np.abs(forms[..., 0]) + np.abs(forms[..., 1:-1]).sum(-1)) * (4 * width * UNIT)
    found[..., -1] += lost * ((forms[..., 1:-1] != 0) & changed[:, None]).any(-1)
    return found, possible
