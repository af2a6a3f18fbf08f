"""Affine arithmetic (Comba and Stolfi 1993; de Figueiredo and Stolfi 2004) on Taylor coefficients.

A form is c + sum a_j e_j + r e with symbols e_j in [-1, 1] that all forms of a cell share, and a radius r of
its own. An array of forms has (c, a_1, …, a_m, r) along its last axis; `spread` is sum |a_j| + r. What floats
lose is bounded by the number of operations times the sizes of what went in, and added to the radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import decide_condition
from surefoot.engines.reach.elementary_range import OFF, Array, Range, curvature_range, slopes_at
from surefoot.engines.reach.term_levels import (
    ChoiceGroup,
    FunctionGroup,
    LinearGroup,
    ProductGroup,
    SwitchGroup,
    TermLevels,
)

UNIT = 2.0**-53
LEAST = 2.0**-1000


def spread_of(forms: Array) -> Array:
    """At least how far a form can be from its centre."""
    found: Array = np.abs(forms[..., 1:]).sum(-1) * (1.0 + 2 * forms.shape[-1] * UNIT)
    return found


def bounds_of(forms: Array, spread: Array | None = None) -> Range:
    by = spread_of(forms) if spread is None else spread
    centre = forms[..., 0]
    by = by + (np.abs(centre) + by) * (2 * UNIT)
    return centre - by, centre + by


def bounds_of_nodes(levels: TermLevels, forms: Array, spread: Array) -> Range:
    """Bounds of all nodes (nodes, cells); those that are whole numbers are rounded inward."""
    low, high = bounds_of(forms, spread)
    if levels.whole.any():
        low[levels.whole], high[levels.whole] = np.ceil(low[levels.whole]), np.floor(high[levels.whole])
    return low, high


def combine_forms(matrix: Array, forms: Array, spread: Array, constants: Array | None) -> Array:
    """matrix times forms along the first axis, plus constants."""
    shape = forms.shape
    rows, rest = (len(matrix), *shape[1:-1]), int(np.prod(shape[1:-1]))
    found = (matrix @ forms.reshape(shape[0], rest * shape[-1])).reshape(*rows, shape[-1])
    sizes = np.stack([forms[..., -1], np.abs(forms[..., 0]) + spread], 1).reshape(shape[0], 2 * rest)
    both = (np.abs(matrix) @ sizes).reshape(len(matrix), 2, *shape[1:-1])
    radius, total = both[:, 0], both[:, 1]
    if constants is not None:
        found[..., 0] += constants.reshape(-1, *(1,) * (found.ndim - 2))
        total = total + np.abs(constants).reshape(-1, *(1,) * (found.ndim - 2))
    found[..., -1] = radius + total * (4 * (shape[0] + 6) * UNIT) + LEAST
    return found


def convolve_forms(x: Array, y: Array, x_spread: Array, y_spread: Array) -> Array:
    """Sums over the second axis of products: e_j^2 is in [0, 1], products of different symbols in [-1, 1]."""
    symbols = x.shape[-1] - 2
    x0, y0, r, s = x[..., 0], y[..., 0], x[..., -1], y[..., -1]
    size_x, size_y = np.abs(x0), np.abs(y0)
    found = np.empty((x.shape[0], *x.shape[2:]))
    squares = x[..., 1:-1] * y[..., 1:-1]
    linear = x0[..., None] * y[..., 1:-1]
    linear += y0[..., None] * x[..., 1:-1]
    found[..., 1:-1] = linear[:, 0] if linear.shape[1] == 1 else linear.sum(1)
    found[..., 0] = (x0 * y0 + 0.5 * squares.sum(-1)).sum(1)
    np.abs(squares, out=squares)
    radius = (x_spread * y_spread - 0.5 * squares.sum(-1) + size_x * s + size_y * r).sum(1)
    total = ((size_x + x_spread) * (size_y + y_spread)).sum(1)
    found[..., -1] = np.maximum(radius, 0.0) + total * (4 * (symbols + x.shape[1] + 8) * UNIT) + LEAST
    return found


def linearise_forms(name: str, x: Array, spread: Array) -> Array:
    """f(c) + f'(c) (x - c) + f''/2 (x - c)^2, the last of these as a band."""
    low, high = bounds_of(x, spread)
    value, slope = slopes_at(name, x[..., 0])
    least, most = curvature_range(name, low, high)
    with np.errstate(all="ignore"):
        found = x * slope[..., None]
        half = 0.5 * spread * spread * (1 + 4 * UNIT)
        down, up = np.minimum(least, 0.0) * half, np.maximum(most, 0.0) * half
        found[..., 0] = value + 0.5 * (down + up)
        radius = x[..., -1] * np.abs(slope) + 0.5 * (up - down)
        steep = 1.0 + np.abs(slope) if name != "asin" else 1.0 + np.abs(slope) ** 3  # 1 - x^2 cancels
        found[..., -1] = radius + (np.abs(value) + steep * spread + up - down) * (8 * OFF) + LEAST
        bad = ~(np.isfinite(least) & np.isfinite(most))
        found[bad] = np.nan
    return found


def absolute_forms(x: Array, spread: Array) -> Array:
    """|x|: x or -x, or the line through both ends of |x| and what is below it."""
    low, high = bounds_of(x, spread)
    width = np.maximum(high - low, LEAST)
    slope = np.where(low >= 0, 1.0, np.where(high <= 0, -1.0, (high + low) / width))
    slope = np.clip(slope, -1.0, 1.0)
    is_open = (low < 0) & (high > 0)
    top = np.where(
        is_open, np.maximum(high - slope * high, -low - slope * low), 0.0
    )  # |x| - slope x is in [0, top]
    top = top + np.where(is_open, (np.abs(low) + np.abs(high)) * (8 * UNIT), 0.0)
    found = x * slope[..., None]
    found[..., 0] += 0.5 * top
    found[..., -1] = (
        x[..., -1] * np.abs(slope) + 0.5 * top + (np.abs(x[..., 0]) + spread) * (8 * UNIT) * is_open
    )
    return found


@dataclass(slots=True, eq=False)
class FormSeries:
    """Every node of `levels`: arrays (nodes, orders, cells, 2 + symbols)."""

    levels: TermLevels
    forms: Array
    spread: Array

    def set(self, nodes: NDArray[np.intp] | int, order: int, forms: Array) -> None:
        self.forms[nodes, order] = forms
        self.spread[nodes, order] = spread_of(forms)


def start_forms(levels: TermLevels, orders: int, cells: int, symbols: int) -> FormSeries:
    return FormSeries(
        levels, np.zeros((levels.count, orders, cells, symbols + 2)), np.zeros((levels.count, orders, cells))
    )


def extend_forms(series: FormSeries, order: int, signs: Array | None = None) -> None:
    """All nodes of one order, from those of lower orders and from the names, which are there.

    `signs`: of nodes |x| and of choices (nodes, cells): 1 or -1 where it is known what they are; without
    them such a node is what it is at order 0.
    """
    forms, spread = series.forms, series.spread
    for group in series.levels.groups:
        match group:
            case LinearGroup(nodes, reads, matrix, constants):
                found = combine_forms(
                    matrix, forms[reads, order], spread[reads, order], None if order else constants
                )
            case ProductGroup(nodes, left, right):
                back = slice(order, None, -1)
                found = convolve_forms(
                    forms[left, : order + 1],
                    forms[right, back],
                    spread[left, : order + 1],
                    spread[right, back],
                )
            case FunctionGroup(nodes):
                found = _apply(series, group, order)
            case SwitchGroup(nodes, arguments):
                if signs is None:
                    assert order == 0
                    found = absolute_forms(forms[arguments, 0], spread[arguments, 0])
                else:
                    sign = signs[nodes][..., None]
                    found = forms[arguments, order] * sign
                    found[..., -1] = forms[arguments, order, :, -1] * np.abs(sign[..., 0])
            case ChoiceGroup(nodes):
                found = _choose(series, group, order, signs)[None]
        forms[nodes, order] = found
        spread[nodes, order] = spread_of(found)
        if order == 0 and (off := series.levels.rounds[nodes]).any():
            size = (np.abs(found[..., 0]) + spread[nodes, 0]) * (off[:, None] * UNIT * (1 + 4 * UNIT))
            size += np.where(off > 0, 2.0**-1074, 0.0)[:, None]
            forms[nodes, 0, :, -1] += size
            spread[nodes, 0] += size


def _apply(series: FormSeries, group: FunctionGroup, order: int) -> Array:
    forms, spread = series.forms, series.spread
    if order == 0:
        found = np.empty((len(group.nodes), *forms.shape[2:]))
        for name in dict.fromkeys(group.names):
            of = np.array([n == name for n in group.names])
            found[of] = linearise_forms(name, forms[group.arguments[of], 0], spread[group.arguments[of], 0])
        return found
    weights = np.arange(1, order + 1) / order
    x = forms[group.arguments, 1 : order + 1] * weights[None, :, None, None]
    back = slice(order - 1, None, -1)
    found = convolve_forms(
        x,
        forms[group.derivatives, back],
        spread[group.arguments, 1 : order + 1] * weights[None, :, None],
        spread[group.derivatives, back],
    )
    found[..., -1] += (np.abs(found[..., 0]) + spread_of(found)) * (4 * UNIT)
    return found


def _choose(series: FormSeries, group: ChoiceGroup, order: int, signs: Array | None) -> Array:
    then, otherwise = series.forms[group.then, order], series.forms[group.otherwise, order]
    if signs is not None:
        picked: Array = np.where(signs[group.nodes[0]][:, None] > 0, then, otherwise)
        return picked
    low, high = bounds_of_nodes(series.levels, series.forms[:, 0], series.spread[:, 0])
    yes, no = decide_condition(group.test, lambda n: (low[n], high[n]), len(then))
    found: Array = np.where(yes[:, None], then, otherwise)
    undecided = ~(yes | no)
    if undecided.any():
        found[undecided] = join_forms(then[undecided], otherwise[undecided])
    return found


def join_forms(a: Array, b: Array) -> Array:
    """A form around both: of coefficients with the same sign the smaller one stays, the rest is a radius."""
    same = np.sign(a) == np.sign(b)
    found = np.where(same, np.where(np.abs(a) < np.abs(b), a, b), 0.0)
    ends = []
    for form in (a, b):
        rest = np.abs(form[..., 1:-1] - found[..., 1:-1]).sum(-1) + form[..., -1]
        rest = rest * (1 + 2 * form.shape[-1] * UNIT) + (np.abs(form[..., 0]) + spread_of(form)) * (4 * UNIT)
        ends.append((form[..., 0] - rest, form[..., 0] + rest))
    low, high = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
    found[..., 0] = 0.5 * low + 0.5 * high
    found[..., -1] = np.maximum(high - found[..., 0], found[..., 0] - low) * (1 + 4 * UNIT)
    return found
