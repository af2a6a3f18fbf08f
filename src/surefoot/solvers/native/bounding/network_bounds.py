"""Bounds of all values of a network over a batch of boxes, from which rows of its outputs are bounded.

By the back-substitution of `network.back_substitution` or, for chains of ReLU layers, by machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from surefoot.network.back_substitution import AbsoluteWeights, Planes, ValueBounds, back_substitute_rows
from surefoot.network.batches import BatchRecord, join_batches
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Join,
    Network,
    Pairing,
    Pick,
    Shape,
)
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.bound_arrays import (
    BoundArrays,
    chain_planes_below,
    load_chain_functions,
    replace_lower_slopes,
)
from surefoot.solvers.native.relu_chain.layer_tables import ALL, ReluChain, chain_from_network

Index: TypeAlias = NDArray[np.bool_] | NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class BoundingPlan:
    """What is the same for every batch of boxes: which values of a network have to be bounded, and how."""

    network: Network
    kept: tuple[int, ...]  # values whose bounds decide how good relaxations are, in order
    plain: frozenset[int]  # ... of which intervals already have the best bounds
    absolute: Mapping[int, tuple[Array, Array]]  # value of an affine node: |weights|, |bias|
    widest: int
    rounded: Mapping[int, Mask]  # values that float32 rounds, and which of their entries
    inputs: frozenset[int]  # ... of which these are the input vectors of calls
    signs: frozenset[int]  # values that are read by ReLUs and linear nodes only: their signs count
    certified: bool  # only relaxations that a certificate can name
    chain: ReluChain | None  # the tables of machine code, for networks that it can bound


def build_bounding_plan(
    network: Network,
    rounded: Mapping[int, Mask] | None = None,
    inputs: frozenset[int] = frozenset(),
    certified: bool = False,
) -> BoundingPlan:
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
    best, widest = frozenset(plain | direct), max(network.widths())
    signs = frozenset(kept) - _values_beyond_sign(network)
    chain = None
    if certified and signs == kept:
        chain = chain_from_network(network, frozenset(kept) - best, rounded or {}, inputs)
    return BoundingPlan(
        network,
        tuple(sorted(kept)),
        best,
        AbsoluteWeights(network),
        widest,
        rounded or {},
        inputs,
        signs,
        certified,
        chain if chain is None or load_chain_functions() is not None else None,
    )


def _values_beyond_sign(network: Network) -> set[int]:
    """The values of which more than the sign counts."""
    found: set[int] = set()
    for node in network.nodes:
        match node:
            case Activation(source, shape, _) if shape is not Shape.RELU:
                found.add(source)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                found |= {left, right}
    return found


def straddles_kink(shape: Shape, parameters: tuple[float, ...], low: Array, high: Array) -> NDArray[np.bool_]:
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


@dataclass(frozen=True, slots=True, eq=False)
class BoundMasks(BatchRecord):
    """Some lower and some upper bounds of a value, per box and entry."""

    low: Mask
    high: Mask


@dataclass(frozen=True, slots=True, eq=False)
class NetworkBounds(ValueBounds):
    """Bounds of all values by a plan, found here or by machine code; then `relaxations` are none."""

    layout: BoundingPlan = field(kw_only=True)
    used: Mapping[int, BoundMasks] = field(default_factory=dict)  # the bounds that back-substitution gave
    sheet: BoundArrays | None = None  # where machine code found them

    def below(self, rows: Array, trace: dict[int, Array] | None = None) -> Planes:
        """Planes below rows . outputs; rows of shape (rows, outputs) or (batch, rows, outputs).

        `trace` collects the coefficients of every value.
        """
        rows = rows if rows.ndim == 3 else rows[None]
        if self.sheet is not None:
            return self._substitute_by_machine(self.sheet, rows, trace)[0]
        return back_substitute_rows(self, rows, len(self.network.nodes), trace)

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
            former, node = relaxations[value - 1], self.network.nodes[value - 1]
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
    boxes, used = _ArrayBoxes(layout, sheet), _ArrayUsedBounds(layout, sheet)
    return NetworkBounds(
        layout.network, layout.absolute, boxes, [], radii, layout=layout, used=used, sheet=sheet
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
