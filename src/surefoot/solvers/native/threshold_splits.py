"""Where to split a box whose network has decision trees: at their thresholds, so that leaves fall away.

A threshold of a tree is one of an input where the tree reads a function a x + b of a single input. A real
input that float32 rounds may be on either side of it within the rounding: there are two places to split, a
little below and a little above, and between them both leaves stay possible. A box without such a place is
halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.network.float32_error import SMALLEST, UNIT32
from surefoot.problem.network import Affine, Constant, Elementwise, Join, Network, Pick
from surefoot.problem.tree_ensemble import TreeEnsemble, sorted_thresholds
from surefoot.solvers.native.compiled_query import CompiledQuery

_ROOM = 1.25  # for the rounding of the rounding itself
_FINE = 2.0**-44  # relative: less is no room for the arithmetic of bounds and of a reader of proofs


@dataclass(frozen=True, slots=True, eq=False)
class _SingleInputs:
    """Entry by entry of a value: slope * x[column] + shift, and how often it was rounded; or column -1."""

    column: NDArray[np.int64]
    slope: Array
    shift: Array
    roundings: Array


def input_thresholds(problem: CompiledQuery) -> tuple[tuple[Array, Array], ...]:
    """By input: thresholds in order, and how many float32 roundings of the input blur each."""
    network, found = problem.network, list[list[tuple[float, float]]]()
    found = [[] for _ in problem.low]
    if not network.has_trees():
        return ()
    known = _trace_single_inputs(network, problem)
    for node in network.nodes:
        if isinstance(node, TreeEnsemble):
            read = known[node.source]
            for entry, thresholds in sorted_thresholds(node).items():
                column, slope = int(read.column[entry]), read.slope[entry]
                if column < 0 or not slope:
                    continue
                places = (thresholds.astype(np.float64) - read.shift[entry]) / slope
                found[column] += [(t, float(read.roundings[entry])) for t in places.tolist()]
    several = [np.array(sorted(set(pairs))).reshape(-1, 2) for pairs in found]
    return tuple((pairs[:, 0], pairs[:, 1]) for pairs in several)


def _trace_single_inputs(network: Network, problem: CompiledQuery) -> list[_SingleInputs]:
    inputs = network.width
    known = [_SingleInputs(np.arange(inputs), np.ones(inputs), np.zeros(inputs), np.zeros(inputs))]
    for number, width in enumerate(network.widths()[1:], start=1):
        node = network.nodes[number - 1]
        match node:
            case Pick(source, indices):
                x = known[source]
                now = _SingleInputs(
                    x.column[indices], x.slope[indices], x.shift[indices], x.roundings[indices]
                )
            case Elementwise(source, Constant.ADD, constant):
                x = known[source]
                now = _SingleInputs(x.column, x.slope, x.shift + constant, x.roundings)
            case Elementwise(source, kind, constant):
                x, c = known[source], constant.astype(np.float64)
                factor = c if kind is Constant.MULTIPLY else 1.0 / c
                now = _SingleInputs(x.column, x.slope * factor, x.shift * factor, x.roundings)
            case Affine(source, weights, bias):
                now = _select_single_rows(known[source], np.asarray(weights), np.asarray(bias))
            case Join(sources):
                parts = [known[s] for s in sources]
                now = _SingleInputs(
                    np.concatenate([p.column for p in parts]),
                    np.concatenate([p.slope for p in parts]),
                    np.concatenate([p.shift for p in parts]),
                    np.concatenate([p.roundings for p in parts]),
                )
            case _:
                none = np.zeros(width)
                now = _SingleInputs(np.full(width, -1), none, none, none)
        rounded = problem.rounded.get(number)
        if rounded is not None:
            now = _SingleInputs(now.column, now.slope, now.shift, now.roundings + rounded)
        known.append(now)
    return known


def _select_single_rows(x: _SingleInputs, weights: Array, bias: Array) -> _SingleInputs:
    """Rows with one coefficient that counts; errors of representation have tiny ones."""
    alone = np.count_nonzero(weights, axis=1) == 1
    entry = np.abs(weights).argmax(axis=1)
    rows = np.arange(len(bias))
    factor = weights[rows, entry].astype(np.float64)
    column = np.where(alone, x.column[entry], -1)
    return _SingleInputs(column, factor * x.slope[entry], factor * x.shift[entry] + bias, x.roundings[entry])


def choose_split_places(
    thresholds: tuple[tuple[Array, Array], ...], box: BoxArray, column: NDArray[np.intp]
) -> Array:
    """For each box a place along its column, NaN where no threshold is strictly inside."""
    found = np.full(len(column), np.nan)
    for row, entry in enumerate(column.tolist()):
        places, roundings = thresholds[entry]
        low, high = float(box.low[row, entry]), float(box.high[row, entry])
        near = slice(*np.searchsorted(places, (low, np.nextafter(high, np.inf))).tolist())
        inside, blurred = places[near], roundings[near]
        if not inside.size:
            continue
        size = max(abs(low), abs(high))
        room = _ROOM * blurred * (UNIT32 * size + SMALLEST) + _FINE * size
        both = np.sort(np.concatenate([inside - room, inside + room]))
        both = both[(both > low) & (both < high)]
        if both.size:
            found[row] = both[both.size // 2]
    return found
