"""Boxes with real inputs or too many integers: sampled, bounded, shrunk and halved, many questions at once.

Depth first over batches of boxes. A box of few integers is taken point by point. A question that has used up
its boxes, or has one too narrow to halve, is left to the search for single queries.

A box is closed by linear bounds: one backward pass gives for each row a plane below (row - offset); guards
are such planes themselves. Any weights >= 0 make a valid combination; a few multiplicative steps look for one
whose least value on the box is positive. What stays open is shrunk to where each plane can be <= 0. In
float32 the planes are lowered by what rounding can change on the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.back_substitution import Planes, give_up_infinite_planes
from surefoot.network.batches import BatchRecord, BatchStack, join_batches
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor, round_down
from surefoot.network.float32_error import error_bounds
from surefoot.problem.network import Network
from surefoot.solvers.native.batch_queries.output_table import OutputTable
from surefoot.solvers.native.batch_queries.point_enumeration import (
    check_query_points,
    enumerate_boxes,
    halve_query_boxes,
)
from surefoot.solvers.native.batch_queries.queries import Mask, Numbers
from surefoot.solvers.native.batch_queries.query_rows import (
    ArrangedQueries,
    QueryBoxes,
    StackedDemands,
    contract_by_guards,
)
from surefoot.solvers.native.bounding.network_bounds import (
    BoundingPlan,
    NetworkBounds,
    bound_box_batch,
    build_bounding_plan,
)
from surefoot.solvers.native.bounding.open_boxes import round_box_inward
from surefoot.solvers.native.bounding.row_bounds import contract_by_planes

LEAF = 256  # integer points: fewer are looked at one by one
BATCH = 512  # boxes at a time
SAMPLES = 16  # random points of each box at the start, besides centre and ends
_STEPS = 8  # of the weights
_PIECE = 64  # boxes bounded together: their coefficients stay in the cache


def split_query_boxes(
    work: ArrangedQueries,
    members: Numbers,
    most: int,
) -> Numbers:
    """Halve the boxes of these questions, about `most` of each at most; the questions that need more."""
    budget, plan = work.ledger.budget, build_bounding_plan(work.questions.network)
    start = work.boxes(members)
    sample_query_boxes(work, start, None)
    stack = BatchStack(start.pick(work.ledger.lacks_witness(members)))
    used = np.zeros(len(work.questions), dtype=np.int64)
    beyond = np.zeros(len(work.questions), dtype=np.bool_)
    while stack:
        if budget.is_spent():
            rest = stack.pop(len(stack)).question
            work.ledger.leave_open(rest[~beyond[rest]], "time ran out while its box was searched")
            break
        boxes = stack.pop(BATCH)
        boxes = boxes.pick(work.ledger.lacks_witness(boxes.question) & ~beyond[boxes.question])
        np.add.at(used, boxes.question, 1)
        beyond |= used > most
        stack.push(_process_batch(work, boxes, plan, beyond))
        budget.progress(f"{len(stack)} boxes of {len(members)} questions are open")
    return np.flatnonzero(beyond & work.ledger.lacks_witness(np.arange(len(beyond))))


def _process_batch(
    work: ArrangedQueries,
    boxes: QueryBoxes,
    plan: BoundingPlan,
    beyond: Mask,
) -> QueryBoxes:
    """The halves of what is left of some boxes; `beyond` notes questions with a box too narrow to halve."""
    whole = work.questions.whole
    boxes, _ = contract_by_guards(work, boxes)
    boxes = boxes.pick(_enumerate_small_boxes(work, boxes))
    if not len(boxes):
        return boxes
    check_query_points(work, _snap_points(whole, boxes, 0.5 * (boxes.low + boxes.high)), boxes.question)
    boxes = boxes.pick(work.ledger.lacks_witness(boxes.question))
    if not len(boxes):
        return boxes
    found = bound_query_boxes(work, plan, boxes)
    left = ~found.closed
    boxes, best = found.boxes.pick(left), found.best[left]
    check_query_points(work, _snap_points(whole, boxes, best), boxes.question)
    open_ = work.ledger.lacks_witness(boxes.question)
    boxes, influence = boxes.pick(open_), found.influence[left][open_]
    many = _enumerate_small_boxes(work, boxes)  # shrinking may have left few points
    return _halve_boxes(work, boxes.pick(many), influence[many], beyond)


def _enumerate_small_boxes(work: ArrangedQueries, boxes: QueryBoxes) -> Mask:
    """Take boxes with few integer points one by one; which are left."""
    few: Mask = boxes.integral(work.questions.whole) & (boxes.sizes() <= LEAF)
    enumerate_boxes(work, boxes.pick(few))
    return ~few


def _snap_points(whole: Mask, boxes: QueryBoxes, points: Array) -> Array:
    """The points moved into their boxes and onto integers."""
    nearest: Array = np.clip(np.where(whole, np.round(points), points), boxes.low, boxes.high)
    return nearest


def _halve_boxes(work: ArrangedQueries, boxes: QueryBoxes, influence: Array, beyond: Mask) -> QueryBoxes:
    """Halves across the input that moves the planes most."""
    whole, width = work.questions.whole, boxes.high - boxes.low
    size = np.maximum(np.abs(boxes.low), np.abs(boxes.high))
    able = width > np.where(whole, 0.0, 2.0**-40 * size + 2.0**-200)
    splits: Mask = np.asarray(able.any(axis=1))
    beyond[boxes.question[~splits]] = True  # real inputs so narrow that only exact methods help
    boxes, influence, able, width = boxes.pick(splits), influence[splits], able[splits], width[splits]
    first_width = (work.high - work.low)[boxes.question]
    share = influence / np.maximum(influence.max(axis=1, keepdims=True, initial=0.0), 1e-300)
    score = np.where(able, share + 0.2 * width / np.maximum(first_width, 1e-300), -1.0)
    return halve_query_boxes(boxes, score.argmax(axis=1), whole)


def sample_query_boxes(work: ArrangedQueries, boxes: QueryBoxes, table: OutputTable | None) -> None:
    """Centre, ends and a few random points of each box; the same places of every box."""
    whole = work.questions.whole
    boxes, _ = contract_by_guards(work, boxes)
    inputs = work.low.shape[1]
    places = np.random.default_rng(work.ledger.budget.seed).random((SAMPLES, inputs))
    corners = np.concatenate([np.full((1, inputs), 0.5), np.zeros((1, inputs)), np.ones((1, inputs))])
    for place in np.concatenate([corners, places]):
        boxes = boxes.pick(work.ledger.lacks_witness(boxes.question))
        if not len(boxes):
            return
        points = boxes.low + place * (boxes.high - boxes.low)
        check_query_points(work, _snap_points(whole, boxes, points), boxes.question, table)


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
