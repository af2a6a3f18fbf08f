"""Bounds of all values of a network over a batch of boxes, from which rows of its outputs are bounded.

Interval arithmetic, then back-substitution for entries whose sign (or range) is open in the box at hand; what
was known for a larger box is taken over. By `network.back_substitution` or, for chains of ReLU layers, by the
machine code of `relu_chain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.back_substitution import (
    AbsoluteWeights,
    Planes,
    ValueBounds,
    back_substitute_rows,
    planes_below_entries,
)
from surefoot.network.batches import BatchRecord, join_batches
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.network.float32_error import float32_radius, widen_by_radius
from surefoot.network.interval import node_interval
from surefoot.network.relaxation import relax_value
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
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.bound_arrays import (
    WORTH,
    BoundArrays,
    bound_chain_boxes,
    chain_planes_below,
    load_chain_functions,
    replace_layer_box,
    replace_lower_slopes,
    vacuous_box,
)
from surefoot.solvers.native.relu_chain.layer_tables import ALL, ReluChain, chain_from_network

Index: TypeAlias = NDArray[np.bool_] | NDArray[np.intp]
_CACHE = 2**15  # entries of one array of coefficients
_PIECE = 2**20  # about the work of one piece of a batch
_NEAR_ZERO = 2.0**-100  # more than a reader of certificates may lose by rounding


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
    beyond_sign: set[int] = set()  # values of which more than the sign counts
    direct, plain = {0}, {0}
    for number, node in enumerate(network.nodes, start=1):
        match node:
            case Activation(source, shape, _):
                kept.add(source)
                beyond_sign |= set() if shape is Shape.RELU else {source}
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                kept |= {left, right}
                beyond_sign |= {left, right}
            case TreeEnsemble(source):
                kept.add(source)
                beyond_sign.add(source)
            case Elementwise(source, _, _) if source in direct:
                direct.add(number)
            case Pick(source, indices) if source in direct and len(set(indices.tolist())) == indices.size:
                direct.add(number)
            case Affine(source, _, _) if source in direct:
                plain.add(number)
    best, widest = frozenset(plain | direct), max(network.widths())
    signs = frozenset(kept) - beyond_sign
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


def straddles_kink(shape: Shape, parameters: tuple[float, ...], low: Array, high: Array) -> NDArray[np.bool_]:
    """Where an activation is not linear on an interval."""
    match shape:
        case Shape.RELU | Shape.LEAKY_RELU:
            kinks: tuple[float, ...] = (0.0,)
        case Shape.CLIP:
            kinks = parameters
        case Shape.STEP:
            return np.asarray((low <= 0) & (high > 0))
        case _:
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
    marks: dict[int, BoundMasks] = field(default_factory=dict)
    sheet: BoundArrays | None = None  # where machine code found them

    @property
    def substituted_bounds(self) -> dict[int, BoundMasks]:
        """The bounds that back-substitution gave, by value."""
        sheet, plan = self.sheet, self.layout
        if sheet is None:
            return self.marks
        columns = {v: sheet.chain.columns[v] for v in plan.kept if v not in plan.plain}
        return {v: BoundMasks(sheet.used_low[:, at], sheet.used_high[:, at]) for v, at in columns.items()}

    def below(self, rows: Array, trace: dict[int, Array] | None = None) -> Planes:
        """Planes below rows . outputs; rows of shape (rows, outputs) or (batch, rows, outputs).

        `trace` collects the coefficients of every value.
        """
        if self.sheet is not None:
            return self.least(rows, trace)[0]
        rows = rows if rows.ndim == 3 else rows[None]
        return back_substitute_rows(self, rows, len(self.network.nodes), trace)

    def least(self, rows: Array, trace: dict[int, Array] | None = None) -> tuple[Planes, Array]:
        """The same planes, and their least values over the boxes."""
        sheet = self.sheet
        if sheet is None:
            planes = self.below(rows, trace)
            return planes, planes.minimum(self.boxes[0])
        rows = rows if rows.ndim == 3 else rows[None]
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

    def __getitem__(self, value: Any) -> Any:
        if isinstance(value, slice):
            return [self[v] for v in range(*value.indices(len(self)))]
        number = value if value >= 0 else value + len(self)
        node = self.nodes[number - 1] if number else None
        if isinstance(node, Join | Activation):
            return node_interval(node, self)
        return self.sheet.box(number)


def bounds_from_arrays(layout: BoundingPlan, sheet: BoundArrays) -> NetworkBounds:
    """What machine code has found."""
    radii = {ALL: sheet.radius} if layout.rounded else {}
    boxes = _ArrayBoxes(layout, sheet)
    return NetworkBounds(layout.network, layout.absolute, boxes, [], radii, layout=layout, sheet=sheet)


def concatenate_bounds(parts: Sequence[NetworkBounds]) -> NetworkBounds:
    """The bounds of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    sheets = [p.sheet for p in parts if p.sheet is not None]
    if len(sheets) == len(parts):
        return bounds_from_arrays(parts[0].layout, join_batches(sheets))
    used = {v: _concatenate_masks(parts, v) for v in sorted({v for p in parts for v in p.substituted_bounds})}
    return replace(join_batches(parts), marks=used)


def _concatenate_masks(parts: Sequence[NetworkBounds], value: int) -> BoundMasks:
    none = [np.zeros(p.boxes[value].low.shape, dtype=np.bool_) for p in parts]
    given = [p.substituted_bounds.get(value, BoundMasks(n, n)) for p, n in zip(parts, none, strict=True)]
    return BoundMasks(np.concatenate([w.low for w in given]), np.concatenate([w.high for w in given]))


def batch_slices(plan: BoundingPlan, count: int) -> list[slice]:
    """Cuts of a batch, so that a deadline is noticed between them."""
    step = min(256, max(4, _PIECE // plan.widest**2))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def bound_box_batch(
    plan: BoundingPlan, low: Array, high: Array, known: Mapping[int, BoxArray], substitutes: bool = True
) -> NetworkBounds:
    """Bounds of all values over a batch of boxes; `known`: valid bounds of some values."""
    if plan.chain is not None:
        return bounds_from_arrays(
            plan, bound_chain_boxes(plan.chain, BoxArray(low, high), known, substitutes)
        )
    boxes = [BoxArray(low, high)]
    used: dict[int, BoundMasks] = {}
    found = NetworkBounds(plan.network, plan.absolute, boxes, [], layout=plan, marks=used)
    kept = frozenset(plan.kept)
    for number, node in enumerate(plan.network.nodes, start=1):
        found.relaxations.append(relax_value(node, found.boxes, plan.certified))
        box = forward_interval(found, number)
        if number in known:
            box = box.intersect(known[number])
        boxes.append(box)
        if substitutes and number in kept and number not in plan.plain:
            is_open = _open_entries(plan, number, box)
            if is_open.any():
                rows = BoundMasks(is_open, is_open)
                narrow = _substitute_open_entries(found, number, rows)
                boxes[number], used[number] = _keep_useful_bounds(plan, number, box, narrow, rows)
    return found


def inherit_bounds(plan: BoundingPlan, box: BoxArray, known: Mapping[int, BoxArray]) -> NetworkBounds:
    """The same by intervals and what is known alone."""
    return bound_box_batch(plan, box.low, box.high, known, substitutes=False)


def replace_value_box(found: NetworkBounds, value: int, box: BoxArray, used: BoundMasks) -> NetworkBounds:
    """The same with another box for the last value that back-substitution has bounded."""
    plan = found.layout
    if found.sheet is not None:
        return bounds_from_arrays(plan, replace_layer_box(found.sheet, value, box, used.low, used.high))
    kept = {v: w for v, w in found.substituted_bounds.items() if v != value} | {value: used}
    boxes = [*found.boxes[:value], box]
    radii = {v: r for v, r in found.radii.items() if v <= value}
    relaxations = found.relaxations[:value]
    part = NetworkBounds(plan.network, plan.absolute, boxes, relaxations, radii, layout=plan, marks=kept)
    for number, node in enumerate(plan.network.nodes[value:], start=value + 1):
        part.relaxations.append(relax_value(node, part.boxes, plan.certified))
        boxes.append(forward_interval(part, number))
    return part


def _keep_useful_bounds(
    plan: BoundingPlan, number: int, before: BoxArray, after: BoxArray, rows: BoundMasks
) -> tuple[BoxArray, BoundMasks]:
    """The new bounds that decide a sign or are much better; the others are not worth a step of a proof."""
    width = before.high - before.low
    with np.errstate(all="ignore"):
        low = rows.low & ((after.low - before.low >= WORTH * width) | ~np.isfinite(before.low))
        high = rows.high & ((before.high - after.high >= WORTH * width) | ~np.isfinite(before.high))
    if number in plan.signs:
        on, off = after.low >= 0, after.high <= 0
        low, high = (low | (on & rows.low)) & ~off, (high | (off & rows.high)) & ~on
    chosen = BoxArray(np.where(low, after.low, before.low), np.where(high, after.high, before.high))
    return chosen, BoundMasks(low, high)


def _open_entries(plan: BoundingPlan, value: int, box: BoxArray) -> Mask:
    """The entries of a value, per box, whose bounds decide how good relaxations are."""
    needed = np.zeros(box.low.shape, dtype=np.bool_)
    for node in plan.network.nodes:
        match node:
            case Activation(source, shape, parameters) if source == value:
                needed |= straddles_kink(shape, parameters, box.low, box.high)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD and value in (left, right):
                needed |= box.low < box.high
            case TreeEnsemble(source) if source == value:
                needed[:, np.unique(node.features)] = True
    return needed


def _substitute_open_entries(found: NetworkBounds, number: int, wanted: BoundMasks) -> BoxArray:
    """The chosen bounds by back-substitution, boxes with about equally many of them together."""
    box = found.boxes[number]
    width = box.low.shape[1]
    both = np.concatenate([wanted.low, wanted.high], axis=1)
    counts = both.sum(axis=1)
    together = len(counts) * int(counts.max()) * found.layout.widest <= _CACHE
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    order = np.arange(len(counts)) if together else order
    for value in found.layout.absolute:
        if value < number:
            found.cost(value)  # once for all members
    low, high = box.low.copy(), box.high.copy()
    start = 0
    while start < order.size:
        most = int(counts.max() if together else counts[order[start]])
        members = order[start : start + max(1, _CACHE // (most * found.layout.widest))]
        start += members.size
        member, column = np.nonzero(both[members])
        first = np.concatenate([[0], np.cumsum(counts[members])[:-1]])
        position = np.arange(member.size) - first[member]
        entries, signs = np.zeros((members.size, most), dtype=np.intp), np.zeros((members.size, most))
        is_low, entry = column < width, column % width
        entries[member, position], signs[member, position] = entry, np.where(is_low, 1.0, -1.0)
        some = found if together else found.pick(members)
        least = planes_below_entries(some, number, entries, signs).minimum(some.boxes[0])[member, position]
        at, above = members[member], ~is_low
        low[at[is_low], entry[is_low]] = np.maximum(low[at[is_low], entry[is_low]], least[is_low])
        high[at[above], entry[above]] = np.minimum(high[at[above], entry[above]], -least[above])
    return BoxArray(low, high)


def vacuous_bounds(plan: BoundingPlan) -> dict[int, BoxArray]:
    """Bounds of inner values of one box that say nothing."""
    if plan.chain is not None:
        return {ALL: vacuous_box(plan.chain, 1)}
    widths = plan.network.widths()
    several = [value for value in plan.kept if value not in plan.plain]
    return {v: BoxArray(np.full((1, widths[v]), -np.inf), np.full((1, widths[v]), np.inf)) for v in several}


def known_box(
    plan: BoundingPlan, known: Mapping[int, BoxArray], value: int, members: NDArray[np.intp]
) -> BoxArray:
    """What some boxes of a batch know about a value."""
    if plan.chain is None:
        return BoxArray(known[value].low[members], known[value].high[members])
    at = plan.chain.columns[value]
    return BoxArray(known[ALL].low[members, at], known[ALL].high[members, at])


def may_overflow_on_boxes(plan: BoundingPlan, low: Array, high: Array) -> bool:
    """Whether a float32 evaluation may leave the range of its numbers."""
    return not all(np.isfinite(by).all() for by in _interval_bounds(plan, low, high).radii.values())


def has_safe_divisors(plan: BoundingPlan, low: Array, high: Array) -> bool:
    """Whether intervals alone show that no divisor is near zero, as a certificate needs at its start."""
    divisors = plan.network.divisors()
    if not divisors:
        return True
    boxes = _interval_bounds(plan, low, high).boxes
    return all(bool(((boxes[v].low > _NEAR_ZERO) | (boxes[v].high < -_NEAR_ZERO)).all()) for v in divisors)


def _interval_bounds(plan: BoundingPlan, low: Array, high: Array) -> NetworkBounds:
    return inherit_bounds(replace(plan, chain=None), BoxArray(low, high), {})


def forward_interval(found: NetworkBounds, number: int) -> BoxArray:
    """The box of a value from those before it, with its float32 rounding if it has one."""
    plan, node = found.layout, found.layout.network.nodes[number - 1]
    box = node_interval(node, found.boxes)
    if number in plan.rounded:
        by = float32_radius(node, found.boxes, box, number in plan.inputs, plan.absolute.get(number))
        if by is not None:
            found.radii[number] = by = np.where(plan.rounded[number], by, 0.0)
            return widen_by_radius(box, by)
    return box
