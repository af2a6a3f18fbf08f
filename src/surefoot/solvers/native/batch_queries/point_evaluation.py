"""Networks at many points: float64 values with a rigorous radius, and what they say about a demand.

The radius bounds the distance to the exact value, or (`float32`) to what float32 inference computes in any
order of summation. Where it leaves a doubt, the point is looked at by itself: with a radius of its own, then
in exact fractions or by the reference evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.network.back_substitution import multiply_rows
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor
from surefoot.network.exact import exact_outputs
from surefoot.network.float32_error import propagate_rounding_errors
from surefoot.problem.meaning.inference import infer_all_values
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pick,
)
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.solvers.native.batch_queries.query_rows import Demand, StackedDemands
from surefoot.solvers.native.bounding.gradients import add_leaves, apply_activation, apply_pairing
from surefoot.term.evaluate import Undefined
from surefoot.term.float32 import round_to_float32

Codes = NDArray[np.uint8]
NO, YES, UNCLEAR, EITHER = 0, 1, 2, 3  # UNCLEAR: not looked at closely; EITHER: rounding decides

CHUNK = 1024  # points whose values stay in the cache
_DOUBLE = 2.0**-20  # a float64 rounding (tanh and sigmoid within 2^-49) as part of a float32 one, generously
_SLIGHTLY = 1.0 + 2.0**-40  # covers a few float64 roundings of non-negative terms


def evaluate_with_radius(network: Network, points: Array, float32: bool) -> tuple[Array, Array]:
    """Outputs and their radius, each (outputs, points); the radius is that of a chunk of points."""
    outputs = np.empty((network.outputs, len(points)))
    radius = np.empty_like(outputs)
    for start in range(0, len(points), CHUNK):
        part = slice(start, start + CHUNK)
        outputs[:, part], reach = evaluate_chunk(network, points[part], float32)
        radius[:, part] = reach[:, None]
    return outputs, radius


def evaluate_chunk(network: Network, points: Array, float32: bool) -> tuple[Array, Array]:
    """Outputs (outputs, points) and one radius for all these points, from the largest magnitudes seen."""
    values = _network_values(network, points, float32)
    divisors = network.divisors()
    magnitudes = [_value_magnitudes(v, n in divisors) for n, v in enumerate(values)]
    return values[-1], _output_radius(network, magnitudes, float32)


def evaluate_each_point(network: Network, points: Array, float32: bool) -> tuple[Array, Array]:
    """Outputs and a radius of each point by itself, both (outputs, points): tighter, and slower."""
    values = _network_values(network, points, float32)
    sizes = [np.ascontiguousarray(np.abs(v).T) for v in values]
    return values[-1], _output_radius(network, [BoxArray(s, s) for s in sizes], float32).T


def _output_radius(network: Network, magnitudes: Sequence[BoxArray], float32: bool) -> Array:
    """Infinite where some value, inner ones included, is not finite or may leave the range of float32."""
    roundings = _DOUBLE + (1.0 if float32 else 0.0)
    errors = propagate_rounding_errors(
        network, magnitudes, np.zeros_like(magnitudes[0].high), roundings=roundings
    )
    sure = [np.isfinite(e).all(axis=-1) for e in errors]
    sure += [np.isfinite(m.high).all(axis=-1) for m in magnitudes]
    certain = np.asarray(np.logical_and.reduce(sure))
    return np.where(certain[..., None], errors[-1], np.inf)


def _value_magnitudes(value: Array, divisor: bool) -> BoxArray:
    most = np.maximum(value.max(axis=1), -value.min(axis=1))
    return BoxArray(np.abs(value).min(axis=1) if divisor else np.zeros_like(most), most)


def _network_values(network: Network, points: Array, float32: bool) -> list[Array]:
    """Every value, one column per point: numpy is quickest along long rows."""
    with np.errstate(all="ignore"):
        given = points.astype(np.float32).astype(np.float64) if float32 else points
        values = [np.ascontiguousarray(given.T)]
        for node in network.nodes:
            values.append(_node_values(node, values))
    return values


def _node_values(node: Node, values: Sequence[Array]) -> Array:
    match node:
        case Affine(source, weights, bias):
            total: Array = weights.astype(np.float64) @ values[source]
            total += bias[:, None]
            return total
        case Elementwise(source, Constant.ADD, constant):
            return values[source] + constant.astype(np.float64)[:, None]
        case Elementwise(source, Constant.MULTIPLY, constant):
            return values[source] * constant.astype(np.float64)[:, None]
        case Elementwise(source, _, constant):
            return values[source] / constant.astype(np.float64)[:, None]
        case Activation(source, shape, parameters):
            return apply_activation(values[source], shape, parameters)
        case Combine(left, right, pairing):
            return apply_pairing(values[left], values[right], pairing)
        case Pick(source, indices):
            return values[source][indices]
        case Join(several):
            return np.concatenate([values[s] for s in several])
        case TreeEnsemble(source):
            return add_leaves(node, values[source].T).T


def judge_points(demand: Demand, points: Array, outputs: Array, radius: Array) -> Codes:
    """NO where some row surely fails, YES where all surely hold, else UNCLEAR.

    `outputs` is (outputs, points); `radius` likewise, or (outputs,) for all points. A row that just meets its
    doubt counts as unclear, so strict rows need no care of their own.
    """
    weights, count = np.abs(demand.outputs), len(outputs) + points.shape[1] + 4
    with np.errstate(all="ignore"):
        margin = demand.outputs @ outputs - demand.offsets[:, None]
        if radius.ndim == 2:
            doubt = weights @ (radius * _SLIGHTLY + gamma_factor(count) * np.abs(outputs))
            reach = np.abs(points).T
        else:
            most = np.maximum(outputs.max(axis=1), -outputs.min(axis=1))
            doubt = (weights @ (radius * _SLIGHTLY + gamma_factor(count) * most))[:, None]
            reach = np.abs(points).max(axis=0)[:, None]
        doubt += gamma_factor(count) * np.abs(demand.offsets)[:, None] + TINY
        if demand.inputs.any():
            margin += demand.inputs @ points.T
            doubt = doubt + gamma_factor(count) * (np.abs(demand.inputs) @ reach)
    return _codes_of_margins(margin, doubt, radius)


def judge_points_by_demand(asked: StackedDemands, points: Array, outputs: Array, radius: Array) -> Codes:
    """The same where each point has a demand of its own."""
    weights, count = np.abs(asked.outputs), len(outputs) + points.shape[1] + 4
    limits = np.where(np.isinf(asked.offsets), 0.0, np.abs(asked.offsets))
    with np.errstate(all="ignore"):
        margin = multiply_rows(asked.outputs, outputs.T) + multiply_rows(asked.inputs, points) - asked.offsets
        doubt = multiply_rows(weights, (radius * _SLIGHTLY + gamma_factor(count) * np.abs(outputs)).T) + TINY
        doubt += gamma_factor(count) * (limits + multiply_rows(np.abs(asked.inputs), np.abs(points)))
    return _codes_of_margins(margin.T, doubt.T, radius)


def _codes_of_margins(margin: Array, doubt: Array, radius: Array) -> Codes:
    """From what rows exceed their offsets by, (rows, points), and how far that may be off."""
    with np.errstate(all="ignore"):
        doubt = np.where(np.isfinite(doubt), doubt, np.nan)  # nothing compares with it
        holds = (margin < -doubt).all(axis=0) & np.isfinite(radius).all(axis=0)  # the network has a value
        fails = (margin > doubt).any(axis=0)
    return np.where(fails, NO, np.where(holds, YES, UNCLEAR)).astype(np.uint8)


def judge_points_closely(network: Network, demand: Demand, points: Array, float32: bool) -> Codes:
    """A second look at unclear points: radii of their own; float32 ones are then settled by the reference."""
    codes = judge_points(demand, points, *evaluate_each_point(network, points, float32))
    left = np.flatnonzero(codes == UNCLEAR)
    if float32 and left.size:
        codes[left] = _judge_by_reference(network, demand, points[left])
    return codes


def _judge_by_reference(network: Network, demand: Demand, points: Array) -> Codes:
    with np.errstate(over="ignore"):
        values = infer_all_values(network, points.astype(np.float32))
    outputs = values[-1].astype(np.float64)
    codes = judge_points(demand, points, outputs.T, np.zeros(outputs.shape[1]))
    finite = np.logical_and.reduce([np.isfinite(v).all(axis=1) for v in values])
    codes[~finite] = NO
    for i in np.flatnonzero(codes == UNCLEAR):
        holds = _satisfies_demand(demand, fractions_from_array(points[i]), fractions_from_array(outputs[i]))
        codes[i] = YES if holds else NO
    codes[codes == NO] = EITHER
    return codes


def judge_point_exactly(network: Network, demand: Demand, point: Array, float32: bool) -> int:
    """One point beyond doubt: NO, YES, or EITHER where rounding or a transcendental function decides."""
    code = int(judge_points_closely(network, demand, point[None], float32)[0])
    return (
        judge_rational_point(network, demand, fractions_from_array(point), float32)
        if code == UNCLEAR
        else code
    )


def judge_rational_point(network: Network, demand: Demand, inputs: Sequence[Fraction], float32: bool) -> int:
    """The same for any rational point; for float32 inference YES or EITHER, as the reference says."""
    if float32:
        rounded = np.array([[round_to_float32(x) for x in inputs]], dtype=np.float32)
        values = infer_all_values(network, rounded)
        finite = all(np.isfinite(v).all() for v in values)
        holds = finite and _satisfies_demand(demand, inputs, fractions_from_array(values[-1][0]))
        return YES if holds else EITHER
    try:
        outputs = exact_outputs(network, inputs)
    except Undefined:
        return NO
    except Unsupported:
        return EITHER
    return YES if _satisfies_demand(demand, inputs, outputs) else NO


def fractions_from_array(values: Array | Array32) -> list[Fraction]:
    return [Fraction(x) for x in values.tolist()]


def _satisfies_demand(demand: Demand, inputs: Sequence[Fraction], outputs: Sequence[Fraction]) -> bool:
    """Whether exact inputs and outputs satisfy every row."""
    for of_inputs, of_outputs, offset, strict in zip(
        demand.inputs.tolist(),
        demand.outputs.tolist(),
        demand.offsets.tolist(),
        demand.strict.tolist(),
        strict=True,
    ):
        total = sum((Fraction(c) * x for c, x in zip(of_inputs, inputs, strict=True) if c), Fraction(0))
        total += sum((Fraction(c) * y for c, y in zip(of_outputs, outputs, strict=True) if c), Fraction(0))
        if not (total < Fraction(offset) if strict else total <= Fraction(offset)):
            return False
    return True
