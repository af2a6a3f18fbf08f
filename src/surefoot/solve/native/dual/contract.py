"""Smaller boxes from inequalities that every wanted point of a sub-domain satisfies.

An inequality a . x + constant <= error, whose left side has the least value `bound` on the box, leaves for
each input x_i at most room / |a_i| with room = error - bound from the end where a_i x_i is least.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import TINY, UNIT, Array
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import Compiled
from surefoot.solve.native.dual.layered import Indices, Mask

_LEAST_GAIN = 0.02  # of an input's width; smaller gains are not worth a line in a proof


def contracted(low: Array, high: Array, slopes: Array, room: Array, whole: Mask) -> tuple[Array, Array]:
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


def shrinkage(domains: Domains, low: Array, high: Array) -> Array:
    """The largest share of an input's width that each sub-domain loses."""
    width = domains.high - domains.low
    lost = 1.0 - (high - low) / np.where(width > 0.0, width, 1.0)
    share: Array = np.where(width > 0.0, lost, 0.0).max(axis=1)
    return share


def contract_by_splits(c: Compiled, domains: Domains, rows: Indices, neurons: Indices) -> None:
    """Shrink in place the boxes of these rows, all different, by the phase of one first-layer neuron each."""
    problem = c.problem
    copy, neuron = neurons // problem.hidden, neurons % problem.hidden
    phase = domains.phase[rows, neurons].astype(np.float64)
    slopes, index = -phase[:, None] * problem.weights[0][neuron], problem.index[copy]
    if c.columns is not None:  # an input may occur twice in one copy: collect its coefficients
        every = np.zeros((len(rows), len(problem.low)))
        np.add.at(every, (np.arange(len(rows))[:, None], index), slopes)
        slopes, index = every, np.broadcast_to(np.arange(len(problem.low)), every.shape)
    place = (rows[:, None], index)
    low, high = domains.low[place], domains.high[place]
    bound = np.einsum("ij,ij->i", slopes, np.where(slopes >= 0.0, low, high))
    room = c.errors[neurons] - (bound - phase * problem.biases[0][neuron])
    domains.low[place], domains.high[place] = contracted(low, high, slopes, room, problem.whole[index])


def contract_by_fresh_splits(c: Compiled, domains: Domains) -> None:
    """Use the newest split of every sub-domain where it concerns a neuron of the first layer."""
    rows = np.flatnonzero((domains.fresh >= 0) & (domains.fresh % c.problem.hidden < c.problem.widths[0]))
    if len(rows):
        contract_by_splits(c, domains, rows, domains.fresh[rows])
