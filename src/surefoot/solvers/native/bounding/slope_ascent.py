"""One good plane per box below a combination of atoms: multipliers and slopes improved step by step.

Any multipliers and any slopes between 0 and 1 below an open ReLU are sound; each step takes the point where
the plane is least, follows it through the relaxed network, and moves them by the gradient there. The steps
are made in plain floats; only the plane for the best multipliers and slopes found is a rigorous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surefoot.network.back_substitution import linear_preimages, linear_shift
from surefoot.network.directed_rounding import Array
from surefoot.network.relaxation import Relaxation
from surefoot.network.tree_bounds import lowest_outputs, split_gains
from surefoot.problem.network import Activation, Shape
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.solvers.native.bounding.gradients import add_coefficients, evaluate_node
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.bound_arrays import BestPlane, ascend_chain_slopes
from surefoot.solvers.native.relu_chain.layer_tables import ALL


@dataclass(slots=True, eq=False)
class _SlopeAscent:
    """All ReLUs side by side: slopes below them, coefficients that met them, and their arguments."""

    found: NetworkBounds
    parts: dict[int, slice]  # where the neurons of a value are, in order
    movable: Mask
    slopes: Array
    met: Array
    arguments: Array
    momentum: Array
    others: dict[int, Array] = field(default_factory=dict)  # coefficients that met other relaxed values
    lowest: dict[int, Array] = field(default_factory=dict)  # the leaves where what met trees is least

    def move(self, rate: float) -> None:
        """The slopes below open ReLUs by the sign of their gradient, which is coefficient times argument."""
        if not self.parts:
            return
        pull = np.maximum(self.met, 0.0) * self.arguments
        starts, widths = zip(*((p.start, p.stop - p.start) for p in self.parts.values()), strict=True)
        size = np.maximum.reduceat(np.abs(pull), starts, axis=1) + 1e-300
        share = np.clip(8.0 * pull / np.repeat(size, widths, axis=1), -1.0, 1.0)
        self.momentum = 0.5 * self.momentum + share
        moved = np.clip(self.slopes + rate * self.momentum, 0.0, 1.0)
        self.slopes = np.where(self.movable & np.isfinite(moved), moved, self.slopes)


def ascend_slopes(found: NetworkBounds, rows: Array, share: Array, scale: Array, steps: int) -> BestPlane:
    """The best plane below (share * scale) . rows . outputs that some steps find from this share."""
    if found.sheet is not None:
        return ascend_chain_slopes(found.sheet, rows, share, scale, steps)
    box, climb = found.boxes[0], _start_ascent(found)
    idle = scale == 0.0
    height, lost = np.full(len(share), -np.inf), np.zeros(len(share))
    best_row, best_slopes = (share * scale) @ rows, climb.slopes
    for step in range(steps):
        row, rate = (share * scale) @ rows, 1.0 - step / steps
        with np.errstate(all="ignore"):
            slope, constant = _substitute_row(climb, row)
            worst = np.where(slope > 0, box.low, box.high)
            now = (slope * worst).sum(axis=1) + constant
            chosen = (now > height)[:, None]
            height = np.where(chosen[:, 0], now, height)
            best_row, best_slopes = (
                np.where(chosen, row, best_row),
                np.where(chosen, climb.slopes, best_slopes),
            )
        if step + 1 == steps or (height > lost).all():
            best = _rigorous_plane(climb, height, best_row, best_slopes)
            if step + 1 == steps or (best.value > 0).all():
                return best
            lost = np.maximum(2.0 * (height - best.value), 0.0)
        with np.errstate(all="ignore"):
            heights = (_evaluate_relaxed(climb, worst) @ rows.T) * scale
            climb.move(0.4 * rate)
        share = _update_shares(share, heights, idle, rate)
    raise AssertionError("there is a last step")


def _rigorous_plane(climb: _SlopeAscent, height: Array, row: Array, slopes: Array) -> BestPlane:
    given = {value: slopes[:, part] for value, part in climb.parts.items()}
    trace: dict[int, Array] = {}
    found = climb.found.with_slopes(given)
    plane, least = found.least(row[:, None], trace)
    value = least[:, 0]
    return BestPlane(plane, value, height, row, below_slopes(found), _input_gains(found, trace))


def _start_ascent(found: NetworkBounds) -> _SlopeAscent:
    below = below_slopes(found)
    parts, movable, start = {}, [], 0
    for value, slopes in below.items():
        parts[value] = slice(start, start + slopes.shape[1])
        start = parts[value].stop
        node = found.network.nodes[value - 1]
        assert isinstance(node, Activation)
        box = found.boxes[node.source]
        movable.append((box.low < 0) & (box.high > 0))
    batch = len(found.boxes[0].low)
    none = np.zeros((batch, 0))
    first = np.concatenate([none, *below.values()], axis=1)
    return _SlopeAscent(
        found,
        parts,
        np.concatenate([none.astype(np.bool_), *movable], axis=1),
        first,
        np.zeros_like(first),
        np.zeros_like(first),
        np.zeros_like(first),
    )


def _substitute_row(climb: _SlopeAscent, row: Array) -> tuple[Array, Array]:
    """Slope and constant of a plane below row . outputs, but for rounding."""
    found, nodes = climb.found, climb.found.network.nodes
    waiting, constant = {len(nodes): row}, np.zeros(len(row))
    climb.met[:] = 0.0
    for number in range(len(nodes), 0, -1):
        rows = waiting.pop(number, None)
        if rows is None:
            continue
        node, relaxation = nodes[number - 1], found.relaxations[number - 1]
        if isinstance(node, TreeEnsemble):
            least, climb.lowest[number] = lowest_outputs(node, found.boxes[node.source], rows)
            constant += least
            continue
        if relaxation is not None:
            positive = np.maximum(rows, 0.0)
            negative = rows - positive
            constant += np.einsum("ij,ij->i", negative, relaxation.above_constant)
            part = climb.parts.get(number)
            if part is None:
                climb.others[number] = rows
                constant += np.einsum("ij,ij->i", positive, relaxation.below_constant)
                for source, lower, upper in zip(
                    relaxation.sources, relaxation.below, relaxation.above, strict=True
                ):
                    add_coefficients(waiting, source, positive * lower + negative * upper)
            else:
                climb.met[:, part] = rows
                before = positive * climb.slopes[:, part] + negative * relaxation.above[0]
                add_coefficients(waiting, relaxation.sources[0], before)
            continue
        for source, before in linear_preimages(node, rows, found.network.widths()):
            add_coefficients(waiting, source, before)
        shift = linear_shift(node)
        if shift is not None:
            constant += rows @ shift
    return waiting.get(0, np.zeros_like(found.boxes[0].low)), constant


def _evaluate_relaxed(climb: _SlopeAscent, points: Array) -> Array:
    """The outputs at the points if every node is the linear function that its coefficients have met."""
    found, values = climb.found, [points]
    for number, node in enumerate(found.network.nodes, start=1):
        relaxation = found.relaxations[number - 1]
        if relaxation is None:
            values.append(evaluate_node(node, values))
            continue
        if number in climb.lowest:
            values.append(climb.lowest[number])
            continue
        part = climb.parts.get(number)
        if part is None:
            values.append(_relaxed_value(relaxation, climb.others.get(number), values))
            continue
        climb.arguments[:, part] = x = values[relaxation.sources[0]]
        above = relaxation.above[0] * x + relaxation.above_constant
        values.append(np.where(climb.met[:, part] > 0, climb.slopes[:, part] * x, above))
    return values[-1]


def below_slopes(found: NetworkBounds) -> dict[int, Array]:
    """The slopes of the functions below ReLUs, by value."""
    if found.sheet is not None:
        return {ALL: found.sheet.below}
    slopes = {}
    for value, node in enumerate(found.network.nodes, start=1):
        relaxation = found.relaxations[value - 1]
        if isinstance(node, Activation) and node.shape is Shape.RELU and relaxation is not None:
            slopes[value] = relaxation.below[0]
    return slopes


def _update_shares(share: Array, heights: Array, idle: Mask, rate: float) -> Array:
    if share.shape[1] == 1:
        return share
    heights = np.nan_to_num(heights, nan=0.0, posinf=1e200, neginf=-1e200)
    centred = np.where(idle, 0.0, heights - (share * heights).sum(axis=1, keepdims=True))
    size = np.abs(centred).max(axis=1, keepdims=True) + 1e-300
    moved: Array = np.where(idle, 1e-12, np.maximum(share, 1e-4)) * np.exp(1.5 * rate * centred / size)
    moved /= moved.sum(axis=1, keepdims=True)
    return moved


def _relaxed_value(node: Relaxation, rows: Array | None, values: Sequence[Array]) -> Array:
    below, above = node.below_constant, node.above_constant
    for source, lower, upper in zip(node.sources, node.below, node.above, strict=True):
        below, above = below + lower * values[source], above + upper * values[source]
    return below if rows is None else np.where(rows > 0, below, above)


def _input_gains(found: NetworkBounds, trace: dict[int, Array]) -> Array:
    """Per input: coefficients of nodes times the gap between their slopes, carried back."""
    network = found.network
    carried: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for number in range(len(network.nodes), 0, -1):
            node, relaxation = network.nodes[number - 1], found.relaxations[number - 1]
            before, rows = carried.pop(number, None), trace.get(number)
            if relaxation is None:
                for source, part in (
                    () if before is None else linear_preimages(node, before, network.widths(), signs=False)
                ):
                    add_coefficients(carried, source, part)
            elif isinstance(node, TreeEnsemble):
                if rows is not None:
                    add_coefficients(
                        carried, node.source, split_gains(node, found.boxes[node.source], rows[:, 0])
                    )
            elif rows is not None:
                size = np.abs(rows[:, 0])
                for source, lower, upper in zip(
                    relaxation.sources, relaxation.below, relaxation.above, strict=True
                ):
                    part = size * np.abs(upper - lower)
                    if before is not None:
                        part = part + before * np.maximum(np.abs(lower), np.abs(upper))
                    add_coefficients(carried, source, part)
    return np.nan_to_num(carried.get(0, np.zeros_like(found.boxes[0].low)), nan=0.0, posinf=1e300)
