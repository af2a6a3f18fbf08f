"""Boxes that runs may come back to, and what was nearest to coming back."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.form_series import bounds_of
from surefoot.query.bounds import rounded_down, rounded_up

ROOM, MOST_ROOM = (
    2e-4,
    2e-2,
)  # how far inside of a box that we propose cells end: for each period, and at most
CONSTANT = 1e-10  # what roundings may do to a variable that nothing changes, relative
Corner = tuple[Fraction, ...]


class RegionBoxes:
    """The boxes of regions, rounded inward.

    `exact`, for each region and variable: nothing changes it, and a checker has its ends as they are. Only
    floats would round its range, so that this much does not count.

    After many periods the sets of a checker are not quite ours: cells have to come back by some more than to
    the sides of boxes that we propose, where these are not `exact`.
    """

    def __init__(
        self, boxes: Sequence[tuple[Corner, Corner]], exact: Mask, proposed: NDArray[np.bool_]
    ) -> None:
        self.least = np.array([[rounded_up(x) for x in low] for low, _ in boxes])
        self.most = np.array([[rounded_down(x) for x in high] for _, high in boxes])
        slack = CONSTANT * (np.abs(self.least) + np.abs(self.most)) * exact
        self.least, self.most = self.least - slack, self.most + slack
        self.radius = np.maximum(0.5 * (self.most - self.least), 1e-300)
        self.room = np.where(exact | ~proposed[:, None], 0.0, 0.5 * (self.most - self.least))

    def begin_walk(self, cells: int) -> CellReturns:
        return CellReturns(self, cells)


class CellReturns:
    """One walk of several cells: what was nearest to coming back."""

    def __init__(self, boxes: RegionBoxes, cells: int) -> None:
        self.boxes, self.periods = boxes, 0
        self.nearest = np.full(cells, np.inf)
        self.weights: list[Array | None] = [None] * cells
        self.bounds: list[tuple[int, Array, Array] | None] = [None] * cells  # with the region it is next to

    def find_regions(self, forms: Array, cell: NDArray[np.intp]) -> NDArray[np.intp]:
        """The number of a region whose box holds each row, or -1."""
        low, high = bounds_of(forms)
        found = np.full(len(forms), -1, dtype=np.intp)
        beyond = np.full(len(forms), np.inf)
        over, next_to = np.zeros((len(forms), forms.shape[1])), np.zeros(len(forms), dtype=np.intp)
        boxes = self.boxes
        self.periods += 1
        by = min(ROOM * self.periods, MOST_ROOM) * boxes.room
        for number, (least, most) in reversed(
            list(enumerate(zip(boxes.least + by, boxes.most - by, strict=True)))
        ):
            with np.errstate(all="ignore"):
                out = np.fmax(least - low, high - most)
                own = (out / boxes.radius[number]).max(1)
            found[(out <= 0).all(1)] = number
            nearer = own < beyond
            beyond[nearer], over[nearer] = own[nearer], (out[nearer] > 0) / boxes.radius[number]
            next_to[nearer] = number
        beyond[found >= 0] = np.inf
        for row in np.flatnonzero(beyond < self.nearest[cell]):
            own_cell, count = cell[row], forms.shape[1]
            self.nearest[own_cell] = beyond[row]
            self.weights[own_cell] = over[row] @ np.abs(forms[row, :, 1 : count + 1])
            self.bounds[own_cell] = int(next_to[row]), low[row], high[row]
        return found

    def join(self, other: CellReturns) -> CellReturns:
        """Of one walk after the other."""
        found = CellReturns(self.boxes, 0)
        found.nearest = np.concatenate([self.nearest, other.nearest])
        found.weights, found.bounds = self.weights + other.weights, self.bounds + other.bounds
        return found
