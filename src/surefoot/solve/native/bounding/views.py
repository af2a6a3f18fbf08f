"""What one batch of bounds says about the sets of atoms, and how two such views are joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.linear import Planes
from surefoot.network.outward import Array, Box
from surefoot.solve.native.problem import Mask


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a set of atoms leaves of the boxes: its part, a plane's slopes, and where that plane is least."""

    number: int
    box: Box
    slopes: Array
    worst: Array


def better(plane: Planes, value: Array, other: Planes, other_value: Array) -> tuple[Planes, Array]:
    """Of two planes per box the one with the larger minimum."""
    chosen = other_value > value
    return (
        Planes(
            np.where(chosen[:, None, None], other.coefficients, plane.coefficients),
            np.where(chosen[:, None], other.constant, plane.constant),
        ),
        np.where(chosen, other_value, value),
    )


def merged(box: Box, views: list[View], alive: Mask) -> tuple[Box, Array]:
    """The hull of what the living sets leave, and the steepest slopes among them."""
    low, high = np.full_like(box.low, np.inf), np.full_like(box.high, -np.inf)
    slopes = np.zeros_like(box.low)
    for view in views:
        there = alive[:, view.number][:, None]
        low = np.where(there, np.minimum(low, view.box.low), low)
        high = np.where(there, np.maximum(high, view.box.high), high)
        slopes = np.where(there, np.maximum(slopes, np.abs(view.slopes)), slopes)
    return Box(low, high), slopes
