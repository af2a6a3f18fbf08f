"""Planes below a quotient x / y, valid while x and y stay in their boxes and y keeps its sign.

As in `relaxation` the slopes are chosen for tightness and the constant makes up for them, whatever they are:
it is a lower bound of x / y - a * x - b * y, rounded downward.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network import interval
from surefoot.network.directed_rounding import Array, BoxArray, round_down, round_up
from surefoot.problem.network import Pairing

_TIE = 1e-9  # relative difference of heights that counts as none
Plane: TypeAlias = tuple[Array, Array, Array]  # slope of x, slope of y, constant


def plane_below_quotient(left: BoxArray, right: BoxArray) -> Plane:
    """A plane below x / y; a constant one (-inf at worst) where y may be zero or numbers get too large."""
    sign, x, y = _positive_divisor(left, right)
    (of_x, of_y, constant), _ = _choose_plane(x, y)
    usable = (y.low > 0) & np.isfinite(of_x) & np.isfinite(of_y) & np.isfinite(constant)
    least = interval.PAIRING[Pairing.DIVIDE](left, right).low
    return (
        np.where(usable, sign * of_x, 0.0),
        np.where(usable, sign * of_y, 0.0),
        np.where(usable, constant, least),
    )


def takes_second_plane(left: BoxArray, right: BoxArray) -> NDArray[np.bool_]:
    """Where `below_quotient` takes the second of the two planes: the one that is exact at the largest x."""
    _, x, y = _positive_divisor(left, right)
    return _choose_plane(x, y)[1]


def _choose_plane(x: BoxArray, y: BoxArray) -> tuple[Plane, NDArray[np.bool_]]:
    """Of two planes the one that is higher in the middle of the box, and where that is the second.

    Where they are equally high the last digits must not choose: they depend on who else is in the batch.
    """
    first, second = (_plane_of_slopes(x, y, slopes) for slopes in _mccormick_slopes(x, y))
    height = _height_at_centre(first, x, y)
    chosen = np.asarray(_height_at_centre(second, x, y) > height + _TIE * (1.0 + np.abs(height)))
    of_x, of_y, constant = (np.where(chosen, s, f) for f, s in zip(first, second, strict=True))
    return (of_x, of_y, constant), chosen


def _positive_divisor(left: BoxArray, right: BoxArray) -> tuple[Array, BoxArray, BoxArray]:
    """x / y = -x / -y: the divisor may be taken as positive; the sign that makes it so, and both boxes."""
    sign = np.where(right.high < 0, -1.0, 1.0)
    return sign, _apply_sign(left, sign), _apply_sign(right, sign)


def _apply_sign(box: BoxArray, sign: Array) -> BoxArray:
    return BoxArray(np.where(sign < 0, -box.high, box.low), np.where(sign < 0, -box.low, box.high))


def _mccormick_slopes(x: BoxArray, y: BoxArray) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """McCormick's two planes below x * w for w = 1 / y, exact at the least and at the largest x.

    There w meets its tangent in the middle of the box or, multiplied by a negative number, its chord.
    """
    middle = 0.5 * y.low + 0.5 * y.high
    tangent, chord = 1.0 / middle / middle, 1.0 / y.low / y.high

    def divisor_slope(factor: Array) -> Array:
        return -factor * np.where(factor >= 0, tangent, chord)

    return (1.0 / y.high, divisor_slope(x.low)), (1.0 / y.low, divisor_slope(x.high))


def _height_at_centre(plane: Plane, x: BoxArray, y: BoxArray) -> Array:
    of_x, of_y, constant = plane
    height: Array = of_x * (0.5 * x.low + 0.5 * x.high) + of_y * (0.5 * y.low + 0.5 * y.high) + constant
    return height


def _plane_of_slopes(x: BoxArray, y: BoxArray, slopes: tuple[Array, Array]) -> Plane:
    """The plane of these slopes, for y > 0: the difference is linear in x, so an end of x is the worst."""
    of_x, of_y = slopes
    constant = np.minimum(
        *(round_down(_least_difference(end, y, of_y) - round_up(of_x * end)) for end in (x.low, x.high))
    )
    return of_x, of_y, constant


def _least_difference(x: Array, y: BoxArray, slope: Array) -> Array:
    """A lower bound of x / y - slope * y over y > 0: concave for x <= 0, so least at an end, else convex."""
    ends = np.minimum(_difference_at(x, y.low, slope), _difference_at(x, y.high, slope))
    return np.where(x <= 0, ends, _least_convex_difference(x, y, slope))


def _difference_at(x: Array, y: Array, slope: Array) -> Array:
    """x / y - slope * y, rounded down."""
    return round_down(
        interval.PAIRING[Pairing.DIVIDE](BoxArray(x, x), BoxArray(y, y)).low - round_up(slope * y)
    )


def _least_convex_difference(x: Array, y: BoxArray, slope: Array) -> Array:
    """A convex function lies above each of its tangents; the flattest one touches near the minimum.

    At a touch point t the steepness is s = -x/t^2 - slope, and s * (y - t) is least at an end of y.
    """
    touch = _touch_point(x, y, slope)
    square = BoxArray(round_down(touch * touch), round_up(touch * touch))
    fall = interval.PAIRING[Pairing.DIVIDE](BoxArray(x, x), square)
    steepest_down, steepest_up = round_up(fall.high + slope), round_up(-fall.low - slope)
    after, before = (
        round_up(steepest_down * round_up(y.high - touch)),
        round_up(steepest_up * round_up(touch - y.low)),
    )
    loss = np.maximum(np.maximum(after, before), 0.0)
    return round_down(_difference_at(x, touch, slope) - loss)


def _touch_point(x: Array, y: BoxArray, slope: Array) -> Array:
    """Where x / y - slope * y is least, about; any point of y would do."""
    flat = np.where(slope < 0, np.sqrt(np.maximum(x, 0.0) / -slope), y.high)
    return np.clip(flat, y.low, y.high)
