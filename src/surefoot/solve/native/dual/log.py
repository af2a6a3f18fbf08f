"""What was done to each sub-domain, in an order in which a checker can follow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surefoot.network.outward import Array
from surefoot.solve.native.dual.layered import Indices

SLOPE_BITS, MULTIPLIER_BITS = 12, 24  # slopes are multiples of 2^-12, all other multipliers of 2^-24


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """Dyadic numbers as integers: slopes times 2^12, split multipliers and row weights times 2^24."""

    slopes: NDArray[np.uint16]  # one per neuron; of use for undecided neurons only
    split: Indices  # neurons with a multiplier
    multipliers: Indices
    row_weights: Indices


@dataclass(frozen=True, slots=True)
class Split:
    """The node was divided by a neuron's sign or, at an input, into x <= value and x >= value + 1."""

    node: int
    neuron: int  # -1: an input was divided
    input: int
    value: float
    below: int  # number of the child with the neuron off, or x <= value
    above: int


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk:
    """From here on the node has this box: its newest first-layer split or a dual cut implies it."""

    node: int
    low: Array
    high: Array
    cut: Multipliers | None


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """Nothing wanted is in the node: bounds contradict each other, or the dual bound is positive."""

    node: int
    bound: Multipliers | None  # None: some lower bound exceeds the upper one


@dataclass(slots=True)
class Log:
    """A growing record; with `wanted` False nothing is kept."""

    wanted: bool
    entries: list[Split | Shrunk | Closed] = field(default_factory=list)
    nodes: int = 1

    def number(self, count: int) -> Indices:
        """Numbers of that many new nodes."""
        self.nodes += count
        return np.arange(self.nodes - count, self.nodes)

    def add(self, entry: Split | Shrunk | Closed) -> None:
        if self.wanted:
            self.entries.append(entry)


def multipliers(theta: Array, phase: NDArray[np.int8], row_weights: Array) -> Multipliers:
    """The integers of one sub-domain's multipliers, which must be dyadic already."""
    split = np.flatnonzero((phase != 0) & (theta != 0.0))
    slopes = np.where(phase == 0, theta, 0.0) * 2**SLOPE_BITS
    return Multipliers(
        slopes.astype(np.uint16),
        split,
        (theta[split] * 2**MULTIPLIER_BITS).astype(np.int64),
        (row_weights * 2**MULTIPLIER_BITS).astype(np.int64),
    )


def dyadic(theta: Array, phase: Array | NDArray[np.int8], row_weights: Array) -> tuple[Array, Array]:
    """The nearest multipliers that the log can hold."""
    grid = np.where(phase == 0, 2.0**SLOPE_BITS, 2.0**MULTIPLIER_BITS)
    return np.rint(theta * grid) / grid, np.rint(row_weights * 2.0**MULTIPLIER_BITS) / 2.0**MULTIPLIER_BITS
