"""The dual bound of a batch of sub-domains, and the point of the relaxation where it is attained.

For row weights w >= 0, slopes in [0, 1] and split multipliers b >= 0,
    w . (rows y(x) - offsets) >= a . x + constant   for all x of the sub-domain
is obtained by substituting backwards: a ReLU with a non-negative coefficient is replaced by a line below it,
one with a negative coefficient by the chord above it, and phase * b * z >= 0 is subtracted. If the least
value of the right side over the box is positive, no x of the sub-domain satisfies all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.outward import TINY, UNIT, Array
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.layered import Layered, Magnitudes, Mask, magnitudes


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A question with what the inner loop needs, computed once."""

    problem: Layered
    size: Magnitudes
    columns: Array | None  # 0/1 matrix (copies * inputs of a copy, inputs); None where slices do
    first: Array | None  # with `columns`: the first layer of all copies as functions of all inputs
    windows: tuple[slice, ...]
    slices: tuple[slice, ...]
    errors: Array  # (copies * hidden,): how far a computed bound of a neuron can be off
    multiplier_scale: Array  # (copies * hidden,): a typical coefficient of the neuron


def compiled(problem: Layered) -> Compiled:
    size = magnitudes(problem)
    windows = tuple(slice(int(row[0]), int(row[0]) + len(row)) for row in problem.index)
    columns = first = None
    if not all(
        (np.arange(w.start, w.stop) == row).all() for w, row in zip(windows, problem.index, strict=True)
    ):
        columns = np.zeros((problem.index.size, len(problem.low)))
        columns[np.arange(problem.index.size), problem.index.reshape(-1)] = 1.0
        by_copy = columns.reshape(problem.copies, -1, len(problem.low))
        first = np.concatenate([problem.weights[0] @ part for part in by_copy])
    errors = size.relative * size.neurons + TINY
    return Compiled(problem, size, columns, first, windows, problem.slices, errors, _typical(problem))


def _typical(problem: Layered) -> Array:
    value = np.abs(problem.rows).mean(axis=0).reshape(problem.copies, -1)
    found = []
    for w in problem.weights[:0:-1]:
        value = np.broadcast_to(
            np.sqrt((value**2) @ (w**2)).mean(axis=1, keepdims=True), (len(value), w.shape[1])
        )
        found.append(value)
    return np.concatenate(found[::-1], axis=1).reshape(-1) + TINY


def gather(c: Compiled, points: Array) -> Array:
    """What each copy reads: (domains * copies, inputs of a copy)."""
    taken: Array = np.take(points, c.problem.index.reshape(-1), axis=1)
    return taken.reshape(-1, c.problem.index.shape[1])


def scatter(c: Compiled, coefficients: Array, domains: int) -> Array:
    """Coefficients of the inputs from those of what each copy reads."""
    if len(c.windows) == 1 and c.columns is None and coefficients.shape[1] == len(c.problem.low):
        return coefficients
    if c.columns is not None:
        return coefficients.reshape(domains, -1) @ c.columns
    total = np.zeros((domains, len(c.problem.low)))
    by_copy = coefficients.reshape(domains, len(c.windows), -1)
    for t, window in enumerate(c.windows):
        total[:, window] += by_copy[:, t]
    return total


@dataclass(slots=True, eq=False)
class Relaxed:
    """The lines around each ReLU of a batch; rows are (domain, copy), columns the neurons of a copy."""

    unstable: Array  # 1.0 or 0.0
    on: Array
    chord: Array
    intercept: Array
    phase: Array

    def keep(self, rows: Mask) -> None:
        self.unstable, self.on = self.unstable[rows], self.on[rows]
        self.chord, self.intercept, self.phase = self.chord[rows], self.intercept[rows], self.phase[rows]


def relaxed(c: Compiled, domains: Domains) -> Relaxed:
    wide = c.problem.hidden
    lower, upper = domains.lower.reshape(-1, wide), domains.upper.reshape(-1, wide)
    on = lower >= 0.0
    unstable = ~on & (upper > 0.0)
    width = np.where(unstable, upper - lower, 1.0)
    chord = np.where(unstable, upper / width, on)
    # The computed chord may be a few units too flat or steep; the intercept makes up for it.
    intercept = np.where(unstable, 16 * UNIT * width - chord * lower + TINY, 0.0)
    return Relaxed(
        unstable.astype(np.float64),
        on.astype(np.float64),
        chord,
        intercept,
        domains.phase.reshape(-1, wide).astype(np.float64),
    )


@dataclass(slots=True, eq=False)
class Pass:
    """What one backward substitution found."""

    bound: Array  # (domains,): the least value of the right side, in plain float64
    slopes: Array  # (domains, inputs): a
    point: Array  # where the least value is attained
    below: Array  # (rows, hidden): slopes of the lower lines in use
    positive: Array  # coefficients after each ReLU, the non-negative ones; zero elsewhere
    negative: Array


def backward(c: Compiled, r: Relaxed, low: Array, high: Array, theta: Array, row_weights: Array) -> Pass:
    problem, domains = c.problem, len(low)
    below = theta * r.unstable
    below += r.on
    signed = theta * r.phase
    positive, negative = np.empty_like(below), np.empty_like(below)
    constants = np.zeros(len(below))
    coefficients = (row_weights @ problem.rows).reshape(len(below), -1)
    for layer in range(len(problem.weights) - 1, 0, -1):
        constants += coefficients @ problem.biases[layer]
        s = c.slices[layer - 1]
        after = coefficients @ problem.weights[layer]
        np.maximum(after, 0.0, out=positive[:, s])
        np.minimum(after, 0.0, out=negative[:, s])
        coefficients = positive[:, s] * below[:, s]
        coefficients += np.multiply(negative[:, s], r.chord[:, s], out=after)
        coefficients -= signed[:, s]
    constants += coefficients @ problem.biases[0]
    constants += np.einsum("ij,ij->i", negative, r.intercept)
    slopes = scatter(c, coefficients @ problem.weights[0], domains)
    point = np.where(slopes >= 0.0, low, high)
    bound = np.einsum("ij,ij->i", slopes, point)
    bound += constants.reshape(domains, -1).sum(axis=1)
    bound -= row_weights @ problem.offsets
    return Pass(bound, slopes, point, below, positive, negative)


def forward(c: Compiled, r: Relaxed, found: Pass) -> tuple[Array, Array]:
    """Values before each ReLU (rows, hidden) and outputs (domains, outputs), relaxed, at the point."""
    problem = c.problem
    value = gather(c, found.point)
    before = np.empty_like(found.below)
    for layer, (w, b) in enumerate(zip(problem.weights[:-1], problem.biases[:-1], strict=True)):
        s = c.slices[layer]
        np.add(value @ w.T, b, out=before[:, s])
        above = found.negative[:, s] < 0.0
        line = np.where(above, r.chord[:, s], found.below[:, s])
        value = before[:, s] * line
        value += above * r.intercept[:, s]
    outputs: Array = (value @ problem.weights[-1].T + problem.biases[-1]).reshape(len(found.bound), -1)
    return before, outputs


def rounding(c: Compiled, r: Relaxed, theta: Array, row_weights: Array) -> Array:
    """How far the bound of `backward` can be from its exact value, per domain; it errs on the safe side."""
    multipliers = (theta * np.abs(r.phase)).reshape(len(row_weights), -1)
    total = row_weights @ c.size.rows + multipliers @ c.size.neurons
    error: Array = c.size.relative * total + TINY
    return error
