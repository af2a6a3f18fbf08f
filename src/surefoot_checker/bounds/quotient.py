"""Planes below and above a quotient x / y where y has one sign (docs/certificates.md, section 6).

Take y > 0: otherwise x / y = (-x) / (-y). With l <= x <= h, p <= y <= q and w = 1 / y, which is between 1 / q
and 1 / p, two products that are not negative give McCormick's planes:

    (x - l) (w - 1/q) >= 0, so x w >= x / q + l (w - 1/q)          (the first)
    (h - x) (1/p - w) >= 0, so x w >= x / p + h (w - 1/p)          (the second)

In them w has the factor c = l or c = h, and is replaced by a line below c w. With s = p + q:

    c >= 0: the tangent in the middle   w - (4 / s - 4 y / s^2) = (1 - 2 y / s)^2 / y >= 0
    c < 0: the chord                    (s - y) / (p q) - w = (y - p) (q - y) / (p q y) >= 0

Mixing the two planes by shares that sum up to 1 gives another one. Above: x / y = -((-x) / y).
"""

from __future__ import annotations

from .interval_propagation import corner_interval
from .subdomain import PrecisionGrid

Plane = tuple[int, int, int]  # slope of x, slope of y, constant: on the grid
Corners = tuple[int, int, int, int]  # bounds of x, bounds of y
WHOLE = 128  # the share of a plane that is all of it


def quotient_planes(
    grid: PrecisionGrid, box: Corners, below: int | None, above: int | None
) -> tuple[Plane, Plane]:
    """Below and above x / y, by shares of the second plane in 128; constants where none is given.

    The box of y does not contain 0: a state whose values may be undefined has been refused.
    """
    least, most = corner_interval(grid, "quotient", *box) if below is None or above is None else (0, 0)
    x_low, x_high, y_low, y_high = box
    under = (0, 0, least) if below is None else _plane_below(grid, box, below)
    if above is None:
        return under, (0, 0, most)
    of_x, of_y, constant = _plane_below(grid, (-x_high, -x_low, y_low, y_high), above)
    return under, (of_x, -of_y, -constant)


def _plane_below(grid: PrecisionGrid, box: Corners, share: int) -> Plane:
    x_low, x_high, y_low, y_high = box
    if y_low > 0:
        return _mix_planes(grid, box, share)
    of_x, of_y, constant = _mix_planes(grid, (-x_high, -x_low, -y_high, -y_low), share)
    return -of_x, -of_y, constant


def _mix_planes(grid: PrecisionGrid, box: Corners, share: int) -> Plane:
    """Below x / y for y > 0: both planes, mixed, with slopes rounded down to the grid.

    Each slope is rounded down by less than one unit, and by less than one more where planes are mixed. That
    lowers the plane for positive numbers, so y loses nothing, and raises it by less than 2 |x| units where x
    is negative. Constants are in units of the grid squared until that has been taken off.
    """
    low, high, near, far = box
    first, second = _mccormick_plane(grid, low, near, far, far), _mccormick_plane(grid, high, near, far, near)
    of_x, of_y, constant = (a * (WHOLE - share) + b * share for a, b in zip(first, second, strict=True))
    lost = 2 * max(-low, 0)
    return of_x >> 7, of_y >> 7, ((constant >> 7) - lost) >> grid.bits


def _mccormick_plane(grid: PrecisionGrid, factor: int, near: int, far: int, end: int) -> Plane:
    """x / end + factor (line - 1 / end), the line being below factor / y for y from near to far, all > 0.

    For the tangent the constant is factor (4 / s - 1 / end), for the chord factor (s / (near far) - 1 / end),
    which is factor / near or factor / far, whichever is not `end`.
    """
    twice = 2 * grid.bits
    total, product = near + far, near * far
    of_x = (1 << twice) // end
    if factor >= 0:
        of_y = (-4 * factor << twice) // (total * total)
        return of_x, of_y, (factor * (4 * end - total) << twice) // (total * end)
    return of_x, (-factor << twice) // product, (factor << twice) // (product // end)
