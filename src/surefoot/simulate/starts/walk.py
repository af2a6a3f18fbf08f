"""Hit-and-run on coordinates of a linear region, many walkers at once; each of them becomes a start.

A walker draws a direction and then a point of the chord of the region through itself: a real number of times
a direction of real numbers, or a whole number of times a step of the lattice of whole solutions. Half of the
walkers move while directions come from differences of the other half, which have the shape of the region,
however thin it is. Where further conditions have to hold, a point that does not meet them becomes the end of
the chord and another one is drawn (as in slice sampling), so that a walker never leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.simulate.starts.first_points import FirstPoints
from surefoot.simulate.starts.linear_region import LinearRegion

Floats = NDArray[np.float64]
Holds: TypeAlias = Callable[[Floats, NDArray[np.int64]], NDArray[np.bool_]]  # points of these walkers
LEAST_WALKERS = 128
_SHRINKS = 10
_INSIDE = 1.0 - 1e-6  # share of the way from the centre that surely stays within


def spread_walkers(region: LinearRegion, first: FirstPoints, count: int, rng: np.random.Generator) -> Floats:
    """Mixtures of the first points; with whole numbers the points themselves."""
    points = first.extremes
    if first.centre is None:
        return np.asarray(points[rng.integers(len(points), size=count)])
    few = min(len(points), 4)
    chosen = np.argsort(rng.random((count, len(points))), axis=1)[:, :few]
    weights = rng.dirichlet(np.ones(few), size=count)
    mixed = np.einsum("ij,ijk->ik", weights, points[chosen])
    return np.asarray(first.centre + _INSIDE * (mixed - first.centre))


def steps_to_mix(region: LinearRegion) -> int:
    return min(400, 30 + 10 * region.dimension)


def walk_region(
    region: LinearRegion,
    walkers: Floats,
    steps: int,
    rng: np.random.Generator,
    holds: Holds | None = None,
) -> Floats:
    """Where the walkers are after so many steps of each."""
    points = walkers.copy()
    everyone = np.arange(len(points))
    for _ in range(steps):
        for half in (0, 1):
            mine, others = everyone[half::2], everyone[1 - half :: 2]
            if len(mine) and len(others):
                _move(region, points, mine, others, rng, holds)
    return points


def _move(
    region: LinearRegion,
    points: Floats,
    mine: NDArray[np.int64],
    others: NDArray[np.int64],
    rng: np.random.Generator,
    holds: Holds | None,
) -> None:
    here = points[mine]
    direction, jumps = _draw_directions(region, here, points[others], rng)
    low, high = _chords(region, here, direction, rng)
    if jumps.any():
        low[jumps], high[jumps] = np.ceil(low[jumps] - 1e-9), np.floor(high[jumps] + 1e-9)
    waiting = np.arange(len(mine))
    for _ in range(1 if holds is None else _SHRINKS):
        a, b = low[waiting], high[waiting]
        shares = rng.random(len(waiting))
        times = a + shares * (b - a)
        whole = jumps[waiting]
        times[whole] = a[whole] + np.floor(shares[whole] * (b[whole] - a[whole] + 1))
        there = here[waiting] + times[:, None] * direction[waiting]
        there[:, region.whole] = np.rint(there[:, region.whole])
        fine = np.ones(len(waiting), dtype=np.bool_) if holds is None else holds(there, mine[waiting])
        points[mine[waiting[fine]]] = there[fine]
        bad, times, whole = waiting[~fine], times[~fine], whole[~fine]
        below = times < 0
        low[bad] = np.where(below, times + whole, low[bad])
        high[bad] = np.where(below, high[bad], times - whole)
        waiting = bad[times != 0]
        if not len(waiting):
            return


def _draw_directions(
    region: LinearRegion, here: Floats, others: Floats, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]]:
    """A direction for each walker, and whether it may be taken a whole number of times only."""
    count, reals, steps = len(here), region.reals, len(region.lattice)
    first, second = rng.integers(len(others), size=(2, count))
    direction = others[first] - others[second]
    kind = rng.random(count)
    jumps = np.zeros(count, dtype=np.bool_)
    if reals:
        alone = kind < 0.3  # one coordinate
        direction[alone] = 0.0
        direction[alone, rng.integers(reals, size=int(alone.sum()))] = 1.0
        noisy = (kind >= 0.3) & (kind < 0.4)
        widths = np.ptp(others[:, :reals], axis=0)
        direction[noisy, :reals] = rng.standard_normal((int(noisy.sum()), reals)) * np.where(
            widths > 0, widths, 1.0
        )
    if steps:
        jumps = (rng.random(count) < steps / (steps + reals)) if reals else np.ones(count, dtype=np.bool_)
        direction[~jumps, reals:] = 0.0
        basis = jumps & (rng.random(count) < 0.7)
        some = int(basis.sum())
        chosen = region.lattice[rng.integers(steps, size=some)]
        again = rng.integers(-1, 2, size=some)[:, None] * (rng.random(some) < 0.5)[:, None]
        direction[basis] = chosen + again * region.lattice[rng.integers(steps, size=some)]
    elif region.whole.any():
        direction[:, reals:] = 0.0
    return direction, jumps


def _chords(
    region: LinearRegion, here: Floats, direction: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """From where to where each walker may go; where nothing limits it, up to a random distance."""
    slack = region.right - here @ region.matrix.T
    rate = direction @ region.matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.maximum(slack, 0.0) / rate
    high = np.where(rate > 1e-14, times, np.inf).min(axis=1, initial=np.inf)
    low = np.where(rate < -1e-14, times, -np.inf).max(axis=1, initial=-np.inf)
    sizes = np.abs(direction).max(axis=1, initial=0.0)
    far = 2.0 ** rng.uniform(0, 11, size=len(here)) / np.where(sizes > 0, sizes, 1.0)
    low, high = np.where(np.isinf(low), -far, low), np.where(np.isinf(high), far, high)
    still = (sizes == 0) | (low > high)
    low[still], high[still] = 0.0, 0.0
    return low, high
