"""Better multipliers: a few steps of projected gradient ascent on the dual bound of a whole batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import Compiled, Pass, Relaxed, backward, forward, relaxed, rounding
from surefoot.solve.native.dual.layered import Indices, Mask
from surefoot.solve.native.dual.log import dyadic

_MOMENTUM, _SPREAD = 0.8, 0.95  # decay of the averages of gradients and of their squares
_CROWDED = 0.8  # share of open sub-domains below which the closed ones are thrown out of the arrays
_HUGE = 1e300  # a bound beyond it comes from an overflow and proves nothing


@dataclass(frozen=True, slots=True)
class Steps:
    """How to ascend."""

    count: int = 8
    length: float = 0.25  # of the first step, for slopes; later ones get shorter
    row_length: float = 3.0  # relative to it, for the exponents of the row weights
    multiplier_length: float = 3.0  # relative to it and to a typical coefficient
    dyadic: bool = False  # keep to multipliers that a log can hold


@dataclass(slots=True, eq=False)
class Ascent:
    """Where an ascent ended. `closed` is about the sub-domains given, the rest about `open` ones."""

    closed: Mask
    theta: Array  # (given domains, copies * hidden)
    row_weights: Array
    open: Indices
    bound: Array
    room: (
        Array  # what the rounding error leaves below zero: x with slopes . (x - point) > room are not wanted
    )
    slopes: Array
    after: Array  # (open, copies * hidden): coefficients after each ReLU
    before: Array  # averaged values before each ReLU
    points: Array  # (open, inputs): averaged
    last: Array  # (open, inputs): of the last pass


@dataclass(slots=True, eq=False)
class _State:
    """The running ascent of the sub-domains that are still open."""

    rows: Indices
    r: Relaxed
    low: Array
    high: Array
    theta: Array
    most: Array
    length: Array
    row_weights: Array
    mean: Array
    square: Array
    before: Array
    points: Array

    def keep(self, c: Compiled, chosen: Mask) -> None:
        lines = np.repeat(chosen, c.problem.copies)
        self.r.keep(lines)
        for name in ("rows", "low", "high", "row_weights", "points"):
            setattr(self, name, getattr(self, name)[chosen])
        for name in ("theta", "most", "length", "mean", "square", "before"):
            setattr(self, name, getattr(self, name)[lines])


def _start(c: Compiled, domains: Domains, steps: Steps) -> _State:
    r = relaxed(c, domains)
    split = np.abs(r.phase)
    scale = np.tile(c.multiplier_scale.reshape(c.problem.copies, -1), (len(domains), 1))
    theta = domains.theta.reshape(-1, c.problem.hidden).copy()
    zero = np.zeros_like(theta)
    return _State(
        np.arange(len(domains)),
        r,
        domains.low,
        domains.high,
        theta,
        np.where(split > 0.0, np.inf, 1.0),
        r.unstable + steps.multiplier_length * scale * split,
        domains.row_weights.copy(),
        zero,
        zero.copy(),
        zero.copy(),
        np.zeros_like(domains.low),
    )


def ascend(c: Compiled, domains: Domains, steps: Steps) -> Ascent:
    """Close what can be closed, and say where the others stand."""
    s = _start(c, domains, steps)
    closed = np.zeros(len(domains), dtype=np.bool_)
    theta, row_weights = domains.theta.copy(), domains.row_weights.copy()
    averaged = 0
    for turn in range(steps.count + 1):
        found = backward(c, s.r, s.low, s.high, s.theta, s.row_weights)
        error = rounding(c, s.r, s.theta, s.row_weights)
        done = (found.bound - error > 0.0) & (found.bound < _HUGE) & ~closed[s.rows]
        last = turn == steps.count
        if done.any():
            closed[s.rows[done]] = True
            theta[s.rows[done]] = s.theta.reshape(len(done), -1)[done]
            row_weights[s.rows[done]] = s.row_weights[done]
        still = ~closed[s.rows]
        if not still.all() and (last or still.mean() < _CROWDED):
            s.keep(c, still)
            found, error = _kept(c, found, still), error[still]
        if last or not len(s.rows):
            break
        before, outputs = forward(c, s.r, found)
        if turn >= steps.count // 3:
            averaged += 1
            s.before += before
            s.points += found.point
        _step(c, s, found, before, outputs, steps, turn)
    shape = (len(s.rows), domains.theta.shape[1])
    theta[s.rows], row_weights[s.rows] = s.theta.reshape(shape), s.row_weights
    return Ascent(
        closed,
        theta,
        row_weights,
        s.rows,
        found.bound,
        error + error - found.bound,
        found.slopes,
        (found.positive + found.negative).reshape(shape),
        s.before.reshape(shape) / max(averaged, 1),
        s.points / max(averaged, 1),
        found.point,
    )


def _step(
    c: Compiled, s: _State, found: Pass, before: Array, outputs: Array, steps: Steps, turn: int
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
    if s.row_weights.shape[1] > 1:
        s.row_weights = _reweighted(c, s.row_weights, outputs, steps.row_length * length)
    if steps.dyadic:
        s.theta, s.row_weights = dyadic(s.theta, s.r.phase, s.row_weights)


def _reweighted(c: Compiled, row_weights: Array, outputs: Array, length: float) -> Array:
    """Exponentiated gradient: rows that the relaxation violates more get more weight."""
    violation = outputs @ c.problem.rows.T - c.problem.offsets
    violation -= violation.mean(axis=1, keepdims=True)
    violation /= np.abs(violation).max(axis=1, keepdims=True) + 1e-12
    weights = np.maximum(row_weights, 1e-4) * np.exp(length * violation)
    normal: Array = weights / weights.sum(axis=1, keepdims=True)
    return normal


def _kept(c: Compiled, found: Pass, chosen: Mask) -> Pass:
    lines = np.repeat(chosen, c.problem.copies)
    return Pass(
        found.bound[chosen],
        found.slopes[chosen],
        found.point[chosen],
        found.below[lines],
        found.positive[lines],
        found.negative[lines],
    )
