"""Bounds of neurons: intervals on the whole box, and tighter boxes and bounds from one inequality.

Every wanted point of a sub-domain satisfies the inequality that its dual bound came with.

On the box cut by slopes . (x - best end) <= room, each input x_i keeps at most room / |slope_i| from the end
where slope_i x_i is least. The greatest value of a linear function is a fractional knapsack: go from the best
end where the function gains most per unit of room. For every price p >= 0 of a unit of room,
    value at the best end + p * room + sum over inputs of width * max(gain - p * cost, 0)
is an upper bound; the best price is one of the ratios gain / cost. A checker may take any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, UNIT, Array
from surefoot.network.relaxation import relu_gap, relu_lines
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, Mask, ReluDomains
from surefoot.solvers.native.relu_splitting.dual_bound import DualProblem

CHUNK = 1 << 11  # functions at a time, so that the arrays stay in the cache
_LEAST_GAIN = 0.02  # of an input's width; smaller gains are not worth a new box
_DIGITS = 6  # binary digits of a price
_LEAST_PRICE = 1e-30
_DEEP_WORK = 4e6  # products of a sub-domain for bounds of its deeper neurons


def contract_by_inequality(
    low: Array, high: Array, slopes: Array, room: Array, whole: Mask
) -> tuple[Array, Array]:
    """The box that such an inequality leaves, row by row. A negative room leaves an empty box."""
    with np.errstate(all="ignore"):
        reach = (room[:, None] * (1.0 + 8 * UNIT) + TINY) / np.abs(slopes)
        gains = reach < (1.0 - _LEAST_GAIN) * (high - low)  # False for NaN and for zero slopes
        slack = 4 * UNIT * (np.abs(low) + np.abs(high)) + TINY
        new_high = np.where(gains & (slopes > 0.0), low + reach + slack, high)
        new_low = np.where(gains & (slopes < 0.0), high - reach - slack, low)
    if whole.any():
        new_high = np.where(whole, np.floor(new_high), new_high)
        new_low = np.where(whole, np.ceil(new_low), new_low)
    return np.maximum(low, new_low), np.minimum(high, new_high)


def contract_by_fresh_splits(c: DualProblem, domains: ReluDomains) -> Mask:
    """Shrink boxes in place by the newest split where it concerns the first layer; says which ones did.

    Those lose their cut: a certificate has one at a time, and the split took its place.
    """
    gained = np.zeros(len(domains), dtype=np.bool_)
    rows = np.flatnonzero((domains.fresh >= 0) & (domains.fresh < c.slices[0].stop))
    if not len(rows):
        return gained
    neurons = domains.fresh[rows]
    phase = domains.phase[rows, neurons].astype(np.float64)
    slopes = -phase[:, None] * c.problem.first[neurons]
    old_low, old_high = domains.low[rows], domains.high[rows]
    bound = np.einsum("ij,ij->i", slopes, np.where(slopes >= 0.0, old_low, old_high))
    room = c.errors[neurons] - (bound - phase * c.problem.first_bias[neurons])
    low, high = contract_by_inequality(old_low, old_high, slopes, room, c.problem.whole)
    domains.low[rows], domains.high[rows] = low, high
    gained[rows] = ((low != old_low) | (high != old_high)).any(axis=1)
    domains.cut[gained], domains.limit[gained] = 0.0, 0.0
    return gained


def largest_shrinkage(domains: ReluDomains, low: Array, high: Array) -> Array:
    """The largest share of an input's width that each sub-domain loses."""
    width = domains.high - domains.low
    lost = 1.0 - (high - low) / np.where(width > 0.0, width, 1.0)
    share: Array = np.where(width > 0.0, lost, 0.0).max(axis=1)
    return share


@dataclass(frozen=True, slots=True, eq=False)
class _CutBox:
    """Boxes and inequalities of a batch."""

    best: Array  # the end of each input where the left side is least
    width: Array
    cost: Array  # what a unit of the way from the best end takes of the room
    total: Array
    direction: Array  # 1: the best end is the lower one, -1: the upper one
    room: Array
    size: Array  # what the terms of the inequality add up to; `relative` times this is its rounding error

    def greatest(self, c: DualProblem, rows: Indices, slopes: Array) -> tuple[Array, Array]:
        """Bounds above slopes . x, one function per row, and the prices that give them."""
        if not self.cost.any():  # no inequality: every input goes to its better end
            gain = np.maximum(slopes * self.direction[rows], 0.0)
            value = np.einsum("ij,ij->i", slopes, self.best[rows])
            return value + np.einsum("ij,ij->i", gain, self.width[rows]) + TINY, np.zeros(len(rows))
        gain = slopes * self.direction[rows]
        width, cost, room = self.width[rows], self.cost[rows], self.room[rows]
        price = _knapsack_prices(gain, cost, self.total[rows], room)[1]
        value = np.einsum("ij,ij->i", slopes, self.best[rows]) + _knapsack_gain(
            gain, width, cost, room, price
        )
        return value + (c.size.relative * price * self.size[rows] + TINY), price

    def ends(self, c: DualProblem, rows: Indices, slopes: Array) -> tuple[Array, Array, Array, Array]:
        """Bounds below and above slopes . x, one function per row, and the prices that give them."""
        gain = slopes * self.direction[rows]
        width, cost, room = self.width[rows], self.cost[rows], self.room[rows]
        low_price, high_price = _knapsack_prices(gain, cost, self.total[rows], room)
        middle = np.einsum("ij,ij->i", slopes, self.best[rows])
        high = middle + _knapsack_gain(gain, width, cost, room, high_price)
        low = middle - _knapsack_gain(np.negative(gain, out=gain), width, cost, room, low_price)
        error = c.size.relative * self.size[rows]
        return low - (error * low_price + TINY), high + (error * high_price + TINY), low_price, high_price

    def of_copies(self, reads: Indices) -> _CutBox:
        """For functions of what one copy reads: a row for every sub-domain and copy."""
        copies = len(reads)

        def own(every: Array) -> Array:
            return every[:, reads].reshape(copies * len(every), reads.shape[1])

        return _CutBox(
            own(self.best),
            own(self.width),
            own(self.cost),
            own(self.total),
            own(self.direction),
            np.repeat(self.room, copies),
            np.repeat(self.size, copies),
        )


def _build_cut_box(c: DualProblem, domains: ReluDomains) -> _CutBox:
    """From the box and the cut of each sub-domain."""
    rising = domains.cut >= 0.0
    best = np.where(rising, domains.low, domains.high)
    width, cost = domains.high - domains.low, np.abs(domains.cut)
    size = np.einsum("ij,ij->i", 2.0 * (np.abs(best) + np.abs(width)), cost) + np.abs(domains.limit)
    room = domains.limit - np.einsum("ij,ij->i", domains.cut, best) + c.size.relative * size + TINY
    room = np.maximum(room, 0.0)
    return _CutBox(best, width, cost, width * cost, np.where(rising, 1.0, -1.0), room, size)


@dataclass(frozen=True, slots=True, eq=False)
class ClippedBounds(BatchRecord):
    """Bounds of some neurons of some sub-domains that hold on the box cut by the inequality."""

    rows: Indices  # in ascending order
    neurons: Indices
    lower: Array
    upper: Array
    lower_price: Array
    upper_price: Array


def clip_first_layer(c: DualProblem, domains: ReluDomains, wanted: Mask) -> ClippedBounds:
    """Bounds of the wanted neurons, all of the first layer."""
    rows, neurons = np.nonzero(wanted)
    copies, box = neurons // c.problem.widths[0], _build_cut_box(c, domains).of_copies(c.reads)
    found: list[tuple[Array, ...]] = []
    for start in range(0, max(len(rows), 1), CHUNK):
        part = slice(start, start + CHUNK)
        q = neurons[part]
        place = rows[part] * c.problem.copies + copies[part]
        low, high, low_price, high_price = box.ends(c, place, c.own_first[q])
        middle, error = c.problem.first_bias[q], c.errors[q]
        found.append((low + middle - error, high + middle + error, low_price, high_price))
    return ClippedBounds(rows, neurons, *map(np.concatenate, zip(*found, strict=True)))


def intersect_neuron_bounds(domains: ReluDomains, clipped: ClippedBounds) -> None:
    """Intersect the bounds in place."""
    place = (clipped.rows, clipped.neurons)
    domains.lower[place] = np.maximum(domains.lower[place], clipped.lower)
    domains.upper[place] = np.minimum(domains.upper[place], clipped.upper)


def _knapsack_prices(gain: Array, cost: Array, total: Array, room: Array) -> tuple[Array, Array]:
    """Prices of room that are nearly best for -gain and for gain.

    Any price gives a bound, so single precision does: the ratios gain / cost are sorted once for both sides,
    each with its position in its last binary digits.
    """
    count, inputs = gain.shape
    below = np.int32((1 << (inputs - 1).bit_length()) - 1)
    with np.errstate(all="ignore"):
        ratio = (gain / cost).astype(np.float32)
    ratio[~np.isfinite(ratio)] = 0.0  # free of cost: gained at any price
    keys = ratio.view(np.int32)
    keys &= ~below
    keys |= np.arange(inputs, dtype=np.int32)
    ratio.sort(axis=1)
    place = (keys & below).astype(np.int64)
    place += inputs * np.arange(count)[:, None]
    steps = total.astype(np.float32).reshape(-1)[place]
    found = []
    for part, ordered, sign in ((steps, ratio, -1.0), (steps[:, ::-1], ratio[:, ::-1], 1.0)):
        used = (np.cumsum(part, axis=1) <= room[:, None]).sum(axis=1)
        price = sign * ordered[np.arange(count), np.minimum(used, inputs - 1)].astype(np.float64)
        digits, power = np.frexp(np.where((used < inputs) & (price > _LEAST_PRICE), price, 0.0))
        found.append(np.ldexp(np.rint(digits * 2**_DIGITS), power - _DIGITS))
    return found[0], found[1]


def _knapsack_gain(gain: Array, width: Array, cost: Array, room: Array, price: Array) -> Array:
    """What can be gained at most, going from the best end at that price."""
    left = price[:, None] * cost
    np.subtract(gain, left, out=left)
    np.maximum(left, 0.0, out=left)
    value: Array = np.einsum("ij,ij->i", left, width) + price * room
    return value


def tighten_by_intervals(c: DualProblem, domains: ReluDomains) -> None:
    """Tighten `lower` and `upper` of all neurons in place, layer by layer."""
    problem = c.problem
    centre = 0.5 * domains.low + 0.5 * domains.high
    radius = np.maximum(domains.high - centre, centre - domains.low)
    w = problem.first
    for layer, s in enumerate(c.slices):
        if layer:
            w = problem.weights[layer - 1]
        middle = (centre @ w.T).reshape(len(domains), -1) + c.biases[layer]
        reach = (radius @ np.abs(w).T).reshape(len(domains), -1) + c.errors[s]
        np.maximum(domains.lower[:, s], middle - reach, out=domains.lower[:, s])
        np.minimum(domains.upper[:, s], middle + reach, out=domains.upper[:, s])
        least, most = np.maximum(domains.lower[:, s], 0.0), np.maximum(domains.upper[:, s], 0.0)
        centre = (0.5 * least + 0.5 * most).reshape(-1, problem.widths[layer])
        radius = (np.maximum(most, 0.0) - np.minimum(least, most)).reshape(centre.shape) * (0.5 + UNIT) + TINY


def bound_deep_neurons(c: DualProblem, domains: ReluDomains, layer: int, wanted: Mask) -> ClippedBounds:
    """Bounds of the wanted neurons of a layer after the first, by substituting back to the inputs.

    The line below an undecided ReLU has slope 1 where it is more on than off, else 0. Columns of `wanted` are
    those of the layer.
    """
    start, wide, copies = c.slices[layer].start, c.problem.widths, c.problem.copies
    rows, places = np.nonzero(wanted)
    count = len(domains)
    lines = [
        tuple(p.reshape(count, copies, w) for p in relu_lines(domains.lower[:, s], domains.upper[:, s]))
        for s, w in zip(c.slices[:layer], wide, strict=False)
    ]
    box = _build_cut_box(c, domains)
    found: list[tuple[Array, ...]] = []
    for first in range(0, max(len(rows), 1), CHUNK):
        r, place = rows[first : first + CHUNK], places[first : first + CHUNK]
        copy, neuron = place // wide[layer], place % wide[layer]
        twice, copy = np.concatenate([r, r]), np.concatenate([copy, copy])
        here = [tuple(p[twice, copy] for p in line) for line in lines]
        sign = np.repeat([-1.0, 1.0], len(r))  # -1: above minus the neuron, 1: above the neuron
        neuron = np.concatenate([neuron, neuron])
        slopes, constant = _substitute_above(
            c, here, copy, sign[:, None] * c.problem.weights[layer - 1][neuron]
        )
        reach, price = box.greatest(c, twice, slopes)
        reach += constant + sign * c.problem.biases[layer - 1][neuron]
        reach += np.concatenate([c.errors[start + place]] * 2)
        half = len(r)
        found.append((-reach[:half], reach[half:], price[:half], price[half:]))
    return ClippedBounds(rows, places + start, *map(np.concatenate, zip(*found, strict=True)))


def neurons_worth_bounding(c: DualProblem, domains: ReluDomains) -> Mask:
    """The neurons whose bounds matter and that are undecided; of a wide network the few that matter most.

    Substituting one neuron back through wide layers costs as much as a step of ascent on a sub-domain.
    """
    wanted = (domains.bent > 0.0) & (domains.phase == 0)
    wanted[:, c.slices[0]] = False
    weights = (c.problem.first, *c.problem.weights[:-1])
    most = int(_DEEP_WORK / max(sum(w.size for w in weights), 1)) * c.problem.copies
    root = domains.node == 0
    limited = select_largest(domains.bent * relu_gap(domains.lower, domains.upper), wanted, max(most, 1))
    return np.where(root[:, None], wanted, limited)


def select_largest(score: Array, wanted: Mask, most: int) -> Mask:
    """Of the wanted entries of each row the largest ones, so many at most."""
    if most >= wanted.shape[1] or int(wanted.sum(axis=1).max(initial=0)) <= most:
        return wanted
    order = np.argpartition(np.where(wanted, -score, np.inf), most - 1, axis=1)[:, :most]
    chosen = np.zeros_like(wanted)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & wanted


def tighten_deep_neurons(c: DualProblem, domains: ReluDomains, wanted: Mask) -> list[ClippedBounds]:
    """Tighten the wanted undecided neurons of all layers after the first, in place."""
    found = []
    for layer in range(1, len(c.slices)):
        s = c.slices[layer]
        here = wanted[:, s] & (domains.lower[:, s] < 0.0) & (domains.upper[:, s] > 0.0)
        found.append(bound_deep_neurons(c, domains, layer, here))
        intersect_neuron_bounds(domains, found[-1])
    return found


def _substitute_above(
    c: DualProblem, lines: list[tuple[Array, ...]], copy: Indices, coefficients: Array
) -> tuple[Array, Array]:
    """Linear functions of the inputs above coefficients . (values after the ReLUs of the previous layer).

    Each is about one copy.
    """
    constants = np.zeros(len(coefficients))
    for before in range(len(lines) - 1, -1, -1):
        below, chord, intercept = lines[before]
        up, down = np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)
        constants += np.einsum("ij,ij->i", up, intercept)
        coefficients = up * chord + down * below
        if before:
            constants += coefficients @ c.problem.biases[before - 1]
        else:
            own = c.problem.first_bias.reshape(c.problem.copies, -1)[copy]
            constants += np.einsum("ij,ij->i", coefficients, own)
        noise = c.noise[before]
        if noise is not None:
            own = noise.reshape(c.problem.copies, -1)[copy]
            constants += np.einsum("ij,ij->i", np.abs(coefficients), own)
        if before:
            coefficients = coefficients @ c.problem.weights[before - 1]
    slopes = np.empty((len(coefficients), len(c.problem.low)))
    for number, first in enumerate(np.split(c.problem.first, c.problem.copies)):
        chosen = copy == number
        slopes[chosen] = coefficients[chosen] @ first
    return slopes, constants
