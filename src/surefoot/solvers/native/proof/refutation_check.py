"""Whether multipliers refute a set of atoms with the bounds of a certificate, and with how few of them.

A refuted box is tried with what it inherits alone, then with only some bounds of the last layer; what it has
computed itself is enough in any case. Machine code has confirmed that already, so that such boxes can wait
until the proof is read: fewer bounds make it short, not true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.network.relaxation import COARSE, relu_gap
from surefoot.problem.network import Activation
from surefoot.solvers.native.bounding.network_bounds import (
    BoundingPlan,
    BoundMasks,
    NetworkBounds,
    forward_interval,
    inherit_bounds,
    known_box,
    replace_value_box,
)
from surefoot.solvers.native.bounding.open_boxes import BoxDomains
from surefoot.solvers.native.bounding.row_bounds import CubeBounds, contract_by_planes
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.proof.steps import UNIT, CubeRefutation

_AFFORD = 0.4  # how much of the margin of a refutation may be spent on bounds that are left out
_NEAR = 1e-10  # relative: what rounding may make of a bound that is 0
_MARGIN = 1e-7  # relative: room for the fixed-point arithmetic of a reader


def quantise_refutation(seen: CubeBounds, found: NetworkBounds) -> CubeRefutation:
    """The multipliers that the search found, in the numbers that a certificate holds."""
    size = np.abs(seen.row).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        row = np.where(size > 0, np.rint(seen.row / size * UNIT), 0.0)
    below = {
        v: _fix_decided_slopes(v, np.rint(np.minimum(np.maximum(s, 0.0), 1.0) * COARSE) / COARSE, found)
        for v, s in seen.below.items()
    }
    return CubeRefutation(row, below)


def _fix_decided_slopes(value: int, slopes: Array, found: NetworkBounds) -> Array:
    """Slopes below ReLUs; where the sign of the argument is open by rounding only, those of that sign.

    A reader that rounds less sees the sign and takes no other slope.
    """
    if found.sheet is not None:
        box = found.sheet.box(value)
    else:
        node = found.layout.network.nodes[value - 1]
        assert isinstance(node, Activation)
        box = found.boxes[node.source]
    near = _NEAR * box.magnitude
    return np.where(box.low >= -near, 1.0, np.where(box.high <= near, 0.0, slopes))


def refuted_by(part: NetworkBounds, trial: CubeRefutation, lenient: Mask) -> Mask:
    """For which boxes the multipliers give a bound that is positive with room to spare."""
    found = part.with_slopes(trial.below)
    closed = _has_positive_bound(found, trial)
    if lenient.any() and part.radii:
        closed = closed | (lenient & _has_positive_bound(found.in_reals(), trial))
    return closed


def _has_positive_bound(found: NetworkBounds, trial: CubeRefutation) -> Mask:
    (plane, least), box = found.least(trial.row[:, None]), found.boxes[0]
    with np.errstate(all="ignore"):
        size = (np.abs(plane.coefficients[:, 0]) * box.magnitude).sum(axis=1) + np.abs(plane.constant[:, 0])
        return np.asarray(least[:, 0] > _MARGIN * size)


def remaining_box(part: NetworkBounds, trial: CubeRefutation) -> BoxArray:
    """The part of each box that the inequality leaves, widened a little."""
    found, box = part.with_slopes(trial.below), part.boxes[0]
    plane, least = found.least(trial.row[:, None])
    with np.errstate(all="ignore"):
        size = (np.abs(plane.coefficients) * box.magnitude[:, None]).sum(axis=2) + np.abs(plane.constant)
    return contract_by_planes(plane, least - _MARGIN * size, box)


def needed_last_bounds(
    part: NetworkBounds, trial: CubeRefutation, value: int, before: BoxArray
) -> BoundMasks:
    """Which bounds of a value, the last one that ReLUs read, a refutation needs.

    What a bound is worth: the coefficient that meets the line above the ReLU, times how much higher that line
    would be with the bound from before. The cheapest are left out while the refutation can afford it.
    """
    trace: dict[int, Array] = {}
    found, now = part.with_slopes(trial.below), part.boxes[value]
    room = found.least(trial.row[:, None], trace)[1][:, 0]
    weight = np.zeros_like(now.low)
    for number, node in enumerate(part.layout.network.nodes, start=1):
        if isinstance(node, Activation) and node.source == value and number in trace:
            weight += np.maximum(-trace[number][:, 0], 0.0)
    least = relu_gap(now.low, now.high)
    losses = np.concatenate(
        [
            weight * (relu_gap(before.low, now.high) - least),
            weight * (relu_gap(now.low, before.high) - least),
        ],
        axis=1,
    )
    order = np.argsort(losses, axis=1, kind="stable")
    spent = np.cumsum(np.take_along_axis(losses, order, axis=1), axis=1)
    needed = np.zeros(losses.shape, dtype=np.bool_)
    np.put_along_axis(needed, order, spent > _AFFORD * room[:, None], axis=1)
    width = now.low.shape[1]
    return BoundMasks(needed[:, :width], needed[:, width:])


@dataclass(frozen=True, slots=True, eq=False)
class RefutedBoxes(BatchRecord):
    """Boxes of a batch that the search has refuted, and how."""

    domains: BoxDomains
    found: NetworkBounds
    trials: dict[int, CubeRefutation]
    lenient: Mask  # where real arithmetic is enough

    def __len__(self) -> int:
        return len(self.domains)

    def pick(self, members: Mask) -> RefutedBoxes:
        return self if members.all() else BatchRecord.pick(self, np.flatnonzero(members))

    def closed_by(self, found: NetworkBounds) -> Mask:
        """The boxes all of whose sets are refuted with these bounds."""
        closed = np.ones(len(self), dtype=np.bool_)
        for number, trial in self.trials.items():
            here = self.domains.alive[:, number]
            if (here & closed).any():
                closed &= ~here | refuted_by(found, trial, self.lenient)
        return closed


def closing_levels(
    plan: BoundingPlan, closing: RefutedBoxes
) -> list[tuple[RefutedBoxes, NetworkBounds, Mask]]:
    """Bounds that close boxes, the fewest first: those still open, bounds, and which of them they close."""
    found = []
    has_bounds = any(np.isfinite(box.low).any() for box in closing.domains.known.values())
    for level in (_inherited_bounds, _fewer_bounds, _computed_bounds)[0 if has_bounds else 1 :]:
        part = level(plan, closing)
        closed = closing.closed_by(part)
        found.append((closing, part, closed))
        if closed.all():
            break
        closing = closing.pick(~closed)
    return found


def _inherited_bounds(plan: BoundingPlan, closing: RefutedBoxes) -> NetworkBounds:
    """Nothing but what a box has from the one that it is a part of."""
    return inherit_bounds(plan, closing.domains.box, closing.domains.known)


def _fewer_bounds(plan: BoundingPlan, closing: RefutedBoxes) -> NetworkBounds:
    """Of the last layer only bounds without which the refutations would lose too much."""
    part = closing.found
    last = max(part.substituted_bounds, default=0)
    if last not in plan.signs or last != max(plan.kept):
        return part
    everyone = np.arange(len(closing))
    before = forward_interval(part, last).intersect(known_box(plan, closing.domains.known, last, everyone))
    needed = BoundMasks(*(np.zeros(before.low.shape, dtype=np.bool_) for _ in range(2)))
    for number, trial in closing.trials.items():
        here = closing.domains.alive[:, number]
        if here.any():
            wanted = needed_last_bounds(part, trial, last, before)
            needed.low[here] |= wanted.low[here]
            needed.high[here] |= wanted.high[here]
    used = part.substituted_bounds[last]
    low, high = used.low & needed.low, used.high & needed.high
    now = part.boxes[last]
    box = BoxArray(np.where(low, now.low, before.low), np.where(high, now.high, before.high))
    return replace_value_box(part, last, box, BoundMasks(low, high))


def _computed_bounds(plan: BoundingPlan, closing: RefutedBoxes) -> NetworkBounds:
    """All that the search has computed."""
    return closing.found
