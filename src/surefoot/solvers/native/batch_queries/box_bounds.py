"""Boxes closed by linear bounds: planes below every row, and one combination of them that stays positive.

One backward pass gives for each row a plane below (row - offset); guards are such planes themselves. Any
weights >= 0 make a valid combination; a few multiplicative steps look for one whose least value on the box
is positive. What stays open is shrunk to where each plane can be <= 0. In float32 the planes are lowered by
what rounding can change on the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.back_substitution import Planes
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor, round_down
from surefoot.network.float32_error import error_bounds
from surefoot.problem.network import Network
from surefoot.solvers.native.batch_queries.point_enumeration import QueryBoxes
from surefoot.solvers.native.batch_queries.queries import Mask
from surefoot.solvers.native.batch_queries.query_rows import ArrangedQueries, StackedDemands
from surefoot.solvers.native.bounding.back_substitution import NetworkBounds
from surefoot.solvers.native.bounding.bounding_plan import BoundingPlan
from surefoot.solvers.native.bounding.value_bounds import bound_box_batch

_STEPS = 8  # of the weights
_PIECE = 64  # boxes bounded together: their coefficients stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class BoxBounds:
    """Which boxes have no solution; the others shrunk, a point of each that looks best, and where to cut."""

    closed: Mask
    boxes: QueryBoxes
    best: Array
    influence: Array  # per input: how much the planes vary with it


def bound_query_boxes(work: ArrangedQueries, plan: BoundingPlan, boxes: QueryBoxes) -> BoxBounds:
    """One pass over boxes whose questions may have different demands."""
    closed = np.zeros(len(boxes), dtype=np.bool_)
    low, high = boxes.low.copy(), boxes.high.copy()
    best, influence = boxes.low.copy(), np.zeros_like(boxes.low)
    for start in range(0, len(boxes), _PIECE):
        part = slice(start, start + _PIECE)
        found = _bound_piece(work, plan, boxes.pick(part))
        closed[part], best[part], influence[part] = found.closed, found.best, found.influence
        low[part], high[part] = found.boxes.low, found.boxes.high
    return BoxBounds(closed, QueryBoxes(low, high, boxes.question), best, influence)


def _bound_piece(work: ArrangedQueries, plan: BoundingPlan, boxes: QueryBoxes) -> BoxBounds:
    asked, demand = work.questions, work.stacked.pick(work.demand[boxes.question])
    found = bound_box_batch(plan, boxes.low, boxes.high, {})
    doubt = _rounding_radii(asked.network, asked.whole, found) if asked.float32 else None
    planes = _append_guard_planes(work, boxes, _demand_planes(found, demand, doubt))
    box = found.boxes[0]
    weights, best = _ascend_weights(planes, box)
    closed = (planes.minimum(box) > 0).any(axis=1)
    if not closed.all():
        together = _combined_plane(work, found, demand, boxes, weights, doubt)
        closed |= together.minimum(box)[:, 0] > 0
        coefficients = np.concatenate([planes.coefficients, together.coefficients], axis=1)
        planes = Planes(coefficients, np.concatenate([planes.constant, together.constant], axis=1))
    shrunk, empty = _contract_boxes(planes, boxes, asked.whole)
    slopes = np.abs(planes.coefficients)
    influence = (slopes * (boxes.high - boxes.low)[:, None]).max(axis=1)
    return BoxBounds(closed | empty, shrunk, best, influence)


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
    return _drop_infinite_planes(coefficients, constant)


def _drop_infinite_planes(coefficients: Array, constant: Array) -> Planes:
    known = np.isfinite(coefficients).all(axis=-1) & np.isfinite(constant)
    return Planes(np.where(known[..., None], coefficients, 0.0), np.where(known, constant, -np.inf))


def _append_guard_planes(work: ArrangedQueries, boxes: QueryBoxes, planes: Planes) -> Planes:
    rows, offsets, _ = work.guards.rows(boxes.question)
    return Planes(
        np.concatenate([planes.coefficients, rows], axis=1),
        np.concatenate([planes.constant, -offsets], axis=1),
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
    return _drop_infinite_planes(coefficients, constant)


def _contract_boxes(planes: Planes, boxes: QueryBoxes, whole: Mask) -> tuple[QueryBoxes, Mask]:
    """The part of each box where every plane can be <= 0, rounded outward (integers inward)."""
    low, high, rows = boxes.low[:, None], boxes.high[:, None], planes.coefficients
    with np.errstate(all="ignore"):
        at_low, at_high = rows * low, rows * high
        least = np.minimum(at_low, at_high)
        size = np.maximum(np.abs(at_low), np.abs(at_high)).sum(axis=2) + np.abs(planes.constant)
        room = (gamma_factor(2 * rows.shape[2] + 6) * size + TINY - planes.constant - least.sum(axis=2))[
            ..., None
        ]
        limit = (room + least) / rows
        slack = np.abs(limit) * 2.0**-50 + TINY
        above = np.where(rows > 0, limit + slack, np.inf)
        below = np.where(rows < 0, limit - slack, -np.inf)
    above = np.where(np.isnan(above), np.inf, above).min(axis=1)
    below = np.where(np.isnan(below), -np.inf, below).max(axis=1)
    above, below = np.where(whole, np.floor(above), above), np.where(whole, np.ceil(below), below)
    shrunk = QueryBoxes(np.maximum(boxes.low, below), np.minimum(boxes.high, above), boxes.question)
    return shrunk, np.asarray((shrunk.low > shrunk.high).any(axis=1))
