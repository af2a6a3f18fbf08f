"""Better multipliers: a few steps of projected gradient ascent on the dual bound of a whole batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, Mask
from surefoot.solvers.native.relu_splitting.dual_bound import (
    MULTIPLIER_GRID,
    NEAR,
    SLOPE_GRID,
    BackwardPass,
    DomainRelaxation,
    DualProblem,
    dual_backward_pass,
    dual_forward_pass,
    dual_rounding_error,
    relax_relu_domains,
)
from surefoot.solvers.native.relu_splitting.sub_domains import ReluDomains

_MOMENTUM, _SPREAD = 0.8, 0.95  # decay of the averages of gradients and of their squares
_CROWDED = 0.8  # share of open sub-domains below which the closed ones are thrown out of the arrays
_HUGE = 1e300  # a bound beyond it comes from an overflow and proves nothing


@dataclass(frozen=True, slots=True)
class AscentSteps:
    """How to ascend."""

    count: int = 6
    length: float = 0.25  # of the first step, for slopes; later ones get shorter
    row_length: float = 3.0  # relative to it, for the exponents of the row weights
    multiplier_length: float = 3.0  # relative to it and to a typical coefficient
    margin: float = 2e-12  # a bound counts as positive if it exceeds this share of the terms it is made of


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


def _start_ascent(c: DualProblem, domains: ReluDomains, steps: AscentSteps) -> _State:
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
        r.unstable + steps.multiplier_length * c.multiplier_scale * split,
        np.where(split > 0.0, c.grid, SLOPE_GRID),
        domains.row_weights.copy(),
        zero,
        zero.copy(),
        zero.copy(),
        np.zeros_like(domains.low),
    )


def ascend_dual_bound(
    c: DualProblem, domains: ReluDomains, steps: AscentSteps, *, fixed_rows: bool = False
) -> DualAscent:
    """Close what can be closed, and say where the others stand. All multipliers stay on their grids."""
    s = _start_ascent(c, domains, steps)
    closed = np.zeros(len(domains), dtype=np.bool_)
    theta, row_weights = s.theta.copy(), domains.row_weights.copy()
    averaged, count = 0, 0
    above = 1.0 + steps.margin / c.size.relative
    for turn in range(steps.count + 1):
        found = dual_backward_pass(c, s.r, s.low, s.high, s.theta, s.row_weights)
        error = dual_rounding_error(c, s.r, s.theta, s.row_weights)
        done = (found.bound > error * above) & (found.bound < _HUGE)
        last = turn == steps.count
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
            s, found, error = s.pick(still), found.pick(still), error[still]
        if last or not len(s.rows):
            break
        before, violation = dual_forward_pass(c, s.r, found)
        if turn >= steps.count // 3:
            averaged += 1
            s.before += before
            s.points += found.point
        _take_ascent_step(s, found, before, violation, steps, turn, fixed_rows)
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


def _take_ascent_step(
    s: _State,
    found: BackwardPass,
    before: Array,
    violation: Array,
    steps: AscentSteps,
    turn: int,
    fixed_rows: bool,
) -> None:
    """One step of all multipliers, in place."""
    length = steps.length * (1.0 - 0.9 * turn / steps.count)
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
    if s.row_weights.shape[1] > 1 and not fixed_rows:
        s.row_weights = _reweight_rows(s.row_weights, violation, steps.row_length * length)
    round_to_multiples(s.theta, s.grid)


def round_to_multiples(theta: Array, grid: Array) -> None:
    """The nearest multiples of 1 / grid, in place."""
    theta *= grid
    np.rint(theta, out=theta)
    theta /= grid


def _reweight_rows(row_weights: Array, violation: Array, length: float) -> Array:
    """Exponentiated gradient: rows that the relaxation violates more get more weight."""
    violation = violation - violation.sum(axis=1, keepdims=True) / violation.shape[1]
    violation *= length / (np.abs(violation).max(axis=1, keepdims=True) + 1e-12)
    weights = np.maximum(row_weights, 1e-4) * np.exp(violation)
    weights *= MULTIPLIER_GRID / weights.sum(axis=1, keepdims=True)
    rounded: Array = np.rint(weights, out=weights) / MULTIPLIER_GRID
    return rounded
