"""Boxes that are closed, written with few bounds: most of what the search has computed is not needed.

A refuted box is tried with what it inherits alone, then with only some bounds of the last layer; what it has
computed itself is enough in any case. Machine code has confirmed that already, so that such boxes can wait
until the proof is read: this makes it short, not true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import BoxArray
from surefoot.solvers.native.bounding.network_bounds import BoundingPlan, BoundMasks, NetworkBounds
from surefoot.solvers.native.bounding.open_boxes import BoxDomains
from surefoot.solvers.native.bounding.value_bounds import (
    forward_interval,
    inherit_bounds,
    known_box,
    replace_value_box,
)
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.proof.refutation_check import needed_last_bounds, refuted_by
from surefoot.solvers.native.proof.steps import CubeRefutation


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
    last = max(part.used, default=0)
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
    used = part.used[last]
    low, high = used.low & needed.low, used.high & needed.high
    now = part.boxes[last]
    box = BoxArray(np.where(low, now.low, before.low), np.where(high, now.high, before.high))
    return replace_value_box(part, last, box, BoundMasks(low, high))


def _computed_bounds(plan: BoundingPlan, closing: RefutedBoxes) -> NetworkBounds:
    """All that the search has computed."""
    return closing.found
