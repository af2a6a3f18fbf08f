"""What one batch of bounds says about the sets of atoms, and how such views are joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.network.back_substitution import Planes
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.bounding.plane_combination import (
    ascend_multipliers,
    combine_planes,
    contract_by_planes,
)
from surefoot.solvers.native.bounding.slope_ascent import BestPlane, ascend_slopes, below_slopes
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.goal_cubes import GoalCubes, holding_rows

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
