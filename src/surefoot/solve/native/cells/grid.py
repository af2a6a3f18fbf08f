"""A network tabulated on a grid of integers, and counts of the points that satisfy a demand in any box.

Outputs are kept as float32 numbers with a radius per chunk of points. For a demand every point has a code;
prefix sums over all axes (summed-area tables) give the number of YES and of doubtful points in a box from
its 2^axes corners.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surefoot.network.outward import Array
from surefoot.problem.network import Array32, Network
from surefoot.solve.native.cells.arrange import Demand
from surefoot.solve.native.cells.points import CHUNK, UNCLEAR, Codes, closer, judged, together
from surefoot.solve.native.cells.questions import Numbers

AXES = 8  # most axes of a table; a count reads 2^axes numbers
_STORED = 2.0**-24  # relative error of a stored output
_WIDE = 1 << 32  # counts of doubtful points are kept in the upper half of a number
_STEP = 16 * CHUNK


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All points low .. low + shape - 1, the last axis fastest. Codes of demands are remembered."""

    network: Network
    float32: bool
    low: Array
    shape: tuple[int, ...]
    outputs: Array32  # (outputs, points)
    radius: Array  # (outputs, chunks): of the stored outputs
    memory: int  # bytes that remembered codes may take
    remembered: dict[bytes, Tally] = field(default_factory=dict)

    def numbers(self, points: Array) -> Numbers:
        """The positions of points in the table."""
        places = (points - self.low).astype(np.int64)
        return places @ np.array(strides(self.shape), dtype=np.int64)

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
        return demand.key() in self.remembered

    def at(self, numbers: Numbers) -> tuple[Array, Array]:
        """Outputs and radii of some points, one column each."""
        return self.outputs[:, numbers].astype(np.float64), self.radius[:, numbers // CHUNK]

    @property
    def size(self) -> int:
        return int(self.outputs.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The codes of all points for one demand, and their prefix sums (None: not worth it)."""

    codes: Codes
    sums: NDArray[np.int64]
    axes: tuple[int, ...]  # those with more than one point
    steps: tuple[int, ...]  # of the sums, per axis

    def counts(self, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
        """How many points of each box (places first .. last) are YES, and how many are doubtful."""
        index = np.zeros((1, len(first)), dtype=np.int64)
        signs = np.ones(1, dtype=np.int64)
        for axis, step in zip(self.axes, self.steps, strict=True):
            index = np.concatenate([index + first[:, axis] * step, index + (last[:, axis] + 1) * step])
            signs = np.concatenate([-signs, signs])
        totals = signs @ self.sums[index]
        return totals % _WIDE, totals // _WIDE


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    found = [1]
    for extent in shape[:0:-1]:
        found.append(found[-1] * extent)
    return tuple(found[::-1])


def bytes_needed(network: Network, size: int) -> int:
    """Of a table and the tally of one demand."""
    return size * (4 * network.outputs + 1 + 8 + 8)


def tabulated(network: Network, low: Array, high: Array, float32: bool, memory: int = 1 << 29) -> Table:
    """The network at every integer point of a box."""
    shape = tuple(int(n) for n in (high - low + 1).tolist())
    size = int(np.prod(shape))
    outputs = np.empty((network.outputs, size), dtype=np.float32)
    radius = np.empty((network.outputs, -(-size // CHUNK)))
    places, extents = np.array(strides(shape), dtype=np.int64), np.array(shape)
    for chunk, start in enumerate(range(0, size, CHUNK)):
        numbers = np.arange(start, min(start + CHUNK, size))
        found, reach = together(network, low + (numbers[:, None] // places) % extents, float32)
        with np.errstate(over="ignore"):
            outputs[:, start : start + CHUNK] = found
        most = np.maximum(found.max(axis=1), -found.min(axis=1))
        radius[:, chunk] = (reach + most * _STORED + 2.0**-149) * (1.0 + 2.0**-40)
    for array in (outputs, radius):
        array.setflags(write=False)
    return Table(network, float32, low, shape, outputs, radius, memory)


def tallied(table: Table, demand: Demand) -> Tally:
    """Codes and counts of a demand, remembered while memory lasts."""
    key = demand.key()
    known = table.remembered.get(key)
    if known is not None:
        return known
    tally = _sums(_codes(table, demand), table.shape)
    each = tally.codes.nbytes + tally.sums.nbytes
    if (len(table.remembered) + 1) * each <= table.memory:
        table.remembered[key] = tally
    return tally


def _codes(table: Table, demand: Demand) -> Codes:
    size = table.size
    codes = np.empty(size, dtype=np.uint8)
    reads = bool(demand.inputs.any())
    nowhere = np.zeros((1, len(table.low)))
    for chunk, start in enumerate(range(0, size, CHUNK)):
        part = slice(start, min(start + CHUNK, size))
        outputs = table.outputs[:, part].astype(np.float64)
        points = table.points(np.arange(part.start, part.stop)) if reads else nowhere
        codes[part] = judged(demand, points, outputs, table.radius[:, chunk])
    unclear = np.flatnonzero(codes == UNCLEAR)
    for start in range(0, len(unclear), _STEP):
        some = unclear[start : start + _STEP]
        codes[some] = closer(table.network, demand, table.points(some), table.float32)
    return codes


def _sums(codes: Codes, shape: tuple[int, ...]) -> Tally:
    axes = tuple(i for i, n in enumerate(shape) if n > 1) or (0,)
    extents = tuple(shape[i] for i in axes)
    weights = np.array([0, 1, _WIDE, _WIDE], dtype=np.int64)  # NO, YES, UNCLEAR, EITHER
    sums = np.zeros([n + 1 for n in extents], dtype=np.int64)
    inner = sums[(slice(1, None),) * len(axes)]
    inner[...] = weights[codes].reshape(extents)
    for axis in range(len(axes)):
        np.cumsum(inner, axis=axis, out=inner)
    return Tally(codes, sums.reshape(-1), axes, strides(tuple(n + 1 for n in extents)))
