"""The greatest value of a linear function on a box cut by one inequality.

On the box cut by slopes . (x - best end) <= room, the greatest value of a function is a fractional knapsack:
go from the best end where the function gains most per unit of room. For every price p >= 0 of a unit of room,
    value at the best end + p * room + sum over inputs of width * max(gain - p * cost, 0)
is an upper bound; the best price is one of the ratios gain / cost. A checker may take any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.outward import TINY, Array
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import Compiled, gather
from surefoot.solve.native.dual.layered import Indices

CHUNK = 1 << 11  # functions at a time, so that the arrays stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class CutBox:
    """Boxes and inequalities of a batch. Rows are sub-domains, or copies in sub-domains (`by_copy`)."""

    best: Array  # the end of each input where the left side is least
    width: Array
    cost: Array  # what a unit of the way from the best end takes of the room
    total: Array
    direction: Array  # 1: the best end is the lower one, -1: the upper one
    room: Array
    size: Array  # what the terms of the inequality add up to; `relative` times this is its rounding error

    def reach(self, c: Compiled, rows: Indices, slopes: Array) -> tuple[Array, Array]:
        """How far slopes . x can get above its value at the best end, one function per row, and the error."""
        gain = slopes * self.direction[rows]
        price, value = knapsack(gain, self.width[rows], self.cost[rows], self.total[rows], self.room[rows])
        return value, c.size.relative * price * self.size[rows] + TINY


def cut_box(c: Compiled, domains: Domains, *, by_copy: bool) -> CutBox:
    """From the box and the cut of each sub-domain."""
    rising = domains.cut >= 0.0
    best = np.where(rising, domains.low, domains.high)
    width, cost = domains.high - domains.low, np.abs(domains.cut)
    size = np.einsum("ij,ij->i", 2.0 * (np.abs(best) + np.abs(width)), cost) + np.abs(domains.limit)
    room = domains.limit - np.einsum("ij,ij->i", domains.cut, best) + c.size.relative * size + TINY
    room = np.maximum(room, 0.0)
    parts = [best, width, cost, width * cost, np.where(rising, 1.0, -1.0)]
    if by_copy:
        parts = [gather(c, part) for part in parts]
        room, size = np.repeat(room, c.problem.copies), np.repeat(size, c.problem.copies)
    return CutBox(parts[0], parts[1], parts[2], parts[3], parts[4], room, size)


def clip_first_layer(c: Compiled, domains: Domains) -> None:
    """Tighten in place the bounds of undecided first-layer neurons."""
    first = np.arange(domains.phase.shape[1]) % c.problem.hidden < c.problem.widths[0]
    undecided = (domains.lower < 0.0) & (domains.upper > 0.0) & (domains.phase == 0) & first
    rows, neurons = np.nonzero(undecided)
    box = cut_box(c, domains, by_copy=c.first is None)
    for start in range(0, len(rows), CHUNK):
        r, q = rows[start : start + CHUNK], neurons[start : start + CHUNK]
        copy, j = q // c.problem.hidden, q % c.problem.hidden
        if c.first is None:
            line, slopes = r * c.problem.copies + copy, c.problem.weights[0][j]
        else:  # inputs may occur twice in a copy
            line, slopes = r, c.first[copy * c.problem.widths[0] + j]
        middle = np.einsum("ij,ij->i", slopes, box.best[line]) + c.problem.biases[0][j]
        above, error = box.reach(c, line, slopes)
        most = middle + above + error + 2.0 * c.errors[q]
        domains.upper[r, q] = np.minimum(domains.upper[r, q], most)
        below, error = box.reach(c, line, -slopes)
        least = middle - below - error - 2.0 * c.errors[q]
        domains.lower[r, q] = np.maximum(domains.lower[r, q], least)


def knapsack(gain: Array, width: Array, cost: Array, total: Array, room: Array) -> tuple[Array, Array]:
    """A price of room and the bound that it gives for what can be gained."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(gain > 0.0, gain / cost, -1.0)
    ratio = np.where(np.isfinite(ratio), ratio, -1.0)  # free of cost: gained at any price
    order = np.argsort(-ratio, axis=1)
    spent = np.cumsum(np.take_along_axis(total, order, axis=1), axis=1)
    count = (spent <= room[:, None]).sum(axis=1)
    last = np.minimum(count, gain.shape[1] - 1)
    chosen = np.take_along_axis(order, last[:, None], axis=1)
    price = np.take_along_axis(ratio, chosen, axis=1)[:, 0]
    price = np.where(count < gain.shape[1], np.maximum(price, 0.0), 0.0)
    left = gain - price[:, None] * cost
    np.maximum(left, 0.0, out=left)
    value: Array = np.einsum("ij,ij->i", left, width) + price * room
    return price, value
