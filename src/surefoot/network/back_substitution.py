"""Linear bounds by backward substitution (CROWN, DeepPoly), rigorous although computed in float64.

A row of coefficients over some value of the network is pushed back, node by node, to the input; activations
are replaced by the linear functions of `relaxation`. Every rounding made on the way is multiplied by the
largest magnitude of what it is a coefficient of and collected in `slack`, which is taken off the constant at
the end. So the planes returned bound the exact real function, with exactly their float64 coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from surefoot.network.batches import BatchRecord, join_batches
from surefoot.network.directed_rounding import (
    TINY,
    Array,
    BoxArray,
    centre_radius,
    check_input_box,
    gamma_factor,
    round_down,
)
from surefoot.network.interval import interval_bounds, node_interval
from surefoot.network.relaxation import Relaxation, relax_node
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    node_sources,
)

_ENTRIES = 2**22  # of one array of coefficients: larger batches are cut


@dataclass(frozen=True, slots=True, eq=False)
class Planes(BatchRecord):
    """coefficients . x + constant over the network input, one plane per row."""

    coefficients: Array  # (..., rows, inputs)
    constant: Array  # (..., rows)

    def minimum(self, box: BoxArray) -> Array:
        """A lower bound of each plane over a box; -inf where nothing is known."""
        with np.errstate(all="ignore"):
            centre, radius = centre_radius(box)
            size = np.abs(self.coefficients)
            middle = _multiply_rows(self.coefficients, centre) + self.constant
            spread = _multiply_rows(size, radius)
            # Two sums of `inputs` products, the constant and the difference.
            error = gamma_factor(2 * radius.shape[-1] + 4) * (
                _multiply_rows(size, np.abs(centre)) + spread + np.abs(self.constant)
            )
            return _finite_lower_bound(middle - spread - error - TINY)

    def __neg__(self) -> Planes:
        return Planes(-self.coefficients, -self.constant)


@dataclass(frozen=True, slots=True, eq=False)
class LinearBounds(BatchRecord):
    """`below` <= outputs <= `above` on the input box values[0]; `values` are the tightest boxes found."""

    values: tuple[BoxArray, ...]
    below: Planes
    above: Planes


def linear_bounds(
    network: Network, low: object, high: object, extra: Mapping[int, BoxArray] | None = None
) -> LinearBounds:
    """Bounds of every value and planes for the outputs; never looser than `interval_bounds`.

    Bounds of shape (width,) or (batch, width). `extra` as for intervals: known bounds of some values, of the
    same leading shape.
    """
    box = check_input_box(network.width, low, high)
    if box.low.ndim == 1:
        known = {number: box.pick(None) for number, box in (extra or {}).items()}
        return linear_bounds(network, box.low[None], box.high[None], known).pick(0)
    widest = max(network.widths())
    step = max(1, _ENTRIES // max(1, 2 * widest * widest))
    cuts = [slice(start, start + step) for start in range(0, max(1, len(box.low)), step)]
    return join_batches([_bound_batch(network, box, extra or {}, cut) for cut in cuts])


def planes_below_outputs(network: Network, values: Sequence[BoxArray], rows: object) -> Planes:
    """Planes below rows @ outputs on the input box, given the boxes of a batch from `linear_bounds`.

    For the margin of an action over the others, which is tighter than the difference of two bounds.
    """
    single = values[0].low.ndim == 1
    boxes = [b.pick(None) for b in values] if single else values
    relaxations = [_node_relaxation(node, boxes) for node in network.nodes]
    planes = _back_substitute(
        network, boxes, relaxations, np.asarray(rows, dtype=np.float64), len(network.nodes)
    )
    return planes.pick(0) if single else planes


def _bound_batch(network: Network, box: BoxArray, extra: Mapping[int, BoxArray], cut: slice) -> LinearBounds:
    known = {number: b.pick(cut) for number, b in extra.items()}
    plain = interval_bounds(network, box.low[cut], box.high[cut], known)
    last = len(network.nodes)
    wanted = {s for node in network.nodes if _is_relaxed(node) for s in node_sources(node)}
    # Of an affine function of the input the interval bounds are as good.
    wanted -= {n for n, node in enumerate(network.nodes, 1) if isinstance(node, Affine) and node.source == 0}
    boxes, relaxations = [plain[0]], list[Relaxation | None]()
    below = above = _back_substitute(network, boxes, relaxations, np.eye(network.width), 0)
    for number, node in enumerate(network.nodes, start=1):
        relaxations.append(_node_relaxation(node, boxes))
        boxes.append(node_interval(node, boxes).intersect(plain[number]))
        if number in wanted or number == last:
            identity = np.eye(boxes[number].low.shape[-1])
            rows = np.concatenate([identity, -identity])  # an upper bound is a lower bound of the negative
            planes = _back_substitute(network, boxes, relaxations, rows, number)
            least = planes.minimum(boxes[0])
            count = len(identity)
            boxes[number] = boxes[number].intersect(BoxArray(least[:, :count], -least[:, count:]))
            below, above = planes.pick(np.s_[:, :count]), -planes.pick(np.s_[:, count:])
    return LinearBounds(tuple(boxes), below, above)


def _is_relaxed(node: Node) -> bool:
    """Whether the bounds of a node's sources decide how good its linear bounds are."""
    return isinstance(node, Activation) or (isinstance(node, Combine) and node.pairing is not Pairing.ADD)


def _node_relaxation(node: Node, boxes: Sequence[BoxArray]) -> Relaxation | None:
    return relax_node(node, boxes) if isinstance(node, Elementwise | Activation | Combine) else None


@dataclass(slots=True)
class _PendingRows:
    """What is left to substitute: rows >= sum of coefficients . value + constant - slack."""

    boxes: Sequence[BoxArray]
    coefficients: dict[int, Array]
    constant: Array
    slack: Array = field(init=False)

    def __post_init__(self) -> None:
        self.slack = np.zeros_like(self.constant)

    def add(self, value: int, part: Array, operations: int) -> None:
        """Add coefficients that are off by some roundings each, which acts on the value's magnitude."""
        size = self.boxes[value].magnitude
        self.slack = (
            self.slack
            + gamma_factor(operations) * _multiply_rows(np.abs(part), size)
            + TINY * size.sum(-1)[:, None]
        )
        if value in self.coefficients:
            part = self.coefficients[value] + part
            self.slack = self.slack + gamma_factor(1) * _multiply_rows(np.abs(part), size)
        self.coefficients[value] = part

    def add_constant(self, amount: Array, size: Array, operations: int) -> None:
        """Add to the constant a sum of `operations` terms whose absolute values sum up to `size`."""
        self.constant = self.constant + amount
        self.slack = (
            self.slack + gamma_factor(operations) * size + gamma_factor(1) * np.abs(self.constant) + TINY
        )


def _back_substitute(
    network: Network,
    boxes: Sequence[BoxArray],
    relaxations: Sequence[Relaxation | None],
    rows: Array,
    value: int,
) -> Planes:
    """Planes below rows @ value, over the input box."""
    batch = len(boxes[0].low)
    pending = _PendingRows(boxes, {value: rows[None]}, np.zeros((batch, len(rows))))
    with np.errstate(all="ignore"):
        for number in range(value, 0, -1):
            coefficients = pending.coefficients.pop(number, None)
            if coefficients is not None:
                node, relaxation = network.nodes[number - 1], relaxations[number - 1]
                _RULES[type(node)](relaxation or node, coefficients, pending)
        shape = (batch, len(rows), network.width)
        reached = np.broadcast_to(pending.coefficients.get(0, np.zeros(shape)), shape)
        constant = _finite_lower_bound(round_down(pending.constant - pending.slack))
    usable = np.isfinite(reached).all(axis=-1) & np.isfinite(constant)
    return Planes(np.where(usable[..., None], reached, 0.0), np.where(usable, constant, -np.inf))


def _finite_lower_bound(bound: Array) -> Array:
    """A lower bound, -inf where the arithmetic overflowed."""
    return np.where(np.isfinite(bound), bound, -np.inf)


def _multiply_rows(coefficients: Array, vectors: Array) -> Array:
    """Each row times the vector of its batch member."""
    product: Array = np.matmul(coefficients, vectors[..., None])[..., 0]
    return product


def _substitute_affine(node: Affine, rows: Array, pending: _PendingRows) -> None:
    weights, bias = node.weights.astype(np.float64), node.bias.astype(np.float64)
    count = weights.shape[0]
    part = (rows.reshape(-1, count) @ weights).reshape(*rows.shape[:-1], weights.shape[1])
    # Each coefficient is a sum of `count` products: |rows| @ (|weights| @ magnitude) bounds their effect.
    size = pending.boxes[node.source].magnitude @ np.abs(weights).T
    pending.slack = pending.slack + gamma_factor(count) * _multiply_rows(np.abs(rows), size)
    pending.add(node.source, part, 0)
    pending.add_constant(rows @ bias, np.abs(rows) @ np.abs(bias), count)


def _substitute_relaxation(node: Relaxation, rows: Array, pending: _PendingRows) -> None:
    """Positive coefficients meet the function below, negative ones the function above."""
    positive, negative = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
    for source, below, above in zip(node.sources, node.below, node.above, strict=True):
        pending.add(source, positive * below[:, None] + negative * above[:, None], 1)
    amount = _multiply_rows(positive, node.below_constant) + _multiply_rows(negative, node.above_constant)
    size = _multiply_rows(positive, np.abs(node.below_constant)) - _multiply_rows(
        negative, np.abs(node.above_constant)
    )
    pending.add_constant(amount, size, rows.shape[-1] + 2)


def _substitute_pick(node: Pick, rows: Array, pending: _PendingRows) -> None:
    box = pending.boxes[node.source]
    part = np.zeros((*rows.shape[:-1], box.low.shape[-1]))
    for position, index in enumerate(node.indices):
        part[..., index] += rows[..., position]
    # An entry picked several times gets a sum of as many coefficients.
    size = _multiply_rows(np.abs(rows), box.magnitude[:, node.indices])
    pending.slack = pending.slack + gamma_factor(node.indices.size) * size
    pending.add(node.source, part, 0)


def _substitute_join(node: Join, rows: Array, pending: _PendingRows) -> None:
    start = 0
    for source in node.sources:
        end = start + pending.boxes[source].low.shape[-1]
        pending.add(source, rows[..., start:end], 0)
        start = end


_Rule: TypeAlias = Callable[[Any, Array, _PendingRows], None]
_RULES: dict[type[Node], _Rule] = {
    Affine: _substitute_affine,
    Elementwise: _substitute_relaxation,
    Activation: _substitute_relaxation,
    Combine: _substitute_relaxation,
    Pick: _substitute_pick,
    Join: _substitute_join,
}
