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


@dataclass(frozen=True, slots=True, eq=False)
class InputThresholds:
    """The thresholds of one input in order."""

    places: Array
    roundings: Array  # how many float32 roundings of the input blur each
    grid: bool  # whether the input has neighbours


def input_thresholds(problem: CompiledQuery) -> tuple[InputThresholds, ...]:
    """By input; nothing for a network without trees."""
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
    return tuple(
        InputThresholds(pairs[:, 0].copy(), pairs[:, 1].copy(), bool(grid))
        for pairs, grid in zip(several, problem.grid, strict=True)
    )


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
    if not weights.shape[1]:
        none = np.zeros(len(bias))
        return _SingleInputs(np.full(len(bias), -1), none, none, none)
    alone = np.count_nonzero(weights, axis=1) == 1
    entry = np.abs(weights).argmax(axis=1)
    rows = np.arange(len(bias))
    factor = weights[rows, entry].astype(np.float64)
    column = np.where(alone, x.column[entry], -1)
    return _SingleInputs(column, factor * x.slope[entry], factor * x.shift[entry] + bias, x.roundings[entry])


def find_split_places(thresholds: tuple[InputThresholds, ...], box: BoxArray) -> tuple[Array, Array]:
    """By box and input a place to split at, NaN where there is none, and how many thresholds are inside."""
    places, counts = np.full(box.low.shape, np.nan), np.zeros(box.low.shape)
    for column, own in enumerate(thresholds):
        if not own.places.size:
            continue
        low, high = box.low[:, column], box.high[:, column]
        first = np.searchsorted(own.places, low, "left")
        last = np.searchsorted(own.places, high, "right")
        inside = last > first
        middle = np.where(inside, (first + last) // 2, 0)
        at, blur = own.places[middle], own.roundings[middle]
        size = np.maximum(np.abs(low), np.abs(high))
        room = _ROOM * blur * (UNIT32 * size + SMALLEST) + _FINE * size
        # What is not rounded and at most the threshold is below it, the threshold included.
        before, after = np.where(blur > 0, at - room, at), at + room
        if own.grid:
            before = np.where(blur > 0, before, np.where(at < high, at, np.nan))
            usable = (before >= low) & (before < high)
        else:
            usable = (before > low) & (before < high)
        found = np.where(usable, before, np.nan)
        found = np.where((after > low) & (after < high) & ((blur > 0) | ~usable), after, found)
        places[:, column] = np.where(inside, found, np.nan)
        counts[:, column] = last - first
    return places, counts
