"""Back-substitution of rows of coefficients through a bounded network, for batches of boxes.

The same method and the same account of rounding as `network.linear`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from surefoot.network.back_substitution import Planes
from surefoot.network.batches import BatchRecord, join_batches
from surefoot.network.directed_rounding import TINY, Array, BoxArray, gamma_factor, round_down
from surefoot.network.relaxation import Relaxation
from surefoot.problem.network import Activation, Affine, Constant, Elementwise, Join, Node, Pick
from surefoot.solvers.native.bounding.bounding_plan import BoundingPlan
from surefoot.solvers.native.bounding.gradients import scatter_rows
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.bound_arrays import (
    BoundArrays,
    chain_planes_below,
    replace_lower_slopes,
)
from surefoot.solvers.native.relu_chain.layer_tables import ALL

Index: TypeAlias = NDArray[np.bool_] | NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class BoundMasks(BatchRecord):
    """Some lower and some upper bounds of a value, per box and entry."""

    low: Mask
    high: Mask


@dataclass(frozen=True, slots=True, eq=False)
class NetworkBounds(BatchRecord):
    """Boxes of all values, and what back-substitution of further rows needs."""

    layout: BoundingPlan
    boxes: Sequence[BoxArray]
    relaxations: list[Relaxation | None]  # none where there is a sheet
    radii: dict[int, Array] = field(default_factory=dict)  # how far float32 rounding moves a value
    used: Mapping[int, BoundMasks] = field(default_factory=dict)  # the bounds that back-substitution gave
    magnitudes: dict[int, Array] = field(default_factory=dict)
    effects: dict[int, Array] = field(default_factory=dict)
    costs: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    sheet: BoundArrays | None = None  # where machine code found them

    def magnitude(self, value: int) -> Array:
        """The largest absolute values of a value, noted before its box may become tighter."""
        if value not in self.magnitudes:
            self.magnitudes[value] = self.boxes[value].magnitude
        return self.magnitudes[value]

    @np.errstate(all="ignore")
    def effect(self, value: int) -> Array:
        """What roundings of one affine step back from a value can change, per unit of a coefficient.

        Both those of this computation and those of a float32 evaluation. No number where what is read has no
        bounds (a quotient by zero) or is beyond float64: `_finished` gives up planes through such values.
        """
        if value not in self.effects:
            weights, bias = self.layout.absolute[value]
            node = self.layout.network.nodes[value - 1]
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

    def below(self, rows: Array, trace: dict[int, Array] | None = None) -> Planes:
        """Planes below rows . outputs; rows of shape (rows, outputs) or (batch, rows, outputs).

        `trace` collects the coefficients of every value.
        """
        rows = rows if rows.ndim == 3 else rows[None]
        if self.sheet is not None:
            return self._substitute_by_machine(self.sheet, rows, trace)[0]
        return back_substitute_rows(self, rows, len(self.layout.network.nodes), trace)

    def least(self, rows: Array, trace: dict[int, Array] | None = None) -> tuple[Planes, Array]:
        """The same planes, and their least values over the boxes."""
        if self.sheet is not None:
            return self._substitute_by_machine(self.sheet, rows if rows.ndim == 3 else rows[None], trace)
        planes = self.below(rows, trace)
        return planes, planes.minimum(self.boxes[0])

    def _substitute_by_machine(
        self, sheet: BoundArrays, rows: Array, trace: dict[int, Array] | None
    ) -> tuple[Planes, Array]:
        met = None if trace is None else np.empty((len(sheet.low), rows.shape[1], sheet.chain.width))
        coefficients, constants, least = chain_planes_below(sheet, rows, met)
        if trace is not None and met is not None:
            trace.update((relu, met[:, :, sheet.chain.columns[relu]]) for relu in sheet.chain.relus)
        return Planes(coefficients, constants), least

    def with_slopes(self, below: Mapping[int, Array]) -> NetworkBounds:
        """The same with these slopes below open ReLUs."""
        if self.sheet is not None:
            return bounds_from_arrays(self.layout, replace_lower_slopes(self.sheet, below[ALL]))
        relaxations = list(self.relaxations)
        for value, moved in below.items():
            former, node = relaxations[value - 1], self.layout.network.nodes[value - 1]
            assert former is not None
            assert isinstance(node, Activation)
            box = self.boxes[node.source]
            movable = (box.low < 0) & (box.high > 0)
            relaxations[value - 1] = replace(
                former,
                below=(np.where(movable, moved, former.below[0]),),
                below_constant=np.where(movable, 0.0, former.below_constant),
            )
        return replace(self, relaxations=relaxations)

    def inheritance(self, known: Mapping[int, BoxArray]) -> dict[int, BoxArray]:
        """What the parts of the boxes inherit, in place of what they knew."""
        if self.sheet is not None:
            return {ALL: self.sheet.inheritance()}
        return {value: self.boxes[value] for value in known}

    def in_reals(self) -> NetworkBounds:
        """The same boxes without the rounding of float32 in what is substituted from now on."""
        sheet = None if self.sheet is None else self.sheet.in_reals()
        return replace(self, radii={}, effects={}, costs={}, sheet=sheet)

    def pick(self, index: Index) -> NetworkBounds:
        """The bounds of some members of the batch."""
        if self.sheet is None:
            return BatchRecord.pick(self, index)
        found = bounds_from_arrays(self.layout, self.sheet.pick(index))
        return found if self.radii else found.in_reals()


class _ArrayBoxes(Sequence[BoxArray]):
    """The boxes of all values, out of a sheet."""

    def __init__(self, layout: BoundingPlan, sheet: BoundArrays) -> None:
        self.nodes, self.sheet = layout.network.nodes, sheet

    def __len__(self) -> int:
        return 1 + len(self.nodes)

    @overload
    def __getitem__(self, value: int) -> BoxArray: ...

    @overload
    def __getitem__(self, value: slice) -> list[BoxArray]: ...

    def __getitem__(self, value: int | slice) -> BoxArray | list[BoxArray]:
        if isinstance(value, slice):
            return [self[v] for v in range(*value.indices(len(self)))]
        number = value if value >= 0 else value + len(self)
        node = self.nodes[number - 1] if number else None
        if isinstance(node, Join):
            parts = [self[source] for source in node.sources]
            low, high = np.concatenate([p.low for p in parts], 1), np.concatenate([p.high for p in parts], 1)
            return BoxArray(low, high)
        box = self.sheet.box(number)
        return (
            BoxArray(np.maximum(box.low, 0.0), np.maximum(box.high, 0.0))
            if isinstance(node, Activation)
            else box
        )


class _ArrayUsedBounds(Mapping[int, BoundMasks]):
    """The bounds of all values that back-substitution gave, out of a sheet."""

    def __init__(self, layout: BoundingPlan, sheet: BoundArrays) -> None:
        self.layout, self.sheet = layout, sheet

    def __iter__(self) -> Iterator[int]:
        return (value for value in self.layout.kept if value not in self.layout.plain)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, value: int) -> BoundMasks:
        at = self.sheet.chain.columns[value]
        return BoundMasks(self.sheet.used_low[:, at], self.sheet.used_high[:, at])


def bounds_from_arrays(layout: BoundingPlan, sheet: BoundArrays) -> NetworkBounds:
    """What machine code has found."""
    radii = {ALL: sheet.radius} if layout.rounded else {}
    return NetworkBounds(
        layout, _ArrayBoxes(layout, sheet), [], radii, _ArrayUsedBounds(layout, sheet), sheet=sheet
    )


def concatenate_bounds(parts: Sequence[NetworkBounds]) -> NetworkBounds:
    """The bounds of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    sheets = [p.sheet for p in parts if p.sheet is not None]
    if len(sheets) == len(parts):
        return bounds_from_arrays(parts[0].layout, join_batches(sheets))
    used = {v: _concatenate_masks(parts, v) for v in sorted({v for p in parts for v in p.used})}
    return replace(join_batches(parts), used=used)


def _concatenate_masks(parts: Sequence[NetworkBounds], value: int) -> BoundMasks:
    none = [np.zeros(p.boxes[value].low.shape, dtype=np.bool_) for p in parts]
    given = [p.used.get(value, BoundMasks(n, n)) for p, n in zip(parts, none, strict=True)]
    return BoundMasks(np.concatenate([w.low for w in given]), np.concatenate([w.high for w in given]))


class _PendingRows:
    """Coefficients still to be substituted: rows >= sum of coefficients . value + constant - slack."""

    def __init__(self, found: NetworkBounds, rows: Array, value: int) -> None:
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
            self.slack = self.slack + gamma_factor(2) * _multiply_rows(size, self.found.magnitude(value))
            part, inexact = earlier + part, True
        self.coefficients[value], self.inexact[value] = part, inexact

    def account(self, value: int, rows: Array) -> None:
        """Roundings of the coefficients of a value."""
        if not self.inexact[value]:
            return
        size = gamma_factor(1) * self.found.magnitude(value)
        self.slack = (
            self.slack + _multiply_rows(np.abs(rows), size + TINY) + TINY * (1.0 + size.sum(-1)[:, None])
        )

    def account_affine(self, value: int, rows: Array) -> None:
        """The same, and those of the affine step that follows."""
        size, fixed = self.found.cost(value)
        self.slack = self.slack + _multiply_rows(np.abs(rows), size) + fixed

    def round(self, value: int, rows: Array) -> None:
        """What float32 rounding of a value can change."""
        self.slack = self.slack + (1.0 + gamma_factor(rows.shape[-1] + 2)) * _multiply_rows(
            np.abs(rows), self.found.radii[value]
        )


def _multiply_rows(coefficients: Array, vectors: Array) -> Array:
    product: Array = np.matmul(coefficients, vectors[..., None])[..., 0]
    return product


def back_substitute_rows(
    found: NetworkBounds, rows: Array, value: int, trace: dict[int, Array] | None = None
) -> Planes:
    """Planes below rows @ value over the input boxes."""
    return _finish_substitution(_PendingRows(found, rows, value), value, trace)


def planes_below_entries(found: NetworkBounds, value: int, entry: NDArray[np.intp], sign: Array) -> Planes:
    """Planes below sign * entry of a value, (batch, rows) of them; each sign is 1, -1, or 0 for nothing."""
    node = found.layout.network.nodes[value - 1]
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
    found, nodes = pending.found, pending.found.layout.network.nodes
    with np.errstate(all="ignore"):
        for number in range(value, 0, -1):
            taken = pending.coefficients.pop(number, None)
            if taken is not None:
                if trace is not None:
                    trace[number] = taken
                if number in found.radii and number not in found.layout.absolute:
                    pending.round(number, taken)
                _substitute_node(nodes[number - 1], found.relaxations[number - 1], number, taken, pending)
        width = found.layout.network.width
        shape = (*pending.constant.shape, width)
        reached = np.broadcast_to(pending.coefficients.get(0, np.zeros(shape)), shape)
        if 0 in pending.coefficients:
            pending.account(0, reached)
        constant = round_down(pending.constant - pending.slack)
    usable = np.isfinite(reached).all(axis=-1) & np.isfinite(constant)
    return Planes(np.where(usable[..., None], reached, 0.0), np.where(usable, constant, -np.inf))


def _substitute_node(
    node: Node, relaxation: Relaxation | None, number: int, rows: Array, pending: _PendingRows
) -> None:
    match node:
        case Affine(source, weights, bias):
            pending.account_affine(number, rows)
            flat = rows.reshape(rows.shape[0] * rows.shape[1], rows.shape[2]) @ weights
            pending.add(source, flat.reshape(*rows.shape[:-1], weights.shape[1]), False)
            _add_constant(pending, rows @ bias)
        case Pick(source, indices):
            pending.account(number, rows)
            part = scatter_rows(rows, indices, pending.boxes[source].low.shape[-1])
            size = _multiply_rows(np.abs(rows), pending.found.magnitude(source)[:, indices])
            pending.slack = pending.slack + gamma_factor(indices.size) * size
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
            pending.slack = pending.slack + gamma_factor(amount.size + 2) * (np.abs(rows) @ np.abs(amount))
            pending.add(source, rows, False)
            _add_constant(pending, rows @ amount)
        case _:
            assert relaxation is not None
            pending.account(number, rows)
            _substitute_relaxation(relaxation, rows, pending)


def _add_constant(pending: _PendingRows, amount: Array) -> None:
    pending.constant = pending.constant + amount
    pending.slack = pending.slack + gamma_factor(1) * np.abs(pending.constant)


def _substitute_relaxation(node: Relaxation, rows: Array, pending: _PendingRows) -> None:
    """Positive coefficients meet the function below, negative ones the function above."""
    negative = np.minimum(rows, 0.0)
    positive = rows - negative
    met = _multiply_rows(negative, node.above_constant)
    size = (
        -met if (node.above_constant >= 0).all() else -_multiply_rows(negative, np.abs(node.above_constant))
    )
    if node.below_constant.any():
        below = _multiply_rows(positive, node.below_constant)
        met = met + below
        size = size + _multiply_rows(positive, np.abs(node.below_constant))
    pending.slack = pending.slack + gamma_factor(rows.shape[-1] + 3) * size + TINY
    _add_constant(pending, met)
    in_place = len(node.sources) == 1 and len(rows) == len(node.below_constant)
    for source, lower, upper in zip(node.sources, node.below, node.above, strict=True):
        part = np.multiply(positive, lower[:, None], out=positive if in_place else None)
        part += np.multiply(negative, upper[:, None], out=negative if in_place else None)
        pending.add(source, part, True)  # the sum is exact: one of the two is zero
