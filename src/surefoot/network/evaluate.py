"""Fast batched evaluation by BLAS, and decisions that equal the reference bit for bit.

The matrix products sum in whatever order BLAS likes, so outputs may differ from `infer_outputs` in the
last places. `evaluate_network_batch` bounds the difference from the magnitudes seen in the batch;
`decide_batch_actions` asks the reference wherever the bound leaves a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.network.float32_error import propagate_rounding_errors
from surefoot.problem.meaning.inference import infer_all_values, infer_node
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Network,
    Node,
    Shape,
    node_sources,
)

Mask = NDArray[np.bool_]
_ROWS = 1024  # of a chunk: its values stay in the cache
_FEW_ROWS = 512  # of a chunk that is evaluated without bounds


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Outputs of a batch and, entry by entry, a bound of their distance to the reference (inf: unknown)."""

    outputs: Array32
    error: Array


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The action of each row of a batch, as the reference decides."""

    actions: NDArray[np.int64]  # -1: the row is not finite, or no action is applicable
    near_ties: Mask  # the two best were too close for the fast evaluation; the reference decided
    finite: Mask  # no value of the reference evaluation is infinite or NaN, inner ones included


def evaluate_network_batch(network: Network, batch: Array32) -> Evaluation:
    """Float32 outputs with error bounds; one bound per chunk of rows, from the largest magnitudes in it."""
    rows = _check_batch_shape(network, batch)
    outputs = np.empty((len(rows), network.outputs), dtype=np.float32)
    error = np.empty(outputs.shape, dtype=np.float64)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        outputs[part], error[part] = _evaluate_rows(network, rows[part], together=True)
    return Evaluation(outputs, error)


def network_batch_outputs(network: Network, batch: Array32) -> Array32:
    """Float32 outputs alone: in the last places they may differ from the reference."""
    rows = _check_batch_shape(network, batch)
    if len(rows) <= _FEW_ROWS:
        return _forward_rows(network, rows)
    outputs = np.empty((len(rows), network.outputs), dtype=np.float32)
    for start in range(0, len(rows), _FEW_ROWS):
        outputs[start : start + _FEW_ROWS] = _forward_rows(network, rows[start : start + _FEW_ROWS])
    return outputs


def _forward_rows(network: Network, rows: Array32) -> Array32:
    """As `_evaluate_node` says; a ReLU overwrites what only it reads."""
    values = [rows]
    for number, node in enumerate(network.nodes):
        relu = isinstance(node, Activation) and node.shape is Shape.RELU and node.source == number > 0
        own = relu and isinstance(network.nodes[number - 1], Affine)
        if own and not any(number in node_sources(later) for later in network.nodes[number + 1 :]):
            values.append(np.maximum(values[number], np.float32(0), out=values[number]))
        else:
            values.append(_evaluate_node(node, values))
    return values[-1]


def decide_batch_actions(network: Network, batch: Array32, applicable: Mask | None = None) -> Decisions:
    """The index of the largest output, the lowest of equals, among the applicable ones if these are given."""
    rows = _check_batch_shape(network, batch)
    fast = evaluate_network_batch(network, rows)
    allowed = np.ones(fast.outputs.shape, dtype=np.bool_) if applicable is None else np.asarray(applicable)
    if allowed.shape != fast.outputs.shape:
        raise ValueError(f"expected a mask of shape {fast.outputs.shape}, got {allowed.shape}")
    actions, sure = _best_actions(fast, allowed)
    doubtful = np.flatnonzero(~sure)
    for start in range(0, len(doubtful), _ROWS):  # bounds for each row by itself settle most of them
        some = doubtful[start : start + _ROWS]
        actions[some], sure[some] = _best_actions(
            Evaluation(*_evaluate_rows(network, rows[some], together=False)), allowed[some]
        )
    doubtful = np.flatnonzero(~sure)
    finite = np.ones(len(rows), dtype=np.bool_)
    if doubtful.size:
        values = infer_all_values(network, rows[doubtful])
        finite[doubtful] = _finite_rows(values)
        actions[doubtful] = _argmax_allowed(values[-1], allowed[doubtful])
    actions[~finite | ~allowed.any(axis=1)] = -1
    return Decisions(actions, ~sure & finite, finite)


def _check_batch_shape(network: Network, batch: Array32) -> Array32:
    rows = np.asarray(batch, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != network.width:
        raise ValueError(f"expected a batch of {network.width} inputs, got shape {rows.shape}")
    return rows


def _evaluate_rows(network: Network, rows: Array32, *, together: bool) -> tuple[Array32, Array]:
    """Outputs and error bounds, from the largest magnitudes of all rows together or from each row's own."""
    values = [rows]
    with np.errstate(all="ignore"):
        for node in network.nodes:
            values.append(_evaluate_node(node, values))
    measure = _column_magnitudes if together else _entry_magnitudes
    divisors = network.divisors() | _values_near_zero(network)
    magnitudes = [measure(v, n in divisors) for n, v in enumerate(values)]
    usable = np.ones(len(rows), dtype=np.bool_)
    if not all(np.isfinite(m.high).all() for m in magnitudes):
        usable = _finite_rows(values)
        if together:
            magnitudes = [_column_magnitudes(v[usable], n in divisors) for n, v in enumerate(values)]
    # Twice the rounding of one computation: this one and the reference, from the same inputs.
    errors = propagate_rounding_errors(network, magnitudes, np.zeros_like(magnitudes[0].high), roundings=2)
    certain = np.logical_and.reduce([np.isfinite(e).all(axis=-1) for e in errors]) & usable
    return values[-1], np.where(certain[:, None], errors[-1], np.inf)


def _evaluate_node(node: Node, values: list[Array32]) -> Array32:
    """As the reference, but for the order of summation."""
    if not isinstance(node, Affine):
        return infer_node(node, values)
    total: Array32 = values[node.source] @ node.weights.T
    total += node.bias
    return total


def _values_near_zero(network: Network) -> frozenset[int]:
    """Values besides divisors of which it matters how far they are from zero: steps jump, roots are steep."""
    steep = (Shape.STEP, Shape.SQRT)
    return frozenset(n.source for n in network.nodes if isinstance(n, Activation) and n.shape in steep)


def _column_magnitudes(value: Array32, divisor: bool) -> BoxArray:
    """The largest absolute value in each column, of a divisor also the smallest."""
    largest: Array = np.maximum(value.max(axis=0, initial=0), -value.min(axis=0, initial=0)).astype(
        np.float64
    )
    if not divisor:
        return BoxArray(np.zeros_like(largest), largest)
    return BoxArray(np.abs(value).min(axis=0, initial=np.inf).astype(np.float64), largest)


def _entry_magnitudes(value: Array32, _: bool) -> BoxArray:
    size = np.abs(value).astype(np.float64)
    return BoxArray(size, size)


def _finite_rows(values: Sequence[Array32]) -> Mask:
    finite: Mask = np.logical_and.reduce([np.isfinite(v).all(axis=1) for v in values])
    return finite


def _argmax_allowed(outputs: Array32, allowed: Mask) -> NDArray[np.int64]:
    indices: NDArray[np.int64] = np.where(allowed, outputs, -np.inf).argmax(axis=1)
    return indices


def _best_actions(evaluation: Evaluation, allowed: Mask) -> tuple[NDArray[np.int64], Mask]:
    """The largest output of each row, and whether it is surely the largest for the reference."""
    actions = _argmax_allowed(evaluation.outputs, allowed)
    index = np.arange(len(actions)), actions
    outputs = evaluation.outputs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # The factors cover the rounding of the difference and of the sum of two errors.
        gap = (outputs[index][:, None] - outputs) * (1 - 2.0**-50)
        behind = gap > (evaluation.error[index][:, None] + evaluation.error) * (1 + 2.0**-50)
    behind |= ~allowed
    behind[index] = np.isfinite(evaluation.error[index])
    return actions, np.asarray(behind.all(axis=1))
