"""Linear bounds by backward substitution (CROWN, DeepPoly), rigorous although computed in float64.

A row of coefficients over some value of the network is pushed back, node by node, to the input; activations
are replaced by the linear functions of `relaxation`. Every rounding made on the way is multiplied by the
largest magnitude of what it is a coefficient of and collected in `slack`, which is taken off the constant at
the end. So the planes returned bound the exact real function, with exactly their float64 coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord
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
from surefoot.network.relaxation import Relaxation, relax_value
from surefoot.network.tree_bounds import bound_tree_rows
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    IndexArray,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    node_sources,
)
from surefoot.problem.tree_ensemble import TreeEnsemble


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
            middle = multiply_rows(self.coefficients, centre) + self.constant
            spread = multiply_rows(size, radius)
            # Two sums of `inputs` products, the constant and the difference.
            error = gamma_factor(2 * radius.shape[-1] + 4) * (
                multiply_rows(size, np.abs(centre)) + spread + np.abs(self.constant)
            )
            return _finite_lower_bound(middle - spread - error - TINY)


class AbsoluteWeights(Mapping[int, tuple[Array, Array]]):
    """Weights and bias of every affine node without signs, by its value; computed when they are asked for."""

    def __init__(self, network: Network) -> None:
        nodes = enumerate(network.nodes, start=1)
        self._nodes = {number: node for number, node in nodes if isinstance(node, Affine)}
        self._found: dict[int, tuple[Array, Array]] = {}

    def __getitem__(self, value: int) -> tuple[Array, Array]:
        if value not in self._found:
            node = self._nodes[value]
            weights, bias = np.abs(node.weights), np.abs(node.bias)
            self._found[value] = weights.astype(np.float64), bias.astype(np.float64)
        return self._found[value]

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


@dataclass(frozen=True, slots=True, eq=False)
class ValueBounds(BatchRecord):
    """Boxes of the values of a network so far, and what back-substitution of rows needs."""

    network: Network
    absolute: Mapping[int, tuple[Array, Array]]
    boxes: Sequence[BoxArray]
    relaxations: list[Relaxation | None]
    radii: dict[int, Array] = field(default_factory=dict)  # how far float32 rounding moves a value
    magnitudes: dict[int, Array] = field(default_factory=dict)
    effects: dict[int, Array] = field(default_factory=dict)
    costs: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def magnitude(self, value: int) -> Array:
        """The largest absolute values of a value, noted before its box may become tighter."""
        if value not in self.magnitudes:
            self.magnitudes[value] = self.boxes[value].magnitude
        return self.magnitudes[value]

    @np.errstate(all="ignore")
    def effect(self, value: int) -> Array:
        """What roundings of one affine step back from a value can change, per unit of a coefficient.

        Both those of this computation and those of a float32 evaluation. No number where what is read has no
        bounds (a quotient by zero) or is beyond float64: planes through such values are given up at the end.
        """
        if value not in self.effects:
            weights, bias = self.absolute[value]
            node = self.network.nodes[value - 1]
            assert isinstance(node, Affine)
            effect = gamma_factor(weights.shape[0] + 2) * (self.magnitude(node.source) @ weights.T + bias)
            if value in self.radii:
                effect = effect + (1.0 + gamma_factor(weights.shape[0] + 4)) * self.radii[value]
            self.effects[value] = effect
        return self.effects[value]

    @np.errstate(all="ignore")
    def cost(self, value: int) -> tuple[Array, Array]:
        """What roundings of the coefficients of an affine value and of the step back from it can change.

        Per unit of a coefficient, and whatever the coefficients are.
        """
        if value not in self.costs:
            size = gamma_factor(1) * self.magnitude(value) + self.effect(value)
            self.costs[value] = size + TINY, TINY * (1.0 + size.sum(-1)[:, None])
        return self.costs[value]


def linear_bounds(network: Network, low: object, high: object) -> tuple[BoxArray, ...]:
    """A box per value, input first, for bounds (width,) or (batch, width); never looser than intervals."""
    box = check_input_box(network.width, low, high)
    if box.low.ndim == 1:
        return tuple(b.pick(0) for b in linear_bounds(network, box.low[None], box.high[None]))
    plain = interval_bounds(network, box.low, box.high)
    wanted = {s for node in network.nodes if _is_relaxed(node) for s in node_sources(node)}
    # Of an affine function of the input the interval bounds are as good.
    wanted -= {n for n, node in enumerate(network.nodes, 1) if isinstance(node, Affine) and node.source == 0}
    wanted |= {len(network.nodes)}
    boxes = [plain[0]]
    found = ValueBounds(network, AbsoluteWeights(network), boxes, [])
    for number, node in enumerate(network.nodes, start=1):
        found.relaxations.append(relax_value(node, boxes))
        boxes.append(node_interval(node, boxes).intersect(plain[number]))
        if number in wanted:
            batch, count = boxes[number].low.shape
            entries = np.broadcast_to(np.tile(np.arange(count), 2), (batch, 2 * count))
            # An upper bound is a lower bound of the negative.
            signs = np.broadcast_to(np.repeat([1.0, -1.0], count), entries.shape)
            least = planes_below_entries(found, number, entries, signs).minimum(boxes[0])
            boxes[number] = boxes[number].intersect(BoxArray(least[:, :count], -least[:, count:]))
    return tuple(boxes)


def _is_relaxed(node: Node) -> bool:
    """Whether the bounds of a node's sources decide how good its linear bounds are."""
    return isinstance(node, Activation) or (isinstance(node, Combine) and node.pairing is not Pairing.ADD)


class _PendingRows:
    """Coefficients still to be substituted: rows >= sum of coefficients . value + constant - slack."""

    def __init__(self, found: ValueBounds, rows: Array, value: int) -> None:
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
            self.slack = self.slack + gamma_factor(2) * multiply_rows(size, self.found.magnitude(value))
            part, inexact = earlier + part, True
        self.coefficients[value], self.inexact[value] = part, inexact

    def account(self, value: int, rows: Array) -> None:
        """Roundings of the coefficients of a value."""
        if not self.inexact[value]:
            return
        size = gamma_factor(1) * self.found.magnitude(value)
        self.slack = (
            self.slack + multiply_rows(np.abs(rows), size + TINY) + TINY * (1.0 + size.sum(-1)[:, None])
        )

    def account_affine(self, value: int, rows: Array) -> None:
        """The same, and those of the affine step that follows."""
        size, fixed = self.found.cost(value)
        self.slack = self.slack + multiply_rows(np.abs(rows), size) + fixed

    def round(self, value: int, rows: Array) -> None:
        """What float32 rounding of a value can change."""
        self.slack = self.slack + (1.0 + gamma_factor(rows.shape[-1] + 2)) * multiply_rows(
            np.abs(rows), self.found.radii[value]
        )


def multiply_rows(coefficients: Array, vectors: Array) -> Array:
    """Each row times the vector of its batch member."""
    product: Array = np.matmul(coefficients, vectors[..., None])[..., 0]
    return product


def back_substitute_rows(
    found: ValueBounds, rows: Array, value: int, trace: dict[int, Array] | None = None
) -> Planes:
    """Planes below rows @ value over the input boxes."""
    return _finish_substitution(_PendingRows(found, rows, value), value, trace)


def planes_below_entries(found: ValueBounds, value: int, entry: NDArray[np.intp], sign: Array) -> Planes:
    """Planes below sign * entry of a value, (batch, rows) of them; each sign is 1, -1, or 0 for nothing."""
    node = found.network.nodes[value - 1]
    if not isinstance(node, Affine):
        width = found.boxes[value].low.shape[-1]
        return back_substitute_rows(found, sign[..., None] * (entry[..., None] == np.arange(width)), value)
    pending = _PendingRows(found, sign[..., None] * node.weights[entry], node.source)
    _add_constant(pending, sign * node.bias[entry])
    # Weights times 1 or -1 are exact; what is left is the rounding of a float32 evaluation.
    pending.slack = pending.slack + np.take_along_axis(found.effect(value), entry, axis=1) + TINY
    return _finish_substitution(pending, node.source, None)


def _finish_substitution(pending: _PendingRows, value: int, trace: dict[int, Array] | None) -> Planes:
    """Everything up to a value substituted."""
    found, nodes = pending.found, pending.found.network.nodes
    with np.errstate(all="ignore"):
        for number in range(value, 0, -1):
            taken = pending.coefficients.pop(number, None)
            if taken is not None:
                if trace is not None:
                    trace[number] = taken
                if number in found.radii and number not in found.absolute:
                    pending.round(number, taken)
                _substitute_node(nodes[number - 1], found.relaxations[number - 1], number, taken, pending)
        width = found.network.width
        shape = (*pending.constant.shape, width)
        reached = np.broadcast_to(pending.coefficients.get(0, np.zeros(shape)), shape)
        if 0 in pending.coefficients:
            pending.account(0, reached)
        constant = round_down(pending.constant - pending.slack)
    return give_up_infinite_planes(reached, constant)


def _substitute_node(
    node: Node, relaxation: Relaxation | None, number: int, rows: Array, pending: _PendingRows
) -> None:
    match node:
        case TreeEnsemble(source):
            pending.account(number, rows)
            least, slack = bound_tree_rows(node, pending.boxes[source], rows)
            pending.slack = pending.slack + slack
            _add_constant(pending, least)
            return
        case Affine():
            pending.account_affine(number, rows)
        case Pick(source, indices):
            pending.account(number, rows)
            size = multiply_rows(np.abs(rows), pending.found.magnitude(source)[:, indices])
            pending.slack = pending.slack + gamma_factor(indices.size) * size
        case Elementwise(_, Constant.ADD, constant):
            pending.account(number, rows)
            size = np.abs(rows) @ np.abs(constant.astype(np.float64))
            pending.slack = pending.slack + gamma_factor(constant.size + 2) * size
        case _:
            pending.account(number, rows)
    if relaxation is not None:
        _substitute_relaxation(relaxation, rows, pending)
        return
    for source, part in linear_preimages(node, rows, pending.found.network.widths()):
        pending.add(source, part, False)
    shift = linear_shift(node)
    if shift is not None:
        _add_constant(pending, rows @ shift)


def _add_constant(pending: _PendingRows, amount: Array) -> None:
    pending.constant = pending.constant + amount
    pending.slack = pending.slack + gamma_factor(1) * np.abs(pending.constant)


def _substitute_relaxation(node: Relaxation, rows: Array, pending: _PendingRows) -> None:
    """Positive coefficients meet the function below, negative ones the function above."""
    negative = np.minimum(rows, 0.0)
    positive = rows - negative
    met = multiply_rows(negative, node.above_constant)
    size = -met if (node.above_constant >= 0).all() else -multiply_rows(negative, np.abs(node.above_constant))
    if node.below_constant.any():
        below = multiply_rows(positive, node.below_constant)
        met = met + below
        size = size + multiply_rows(positive, np.abs(node.below_constant))
    pending.slack = pending.slack + gamma_factor(rows.shape[-1] + 3) * size + TINY
    _add_constant(pending, met)
    in_place = len(node.sources) == 1 and len(rows) == len(node.below_constant)
    for source, lower, upper in zip(node.sources, node.below, node.above, strict=True):
        part = np.multiply(positive, lower[:, None], out=positive if in_place else None)
        part += np.multiply(negative, upper[:, None], out=negative if in_place else None)
        pending.add(source, part, True)  # the sum is exact: one of the two is zero


def give_up_infinite_planes(coefficients: Array, constant: Array) -> Planes:
    """The planes; those with a number beyond float64 say nothing."""
    usable = np.isfinite(coefficients).all(axis=-1) & np.isfinite(constant)
    return Planes(np.where(usable[..., None], coefficients, 0.0), np.where(usable, constant, -np.inf))


def _finite_lower_bound(bound: Array) -> Array:
    """A lower bound, -inf where the arithmetic overflowed."""
    return np.where(np.isfinite(bound), bound, -np.inf)


def linear_preimages(
    node: Node, rows: Array, widths: Sequence[int], *, signs: bool = True
) -> Iterator[tuple[int, Array]]:
    """What rows over the value of a linear node are over its sources; without `signs`: for |weights|."""
    match node:
        case Affine(source, weights, _):
            given = weights if signs else np.abs(weights)
            flat = rows if rows.ndim == 2 else rows.reshape(rows.shape[0] * rows.shape[1], rows.shape[2])
            yield source, (flat @ given).reshape(*rows.shape[:-1], weights.shape[1])
        case Pick(source, indices):
            yield source, _scatter_rows(rows, indices, widths[source])
        case Join(several):
            start = 0
            for source in several:
                end = start + widths[source]
                yield source, rows[..., start:end]
                start = end
        case Elementwise(source, kind, constant):
            factor = constant.astype(np.float64)
            yield (
                source,
                rows
                if kind is Constant.ADD
                else rows * (factor if kind is Constant.MULTIPLY else 1.0 / factor),
            )
        case TreeEnsemble():
            return  # it is constant between its thresholds
        case _:
            raise AssertionError("every other node is relaxed")


def linear_shift(node: Node) -> Array | None:
    """What a linear node adds to its entries, if anything."""
    match node:
        case Affine(_, _, bias):
            return bias.astype(np.float64, copy=False)
        case Elementwise(_, Constant.ADD, constant):
            return constant.astype(np.float64)
        case _:
            return None


def _scatter_rows(rows: Array, indices: IndexArray, width: int) -> Array:
    """Rows over picked entries as rows over the `width` entries that they were picked from."""
    part = np.zeros((*rows.shape[:-1], width))
    if _are_distinct(indices.tobytes()):
        part[..., indices] = rows
    else:
        for position, index in enumerate(indices):
            part[..., index] += rows[..., position]
    return part


@lru_cache(256)
def _are_distinct(indices: bytes) -> bool:
    found = np.frombuffer(indices, dtype=np.int64)
    return len(np.unique(found)) == found.size
