"""A network tabulated on a grid of integers, and counts of the points that satisfy a demand in any box.

Outputs are kept as float32 numbers with a radius per chunk of points. For a demand every point has a code;
prefix sums over all axes (summed-area tables) give the number of YES and of doubtful points in a box from
its 2^axes corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.network.directed_rounding import Array
from surefoot.problem.network import Array32, Network
from surefoot.solvers.native.batch_queries.point_evaluation import (
    CHUNK,
    UNCLEAR,
    Codes,
    evaluate_chunk,
    judge_points,
    judge_points_closely,
)
from surefoot.solvers.native.batch_queries.queries import Numbers
from surefoot.solvers.native.batch_queries.query_rows import Demand

MOST = 1e9  # points of a table
AXES = 8  # most axes of a table; a count reads 2^axes numbers
_STORED = 2.0**-24  # relative error of a stored output
_WIDE = 1 << 32  # counts of doubtful points are kept in the upper half of a number
_STEP = 16 * CHUNK


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """All points low .. low + shape - 1, the last axis fastest. Codes of demands are remembered."""

    network: Network
    float32: bool
    low: Array
    shape: tuple[int, ...]
    outputs: Array32  # (outputs, points)
    radius: Array  # (outputs, chunks): of the stored outputs
    memory: int  # bytes that remembered tallies may take
    tallies: DemandTallies

    def numbers(self, points: Array) -> Numbers:
        """The positions of points in the table."""
        places = (points - self.low).astype(np.int64)
        return places @ np.array(_axis_strides(self.shape), dtype=np.int64)

    def points(self, numbers: Numbers) -> Array:
        places = np.stack(np.unravel_index(numbers, self.shape), axis=-1)
        return self.low + places

    def covers(self, low: Array, high: Array) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = ((low >= self.low) & (high <= self.low + np.array(self.shape) - 1)).all(
            axis=-1
        )
        return inside

    def knows(self, demand: Demand) -> bool:
        """Whether a demand has been tallied already."""
        return demand.key() in self.tallies.slots

    def at(self, numbers: Numbers) -> tuple[Array, Array]:
        """Outputs and radii of some points, one column each."""
        return self.outputs[:, numbers].astype(np.float64), self.radius[:, numbers // CHUNK]

    @property
    def size(self) -> int:
        return int(self.outputs.shape[1])


@dataclass(slots=True, eq=False)
class DemandTallies:
    """A cache: the codes of all points for several demands, one slot each, and their prefix sums."""

    axes: tuple[int, ...]  # those with more than one point
    steps: tuple[int, ...]  # of the sums, per axis
    codes: Codes  # (slots, points)
    sums: NDArray[np.int64]  # (slots, corners)
    slots: dict[bytes, int] = field(default_factory=dict)

    def counts(self, slot: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
        """How many points of each box (places first .. last) are YES, and how many are doubtful."""
        index, signs = (slot * self.sums.shape[1])[None], np.ones(1, dtype=np.int64)
        for axis, step in zip(self.axes, self.steps, strict=True):
            index = np.concatenate([index + first[:, axis] * step, index + (last[:, axis] + 1) * step])
            signs = np.concatenate([-signs, signs])
        totals = signs @ self.sums.reshape(-1)[index]
        return totals % _WIDE, totals // _WIDE

    def grow(self, slots: int) -> None:
        """Room for that many slots."""
        more = slots - len(self.codes)
        if more > 0:
            self.codes = np.concatenate([self.codes, np.empty((more, self.codes.shape[1]), dtype=np.uint8)])
            self.sums = np.concatenate([self.sums, np.zeros((more, self.sums.shape[1]), dtype=np.int64)])


def _axis_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    found = [1]
    for extent in shape[:0:-1]:
        found.append(found[-1] * extent)
    return tuple(found[::-1])


def bytes_needed(network: Network, size: int) -> int:
    """Of a table and the tally of one demand."""
    return size * (4 * network.outputs + 1 + 8 + 8)


def tabulate_network(
    network: Network, low: Array, high: Array, float32: bool, memory: int = 1 << 29
) -> OutputTable:
    """The network at every integer point of a box."""
    low, high = np.ceil(np.asarray(low, dtype=np.float64)), np.floor(np.asarray(high, dtype=np.float64))
    if low.shape != (network.width,) or high.shape != low.shape or not (low <= high).all():
        raise InvalidProblem(f"a table of this network needs a box of {network.width} integers")
    if float((high - low + 1.0).prod()) > MOST:
        raise InvalidProblem(f"a table of more than {MOST:.0e} points would not fit into memory")
    shape = tuple(int(n) for n in (high - low + 1).tolist())
    size = int(np.prod(shape))
    outputs = np.empty((network.outputs, size), dtype=np.float32)
    radius = np.empty((network.outputs, -(-size // CHUNK)))
    places, extents = np.array(_axis_strides(shape), dtype=np.int64), np.array(shape)
    for chunk, start in enumerate(range(0, size, CHUNK)):
        numbers = np.arange(start, min(start + CHUNK, size))
        found, reach = evaluate_chunk(network, low + (numbers[:, None] // places) % extents, float32)
        with np.errstate(over="ignore"):
            outputs[:, start : start + CHUNK] = found
        most = np.maximum(found.max(axis=1), -found.min(axis=1))
        radius[:, chunk] = (reach + most * _STORED + 2.0**-149) * (1.0 + 2.0**-40)
    for array in (outputs, radius):
        array.setflags(write=False)
    axes = tuple(i for i, n in enumerate(shape) if n > 1) or (0,)
    corners = tuple(shape[i] + 1 for i in axes)
    tallies = DemandTallies(
        axes,
        _axis_strides(corners),
        np.empty((0, size), dtype=np.uint8),
        np.empty((0, int(np.prod(corners))), dtype=np.int64),
    )
    return OutputTable(network, float32, low, shape, outputs, radius, memory, tallies)


def most_slots(table: OutputTable) -> int:
    """How many demands may be remembered; one always."""
    tallies = table.tallies
    return max(1, int(table.memory // (tallies.codes.shape[1] + 8 * tallies.sums.shape[1])))


def tally_demands(table: OutputTable, demands: Sequence[Demand]) -> list[int]:
    """The slots of these demands, at most `most_slots` of them; older ones are forgotten if need be."""
    tallies, most = table.tallies, most_slots(table)
    keys = [d.key() for d in demands]
    fresh = {k for k in keys if k not in tallies.slots}
    if len(tallies.slots) + len(fresh) > most:
        tallies.slots.clear()
        fresh = set(keys)
    tallies.grow(min(most, len(tallies.slots) + len(fresh)))
    for key, demand in zip(keys, demands, strict=True):
        if key not in tallies.slots:
            slot = len(tallies.slots)
            tallies.codes[slot] = _demand_codes(table, demand)
            _compute_prefix_sums(table, slot)
            tallies.slots[key] = slot
    return [tallies.slots[k] for k in keys]


def _demand_codes(table: OutputTable, demand: Demand) -> Codes:
    size = table.size
    codes = np.empty(size, dtype=np.uint8)
    reads = bool(demand.inputs.any())
    nowhere = np.zeros((1, len(table.low)))
    for chunk, start in enumerate(range(0, size, CHUNK)):
        part = slice(start, min(start + CHUNK, size))
        outputs = table.outputs[:, part].astype(np.float64)
        points = table.points(np.arange(part.start, part.stop)) if reads else nowhere
        codes[part] = judge_points(demand, points, outputs, table.radius[:, chunk])
    unclear = np.flatnonzero(codes == UNCLEAR)
    for start in range(0, len(unclear), _STEP):
        some = unclear[start : start + _STEP]
        codes[some] = judge_points_closely(table.network, demand, table.points(some), table.float32)
    return codes


def _compute_prefix_sums(table: OutputTable, slot: int) -> None:
    """The prefix sums of a slot from its codes."""
    tallies = table.tallies
    extents = [table.shape[i] for i in tallies.axes]
    weights = np.array([0, 1, _WIDE, _WIDE], dtype=np.int64)  # NO, YES, UNCLEAR, EITHER
    sums = tallies.sums[slot].reshape([n + 1 for n in extents])
    inner = sums[(slice(1, None),) * len(extents)]
    inner[...] = weights[tallies.codes[slot]].reshape(extents)
    for axis in range(len(extents)):
        np.cumsum(inner, axis=axis, out=inner)
