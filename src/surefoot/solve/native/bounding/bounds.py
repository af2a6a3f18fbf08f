"""Rigorous linear bounds of a compiled network over batches of boxes, arranged for speed.

The same method and the same account of rounding as `network.linear`; what differs: only neurons whose sign is
open are bounded by back-substitution, bounds known for a larger box are taken over, and batches are cut into
pieces that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.network.interval import node_interval
from surefoot.network.linear import Planes
from surefoot.network.outward import TINY, Array, Box, down, gamma
from surefoot.network.relaxation import Relaxation, relax
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.solve.native.bounding.passes import scattered

SMALL = 2.0**-960
_CACHE = 2**16  # entries of one array of coefficients


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is the same for every batch."""

    network: Network
    kept: tuple[int, ...]  # values whose bounds decide how good relaxations are, in order
    plain: frozenset[int]  # ... of which intervals already have the best bounds
    absolute: Mapping[int, tuple[Array, Array]]  # value of an affine node: |weights|, |bias|
    widest: int


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """Boxes of all values, and what back-substitution of further rows needs."""

    layout: Layout
    boxes: list[Box]
    relaxations: list[Relaxation | None]
    magnitudes: dict[int, Array] = field(default_factory=dict)
    effects: dict[int, Array] = field(default_factory=dict)

    def magnitude(self, value: int) -> Array:
        """The largest absolute values of a value, noted before its box may become tighter."""
        if value not in self.magnitudes:
            self.magnitudes[value] = self.boxes[value].magnitude
        return self.magnitudes[value]

    def effect(self, value: int) -> Array:
        """What the roundings of one affine step back from a value can change, per unit of a coefficient."""
        if value not in self.effects:
            weights, bias = self.layout.absolute[value]
            node = self.layout.network.nodes[value - 1]
            assert isinstance(node, Affine)
            size = self.magnitude(node.source) @ weights.T + bias
            self.effects[value] = gamma(weights.shape[0] + 2) * size
        return self.effects[value]

    def below(self, rows: Array, trace: dict[int, Array] | None = None) -> Planes:
        """Planes below rows . outputs; rows of shape (rows, outputs) or (batch, rows, outputs).

        `trace` collects the coefficients of every value.
        """
        rows = rows if rows.ndim == 3 else rows[None]
        return _substituted(self, rows, len(self.layout.network.nodes), trace)

    def with_relaxations(self, relaxations: list[Relaxation | None]) -> Bounded:
        """The same boxes with other linear functions, valid ones, in place of the nodes."""
        return replace(self, relaxations=relaxations)

    def pick(self, index: NDArray[np.bool_]) -> Bounded:
        """The bounds of some members of the batch."""
        boxes = [Box(b.low[index], b.high[index]) for b in self.boxes]
        return Bounded(self.layout, boxes, [r and _picked(r, index) for r in self.relaxations])


def _picked(relaxation: Relaxation, index: NDArray[np.bool_]) -> Relaxation:
    return Relaxation(
        relaxation.sources,
        tuple(a[index] for a in relaxation.below),
        relaxation.below_constant[index],
        tuple(a[index] for a in relaxation.above),
        relaxation.above_constant[index],
    )


def together(parts: Sequence[Bounded]) -> Bounded:
    """The bounds of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    boxes = [stacked(several) for several in zip(*(p.boxes for p in parts), strict=True)]
    relaxations = [_stacked_relaxations(r) for r in zip(*(p.relaxations for p in parts), strict=True)]
    return Bounded(parts[0].layout, boxes, relaxations)


def stacked(several: Sequence[Box]) -> Box:
    return Box(np.concatenate([b.low for b in several]), np.concatenate([b.high for b in several]))


def _stacked_relaxations(several: Sequence[Relaxation | None]) -> Relaxation | None:
    given = [r for r in several if r is not None]
    if not given:
        return None
    first = given[0]
    return Relaxation(
        first.sources,
        tuple(np.concatenate([r.below[i] for r in given]) for i in range(len(first.sources))),
        np.concatenate([r.below_constant for r in given]),
        tuple(np.concatenate([r.above[i] for r in given]) for i in range(len(first.sources))),
        np.concatenate([r.above_constant for r in given]),
    )


def layout(network: Network) -> Layout:
    kept: set[int] = set()
    direct, plain = {0}, {0}
    for number, node in enumerate(network.nodes, start=1):
        match node:
            case Activation(source, _, _):
                kept.add(source)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                kept |= {left, right}
            case Elementwise(source, _, _) if source in direct:
                direct.add(number)
            case Pick(source, indices) if source in direct and len(set(indices.tolist())) == indices.size:
                direct.add(number)
            case Affine(source, _, _) if source in direct:
                plain.add(number)
    absolute = {
        number: (np.abs(node.weights).astype(np.float64), np.abs(node.bias).astype(np.float64))
        for number, node in enumerate(network.nodes, start=1)
        if isinstance(node, Affine)
    }
    return Layout(network, tuple(sorted(kept)), frozenset(plain | direct), absolute, max(network.widths()))


def pieces(plan: Layout, count: int, known: Mapping[int, Box]) -> list[slice]:
    """Cuts of a batch so that coefficients stay in the cache; `known` tells how many rows to expect."""
    rows = 2 * max((_open(plan.network, v, {v: box}).size for v, box in known.items()), default=plan.widest)
    step = min(256, max(4, _CACHE // max(1, min(rows, 2 * plan.widest) * plan.widest)))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def bounded(plan: Layout, low: Array, high: Array, known: Mapping[int, Box]) -> Bounded:
    """Bounds of all values over a batch of boxes; `known`: valid bounds of some values."""
    found = Bounded(plan, [Box(low, high)], [])
    kept = frozenset(plan.kept)
    for number, node in enumerate(plan.network.nodes, start=1):
        found.relaxations.append(_relaxed(node, found.boxes))
        box = node_interval(node, found.boxes)
        if number in known:
            box = box.intersect(known[number])
        found.boxes.append(box)
        if number in kept and number not in plan.plain:
            columns = _open(plan.network, number, found.boxes)
            if columns.size:
                found.boxes[number] = _narrowed(found, number, columns)
    return found


def _narrowed(found: Bounded, number: int, columns: NDArray[np.intp]) -> Box:
    box, count = found.boxes[number], columns.size
    rows = np.zeros((2 * count, box.low.shape[-1]))
    rows[np.arange(count), columns] = 1.0
    rows[np.arange(count, 2 * count), columns] = -1.0
    least = _substituted(found, rows[None], number).minimum(found.boxes[0])
    low, high = box.low.copy(), box.high.copy()
    low[:, columns] = np.maximum(low[:, columns], least[:, :count])
    high[:, columns] = np.minimum(high[:, columns], -least[:, count:])
    return Box(low, high)


def _open(network: Network, value: int, boxes: Sequence[Box] | Mapping[int, Box]) -> NDArray[np.intp]:
    """The entries of a value that some member of the batch has to know better."""
    low, high = boxes[value].low, boxes[value].high
    needed = np.zeros(low.shape[-1], dtype=np.bool_)
    for node in network.nodes:
        match node:
            case Activation(source, shape, parameters) if source == value:
                needed |= straddles(shape, parameters, low, high).any(axis=0)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD and value in (left, right):
                needed |= (low < high).any(axis=0)
    return np.flatnonzero(needed)


def straddles(shape: Shape, parameters: tuple[float, ...], low: Array, high: Array) -> NDArray[np.bool_]:
    """Where an activation is not linear on an interval."""
    match shape:
        case Shape.RELU | Shape.LEAKY_RELU:
            kinks: tuple[float, ...] = (0.0,)
        case Shape.CLIP:
            kinks = parameters
        case Shape.TANH | Shape.SIGMOID:
            return np.asarray(low < high)
    across: NDArray[np.bool_] = np.logical_or.reduce([(low < k) & (high > k) for k in kinks])
    return across


def _relaxed(node: Node, boxes: Sequence[Box]) -> Relaxation | None:
    if isinstance(node, Elementwise) and node.kind is Constant.ADD:
        return None
    if not isinstance(node, Elementwise | Activation | Combine):
        return None
    found = relax(node, boxes)
    # Numbers below the normal range are slow to multiply; moving them outward does no harm.
    below, above = found.below_constant, found.above_constant
    return replace(
        found,
        below_constant=np.where(np.abs(below) < SMALL, -SMALL, below),
        above_constant=np.where(np.abs(above) < SMALL, SMALL, above),
    )


class _Pending:
    """Coefficients still to be substituted: rows >= sum of coefficients . value + constant - slack."""

    def __init__(self, found: Bounded, rows: Array, value: int) -> None:
        self.found, self.boxes = found, found.boxes
        batch = len(found.boxes[0].low)
        self.coefficients = {value: rows}
        self.inexact: dict[int, bool] = {value: False}  # whether one rounding of them is to be accounted for
        self.constant = np.zeros((batch, rows.shape[1]))
        self.slack = np.zeros((batch, rows.shape[1]))

    def add(self, value: int, part: Array, inexact: bool) -> None:
        earlier = self.coefficients.get(value)
        if earlier is not None:
            # A sum may cancel, so the roundings of its parts are accounted for here.
            size = np.abs(earlier) + np.abs(part)
            self.slack = self.slack + gamma(2) * _times(size, self.found.magnitude(value))
            part, inexact = earlier + part, True
        self.coefficients[value], self.inexact[value] = part, inexact

    def account(self, value: int, rows: Array, affine: bool = False) -> None:
        """Roundings of the coefficients of a value, and those of the affine step that follows."""
        if not affine and not self.inexact[value]:
            return
        size = gamma(1) * self.found.magnitude(value)
        if affine:
            size = size + self.found.effect(value)
        self.slack = self.slack + _times(np.abs(rows), size + TINY) + TINY * (1.0 + size.sum(-1)[:, None])


def _times(coefficients: Array, vectors: Array) -> Array:
    product: Array = np.matmul(coefficients, vectors[..., None])[..., 0]
    return product


def _substituted(found: Bounded, rows: Array, value: int, trace: dict[int, Array] | None = None) -> Planes:
    """Planes below rows @ value over the input boxes."""
    pending = _Pending(found, rows, value)
    nodes = found.layout.network.nodes
    with np.errstate(all="ignore"):
        for number in range(value, 0, -1):
            taken = pending.coefficients.pop(number, None)
            if taken is not None:
                if trace is not None:
                    trace[number] = taken
                _step(nodes[number - 1], found.relaxations[number - 1], number, taken, pending)
        width = found.layout.network.width
        shape = (*pending.constant.shape, width)
        reached = np.broadcast_to(pending.coefficients.get(0, np.zeros(shape)), shape)
        if 0 in pending.coefficients:
            pending.account(0, reached)
        constant = down(pending.constant - pending.slack)
    usable = np.isfinite(reached).all(axis=-1) & np.isfinite(constant)
    return Planes(np.where(usable[..., None], reached, 0.0), np.where(usable, constant, -np.inf))


def _step(node: Node, relaxation: Relaxation | None, number: int, rows: Array, pending: _Pending) -> None:
    match node:
        case Affine(source, weights, bias):
            pending.account(number, rows, affine=True)
            flat = rows.reshape(rows.shape[0] * rows.shape[1], rows.shape[2]) @ weights
            pending.add(source, flat.reshape(*rows.shape[:-1], weights.shape[1]), False)
            _add_constant(pending, rows @ bias)
        case Pick(source, indices):
            pending.account(number, rows)
            part = scattered(rows, indices, pending.boxes[source].low.shape[-1])
            size = _times(np.abs(rows), pending.found.magnitude(source)[:, indices])
            pending.slack = pending.slack + gamma(indices.size) * size
            pending.add(source, part, False)
        case Join(several):
            pending.account(number, rows)
            start = 0
            for source in several:
                end = start + pending.boxes[source].low.shape[-1]
                pending.add(source, rows[..., start:end], False)
                start = end
        case Elementwise(source, Constant.ADD, constant):
            pending.account(number, rows)
            amount = constant.astype(np.float64)
            pending.slack = pending.slack + gamma(amount.size + 2) * (np.abs(rows) @ np.abs(amount))
            pending.add(source, rows, False)
            _add_constant(pending, rows @ amount)
        case _:
            assert relaxation is not None
            pending.account(number, rows)
            _relaxation(relaxation, rows, pending)


def _add_constant(pending: _Pending, amount: Array) -> None:
    pending.constant = pending.constant + amount
    pending.slack = pending.slack + gamma(1) * np.abs(pending.constant)


def _relaxation(node: Relaxation, rows: Array, pending: _Pending) -> None:
    """Positive coefficients meet the function below, negative ones the function above."""
    positive = np.maximum(rows, 0.0)
    negative = rows - positive
    below, above = _times(positive, node.below_constant), _times(negative, node.above_constant)
    if (node.below_constant <= 0).all() and (node.above_constant >= 0).all():
        size = -below - above
    else:
        size = _times(positive, np.abs(node.below_constant)) - _times(negative, np.abs(node.above_constant))
    pending.slack = pending.slack + gamma(rows.shape[-1] + 3) * size + TINY
    _add_constant(pending, below + above)
    for source, lower, upper in zip(node.sources, node.below, node.above, strict=True):
        part = positive * lower[:, None]
        part += negative * upper[:, None]  # exact: one of the two is zero
        pending.add(source, part, True)
