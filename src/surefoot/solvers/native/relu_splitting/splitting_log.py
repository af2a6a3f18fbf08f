"""What was done to each sub-domain, and the steps of a certificate that say it (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log2

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.proof.steps import pack_slopes
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, Mask
from surefoot.solvers.native.relu_splitting.dual_bound import MULTIPLIER_GRID, NEAR, SLOPE_GRID, DualProblem
from surefoot.solvers.native.relu_splitting.neuron_bounds import ClippedBounds

_BYTES = 500_000_000  # a log that may take more is given up
_BYTES_OF_NEURON = 120  # in every sub-domain: a few rounds, each with slopes, bounds and phases


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """Of a batch: they give an inequality for, or close, the sub-domain of a row."""

    theta: Array
    phase: NDArray[np.int8]
    lower: Array
    row_weights: Array


@dataclass(frozen=True, slots=True)
class SplitEntry:
    """The node was divided by a neuron's sign or, at an input, into x <= value and x >= value + 1."""

    neuron: int  # -1: an input was divided
    input: int
    value: int
    below: int  # number of the child with the neuron off, or x <= value; the other one is the next number


@dataclass(frozen=True, slots=True, eq=False)
class DualEntry:
    """A cut, or with `closing` the end of a node."""

    of: Multipliers
    row: int
    closing: bool


@dataclass(frozen=True, slots=True, eq=False)
class BoundsEntry:
    """Bounds of neurons, from `start` to `end` in the arrays."""

    of: ClippedBounds
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NarrowedEntry:
    """The box followed from the sign of a neuron, and intervals followed from the box."""

    neuron: int
    phase: int


@dataclass(frozen=True, slots=True)
class IntervalsEntry:
    """Intervals followed from the box."""


@dataclass(frozen=True, slots=True)
class EmptyEntry:
    """Bounds contradict each other."""


Entry = SplitEntry | DualEntry | BoundsEntry | NarrowedEntry | IntervalsEntry | EmptyEntry


@dataclass(slots=True)
class SplittingLog:
    """A growing record; with `wanted` False nothing is kept."""

    wanted: bool
    neurons: int = 1
    entries: dict[int, list[Entry]] = field(default_factory=dict)
    nodes: int = 1

    def number(self, count: int) -> Indices:
        """Numbers of that many new nodes."""
        self.nodes += count
        if self.wanted and self.nodes * self.neurons * _BYTES_OF_NEURON > _BYTES:
            self.wanted = False
            self.entries.clear()
        return np.arange(self.nodes - count, self.nodes)

    def add(self, node: int, entry: Entry) -> None:
        if self.wanted:
            self.entries.setdefault(node, []).append(entry)

    def add_multipliers(self, nodes: Indices, of: Multipliers, chosen: Mask, *, closing: bool) -> None:
        """Cuts or ends of some sub-domains of a batch whose sub-domains have these numbers."""
        if self.wanted:
            for row in np.flatnonzero(chosen).tolist():
                self.add(int(nodes[row]), DualEntry(of, row, closing))

    def add_bounds(self, nodes: Indices, clipped: ClippedBounds) -> None:
        """Bounds of a batch whose sub-domains have these numbers."""
        if self.wanted and len(clipped.rows):
            ends = np.searchsorted(clipped.rows, np.arange(len(nodes) + 1)).tolist()
            for node, start, end in zip(nodes.tolist(), ends, ends[1:], strict=False):
                if end > start:
                    self.add(node, BoundsEntry(clipped, start, end))


@dataclass(frozen=True, slots=True, eq=False)
class CertificateNames:
    """How the certificate speaks of neurons and rows."""

    before: tuple[tuple[int, ...], ...]  # value before the ReLU, by layer and copy
    after: tuple[tuple[int, ...], ...]
    folded: bool  # the first layer is a function of free variables that differs from what the copies read
    atoms: tuple[tuple[int, int], ...]  # of every row its atom, and 1 or -1 for the other side of an equality


def certificate_steps(
    c: DualProblem, log: SplittingLog, names: CertificateNames, number: int = 0
) -> list[object]:
    """The whole proof, in preorder, about one set of atoms, which is the only one alive."""
    written = StepWriter(c, names)
    steps: list[object] = []
    waiting = [0]
    while waiting:
        for entry in log.entries.get(waiting.pop(), ()):
            match entry:
                case SplitEntry(neuron, place, value, below):
                    value_number, index = written.places[neuron] if neuron >= 0 else (0, place)
                    steps.append(["split", value_number, index, value])
                    waiting.extend((below + 1, below))
                case DualEntry(of, row, closing):
                    found = written.multipliers(of, row)
                    steps.append(["drop", [number], found] if closing else ["cut", [[[number], found]]])
                case BoundsEntry(of, start, end):
                    steps.extend(written.bounds(of, start, end))
                case NarrowedEntry(neuron, phase):
                    found = {"bounds": [[*written.places[neuron], -phase]]}
                    steps.append(["cut", [[[number], found]]])
                    steps.extend(written.intervals())
                case IntervalsEntry():
                    steps.extend(written.intervals())
                case EmptyEntry():
                    steps.append(["drop", [number], {}])
    return steps


class StepWriter:
    """Numbers of the search as those of the certificate: all multipliers times one power of two."""

    def __init__(self, c: DualProblem, names: CertificateNames) -> None:
        self.names = names
        self.factor = max(float(c.grid[0]), MULTIPLIER_GRID)
        self.power = round(log2(self.factor))
        self.widths, self.errors = c.problem.widths, c.errors
        self.known: dict[float, tuple[str, ...]] = {0.0: ()}
        # Of every neuron the value before its ReLU and the entry in it.
        self.places = [
            (value, index)
            for values, width in zip(names.before, self.widths, strict=True)
            for value in values
            for index in range(width)
        ]
        starts = [s.start for s in c.slices]
        self.blocks = [
            (str(value), slice(start + copy * width, start + (copy + 1) * width))
            for values, width, start in zip(names.after, self.widths, starts, strict=True)
            for copy, value in enumerate(values)
        ]

    def intervals(self) -> list[object]:
        """Bounds of all neurons from those of the inputs."""
        found: list[object] = []
        if self.names.folded:
            every = list(range(2 * self.widths[0]))  # of every entry both sides
            found.extend(["bound", value, every] for value in self.names.before[0])
        return [*found, ["forward", 1, self.names.before[-1][-1]]]

    def multipliers(self, of: Multipliers, row: int) -> dict[str, object]:
        theta, phase = of.theta[row], of.phase[row]
        found: dict[str, object] = {}
        atoms: dict[int, int] = {}
        for (atom, sign), weight in zip(self.names.atoms, of.row_weights[row].tolist(), strict=True):
            atoms[atom] = atoms.get(atom, 0) + sign * int(weight * self.factor)
        if any(atoms.values()):
            found["atoms"] = [[atom, weight] for atom, weight in atoms.items() if weight]
        split = np.flatnonzero((phase != 0) & (theta != 0.0))
        if len(split):
            numbers = (-phase[split] * theta[split] * self.factor).astype(np.int64).tolist()
            pairs = zip(split.tolist(), numbers, strict=True)
            found["bounds"] = [[*self.places[q], number] for q, number in pairs]
        unstable = phase == 0
        # A neuron that is off may be 0 everywhere for the checker: then it must be told which line is meant.
        told = unstable | ((phase < 0) & (of.lower[row] >= -NEAR * self.errors))
        if told.any():
            decided = np.where(of.lower[row] >= 0.0, SLOPE_GRID, 0.0)
            every = np.where(unstable, theta * SLOPE_GRID, decided).astype(np.uint8)
            found["slopes"] = {
                value: [pack_slopes(every[block].tobytes()), None]
                for value, block in self.blocks
                if told[block].any()
            }
        return found

    def bounds(self, of: ClippedBounds, start: int, end: int) -> list[object]:
        by_value: dict[int, list[object]] = {}
        neurons = of.neurons[start:end].tolist()
        lower = self._prices(of.lower_price[start:end], np.isfinite(of.lower[start:end]))
        upper = self._prices(of.upper_price[start:end], np.isfinite(of.upper[start:end]))
        for neuron, *prices in zip(neurons, lower, upper, strict=True):
            value, index = self.places[neuron]
            entries = by_value.setdefault(value, [])
            for side, price in enumerate(prices):
                if price is not None:
                    entries.append([index, side, *price] if price else 2 * index + side)
        return [["bound", value, entries] for value, entries in by_value.items()]

    def _prices(self, prices: Array, used: Mask) -> Iterator[tuple[str, ...] | None]:
        known = self.known
        for price, use in zip(prices.tolist(), used.tolist(), strict=True):
            if not use:
                yield None
            elif price in known:
                yield known[price]
            else:
                yield known.setdefault(price, (self._price_text(price),))

    def _price_text(self, price: float) -> str:
        """A positive number of few binary digits as a multiplier of the certificate's cut, exactly."""
        top, bottom = price.as_integer_ratio()
        return f"0x{top:x}p{1 - bottom.bit_length() - self.power}"
