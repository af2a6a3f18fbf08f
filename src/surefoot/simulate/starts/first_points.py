"""Points of a linear region by HiGHS: its deepest point, and extreme points in random directions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.simulate.starts.linear_region import LinearRegion
from surefoot.solvers.linear_program import LinearProgram, ProgramSolution, ProgramStatus, solve_program

Floats = NDArray[np.float64]
REACH = (2.0**10, 2.0**20, 2.0**36)  # how far points without a limit are looked for, one after another
FLAT = 2e-10  # a region that is not deeper lies in a plane
_AXES = 16  # coordinates of which both ends are looked for
_RANDOM = 12  # further directions
_MILP_AXES = 6  # the same where there are whole numbers
_MILP_SECONDS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class FirstPoints:
    """`centre` only where there are no whole numbers; `flat`: rows with hardly any room, and how much."""

    extremes: Floats
    centre: Floats | None = None
    flat: tuple[tuple[int, float], ...] = ()


def find_first_points(region: LinearRegion, rng: np.random.Generator) -> tuple[FirstPoints, LinearRegion]:
    """Also the region, made bounded; `Unsupported` where HiGHS finds none."""
    for reach in REACH:
        within = limit_region(region, reach)
        low, high = within.low, within.high
        found = (_mixed_points if region.whole.any() else _real_points)(within, low, high, rng)
        if found is not None:
            return found, within
    raise Unsupported("no start state was found: HiGHS has no solution of the linear conditions")


def limit_region(region: LinearRegion, reach: float) -> LinearRegion:
    """The same region, with limits for coordinates that have none."""
    low = np.where(
        np.isinf(region.low), np.where(np.isinf(region.high), -reach, region.high - reach), region.low
    )
    high = np.where(
        np.isinf(region.high), np.where(np.isinf(region.low), reach, region.low + reach), region.high
    )
    units = np.eye(len(low))
    below, above = np.isinf(region.low), np.isinf(region.high)
    matrix = np.vstack([region.matrix, -units[below], units[above]])
    right = np.concatenate([region.right, -low[below], high[above]])
    return replace(region, matrix=matrix, right=right, low=low, high=high)


def _solve(
    cost: Floats, region: LinearRegion, low: Floats, high: Floats, depth: Floats | None = None
) -> ProgramSolution:
    """With `depth` there is one more column, which takes so much of each row."""
    matrix, right = region.matrix, region.right
    if depth is not None:
        matrix = np.column_stack([matrix, depth])
    below = np.full(len(right), -np.inf)
    if region.equations:
        place = {n: i for i, n in enumerate(region.names)}
        rows = np.zeros((len(region.equations), matrix.shape[1]))
        for number, form in enumerate(region.equations):
            for name, c in form.coefficients:
                rows[number, place[name]] = float(c)
        values = np.array([float(-form.constant) for form in region.equations])
        matrix, below, right = np.vstack([matrix, rows]), np.append(below, values), np.append(right, values)
    rows_used, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows_used, minlength=len(right)))]).astype(np.int32)
    whole = region.whole if region.whole.any() else None
    program = LinearProgram(
        cost, low, high, below, right, starts, columns.astype(np.int32), matrix[rows_used, columns], whole
    )
    if whole is None:
        return solve_program(program, feasibility=1e-10)
    return solve_program(program, seconds=_MILP_SECONDS, mip_max_nodes=50, mip_rel_gap=0.05)


def _real_points(
    region: LinearRegion, low: Floats, high: Floats, rng: np.random.Generator
) -> FirstPoints | None:
    norms = np.linalg.norm(region.matrix, axis=1)
    widths = high - low
    deepest = _solve(
        np.append(np.zeros(len(low)), -1.0),
        region,
        np.append(low, 0.0),
        np.append(high, float(max(1.0, widths.max(initial=1.0)))),
        norms,
    )
    if deepest.columns is None or deepest.status is not ProgramStatus.OPTIMAL:
        return None
    centre, depth = deepest.columns[:-1], float(deepest.columns[-1])
    if depth <= FLAT:
        flat = _rows_without_room(region, low, high, norms)
        if flat:
            return FirstPoints(centre[None, :], centre, flat)
    points = [centre, *_extreme_points(region, low, high, rng)]
    return FirstPoints(np.array(points), centre)


def _rows_without_room(
    region: LinearRegion, low: Floats, high: Floats, norms: Floats
) -> tuple[tuple[int, float], ...]:
    found: list[tuple[int, float]] = []
    for number, row in enumerate(region.matrix[: len(region.sources)]):
        if not norms[number]:
            continue
        best = _solve(row.copy(), region, low, high)
        room = float(region.right[number] - best.objective)
        if best.status is ProgramStatus.OPTIMAL and room <= 10 * FLAT * norms[number]:
            found.append((number, room * float(region.scales[number])))
    return tuple(found)


def _extreme_points(
    region: LinearRegion, low: Floats, high: Floats, rng: np.random.Generator
) -> list[Floats]:
    size = len(low)
    axes = rng.permutation(size)[: _MILP_AXES if region.whole.any() else _AXES]
    costs = [sign * np.eye(size)[axis] for axis in axes for sign in (1.0, -1.0)]
    costs += list(rng.standard_normal((_RANDOM, size)) / np.maximum(high - low, 1e-12))
    found = []
    for cost in costs:
        solution = _solve(cost, region, low, high)
        if solution.columns is not None and np.isfinite(solution.columns).all():
            found.append(solution.columns)
    return found


def _mixed_points(
    region: LinearRegion, low: Floats, high: Floats, rng: np.random.Generator
) -> FirstPoints | None:
    first = _solve(np.zeros(len(low)), region, low, high)
    if first.columns is None:
        return None
    points = [p.copy() for p in (first.columns, *_extreme_points(region, low, high, rng))]
    for point in points:
        point[region.whole] = np.rint(point[region.whole])
    return FirstPoints(np.array(points))
