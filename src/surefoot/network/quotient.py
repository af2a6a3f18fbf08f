"""Planes below a quotient x / y, valid while x and y stay in their boxes and y keeps its sign.

As in `relaxation` the slopes are chosen for tightness and the constant makes up for them, whatever they are:
it is a lower bound of x / y - a * x - b * y, rounded downward.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from surefoot.network import interval
from surefoot.network.outward import Array, Box, down, up
from surefoot.problem.network import Pairing

Plane: TypeAlias = tuple[Array, Array, Array]  # slope of x, slope of y, constant


def below_quotient(left: Box, right: Box) -> Plane:
    """A plane below x / y; a constant one (-inf at worst) where y may be zero or numbers get too large."""
    sign = np.where(right.high < 0, -1.0, 1.0)  # x / y = -x / -y: the divisor may be taken as positive
    x, y = _signed(left, sign), _signed(right, sign)
    first, second = (_plane(x, y, slopes) for slopes in _slopes(x, y))
    better = _in_the_middle(second, x, y) > _in_the_middle(first, x, y)
    of_x, of_y, constant = (np.where(better, s, f) for f, s in zip(first, second, strict=True))
    usable = (y.low > 0) & np.isfinite(of_x) & np.isfinite(of_y) & np.isfinite(constant)
    least = interval.PAIRING[Pairing.DIVIDE](left, right).low
    return (
        np.where(usable, sign * of_x, 0.0),
        np.where(usable, sign * of_y, 0.0),
        np.where(usable, constant, least),
    )


def _signed(box: Box, sign: Array) -> Box:
    return Box(np.where(sign < 0, -box.high, box.low), np.where(sign < 0, -box.low, box.high))


def _slopes(x: Box, y: Box) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """McCormick's two planes below x * w for w = 1 / y.

    There w meets its chord or, for the other sign, the tangent parallel to it: slope -1 / (low * high).
    """
    scale = 1.0 / y.low / y.high
    return (1.0 / y.high, -x.low * scale), (1.0 / y.low, -x.high * scale)


def _in_the_middle(plane: Plane, x: Box, y: Box) -> Array:
    of_x, of_y, constant = plane
    height: Array = of_x * (0.5 * x.low + 0.5 * x.high) + of_y * (0.5 * y.low + 0.5 * y.high) + constant
    return height


def _plane(x: Box, y: Box, slopes: tuple[Array, Array]) -> Plane:
    """The plane of these slopes, for y > 0: the difference is linear in x, so an end of x is the worst."""
    of_x, of_y = slopes
    constant = np.minimum(*(down(_least(end, y, of_y) - up(of_x * end)) for end in (x.low, x.high)))
    return of_x, of_y, constant


def _least(x: Array, y: Box, slope: Array) -> Array:
    """A lower bound of x / y - slope * y over y > 0: concave for x <= 0, so least at an end, else convex."""
    ends = np.minimum(_difference(x, y.low, slope), _difference(x, y.high, slope))
    return np.where(x <= 0, ends, _least_convex(x, y, slope))


def _difference(x: Array, y: Array, slope: Array) -> Array:
    """x / y - slope * y, rounded down."""
    return down(interval.PAIRING[Pairing.DIVIDE](Box(x, x), Box(y, y)).low - up(slope * y))


def _least_convex(x: Array, y: Box, slope: Array) -> Array:
    """A convex function lies above each of its tangents; the flattest one touches near the minimum.

    At a touch point t the steepness is s = -x/t^2 - slope, and s * (y - t) is least at an end of y.
    """
    touch = _touch(x, y, slope)
    square = Box(down(touch * touch), up(touch * touch))
    fall = interval.PAIRING[Pairing.DIVIDE](Box(x, x), square)
    steepest_down, steepest_up = up(fall.high + slope), up(-fall.low - slope)
    after, before = up(steepest_down * up(y.high - touch)), up(steepest_up * up(touch - y.low))
    loss = np.maximum(np.maximum(after, before), 0.0)
    return down(_difference(x, touch, slope) - loss)


def _touch(x: Array, y: Box, slope: Array) -> Array:
    """Where x / y - slope * y is least, about; any point of y would do."""
    flat = np.where(slope < 0, np.sqrt(np.maximum(x, 0.0) / -slope), y.high)
    return np.clip(flat, y.low, y.high)
