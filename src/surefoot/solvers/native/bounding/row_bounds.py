"""What one batch of bounds says about each set of atoms: refuted, or a smaller box where it may hold.

A set is a conjunction of planes that cannot all be <= 0 on a box if a combination of them stays positive. Any
non-negative multipliers are sound, since the planes are rigorous; good ones are found by a few steps of
exponentiated gradient ascent on the minimum of their combination over the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.back_substitution import Planes
from surefoot.network.directed_rounding import Array, BoxArray, gamma_factor
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.bounding.slope_ascent import ascend_slopes, below_slopes
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.goal_cubes import GoalCubes, holding_rows
from surefoot.solvers.native.relu_chain.bound_arrays import BestPlane

_STEPS = (14, 20)  # of improvement of a plane; by machine code, where they cost little
_STEPS_ALONE = 8  # where it is below a single row, so that there are no multipliers to improve
_FIRST_STEPS = (12, 0)  # of improvement of the multipliers alone, before
_SLOPE = 0.1  # how much the slope of a plane counts for the choice of a split


@dataclass(frozen=True, slots=True, eq=False)
class CubeBounds:
    """What a set of atoms says about the boxes of a batch, for those where it was alive (`here`)."""

    number: int
    here: Mask
    closed: Mask  # no point of the box satisfies it
    real: Mask  # ... at least in real arithmetic
    row: Array  # multipliers of the atoms that say so, or nearly
    below: dict[int, Array]  # slopes below ReLUs that go with them
    box: BoxArray  # where it can be satisfied
    slopes: Array  # how much each input matters
    worst: Array  # the point that is hardest to refute


def bound_cube(
    sets: GoalCubes, number: int, found: NetworkBounds, planes: Planes, least: Array, fails: Mask, here: Mask
) -> CubeBounds:
    """Look at one set: refute it by single atoms, then by the best combination found."""
    rows = sets.of_set[number]
    if not rows.size:
        return _initial_cube_bounds(number, found, fails, here)
    alone = here & fails[:, list(sets.sets[number])].any(axis=1)
    rest = here & ~alone
    if rest.all():
        part = Planes(planes.coefficients[:, rows], planes.constant[:, rows])
        return _refute_by_combination(sets, number, found, part, least[:, rows], here)
    made = _initial_cube_bounds(number, found, fails, here)
    _refute_by_atom(sets, made, least, alone)
    if rest.any():
        part = Planes(planes.coefficients[rest][:, rows], planes.constant[rest][:, rows])
        some = _refute_by_combination(sets, number, found.pick(rest), part, least[rest][:, rows], here[rest])
        made.closed[rest], made.real[rest], made.row[rest] = some.closed, some.real, some.row
        for value_number, slopes in some.below.items():
            made.below[value_number][rest] = slopes
        made.box.low[rest], made.box.high[rest] = some.box.low, some.box.high
        made.slopes[rest], made.worst[rest] = some.slopes, some.worst
    return made


def _initial_cube_bounds(number: int, found: NetworkBounds, fails: Mask, here: Mask) -> CubeBounds:
    """A view that has not seen anything yet."""
    whole = found.boxes[0]
    return CubeBounds(
        number,
        here,
        np.zeros_like(here),
        np.zeros_like(here),
        np.zeros(fails.shape),
        {v: slopes.copy() for v, slopes in below_slopes(found).items()},
        BoxArray(whole.low.copy(), whole.high.copy()),
        np.zeros_like(whole.low),
        0.5 * (whole.low + whole.high),
    )


def _refute_by_atom(sets: GoalCubes, made: CubeBounds, least: Array, alone: Mask) -> None:
    """The row with the largest minimum, relative to its size, is the refutation."""
    rows = sets.of_set[made.number]
    best = rows[np.argmax(least[:, rows], axis=1)]
    made.row[alone] = sets.rows[best[alone]]
    made.closed[alone] = made.real[alone] = True


def _refute_by_combination(
    sets: GoalCubes, number: int, some: NetworkBounds, part: Planes, least: Array, here: Mask
) -> CubeBounds:
    """By the best combination of the atoms of a set; `here`: everywhere."""
    rows, box = sets.of_set[number], some.boxes[0]
    own = sets.rows[rows]
    idle = holding_rows(own, some) if rows.size > 1 else np.zeros((len(box.low), 1), dtype=np.bool_)
    by_machine = some.sheet is not None
    share, scale = ascend_multipliers(part, box, idle, _FIRST_STEPS[by_machine])
    steps = _STEPS[by_machine] if rows.size > 1 else _STEPS_ALONE
    best = ascend_slopes(some, own, share, scale, steps)
    plane, value, shrunk = best.plane, best.value, box
    if by_machine:  # the ascent starts with the combination, and steps of a proof decide what is cut off
        closed = value > 0
    else:
        plane = combine_planes(part, share * scale, box)
        plane, value = _tighter_plane(plane, plane.minimum(box)[:, 0], best.plane, best.value)
        every = Planes(
            np.concatenate([part.coefficients, plane.coefficients], axis=1),
            np.concatenate([part.constant, plane.constant], axis=1),
        )
        shrunk = contract_by_planes(every, np.concatenate([least, value[:, None]], axis=1), box)
        closed = (value > 0) | shrunk.empty
    slope = plane.coefficients[:, 0]
    return CubeBounds(
        number,
        here,
        closed,
        closed | _refutes_in_reals(some, best),
        best.row,
        best.slopes,
        shrunk,
        best.gain + _SLOPE * np.abs(slope),
        np.where(slope > 0, shrunk.low, shrunk.high),
    )


def _refutes_in_reals(some: NetworkBounds, best: BestPlane) -> Mask:
    """Whether the best plane refutes without the rounding of float32."""
    if not some.radii or not ((best.height > 0) & (best.value <= 0)).any():
        return best.value > 0
    least = some.with_slopes(best.slopes).in_reals().least(best.row[:, None])[1]
    return np.asarray(least[:, 0] > 0)


def _tighter_plane(plane: Planes, value: Array, other: Planes, other_value: Array) -> tuple[Planes, Array]:
    """Of two planes per box the one with the larger minimum."""
    chosen = other_value > value
    return (
        Planes(
            np.where(chosen[:, None, None], other.coefficients, plane.coefficients),
            np.where(chosen[:, None], other.constant, plane.constant),
        ),
        np.where(chosen, other_value, value),
    )


def merge_cube_bounds(box: BoxArray, views: list[CubeBounds], alive: Mask) -> tuple[BoxArray, Array]:
    """The hull of what the living sets leave, and the steepest slopes among them."""
    low, high = np.full_like(box.low, np.inf), np.full_like(box.high, -np.inf)
    slopes = np.zeros_like(box.low)
    for view in views:
        there = alive[:, view.number][:, None]
        low = np.where(there, np.minimum(low, view.box.low), low)
        high = np.where(there, np.maximum(high, view.box.high), high)
        slopes = np.where(there, np.maximum(slopes, np.abs(view.slopes)), slopes)
    return BoxArray(low, high), slopes


def ascend_multipliers(planes: Planes, box: BoxArray, idle: Mask, steps: int) -> tuple[Array, Array]:
    """Shares and scales per batch member: their products are multipliers for which the minimum is large.

    The scales make planes comparable, those of idle planes are zero; the shares sum up to 1.
    """
    batch, count = planes.constant.shape
    coefficients, constant = (
        planes.coefficients,
        np.where(np.isfinite(planes.constant), planes.constant, -1e300),
    )
    if count == 1:
        return np.ones((batch, 1)), np.where(idle, 0.0, 1.0)
    spread = (np.abs(coefficients) * (box.high - box.low)[:, None]).sum(-1)
    scale = 1.0 / np.maximum(spread, 1e-300)  # so that steep planes do not drown flat ones
    scale = np.where(idle, 0.0, np.clip(scale / scale.max(axis=1, keepdims=True), 1e-9, 1.0))
    share = np.full((batch, count), 1.0 / count)
    best, found = share.copy(), np.full(batch, -np.inf)
    with np.errstate(all="ignore"):
        for step in range(steps):
            weights = share * scale
            slope = np.matmul(weights[:, None], coefficients)[:, 0]
            worst = np.where(slope > 0, box.low, box.high)
            heights = (np.matmul(coefficients, worst[..., None])[..., 0] + constant) * scale
            value = (share * heights).sum(axis=1)
            better = value > found
            best[better], found[better] = share[better], value[better]
            centred = np.where(idle, 0.0, heights - value[:, None])
            rate = 3.0 * (1.0 - step / steps)
            share = share * np.exp(rate * centred / (np.abs(centred).max(axis=1, keepdims=True) + 1e-300))
            share = np.where(idle, 1e-12, np.maximum(share, 1e-6))
            share /= share.sum(axis=1, keepdims=True)
    return best, scale


def combine_planes(planes: Planes, weights: Array, box: BoxArray) -> Planes:
    """One plane per batch member below the weighted sum; the rounding of the sum is taken off."""
    with np.errstate(all="ignore"):
        usable = np.where(weights > 0, planes.constant, 0.0)
        coefficients = np.matmul(weights[:, None], planes.coefficients)
        constant = (weights * usable).sum(axis=1)
        size = np.matmul(weights[:, None], np.abs(planes.coefficients))[:, 0]
        error = gamma_factor(weights.shape[1] + 2) * (
            (size * box.magnitude).sum(axis=1) + (weights * np.abs(usable)).sum(axis=1)
        )
        # Twice, for the rounding of the error itself and of the last subtraction.
        constant = constant - 2.0 * error - gamma_factor(1) * np.abs(constant) - 2.0**-900
        constant = np.where(np.isfinite(constant), constant, -np.inf)
    return Planes(coefficients, constant[:, None])


def contract_by_planes(planes: Planes, least: Array, box: BoxArray) -> BoxArray:
    """The part of each box in which every plane can be <= 0, rounded outward; `least` is their minimum."""
    room = np.where(np.isfinite(least), np.maximum(-least, 0.0), np.inf)
    with np.errstate(all="ignore"):
        reach = room[..., None] / np.abs(planes.coefficients)
        reach = np.where(np.isnan(reach), np.inf, reach) * (1.0 + 2.0**-50)
        positive, negative = planes.coefficients > 0, planes.coefficients < 0
        # Twice outward: the division and the sum are each off by one rounding.
        upper = np.nextafter(np.nextafter(box.low[:, None] + reach, np.inf), np.inf)
        lower = np.nextafter(np.nextafter(box.high[:, None] - reach, -np.inf), -np.inf)
    high = np.minimum(box.high, np.where(positive, upper, np.inf).min(axis=1))
    low = np.maximum(box.low, np.where(negative, lower, -np.inf).max(axis=1))
    return BoxArray(low, high)
