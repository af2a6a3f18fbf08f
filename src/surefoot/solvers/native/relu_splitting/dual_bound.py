"""The dual bound of a batch of sub-domains, and the point of the relaxation where it is attained.

For row weights w >= 0, slopes in [0, 1] and split multipliers b >= 0,
    w . (rows y(x) + direct x - offsets) >= a . x + constant   for all x of the sub-domain
is obtained by substituting backwards: a ReLU with a non-negative coefficient is replaced by a line below it,
one with a negative coefficient by the chord above it, phase * b * z >= 0 is subtracted, and so is the noise
of every neuron times its coefficient. If the least value of the right side over the box is positive, no x of
the sub-domain satisfies all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, Array
from surefoot.network.relaxation import relu_lines
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    Indices,
    TermMagnitudes,
    term_magnitudes,
)
from surefoot.solvers.native.relu_splitting.sub_domains import ReluDomains


@dataclass(frozen=True, slots=True, eq=False)
class DualProblem:
    """A question with what the inner loop needs, computed once."""

    problem: ChainProblem
    size: TermMagnitudes
    slices: tuple[slice, ...]
    biases: tuple[Array, ...]  # of every layer, outputs included, for all copies
    noise: tuple[Array | None, ...]  # of every hidden layer; None where there is none
    errors: Array  # (neurons,): how far a computed bound of a neuron can be off, noise included
    multiplier_scale: Array  # (neurons,): a typical coefficient of the neuron
    chordal: Array  # (neurons,): how much the line above the neuron may matter, in any row
    grid: Array  # (neurons,): multipliers are multiples of 1 / grid
    firsts: Array  # (copies, width, inputs): the first layer
    first_biases: Array  # (copies, width)
    has_direct: bool  # whether any row mentions inputs
    reads: Indices  # (copies, inputs of a copy): which inputs a copy reads; those beyond have no weight in it
    own_first: Array  # (copies * width, inputs of a copy): the first layer over these inputs


def prepare_dual_problem(problem: ChainProblem) -> DualProblem:
    size, slices = term_magnitudes(problem), problem.slices
    typical = _typical_coefficients(problem)
    middle = float(np.exp2(np.rint(np.log2(np.sort(typical)[len(typical) // 2]))))
    reads = _inputs_of_copies(problem)
    noise = tuple(problem.noise[s] if problem.noise[s].any() else None for s in slices)
    return DualProblem(
        problem,
        size,
        slices,
        (problem.first_bias, *(np.tile(b, problem.copies) for b in problem.biases)),
        noise,
        2.0 * size.relative * size.neurons + problem.noise + TINY,
        typical,
        _chord_weights(problem, typical),
        np.full(problem.neurons, MULTIPLIER_GRID / middle),
        problem.first.reshape(problem.copies, -1, len(problem.low)),
        problem.first_bias.reshape(problem.copies, -1),
        bool(problem.direct.any()),
        reads,
        np.take_along_axis(problem.first, np.repeat(reads, problem.widths[0], axis=0), axis=1),
    )


NEAR = 4.0  # times the error of a bound: it may be zero in exact arithmetic
MULTIPLIER_GRID, SLOPE_GRID = 2.0**18, 128.0  # row weights and slopes are multiples of their inverses


def _inputs_of_copies(problem: ChainProblem) -> Indices:
    used = (problem.first.reshape(problem.copies, -1, len(problem.low)) != 0.0).any(axis=1)
    found: Indices = np.argsort(~used, axis=1, kind="stable")[:, : max(int(used.sum(axis=1).max()), 1)]
    return found


def _typical_coefficients(problem: ChainProblem) -> Array:
    """The root mean square of a coefficient, layer by layer."""
    value = np.abs(problem.rows).mean(axis=0).reshape(problem.copies, -1)
    found = []
    for w in problem.weights[::-1]:
        value = np.broadcast_to(
            np.sqrt((value**2) @ (w**2)).mean(axis=1, keepdims=True), (len(value), w.shape[1])
        )
        found.append(value.reshape(-1))
    typical = np.concatenate(found[::-1])
    least = max(float(typical.max()) * 1e-6, 1e-100)
    positive: Array = np.maximum(typical, least)
    return positive


def _chord_weights(problem: ChainProblem, typical: Array) -> Array:
    """Of the last hidden layer the most negative coefficient in any row, of the others a typical one."""
    last = problem.weights[-1]
    after = problem.rows.reshape(-1, len(last)) @ last
    worst = np.maximum(-after.reshape(len(problem.rows), -1).min(axis=0), 0.0)
    return np.concatenate([typical[: problem.slices[-1].start], worst])


@dataclass(slots=True, eq=False)
class DomainRelaxation(BatchRecord):
    """The lines around each ReLU of a batch."""

    unstable: Array  # 1.0 or 0.0
    on: Array
    chord: Array
    intercept: Array
    phase: Array
    split: Array  # 1.0 where there is a phase


def relax_relu_domains(domains: ReluDomains) -> DomainRelaxation:
    lower, upper = domains.lower, domains.upper
    on = lower >= 0.0
    unstable = ~on & (upper > 0.0)
    _, chord, intercept = relu_lines(lower, upper)
    phase = domains.phase.astype(np.float64)
    return DomainRelaxation(
        unstable.astype(np.float64), on.astype(np.float64), chord, intercept, phase, np.abs(phase)
    )


@dataclass(slots=True, eq=False)
class BackwardPass(BatchRecord):
    """What one backward substitution found."""

    bound: Array  # (domains,): the least value of the right side, in plain float64
    slopes: Array  # (domains, inputs): a
    point: Array  # where the least value is attained
    below: Array  # (domains, neurons): slopes of the lower lines in use
    positive: Array  # coefficients after each ReLU, the non-negative ones; zero elsewhere
    negative: Array


def dual_backward_pass(
    c: DualProblem, r: DomainRelaxation, low: Array, high: Array, theta: Array, row_weights: Array
) -> BackwardPass:
    problem, count = c.problem, len(low)
    below = theta * r.unstable
    below += r.on
    signed = theta * r.phase
    positive, negative = np.empty_like(below), np.empty_like(below)
    coefficients = row_weights @ problem.rows
    bound = coefficients @ c.biases[-1]
    bound -= row_weights @ problem.offsets
    for layer in range(len(c.slices) - 1, -1, -1):
        s, w = c.slices[layer], problem.weights[layer]
        after = (coefficients.reshape(-1, len(w)) @ w).reshape(count, -1)
        up = np.maximum(after, 0.0, out=positive[:, s])
        down = np.minimum(after, 0.0, out=negative[:, s])
        coefficients = up * below[:, s]
        coefficients += np.multiply(down, r.chord[:, s], out=after)
        coefficients -= signed[:, s]
        bound += coefficients @ c.biases[layer]
        noise = c.noise[layer]
        if noise is not None:
            bound -= np.abs(coefficients) @ noise
    bound += np.einsum("ij,ij->i", negative, r.intercept)
    slopes = coefficients @ problem.first
    if c.has_direct:
        slopes += row_weights @ problem.direct
    point = np.where(slopes >= 0.0, low, high)
    bound += np.einsum("ij,ij->i", slopes, point)
    return BackwardPass(bound, slopes, point, below, positive, negative)


def dual_forward_pass(c: DualProblem, r: DomainRelaxation, found: BackwardPass) -> tuple[Array, Array]:
    """Values before each ReLU (domains, neurons), and violations of the rows, relaxed, at the point."""
    problem, count = c.problem, len(found.bound)
    before = np.empty_like(found.below)
    value = found.point @ problem.first.T
    for layer, s in enumerate(c.slices):
        here = np.add(value.reshape(count, -1), c.biases[layer], out=before[:, s])
        above = found.negative[:, s] < 0.0
        value = here * np.where(above, r.chord[:, s], found.below[:, s])
        value += above * r.intercept[:, s]
        w = problem.weights[layer]
        value = value.reshape(-1, w.shape[1]) @ w.T
    outputs = value.reshape(count, -1) + c.biases[-1]
    violation: Array = outputs @ problem.rows.T
    if c.has_direct:
        violation += found.point @ problem.direct.T
    violation -= problem.offsets
    return before, violation


def dual_rounding_error(c: DualProblem, r: DomainRelaxation, theta: Array, row_weights: Array) -> Array:
    """How far the bound of `backward` can be from its exact value, per domain; it errs on the safe side."""
    total = row_weights @ c.size.rows
    total += (theta * r.split) @ c.size.neurons
    error: Array = c.size.relative * total + TINY
    return error
