"""Boxes closed by linear bounds: planes below every row, and one combination of them that stays positive.

One backward pass gives for each row a plane below (row - offset); guards are such planes themselves. Any
weights >= 0 make a valid combination; a few multiplicative steps look for one whose least value on the box
is positive. What stays open is shrunk to where each plane can be <= 0. In float32 the planes are lowered by
what rounding can change on the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.back_substitution import Planes, give_up_infinite_planes
from surefoot.network.batches import BatchRecord, join_batches
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor, round_down
from surefoot.network.float32_error import error_bounds
from surefoot.problem.network import Network
from surefoot.solvers.native.batch_queries.point_enumeration import QueryBoxes
from surefoot.solvers.native.batch_queries.queries import Mask
from surefoot.solvers.native.batch_queries.query_rows import ArrangedQueries, StackedDemands
from surefoot.solvers.native.bounding.network_bounds import BoundingPlan, NetworkBounds
from surefoot.solvers.native.bounding.open_boxes import round_box_inward
from surefoot.solvers.native.bounding.plane_combination import contract_by_planes
from surefoot.solvers.native.bounding.value_bounds import bound_box_batch

_STEPS = 8  # of the weights
_PIECE = 64  # boxes bounded together: their coefficients stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class BoxBounds(BatchRecord):
    """Which boxes have no solution; the others shrunk, a point of each that looks best, and where to cut."""

    closed: Mask
    boxes: QueryBoxes
    best: Array
    influence: Array  # per input: how much the planes vary with it


def bound_query_boxes(work: ArrangedQueries, plan: BoundingPlan, boxes: QueryBoxes) -> BoxBounds:
    """One pass over boxes whose questions may have different demands."""
    cuts = [slice(start, start + _PIECE) for start in range(0, len(boxes), _PIECE)]
    return join_batches([_bound_piece(work, plan, boxes.pick(cut)) for cut in cuts])


def _bound_piece(work: ArrangedQueries, plan: BoundingPlan, boxes: QueryBoxes) -> BoxBounds:
    asked, demand = work.questions, work.stacked.pick(work.demand[boxes.question])
    found = bound_box_batch(plan, boxes.low, boxes.high, {})
    doubt = _rounding_radii(asked.network, asked.whole, found) if asked.float32 else None
    rows, offsets, _ = work.guards.rows(boxes.question)
    planes = _append_planes(_demand_planes(found, demand, doubt), rows, -offsets)
    box = found.boxes[0]
    weights, best = _ascend_weights(planes, box)
    least = planes.minimum(box)
    if not (least > 0).any(axis=1).all():
        together = _combined_plane(work, found, demand, boxes, weights, doubt)
        planes = _append_planes(planes, together.coefficients, together.constant)
        least = np.concatenate([least, together.minimum(box)], axis=1)
    left = round_box_inward(contract_by_planes(planes, least, box), asked.whole)
    shrunk = QueryBoxes(left.low, left.high, boxes.question)
    influence = (np.abs(planes.coefficients) * (boxes.high - boxes.low)[:, None]).max(axis=1)
    return BoxBounds((least > 0).any(axis=1) | shrunk.empty, shrunk, best, influence)


def _rounding_radii(network: Network, whole: Mask, found: NetworkBounds) -> Array:
    """How far float32 outputs can be from exact ones, per box; integers up to 2^24 are not rounded."""
    box = found.boxes[0]
    rounds = bool((~whole).any() or (box.magnitude > 2.0**24).any())
    return error_bounds(network, box.low, box.high, input_rounding=rounds, values=found.boxes)


def _demand_planes(found: NetworkBounds, demand: StackedDemands, doubt: Array | None) -> Planes:
    """Planes below (inputs . x + outputs . y - offset) for the rows of a demand."""
    below = found.below(demand.outputs)
    box = found.boxes[0]
    with np.errstate(all="ignore"):
        coefficients = below.coefficients + demand.inputs
        lost = gamma_factor(1) * (np.abs(coefficients) @ box.magnitude[:, :, None])[..., 0]
        constant = below.constant - demand.offsets
        lost = lost + gamma_factor(2) * (np.abs(below.constant) + np.abs(demand.offsets)) + TINY
        if doubt is not None:
            lost = lost + (np.abs(demand.outputs) @ doubt[:, :, None])[..., 0] * (1.0 + 2.0**-40)
        constant = round_down(constant - lost)
    return give_up_infinite_planes(coefficients, constant)


def _append_planes(planes: Planes, rows: Array, constants: Array) -> Planes:
    return Planes(
        np.concatenate([planes.coefficients, rows], axis=1),
        np.concatenate([planes.constant, constants], axis=1),
    )


def _ascend_weights(planes: Planes, box: BoxArray) -> tuple[Array, Array]:
    """Good weights of the planes, and the point where their combination is least. No proof rests on them."""
    usable = np.isfinite(planes.constant)
    constant = np.where(usable, planes.constant, 0.0)
    weights = np.where(usable, 1.0, 0.0)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    best, value = weights, np.full(len(weights), -np.inf)
    at = 0.5 * (box.low + box.high)
    point = at
    for step in range(_STEPS):
        slope = (weights[:, None] @ planes.coefficients)[:, 0]
        at = np.where(slope > 0, box.low, box.high)
        heights = (planes.coefficients @ at[..., None])[..., 0] + constant
        total = (weights * heights).sum(axis=1)
        better = total > value
        best, value = np.where(better[:, None], weights, best), np.where(better, total, value)
        point = np.where(better[:, None], at, point)
        centred = np.where(usable, heights - total[:, None], 0.0)
        size = np.abs(centred).max(axis=1, keepdims=True, initial=0.0) + 1e-300
        weights = np.where(usable, np.maximum(weights, 1e-4), 0.0)
        weights = weights * np.exp(1.5 * (1.0 - step / _STEPS) * centred / size)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return best, point


def _combined_plane(
    work: ArrangedQueries,
    found: NetworkBounds,
    demand: StackedDemands,
    boxes: QueryBoxes,
    weights: Array,
    doubt: Array | None,
) -> Planes:
    """The plane below one weighted sum of all rows, with the rounding of that sum taken off."""
    count = demand.offsets.shape[1]
    share = weights[:, None]  # rows that are not asked have weight 0
    rows, offsets, _ = work.guards.rows(boxes.question)
    offsets = np.concatenate([demand.offsets, offsets], axis=1)
    offsets = np.where(np.isinf(offsets), 0.0, offsets)
    inputs = np.concatenate([demand.inputs, rows], axis=1)
    of_inputs, of_outputs = found.boxes[0].magnitude, found.boxes[-1].magnitude
    with np.errstate(all="ignore"):
        below = found.below(share[..., :count] @ demand.outputs)
        coefficients = below.coefficients + share @ inputs
        size_outputs = (share[..., :count] @ np.abs(demand.outputs))[:, 0]
        size_inputs = (share @ np.abs(inputs))[:, 0] + np.abs(below.coefficients[:, 0])
        size = (size_inputs * of_inputs).sum(axis=1) + (size_outputs * of_outputs).sum(axis=1)
        size = size + (weights * np.abs(offsets)).sum(axis=1) + np.abs(below.constant[:, 0])
        lost = gamma_factor(weights.shape[1] + 6) * size + TINY
        if doubt is not None:
            lost = lost + (size_outputs * doubt).sum(axis=1) * (1.0 + 2.0**-40)
        constant = round_down(below.constant - ((weights * offsets).sum(axis=1) + lost)[:, None])
    return give_up_infinite_planes(coefficients, constant)
