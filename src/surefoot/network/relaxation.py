"""Linear functions below and above each node's exact value, valid while its sources stay in their boxes.

Slopes are chosen for tightness, in ordinary arithmetic; any slope would do. Soundness rests on the constants
alone: each is the extreme of (function - slope * x) over the box, rounded outward. For piecewise linear
functions that extreme is at an end or a kink; tanh and sigmoid are handled in `_line_above_smooth`, quotients
in their own module. What a certificate names (docs/certificates.md, section 6) are the same functions with
slopes of fewer digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.network import interval
from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, UNIT, Array, BoxArray, round_down, round_up
from surefoot.network.interval import Parameters, node_interval
from surefoot.network.quotient_relaxation import plane_below_quotient, takes_second_plane
from surefoot.problem.network import (
    CURVED,
    Activation,
    Combine,
    Constant,
    Elementwise,
    Node,
    Pairing,
    Shape,
)
from surefoot.problem.tree_ensemble import TreeEnsemble

SMALL = 2.0**-960
FINE = 65536  # slopes of smooth functions and clip in a certificate are multiples of 1/FINE
UNSLOPED = CURVED - {Shape.TANH, Shape.SIGMOID}  # bounded by two constants
COARSE = 128  # those below ReLUs of 1/COARSE
_BISECTIONS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation(BatchRecord):
    """below . x + below_constant <= value <= above . x + above_constant, entry by entry."""

    sources: tuple[int, ...]
    below: tuple[Array, ...]  # one array of slopes per source
    below_constant: Array
    above: tuple[Array, ...]
    above_constant: Array


def relax_value(node: Node, boxes: Sequence[BoxArray], certified: bool = False) -> Relaxation | None:
    """Linear bounds of any node from the boxes of the values before it; None if it is linear itself."""
    match node:
        case Elementwise(_, kind, _) if kind is not Constant.ADD:
            found = relax_node(node, boxes)
        case Activation(_, Shape.RELU, _):
            return relax_node(node, boxes)
        case Activation() | Combine():
            found = relax_node(node, boxes, certified=certified)
        case TreeEnsemble():
            return _relax_trees(node, boxes)
        case _:
            return None
    # Numbers below the normal range are slow to multiply; moving them outward does no harm.
    below, above = found.below_constant, found.above_constant
    return replace(
        found,
        below_constant=np.where(np.abs(below) < SMALL, -SMALL, below),
        above_constant=np.where(np.abs(above) < SMALL, SMALL, above),
    )


def relax_node(
    node: Elementwise | Activation | Combine, boxes: Sequence[BoxArray], *, certified: bool = False
) -> Relaxation:
    """Linear bounds of a node from the boxes of the values before it; `certified`: with a reader's slopes."""
    with np.errstate(all="ignore"):
        match node:
            case Elementwise(source, kind, constant):
                return _relax_constant(source, kind, constant.astype(np.float64), boxes[source])
            case Activation(source, Shape.RELU, _):
                below, above, above_constant = relu_lines(boxes[source].low, boxes[source].high)
                return Relaxation((source,), (below,), np.zeros_like(below), (above,), above_constant)
            case Activation(source, shape, parameters):
                if shape in UNSLOPED:
                    return _relax_flat(source, interval.ACTIVATION[shape](boxes[source], parameters))
                steps = FINE if certified and needs_slopes(node) else None
                relax = _relax_smooth if shape in _SMOOTH else _relax_piecewise
                below, below_constant, above, above_constant = relax(shape, parameters, boxes[source], steps)
                return Relaxation((source,), (below,), below_constant, (above,), above_constant)
            case Combine(left, right, pairing):
                return _PAIRING[pairing]((left, right), boxes[left], boxes[right])


def _relax_trees(node: TreeEnsemble, boxes: Sequence[BoxArray]) -> Relaxation:
    """Constants that read nothing: what the leaves leave that can be reached. Rows have better ones."""
    box = node_interval(node, boxes)
    return Relaxation((), (), box.low, (), box.high)


def needs_slopes(node: Node) -> bool:
    """Whether the slopes of a node are written into the certificate for every state."""
    return isinstance(node, Activation) and node.shape in (Shape.TANH, Shape.SIGMOID, Shape.CLIP)


def quotient_plane_choice(node: Node, boxes: Sequence[BoxArray], member: int) -> tuple[Array, Array] | None:
    """Which of the planes below and above a quotient one box takes: 0 for the first, 1 for the second.

    None for every other node.
    """
    match node:
        case Combine(left, right, Pairing.DIVIDE):
            x, y = boxes[left].pick(member), boxes[right].pick(member)
            with np.errstate(all="ignore"):
                below, above = takes_second_plane(x, y), takes_second_plane(BoxArray(-x.high, -x.low), y)
            return below.astype(np.float64), above.astype(np.float64)
        case _:
            return None


def _quantise_slopes(slopes: Array, steps: int | None, largest: float) -> Array:
    """The nearest multiples of 1/steps below 1; of clip the largest stands for 1, the slope of a piece."""
    if steps is None:
        return slopes
    whole = np.clip(np.rint(slopes * steps), 0, steps - 1)
    return np.where(whole == steps - 1, largest, whole / steps)


def relu_gap(low: Array, high: Array) -> Array:
    """How far the chord above a ReLU is from it at most."""
    with np.errstate(all="ignore"):
        found: Array = np.maximum(-low, 0.0) * np.maximum(high, 0.0) / np.maximum(high - low, TINY)
    return found


def relu_chords(low: Array, high: Array) -> tuple[NDArray[np.bool_], Array, Array]:
    """Which ReLUs are open, and slope and constant of the line above each: the chord, or the ReLU itself."""
    on = low >= 0
    is_open = ~on & (high > 0)
    width = np.where(is_open, high - low, 1.0)
    slope = np.where(is_open, high / width, on)
    # The computed chord may be a few units too flat or steep; the constant makes up for it.
    return is_open, slope, np.where(is_open, 16 * UNIT * width - slope * low + TINY, 0.0)


def relu_lines(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The slope below (of the piece that covers more), slope and constant above each ReLU."""
    is_open, above, constant = relu_chords(low, high)
    return np.where(is_open, high > -low, low >= 0).astype(np.float64), above, constant


def _least_offset(points: Sequence[Array], values: Sequence[BoxArray], slope: Array) -> Array:
    """A lower bound of value - slope * point over all points: two roundings, each outward."""
    found: Array = np.minimum.reduce(
        [round_down(v.low - round_up(slope * p)) for p, v in zip(points, values, strict=True)]
    )
    return found


def _greatest_offset(points: Sequence[Array], values: Sequence[BoxArray], slope: Array) -> Array:
    """An upper bound of value - slope * point over all points."""
    found: Array = np.maximum.reduce(
        [round_up(v.high - round_down(slope * p)) for p, v in zip(points, values, strict=True)]
    )
    return found


def _relax_constant(source: int, kind: Constant, constant: Array, box: BoxArray) -> Relaxation:
    zero, shape = np.zeros_like(box.low), box.low.shape
    constants = np.broadcast_to(constant, shape)
    if kind is Constant.ADD:
        one = np.ones_like(box.low)
        return Relaxation((source,), (one,), constants, (one,), constants)
    if kind is Constant.MULTIPLY:
        return Relaxation((source,), (constants,), zero, (constants,), zero)
    slope = np.broadcast_to(1.0 / constant, shape)  # rounded: the constants make up for it
    points = [box.low, box.high]
    values = [interval.CONSTANT[kind](BoxArray(p, p), constant) for p in points]
    least, greatest = _least_offset(points, values, slope), _greatest_offset(points, values, slope)
    return Relaxation((source,), (slope,), least, (slope,), greatest)


def _relax_flat(source: int, values: BoxArray) -> Relaxation:
    """Between two constants: all that is known of a jump, and what a certificate says of some functions."""
    zero = np.zeros_like(values.low)
    return Relaxation((source,), (zero,), values.low, (zero,), values.high)


def _relax_piecewise(
    shape: Shape, parameters: Parameters, box: BoxArray, steps: int | None
) -> tuple[Array, Array, Array, Array]:
    kinks = [np.clip(k, box.low, box.high) for k in _KINKS[shape](parameters)]
    points = [box.low, box.high, *kinks]
    values = [interval.ACTIVATION[shape](BoxArray(p, p), parameters) for p in points]
    below, above = (_quantise_slopes(slopes, steps, 1.0) for slopes in _SLOPES[shape](box, parameters))
    return below, _least_offset(points, values, below), above, _greatest_offset(points, values, above)


def _chord_slope(start: Array, end: Array, start_value: Array, end_value: Array) -> Array:
    """The slope between two points, 0 where they coincide."""
    width = end - start
    slope: Array = np.divide(end_value - start_value, width, out=np.zeros_like(width), where=width != 0)
    return slope


def _leaky_slopes(box: BoxArray, slope: float) -> tuple[Array, Array]:
    """The chord on one side; on the other the piece that covers the larger part of the interval."""
    low, high = box.low, box.high
    chord = _chord_slope(
        low, high, np.where(low < 0, slope * low, low), np.where(high < 0, slope * high, high)
    )
    piece = np.where(high >= -low, 1.0, slope)
    return (piece, chord) if slope <= 1 else (chord, piece)


def _clip_slopes(box: BoxArray, parameters: Parameters) -> tuple[Array, Array]:
    least, most = parameters
    low, high = box.low, box.high

    def clip_value(x: Array) -> Array:
        return np.minimum(np.maximum(x, least), most)

    end, start = np.minimum(high, most), np.maximum(low, least)
    above = np.where(
        low < least, _chord_slope(low, end, clip_value(low), clip_value(end)), most - low >= high - most
    )
    below = np.where(
        high > most,
        _chord_slope(start, high, clip_value(start), clip_value(high)),
        high - least >= least - low,
    )
    return below, above


def _relax_smooth(
    shape: Shape, _: Parameters, box: BoxArray, steps: int | None
) -> tuple[Array, Array, Array, Array]:
    """Above directly; below by symmetry, since f(x) = top - f(-x)."""
    above, above_constant = _line_above_smooth(shape, box.low, box.high, steps)
    below, mirrored = _line_above_smooth(shape, -box.high, -box.low, steps)
    top = 1.0 if shape is Shape.SIGMOID else 0.0
    return below, round_down(top - mirrored), above, above_constant


def _line_above_smooth(shape: Shape, low: Array, high: Array, steps: int | None) -> tuple[Array, Array]:
    """slope, constant with f(x) <= slope * x + constant on [low, high]; f is convex below 0, concave above.

    g(x) = f(x) - slope * x is convex up to `bend` (0, or the end nearest to it), so there it is largest at
    `low` or at `bend`. From `bend` on f lies under its tangent at any touch point m of [bend, high]:
    g(x) <= f(m) - slope * m + (f'(m) - slope) * (x - m). Both bounds hold for every slope and every m.
    """
    bend = np.clip(0.0, low, high)
    slope, touch = _tangent_slope(shape, low, bend, high)
    if steps is not None:
        slope = _quantise_slopes(slope, steps, (steps - 1) / steps)
        touch = np.clip(_point_of_slope(shape, slope), bend, high)
    points = [low, touch]
    at_low, at_touch = (interval.ACTIVATION[shape](BoxArray(p, p), ()) for p in points)
    steep = _SMOOTH[shape](at_touch)  # where touch < 0 both distances below are 0 and this is not used
    before = round_up(round_up(slope - steep.low) * round_up(touch - bend))
    after = round_up(round_up(steep.high - slope) * round_up(high - touch))
    excess = np.maximum(np.maximum(before, after), 0.0)
    constant = round_up(_greatest_offset([touch], [at_touch], slope) + excess)
    return slope, np.maximum(constant, _greatest_offset([low], [at_low], slope))


def _tangent_slope(shape: Shape, low: Array, bend: Array, high: Array) -> tuple[Array, Array]:
    """A good slope and touch point: the tangent through the left end if there is one, else the chord."""

    def value(x: Array) -> Array:
        return np.tanh(x) if shape is Shape.TANH else 1.0 / (1.0 + np.exp(-x))

    def derivative(x: Array) -> Array:
        y = value(x)
        return 1.0 - y * y if shape is Shape.TANH else y * (1.0 - y)

    def passes_above_low(x: Array) -> NDArray[np.bool_]:
        return value(x) + derivative(x) * (low - x) >= value(low)

    touches = passes_above_low(high)
    left, right = bend, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        enough = passes_above_low(middle)
        left, right = np.where(enough, left, middle), np.where(enough, middle, right)
    # Of all tangents above the left end the one that touches nearest to the middle encloses the least area.
    touch = np.where(touches, np.maximum(right, 0.5 * (low + high)), high)
    touch = np.clip(touch, bend, high)
    chord = _chord_slope(low, high, value(low), value(high))
    return np.where(touches, derivative(touch), chord), touch


def _point_of_slope(shape: Shape, slope: Array) -> Array:
    """Where, above 0, the function is about as steep as this."""
    stretch = 1.0 if shape is Shape.TANH else 2.0  # sigmoid(2x) = (1 + tanh x) / 2
    steep = np.clip(stretch * stretch * slope, 0.0, 1.0)
    return stretch * np.arctanh(np.minimum(np.sqrt(1.0 - steep), 1.0 - 2.0**-53))


def _tanh_derivative(value: BoxArray) -> BoxArray:
    """1 - t^2 for t >= 0, from an enclosure of t."""
    least = np.maximum(value.low, 0.0)
    return BoxArray(
        round_down(1.0 - round_up(value.high * value.high)), round_up(1.0 - round_down(least * least))
    )


def _sigmoid_derivative(value: BoxArray) -> BoxArray:
    """s * (1 - s) for s >= 1/2, where it falls with s, from an enclosure of s."""
    least = np.maximum(value.low, 0.5)
    return BoxArray(
        round_down(value.high * round_down(1.0 - value.high)), round_up(least * round_up(1.0 - least))
    )


def _relax_sum(sources: tuple[int, int], left: BoxArray, right: BoxArray) -> Relaxation:
    one, zero = np.ones_like(left.low), np.zeros_like(left.low)
    return Relaxation(sources, (one, one), zero, (one, one), zero)


def _relax_product(sources: tuple[int, int], left: BoxArray, right: BoxArray) -> Relaxation:
    """McCormick: (x - lx)(y - ly) >= 0 and (ux - x)(y - ly) >= 0, solved for x * y."""
    below, above = (right.low, left.low), (right.low, left.high)
    return Relaxation(
        sources, below, round_down(-(left.low * right.low)), above, round_up(-(left.high * right.low))
    )


def _relax_quotient(sources: tuple[int, int], left: BoxArray, right: BoxArray) -> Relaxation:
    """Above by symmetry, since x / y = -(-x / y)."""
    *below, below_constant = plane_below_quotient(left, right)
    of_left, of_right, mirrored = plane_below_quotient(BoxArray(-left.high, -left.low), right)
    return Relaxation(sources, tuple(below), below_constant, (of_left, -of_right), -mirrored)


def _relax_maximum(sources: tuple[int, int], left: BoxArray, right: BoxArray) -> Relaxation:
    """max(x, y) is at least either, and is y + relu(x - y)."""
    difference = BoxArray(round_down(left.low - right.high), round_up(left.high - right.low))
    larger = left.low + left.high >= right.low + right.high
    larger = np.where(difference.low >= 0, True, np.where(difference.high <= 0, False, larger))
    zero = np.zeros_like(left.low)
    chord = _leaky_slopes(difference, 0.0)[1]
    # The slopes must add up to exactly 1: 1 - s is in [1/2, 1] or s is, and then the subtraction is exact.
    of_right = 1.0 - np.clip(chord, 0.0, 1.0)
    of_left = 1.0 - of_right
    ends = [difference.low, difference.high]
    constant = _greatest_offset(
        ends, [interval.ACTIVATION[Shape.RELU](BoxArray(d, d), ()) for d in ends], of_left
    )
    left_slope = larger.astype(np.float64)
    return Relaxation(sources, (left_slope, 1.0 - left_slope), zero, (of_left, of_right), constant)


_KINKS: dict[Shape, Callable[[Parameters], Parameters]] = {
    Shape.LEAKY_RELU: lambda _: (0.0,),
    Shape.CLIP: lambda parameters: parameters,
}
_SLOPES: dict[Shape, Callable[[BoxArray, Parameters], tuple[Array, Array]]] = {
    Shape.LEAKY_RELU: lambda box, parameters: _leaky_slopes(box, parameters[0]),
    Shape.CLIP: _clip_slopes,
}
_SMOOTH: dict[Shape, Callable[[BoxArray], BoxArray]] = {
    Shape.TANH: _tanh_derivative,
    Shape.SIGMOID: _sigmoid_derivative,
}
_PAIRING: dict[Pairing, Callable[[tuple[int, int], BoxArray, BoxArray], Relaxation]] = {
    Pairing.ADD: _relax_sum,
    Pairing.MULTIPLY: _relax_product,
    Pairing.MAXIMUM: _relax_maximum,
    Pairing.DIVIDE: _relax_quotient,
}
