"""The question: k copies of one ReLU chain over shared inputs, and linear rows over their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.network.outward import TINY, Array, gamma

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Layered:
    """Is there an x with low <= x <= high, whole where said, and rows @ y(x) <= offsets?

    y(x) puts the outputs of all copies side by side; copy t reads x[index[t]]. All numbers are meant exactly.
    Neuron j of hidden layer i in copy t has the number t * hidden + starts[i] + j everywhere.
    """

    weights: tuple[Array, ...]  # one matrix (outputs, inputs) per layer of a single copy; ReLU between them
    biases: tuple[Array, ...]
    index: Indices  # (copies, inputs of one copy)
    low: Array
    high: Array
    whole: Mask
    rows: Array  # (rows, copies * outputs)
    offsets: Array

    @property
    def copies(self) -> int:
        return int(self.index.shape[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """How many neurons each hidden layer of one copy has."""
        return tuple(w.shape[0] for w in self.weights[:-1])

    @property
    def hidden(self) -> int:
        """How many hidden neurons one copy has."""
        return sum(self.widths)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where each hidden layer stands among the hidden neurons of one copy."""
        ends = np.cumsum((0, *self.widths)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))


def layered(
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
    low: Array,
    high: Array,
    rows: Array,
    offsets: Array,
    *,
    index: Indices | None = None,
    whole: Mask | None = None,
    row_errors: Array | None = None,
    offset_errors: Array | None = None,
) -> Layered:
    """A checked question. Rows known up to an error are weakened until they contain every meaning."""
    inputs = weights[0].shape[1]
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    problem = Layered(
        tuple(np.ascontiguousarray(w, dtype=np.float64) for w in weights),
        tuple(np.ascontiguousarray(b, dtype=np.float64) for b in biases),
        np.arange(inputs)[None] if index is None else np.asarray(index, dtype=np.int64),
        low,
        high,
        np.zeros(len(low), dtype=np.bool_) if whole is None else np.asarray(whole, dtype=np.bool_),
        np.atleast_2d(np.asarray(rows, dtype=np.float64)),
        np.asarray(offsets, dtype=np.float64),
    )
    _check(problem)
    if row_errors is None and offset_errors is None:
        return problem
    return _weakened(problem, row_errors, offset_errors)


def _check(problem: Layered) -> None:
    if len(problem.weights) < 2:
        raise ValueError("a chain needs at least one hidden layer")
    wide = problem.weights[0].shape[1]
    for w, b in zip(problem.weights, problem.biases, strict=True):
        if w.shape[1] != wide or b.shape != w.shape[:1]:
            raise ValueError(f"a layer of shape {w.shape} with bias {b.shape} follows {wide} values")
        wide = w.shape[0]
    count = len(problem.low)
    if problem.high.shape != (count,) or problem.whole.shape != (count,):
        raise ValueError("bounds and integrality must have one entry per input")
    if problem.index.shape[1] != problem.weights[0].shape[1] or problem.index.min() < 0:
        raise ValueError("every copy needs one input per column of the first layer")
    if problem.index.max() >= count:
        raise ValueError(f"a copy reads input {problem.index.max()} of {count}")
    if problem.rows.shape != (len(problem.offsets), problem.copies * wide) or not len(problem.offsets):
        raise ValueError(f"rows of shape {problem.rows.shape} do not fit {problem.copies} x {wide} outputs")
    parts = (*problem.weights, *problem.biases, problem.low, problem.high, problem.rows, problem.offsets)
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError("weights, bounds and rows must be finite")
    if not (problem.low <= problem.high).all():
        raise ValueError("a lower bound exceeds its upper bound")


def _weakened(problem: Layered, row_errors: Array | None, offset_errors: Array | None) -> Layered:
    size = magnitudes(problem).outputs
    slack = np.zeros_like(problem.offsets)
    if row_errors is not None:
        slack = slack + np.abs(row_errors) @ size
    if offset_errors is not None:
        slack = slack + np.abs(offset_errors)
    largest = np.abs(problem.offsets) + slack
    offsets = problem.offsets + slack + gamma(len(size) + 8) * largest + TINY
    return Layered(
        problem.weights,
        problem.biases,
        problem.index,
        problem.low,
        problem.high,
        problem.whole,
        problem.rows,
        offsets,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Magnitudes:
    """Sums of absolute values of all terms, over the whole box, from which rounding errors follow.

    Every slope of a relaxation lies in [0, 1] and every intercept is at most the neuron's magnitude. So the
    terms of a dual bound with row weights w and split multipliers b add up to at most
    w @ rows + b @ neurons in absolute value, whatever the sub-domain; the float64 result of any order of
    summation is off by at most `relative` times that (plus `TINY` for products that underflow).
    """

    neurons: Array  # (copies * hidden,)
    outputs: Array  # (copies * outputs,)
    rows: Array
    relative: float


def magnitudes(problem: Layered) -> Magnitudes:
    count = problem.index.shape[1] + problem.copies + len(problem.low) + 2 * len(problem.offsets)
    count += 2 * problem.copies * (problem.hidden + problem.weights[-1].shape[0])
    count += sum(problem.widths) + 32 * len(problem.weights)
    relative = gamma(count)
    safe = 1.0 + relative  # makes up for the rounding of the magnitudes themselves
    value = np.maximum(np.abs(problem.low), np.abs(problem.high))[problem.index]
    found = []
    for w, b in zip(problem.weights, problem.biases, strict=True):
        value = (value @ np.abs(w).T + np.abs(b)) * safe + TINY
        found.append(value)
        value = 2.125 * value  # slope * z + intercept, computed bounds included
    outputs = found[-1].reshape(-1)
    rows = (np.abs(problem.rows) @ outputs + np.abs(problem.offsets)) * safe + TINY
    return Magnitudes(np.concatenate(found[:-1], axis=1).reshape(-1), outputs, rows, relative)


def evaluate(problem: Layered, points: Array) -> Array:
    """Outputs (points, copies * outputs) in float64."""
    value = points[:, problem.index.reshape(-1)].reshape(-1, problem.index.shape[1])
    for i, (w, b) in enumerate(zip(problem.weights, problem.biases, strict=True)):
        if i:
            value = np.maximum(value, 0.0)
        value = value @ w.T + b
    outputs: Array = value.reshape(len(points), -1)
    return outputs
