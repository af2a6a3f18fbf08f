"""Linear functions in place of nodes: `relaxed` for the best ones, `line` for those that a certificate names.

The latter (docs/certificates.md, section 6) differ where the format knows fewer functions, has other slopes
by default, or holds slopes with fewer digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.network.directed_rounding import Array, BoxArray, round_down, round_up
from surefoot.network.quotient_relaxation import takes_second_plane
from surefoot.network.relaxation import Relaxation, relax_node
from surefoot.problem.network import Activation, Combine, Constant, Elementwise, Node, Pairing, Shape

SMALL = 2.0**-960
FINE = 65536  # slopes of smooth functions and clip are multiples of 1/FINE
COARSE = 128  # those below ReLUs of 1/COARSE
_SAFETY = 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class _CertificateSlopes:
    """Slopes of the lines below and above an activation, entry by entry, multiples of 1/FINE."""

    below: Array
    above: Array


def needs_slopes(node: Node) -> bool:
    """Whether the slopes of a node are written into the certificate for every state."""
    return isinstance(node, Activation) and node.shape in (Shape.TANH, Shape.SIGMOID, Shape.CLIP)


def quotient_plane_choice(node: Node, boxes: Sequence[BoxArray], member: int) -> tuple[Array, Array] | None:
    """Which of the planes below and above a quotient one box takes: 0 for the first, 1 for the second.

    None for every other node.
    """
    match node:
        case Combine(left, right, Pairing.DIVIDE):
            x, y = (BoxArray(boxes[v].low[member], boxes[v].high[member]) for v in (left, right))
            with np.errstate(all="ignore"):
                below, above = takes_second_plane(x, y), takes_second_plane(BoxArray(-x.high, -x.low), y)
            return below.astype(np.float64), above.astype(np.float64)
        case _:
            return None


def _quantise_slopes(slopes: Array, shape: Shape) -> Array:
    """Slopes that a certificate can hold; for clip its largest number stands for 1, the slope of a piece."""
    steps = np.clip(np.rint(slopes * FINE), 0, FINE - 1)
    return np.where(steps == FINE - 1, 1.0, steps / FINE) if shape is Shape.CLIP else steps / FINE


def tightest_relaxation(node: Node, boxes: Sequence[BoxArray]) -> Relaxation | None:
    if isinstance(node, Elementwise) and node.kind is Constant.ADD:
        return None
    if not isinstance(node, Elementwise | Activation | Combine):
        return None
    found = relax_node(node, boxes)
    # Numbers below the normal range are slow to multiply; moving them outward does no harm.
    below, above = found.below_constant, found.above_constant
    return replace(
        found,
        below_constant=np.where(np.abs(below) < SMALL, -SMALL, below),
        above_constant=np.where(np.abs(above) < SMALL, SMALL, above),
    )


def certificate_relaxation(node: Node, boxes: Sequence[BoxArray]) -> Relaxation | None:
    """What the reader of a certificate takes for a node while its sources stay in these boxes."""
    match node:
        case Activation(source, Shape.RELU, _):
            return _relu_relaxation(source, boxes[source])
        case Activation(source, shape, parameters) if needs_slopes(node):
            best = relax_node(node, boxes)
            given = _CertificateSlopes(
                _quantise_slopes(best.below[0], shape), _quantise_slopes(best.above[0], shape)
            )
            return _relax_with_slopes(source, shape, parameters, boxes[source], given)
        case _:
            return tightest_relaxation(node, boxes)


def _relu_relaxation(source: int, box: BoxArray) -> Relaxation:
    low, high = box.low, box.high
    is_open = (low < 0) & (high > 0)
    with np.errstate(all="ignore"):
        below = np.where(is_open, high > -low, low >= 0).astype(np.float64)
        above = np.where(is_open, high / (high - low), below)
        ends = np.maximum(round_up(-round_down(above * low)), round_up(high - round_down(above * high)))
    constant = np.where(is_open, np.maximum(ends, SMALL), SMALL)
    return Relaxation((source,), (below,), np.zeros_like(low), (above,), constant)


def _activation_value(shape: Shape, parameters: tuple[float, ...], x: Array) -> Array:
    match shape:
        case Shape.TANH:
            return np.tanh(x)
        case Shape.SIGMOID:
            return 0.5 * (1.0 + np.tanh(0.5 * x))
        case _:
            return np.clip(x, parameters[0], parameters[1])


def _relax_with_slopes(
    source: int, shape: Shape, parameters: tuple[float, ...], box: BoxArray, given: _CertificateSlopes
) -> Relaxation:
    """Lines of given slopes; the best constants, a little further out for the rounding of what is below."""
    with np.errstate(all="ignore"):
        below = np.minimum.reduce(_extreme_heights(shape, parameters, box, given.below))
        above = np.maximum.reduce(_extreme_heights(shape, parameters, box, given.above))
        size = _SAFETY * (1.0 + np.abs(given.below) * box.magnitude + np.abs(given.above) * box.magnitude)
    return Relaxation((source,), (given.below,), below - size, (given.above,), above + size)


def _extreme_heights(shape: Shape, parameters: tuple[float, ...], box: BoxArray, slope: Array) -> list[Array]:
    """Function minus line where that can be extreme: at the ends, at kinks, where the slopes agree."""
    match shape:
        case Shape.TANH:
            far = np.arctanh(np.minimum(np.sqrt(1.0 - np.clip(slope, 0.0, 1.0)), 1.0 - 2.0**-53))
            points = [-far, far]
        case Shape.SIGMOID:
            steep = np.sqrt(1.0 - np.clip(4.0 * slope, 0.0, 1.0))
            far = 2.0 * np.arctanh(np.minimum(steep, 1.0 - 2.0**-53))
            points = [-far, far]
        case _:
            points = [np.full_like(slope, k) for k in parameters]
    every = [box.low, box.high, *(np.clip(p, box.low, box.high) for p in points)]
    return [_activation_value(shape, parameters, p) - slope * p for p in every]
