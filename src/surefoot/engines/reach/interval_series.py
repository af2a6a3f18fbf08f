"""Taylor coefficients over boxes: every node of `TermLevels` as an interval, order by order.

Arrays are (nodes, orders, cells). A node without a value somewhere is NaN, and whoever reads it sees that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import decide_condition
from surefoot.engines.reach.elementary_range import (
    LEAST,
    Array,
    Range,
    function_range,
    square_range,
)
from surefoot.engines.reach.term_levels import (
    ChoiceGroup,
    FunctionGroup,
    LinearGroup,
    ProductGroup,
    SwitchGroup,
    TermLevels,
)

STEP = 2.0**-52


@dataclass(slots=True, eq=False)
class IntervalSeries:
    levels: TermLevels
    low: Array
    high: Array

    def at(self, node: int | np.ndarray, order: int = 0) -> Range:
        return self.low[node, order], self.high[node, order]


def start_intervals(levels: TermLevels, orders: int, cells: int) -> IntervalSeries:
    return IntervalSeries(
        levels, np.zeros((levels.count, orders, cells)), np.zeros((levels.count, orders, cells))
    )


def extend_intervals(series: IntervalSeries, order: int) -> None:
    """All nodes of one order, from those of lower orders and from the names, which are there."""
    with np.errstate(all="ignore"):
        for group in series.levels.groups:
            match group:
                case LinearGroup():
                    _combine(series, group, order)
                case ProductGroup():
                    _multiply(series, group, order)
                case FunctionGroup():
                    _apply(series, group, order)
                case SwitchGroup():
                    _switch(series, group, order)
                case ChoiceGroup():
                    _choose(series, group, order)
            if order == 0 and series.levels.rounds[group.nodes].any():
                _round(series, group.nodes)


def _round(series: IntervalSeries, nodes: NDArray[np.intp]) -> None:
    """What an operation in float64 may be off by, before anything else reads it."""
    off = series.levels.rounds[nodes][:, None] * 2.0**-53
    low, high = series.at(nodes)
    by = off * np.maximum(np.abs(low), np.abs(high)) * (1 + STEP) + np.where(off > 0, 2.0**-1074, 0.0)
    series.low[nodes, 0], series.high[nodes, 0] = low - by, high + by


def _combine(series: IntervalSeries, group: LinearGroup, order: int) -> None:
    plus, minus = np.maximum(group.matrix, 0.0), np.minimum(group.matrix, 0.0)
    low, high = series.low[group.reads, order], series.high[group.reads, order]
    down, up = plus @ low + minus @ high, plus @ high + minus @ low
    size = (plus - minus) @ np.maximum(np.abs(low), np.abs(high))
    if order == 0:
        down, up = down + group.constants[:, None], up + group.constants[:, None]
        size = size + np.abs(group.constants)[:, None]
    by = size * (2 * (group.matrix.shape[1] + 6) * 2.0**-53) + LEAST
    below = plus @ np.minimum(low, 0.0) + minus @ np.maximum(high, 0.0)
    if order == 0:
        below = below + np.minimum(group.constants, 0.0)[:, None]
    down = np.where(below == 0, np.maximum(down - by, 0.0), down - by)  # nothing of the sum is negative
    series.low[group.nodes, order], series.high[group.nodes, order] = down, up + by


def convolve_ranges(a: Range, b: Range) -> Range:
    """Sums over the second axis of products of intervals."""
    w, x, y, z = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    low, high = np.minimum(np.minimum(w, x), np.minimum(y, z)), np.maximum(np.maximum(w, x), np.maximum(y, z))
    by = np.maximum(np.abs(low), np.abs(high)).sum(1) * ((low.shape[1] + 6) * STEP) + LEAST
    return low.sum(1) - by, high.sum(1) + by


def _multiply(series: IntervalSeries, group: ProductGroup, order: int) -> None:
    left = series.low[group.left, : order + 1], series.high[group.left, : order + 1]
    right = series.low[group.right, order::-1], series.high[group.right, order::-1]
    low, high = convolve_ranges(left, right)
    if order == 0 and (same := group.left == group.right).any():
        square = square_range(series.at(group.left[same]))
        low[same], high[same] = square
    series.low[group.nodes, order], series.high[group.nodes, order] = low, high


def _apply(series: IntervalSeries, group: FunctionGroup, order: int) -> None:
    if order == 0:
        for name in dict.fromkeys(group.names):
            of = np.array([n == name for n in group.names])
            found = function_range(name, *series.at(group.arguments[of]))
            series.low[group.nodes[of], 0], series.high[group.nodes[of], 0] = found
        return
    weights = (np.arange(1, order + 1) / order)[None, :, None]
    x = (
        series.low[group.arguments, 1 : order + 1] * weights,
        series.high[group.arguments, 1 : order + 1] * weights,
    )
    g = series.low[group.derivatives, order - 1 :: -1], series.high[group.derivatives, order - 1 :: -1]
    low, high = convolve_ranges(x, g)
    by = np.maximum(np.abs(low), np.abs(high)) * (4 * STEP)
    series.low[group.nodes, order], series.high[group.nodes, order] = low - by, high + by


def _switch(series: IntervalSeries, group: SwitchGroup, order: int) -> None:
    """|x|: x or -x where the sign is known; elsewhere it has a range, and no derivatives."""
    first_low, first_high = series.at(group.arguments)
    low, high = series.at(group.arguments, order)
    up, down = first_low >= 0, first_high <= 0
    if order == 0:
        open_low, open_high = np.zeros_like(low), np.maximum(-low, high)
    else:
        open_low = open_high = np.full_like(low, np.nan)
    series.low[group.nodes, order] = np.where(up, low, np.where(down, -high, open_low))
    series.high[group.nodes, order] = np.where(up, high, np.where(down, -low, open_high))


def _choose(series: IntervalSeries, group: ChoiceGroup, order: int) -> None:
    """One of two where the condition is decided; elsewhere anything between them, without derivatives."""
    cells = series.low.shape[-1]
    yes, no = decide_condition(group.test, series.at, cells)
    (a, b), (c, d) = series.at(group.then, order), series.at(group.otherwise, order)
    if order == 0:
        low, high = np.fmin(a, c) + 0 * (a + c), np.fmax(b, d) + 0 * (b + d)
    else:
        low = high = np.full(cells, np.nan)
    series.low[group.nodes, order] = np.where(yes, a, np.where(no, c, low))
    series.high[group.nodes, order] = np.where(yes, b, np.where(no, d, high))
