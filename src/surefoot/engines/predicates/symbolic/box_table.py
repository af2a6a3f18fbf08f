"""Which of many boxes meet a box: one comparison of arrays, before cubes are intersected one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.symbolic.cubes import Cube, kind_range
from surefoot.network.directed_rounding import Array
from surefoot.term.interval import Kinds

ROUNDING = 1e-12  # more than an end moves when it becomes a float, for its size


@dataclass(frozen=True, slots=True)
class BoxTable:
    """The boxes of cubes, several of which may belong to one owner; rows and clauses do not count."""

    columns: dict[str, int]
    ranges: tuple[Array, Array]
    low: Array
    high: Array
    owners: NDArray[np.int64]
    number: int  # of owners

    @classmethod
    def of(cls, names: Sequence[str], kinds: Kinds, groups: Sequence[Sequence[Cube]]) -> BoxTable:
        """One owner for each group of cubes."""
        columns = {n: i for i, n in enumerate(names)}
        ends = [kind_range(kinds[n]) for n in names]
        ranges = (
            np.array([-inf if low is None else float(low) for low, _ in ends]),
            np.array([inf if high is None else float(high) for _, high in ends]),
        )
        boxes = [_box_ends(c, columns, ranges) for group in groups for c in group]
        owners = [n for n, group in enumerate(groups) for _ in group]
        shape = len(boxes), len(names)
        low = np.array([b[0] for b in boxes]).reshape(shape)
        high = np.array([b[1] for b in boxes]).reshape(shape)
        return cls(columns, ranges, low, high, np.array(owners, dtype=np.int64), len(groups))

    def owners_met(self, cubes: Sequence[Cube]) -> NDArray[np.bool_]:
        """Owner by owner: may one of its cubes have a point in common with one of these?"""
        found = np.zeros(self.number, dtype=np.bool_)
        for cube in cubes:
            low, high = _box_ends(cube, self.columns, self.ranges)
            met = (self.low <= high).all(axis=1) & (low <= self.high).all(axis=1)
            found[self.owners[met]] = True
        return found


def _box_ends(cube: Cube, columns: dict[str, int], ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """The box as floats, never smaller than it is."""
    low, high = ranges[0].copy(), ranges[1].copy()
    for name, (below, above) in cube.box.items():
        column = columns.get(name)
        if column is None:
            continue
        if below is not None:
            end = float(below)
            low[column] = max(low[column], end if below.denominator == 1 else end - ROUNDING * abs(end))
        if above is not None:
            end = float(above)
            high[column] = min(high[column], end if above.denominator == 1 else end + ROUNDING * abs(end))
    return low, high
