"""One good plane per box below a combination of atoms: multipliers and slopes improved step by step.

Any multipliers and any slopes between 0 and 1 below an open ReLU are sound; each step takes the point where
the plane is least, follows it through the relaxed network, and moves them by the gradient there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.network.linear import Planes
from surefoot.network.outward import Array
from surefoot.network.relaxation import Relaxation
from surefoot.problem.network import (
    Activation,
    Affine,
    Constant,
    Elementwise,
    Join,
    Node,
    Pick,
    Shape,
)
from surefoot.solve.native.bounding.lines import SMALL
from surefoot.solve.native.bounding.passes import scattered
from surefoot.solve.native.bounding.substitute import Bounded
from surefoot.solve.native.problem import Mask


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """Per box: the plane, its minimum, the row of multipliers over the outputs, and where to split."""

    plane: Planes
    value: Array
    row: Array
    slopes: dict[int, Array]  # of the functions below ReLUs that the plane rests on, by value
    gain: Array  # per input, how much a narrower input would straighten


def improved(found: Bounded, rows: Array, share: Array, scale: Array, steps: int) -> Best:
    """The best plane below (share * scale) . rows . outputs that some steps find from this share."""
    relaxations = list(found.relaxations)
    box = found.boxes[0]
    best: Best | None = None
    momentum: dict[int, Array] = {}
    for step in range(steps):
        trace: dict[int, Array] = {}
        row = (share * scale) @ rows
        current = found.with_relaxations(relaxations)
        plane = current.below(row[:, None], trace)
        value = plane.minimum(box)[:, 0]
        new = Best(plane, value, row, below_slopes(current), value[:, None])
        best = new if best is None else _larger(best, new)
        if step + 1 == steps or (best.value > 0).all():
            break
        slope = plane.coefficients[:, 0]
        worst = np.where(slope > 0, box.low, box.high)
        values = _relaxed_values(current, trace, worst)
        rate = 1.0 - step / steps
        _move_slopes(found, relaxations, trace, values, momentum, 0.4 * rate)
        with np.errstate(all="ignore"):
            heights = (values[-1] @ rows.T) * scale
        share = _moved_share(share, heights, scale == 0.0, rate)
    assert best is not None
    return replace(best, gain=_gain(current, trace))


def _larger(first: Best, second: Best) -> Best:
    chosen = second.value > first.value
    return Best(
        Planes(
            np.where(chosen[:, None, None], second.plane.coefficients, first.plane.coefficients),
            np.where(chosen[:, None], second.plane.constant, first.plane.constant),
        ),
        np.where(chosen, second.value, first.value),
        np.where(chosen[:, None], second.row, first.row),
        {v: np.where(chosen[:, None], second.slopes[v], slope) for v, slope in first.slopes.items()},
        first.gain,
    )


def below_slopes(found: Bounded) -> dict[int, Array]:
    """The slopes of the functions below ReLUs, by value."""
    slopes = {}
    for value, node in enumerate(found.layout.network.nodes, start=1):
        relaxation = found.relaxations[value - 1]
        if isinstance(node, Activation) and node.shape is Shape.RELU and relaxation is not None:
            slopes[value] = relaxation.below[0]
    return slopes


def _moved_share(share: Array, heights: Array, idle: Mask, rate: float) -> Array:
    if share.shape[1] == 1:
        return share
    heights = np.nan_to_num(heights, nan=0.0, posinf=1e200, neginf=-1e200)
    centred = np.where(idle, 0.0, heights - (share * heights).sum(axis=1, keepdims=True))
    size = np.abs(centred).max(axis=1, keepdims=True) + 1e-300
    moved: Array = np.where(idle, 1e-12, np.maximum(share, 1e-4)) * np.exp(1.5 * rate * centred / size)
    moved /= moved.sum(axis=1, keepdims=True)
    return moved


def _relaxed_values(found: Bounded, trace: dict[int, Array], points: Array) -> list[Array]:
    """All values at the points if every node is the linear function that its coefficients have met."""
    values = [points]
    with np.errstate(all="ignore"):
        for number, node in enumerate(found.layout.network.nodes, start=1):
            relaxation = found.relaxations[number - 1]
            if relaxation is not None:
                values.append(_met(relaxation, trace.get(number), values))
            else:
                values.append(_plain(node, values))
    return values


def _met(node: Relaxation, rows: Array | None, values: Sequence[Array]) -> Array:
    below, above = node.below_constant, node.above_constant
    for source, lower, upper in zip(node.sources, node.below, node.above, strict=True):
        below, above = below + lower * values[source], above + upper * values[source]
    return below if rows is None else np.where(rows[:, 0] > 0, below, above)


def _plain(node: Node, values: Sequence[Array]) -> Array:
    match node:
        case Affine(source, weights, bias):
            result: Array = values[source] @ weights.T + bias
            return result
        case Elementwise(source, Constant.ADD, constant):
            return values[source] + constant.astype(np.float64)
        case Pick(source, indices):
            return values[source][:, indices]
        case Join(several):
            return np.concatenate([values[s] for s in several], axis=1)
        case _:
            raise AssertionError("every other node is relaxed")


def _move_slopes(
    found: Bounded,
    relaxations: list[Relaxation | None],
    trace: dict[int, Array],
    values: Sequence[Array],
    momentum: dict[int, Array],
    rate: float,
) -> None:
    """Move the slopes below open ReLUs by the sign of their gradient, which is coefficient times argument."""
    for number, node in enumerate(found.layout.network.nodes, start=1):
        relaxation = relaxations[number - 1]
        if not isinstance(node, Activation) or node.shape is not Shape.RELU or number not in trace:
            continue
        assert relaxation is not None
        box = found.boxes[node.source]
        movable = (box.low < 0) & (box.high > 0)
        if not movable.any():
            continue
        pull = np.maximum(trace[number][:, 0], 0.0) * values[node.source]
        size = np.abs(pull).max(axis=1, keepdims=True) + 1e-300
        momentum[number] = 0.5 * momentum.get(number, np.zeros_like(pull)) + np.clip(
            8.0 * pull / size, -1.0, 1.0
        )
        slope = np.clip(relaxation.below[0] + rate * momentum[number], 0.0, 1.0)
        slope = np.where(movable & np.isfinite(slope), slope, relaxation.below[0])
        constant = np.where(movable, -SMALL, relaxation.below_constant)
        relaxations[number - 1] = replace(relaxation, below=(slope,), below_constant=constant)


def _gain(found: Bounded, trace: dict[int, Array]) -> Array:
    """Per input: coefficients of nodes times the gap between their slopes, carried back."""
    network = found.layout.network
    carried: dict[int, Array] = {}

    def add(value: int, part: Array) -> None:
        carried[value] = carried[value] + part if value in carried else part

    with np.errstate(all="ignore"):
        for number in range(len(network.nodes), 0, -1):
            rows, so_far = trace.get(number), carried.pop(number, None)
            if rows is None:
                continue
            node, relaxation = network.nodes[number - 1], found.relaxations[number - 1]
            size = np.abs(rows[:, 0])
            before = np.zeros_like(size) if so_far is None else so_far
            if relaxation is not None:
                for source, lower, upper in zip(
                    relaxation.sources, relaxation.below, relaxation.above, strict=True
                ):
                    steep = np.maximum(np.abs(lower), np.abs(upper))
                    add(source, before * steep + size * np.abs(upper - lower))
            else:
                _carry(node, before, found, add)
    return np.nan_to_num(carried.get(0, np.zeros_like(found.boxes[0].low)), nan=0.0, posinf=1e300)


def _carry(node: Node, before: Array, found: Bounded, add: object) -> None:
    assert callable(add)
    match node:
        case Affine(source, weights, _):
            add(source, before @ np.abs(weights))
        case Elementwise(source, _, _):
            add(source, before)
        case Pick(source, indices):
            add(source, scattered(before, indices, found.boxes[source].low.shape[-1]))
        case Join(several):
            start = 0
            for source in several:
                end = start + found.boxes[source].low.shape[-1]
                add(source, before[:, start:end])
                start = end
