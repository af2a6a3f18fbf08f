"""Float64 arithmetic that errs on the safe side: boxes, directed rounding, error terms of sums.

A single operation is rounded outward by one step (`round_up`, `round_down`). A sum of n products computed in
any order, fused or not, is off by at most n*u/(1 - n*u) times the sum of the absolute products, u = 2^-53;
`gamma_factor` is more than twice that, so it also covers the rounding of the (non-negative) error term
itself. `TINY` covers what products lose below the smallest normal number, even after multiplication by the
largest float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord

Array: TypeAlias = NDArray[np.float64]

UNIT = 2.0**-53  # relative error of one rounding to nearest
TINY = 2.0**-900
_STEP, _LEAST = (
    2.0**-52,
    2.0**-1000,
)  # a step of one unit in the last place; several times faster than nextafter


@dataclass(frozen=True, slots=True, eq=False)
class BoxArray(BatchRecord):
    """low <= x <= high entry by entry; any leading axes are batch axes."""

    low: Array
    high: Array

    @property
    def magnitude(self) -> Array:
        """The largest absolute value of each entry."""
        size: Array = np.maximum(np.abs(self.low), np.abs(self.high))
        return size

    @property
    def empty(self) -> NDArray[np.bool_]:
        """For each member of the batch, whether some entry has no value left."""
        without: NDArray[np.bool_] = np.asarray((self.low > self.high).any(axis=-1))
        return without

    def intersect(self, other: BoxArray) -> BoxArray:
        return BoxArray(np.maximum(self.low, other.low), np.minimum(self.high, other.high))


def check_input_box(width: int, low: object, high: object) -> BoxArray:
    """The box of network inputs, checked: shape, order and no NaN."""
    box = BoxArray(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    if box.low.shape != box.high.shape or box.low.shape[-1:] != (width,):
        raise ValueError(
            f"expected bounds of {width} inputs, got shapes {box.low.shape} and {box.high.shape}"
        )
    if not (box.low <= box.high).all():
        raise ValueError("a lower bound exceeds its upper bound or is not a number")
    return box


def round_up(x: Array) -> Array:
    """The next float64 above, or the one after that."""
    with np.errstate(over="ignore", invalid="ignore"):
        above: Array = x + (np.abs(x) * _STEP + _LEAST)
    return above if np.isfinite(above).all() else np.nextafter(x, np.inf)


def round_down(x: Array) -> Array:
    """The next float64 below, or the one before that."""
    with np.errstate(over="ignore", invalid="ignore"):
        below: Array = x - (np.abs(x) * _STEP + _LEAST)
    return below if np.isfinite(below).all() else np.nextafter(x, -np.inf)


def gamma_factor(operations: int) -> float:
    """Twice the relative error of `operations` roundings, for fewer than 2^40 of them."""
    return 2.0 * (operations + 4) * UNIT


def round_box_outward(low: Array, high: Array) -> BoxArray:
    """A box around bounds that are each off by one rounding; one that overflowed or is NaN is given up."""
    return BoxArray(
        round_down(np.where(np.isfinite(low), low, -np.inf)),
        round_up(np.where(np.isfinite(high), high, np.inf)),
    )


def centre_radius(box: BoxArray) -> tuple[Array, Array]:
    """A point of the box (0 for unbounded entries) and how far entries can be from it, rounded up."""
    bounded = np.isfinite(box.low) & np.isfinite(box.high)
    centre = np.where(bounded, 0.5 * box.low + 0.5 * box.high, 0.0)
    return centre, round_up(np.maximum(box.high - centre, centre - box.low))
