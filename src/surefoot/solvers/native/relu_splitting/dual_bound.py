"""The dual bound of a batch of sub-domains (beta-CROWN, Wang et al. 2021).

And the point of the relaxation where it is attained.

For row weights w >= 0, slopes in [0, 1] and split multipliers b >= 0,
    w . (rows y(x) + direct x - offsets) >= a . x + constant   for all x of the sub-domain
is obtained by substituting backwards: a ReLU with a non-negative coefficient is replaced by a line below it,
one with a negative coefficient by the chord above it, phase * b * z >= 0 is subtracted, and so is the noise
of every neuron (how far float32 rounding may move it) times its coefficient. If the least value of the right
side over the box is positive, no x of the sub-domain satisfies all rows. Better multipliers come from a few
steps of projected gradient ascent on the bound of a whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, Array
from surefoot.network.relaxation import relu_chords
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    Indices,
    Mask,
    ReluDomains,
    TermMagnitudes,
    term_magnitudes,
)

NEAR = 4.0  # times the error of a bound: it may be zero in exact arithmetic
MULTIPLIER_GRID, SLOPE_GRID = 2.0**18, 128.0  # row weights and slopes are multiples of their inverses
_MOMENTUM, _SPREAD = 0.8, 0.95  # decay of the averages of gradients and of their squares
_CROWDED = 0.8  # share of open sub-domains below which the closed ones are thrown out of the arrays
_LENGTH = 0.25  # of the first step, for slopes; later ones get shorter
_ROW_LENGTH = 3.0  # relative to it, for the exponents of the row weights
_MULTIPLIER_LENGTH = 3.0  # relative to it and to a typical coefficient
_MARGIN = 2e-12  # a bound counts as positive if it exceeds this share of the terms it is made of
_HUGE = 1e300  # a bound beyond it comes from an overflow and proves nothing


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
        bool(problem.direct.any()),
        reads,
        np.take_along_axis(problem.first, np.repeat(reads, problem.widths[0], axis=0), axis=1),
    )


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
    unstable, chord, intercept = relu_chords(lower, upper)
    on = lower >= 0.0
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
    """How far the bound of `dual_backward_pass` can be from its exact value, per domain, at most."""
    total = row_weights @ c.size.rows
    total += (theta * r.split) @ c.size.neurons
    error: Array = c.size.relative * total + TINY
    return error


def sufficient_bound(c: DualProblem, error: Array) -> Array:
    """What a computed bound with this rounding error has to exceed to be positive, for a checker too."""
    return error * (1.0 + _MARGIN / c.size.relative)


@dataclass(slots=True, eq=False)
class DualAscent:
    """Where an ascent ended. `closed` is about the sub-domains given, the rest about `open` ones."""

    closed: Mask
    theta: Array  # (given domains, neurons)
    row_weights: Array
    open: Indices
    bound: Array
    room: Array  # how far slopes . (x - last) may rise at points that are wanted
    slopes: Array
    after: Array  # (open, neurons): coefficients after each ReLU
    before: Array  # averaged values before each ReLU
    points: Array  # (open, inputs): averaged
    last: Array  # (open, inputs): of the last pass


@dataclass(slots=True, eq=False)
class _State(BatchRecord):
    """The running ascent of the sub-domains that are still open."""

    rows: Indices
    r: DomainRelaxation
    low: Array
    high: Array
    theta: Array
    most: Array
    length: Array
    grid: Array
    row_weights: Array
    mean: Array
    square: Array
    before: Array
    points: Array
    among: Mask | None  # the rows that may get weight, if not all


def _start_ascent(c: DualProblem, domains: ReluDomains) -> _State:
    r, theta = relax_relu_domains(domains), domains.theta.copy()
    # A neuron whose bound is zero up to rounding may have a sign for the checker, which then ignores slopes.
    on = (r.unstable > 0.0) & (domains.lower >= -NEAR * c.errors)
    off = (r.unstable > 0.0) & (domains.upper <= NEAR * c.errors) & ~on
    theta[on], theta[off] = 1.0, 0.0
    r.on[on], r.unstable[on | off] = 1.0, 0.0
    split = r.split
    zero = np.zeros_like(domains.theta)
    return _State(
        np.arange(len(domains)),
        r,
        domains.low,
        domains.high,
        theta,
        np.where(split > 0.0, np.inf, 1.0),
        r.unstable + _MULTIPLIER_LENGTH * c.multiplier_scale * split,
        np.where(split > 0.0, c.grid, SLOPE_GRID),
        domains.row_weights.copy(),
        zero,
        zero.copy(),
        zero.copy(),
        np.zeros_like(domains.low),
        None,
    )


def ascend_dual_bound(
    c: DualProblem, domains: ReluDomains, steps: int, *, fixed_rows: bool = False, among: Mask | None = None
) -> DualAscent:
    """Close what can be closed, and say where the others stand. All multipliers stay on their grids.

    `among`: the rows of each sub-domain that may get weight, if not all.
    """
    s = _start_ascent(c, domains)
    s.among = among
    closed = np.zeros(len(domains), dtype=np.bool_)
    theta, row_weights = s.theta.copy(), domains.row_weights.copy()
    averaged, count = 0, 0
    for turn in range(steps + 1):
        found = dual_backward_pass(c, s.r, s.low, s.high, s.theta, s.row_weights)
        error = dual_rounding_error(c, s.r, s.theta, s.row_weights)
        done = (found.bound > sufficient_bound(c, error)) & (found.bound < _HUGE)
        last = turn == steps
        if np.count_nonzero(done):
            rows = s.rows[done]
            new = ~closed[rows]
            if not new.all():
                done[done], rows = new, rows[new]
            closed[rows] = True
            theta[rows] = s.theta[done]
            row_weights[rows] = s.row_weights[done]
            count = int(np.count_nonzero(closed))
        if count and (last or len(domains) - count < _CROWDED * len(s.rows)):
            still = ~closed[s.rows]
            s.keep(still)
            found.keep(still)
            error = error[still]
        if last or not len(s.rows):
            break
        before, violation = dual_forward_pass(c, s.r, found)
        if turn >= steps // 3:
            averaged += 1
            s.before += before
            s.points += found.point
        length = _LENGTH * (1.0 - 0.9 * turn / steps)
        _step_multipliers(s, found, before, length, turn)
        if s.row_weights.shape[1] > 1 and not fixed_rows:
            s.row_weights = _reweight_rows(s.row_weights, violation, _ROW_LENGTH * length, s.among)
    theta[s.rows], row_weights[s.rows] = s.theta, s.row_weights
    return DualAscent(
        closed,
        theta,
        row_weights,
        s.rows,
        found.bound,
        error + error - found.bound,
        found.slopes,
        found.positive + found.negative,
        s.before / max(averaged, 1),
        s.points / max(averaged, 1),
        found.point,
    )


def _step_multipliers(s: _State, found: BackwardPass, before: Array, length: float, turn: int) -> None:
    """One step of slopes and split multipliers, in place."""
    gradient = found.positive
    gradient *= s.r.unstable
    gradient -= s.r.phase
    gradient *= before
    s.mean *= _MOMENTUM
    s.mean += (1.0 - _MOMENTUM) * gradient
    gradient *= gradient
    gradient *= 1.0 - _SPREAD
    s.square *= _SPREAD
    s.square += gradient
    size = np.sqrt(s.square)
    size += 1e-12
    # The usual corrections for averages that started at zero, put into one number.
    length_now = length * np.sqrt(1.0 - _SPREAD ** (turn + 1)) / (1.0 - _MOMENTUM ** (turn + 1))
    move = np.divide(s.mean, size, out=size)
    move *= s.length
    move *= length_now
    s.theta += move
    np.maximum(s.theta, 0.0, out=s.theta)
    np.minimum(s.theta, s.most, out=s.theta)
    round_to_multiples(s.theta, s.grid)


def round_to_multiples(theta: Array, grid: Array) -> None:
    """The nearest multiples of 1 / grid, in place."""
    theta *= grid
    np.rint(theta, out=theta)
    theta /= grid


def _reweight_rows(row_weights: Array, violation: Array, length: float, among: Mask | None) -> Array:
    """Exponentiated gradient: rows that the relaxation violates more get more weight."""
    if among is None:
        violation = violation - violation.sum(axis=1, keepdims=True) / violation.shape[1]
    else:
        violation = np.where(among, violation, 0.0)
        violation -= np.where(
            among, violation.sum(axis=1, keepdims=True) / among.sum(axis=1, keepdims=True), 0.0
        )
    violation *= length / (np.abs(violation).max(axis=1, keepdims=True) + 1e-12)
    weights = np.maximum(row_weights, 1e-4) * np.exp(violation)
    if among is not None:
        weights *= among
    weights *= MULTIPLIER_GRID / weights.sum(axis=1, keepdims=True)
    rounded: Array = np.rint(weights, out=weights) / MULTIPLIER_GRID
    return rounded
