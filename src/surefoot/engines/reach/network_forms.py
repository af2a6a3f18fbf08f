"""Networks on affine forms (Singh et al. 2018, DeepZ): symbols of the state go through to the outputs.

Every activation becomes a slope and a band around it, and the band a symbol of its own; at the end these are
put together, one radius for each output. Float32 arithmetic as deployed, in any order of summation, is a
radius of every node (docs/certificates.md, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.form_series import (
    LEAST,
    UNIT,
    bounds_of,
    convolve_forms,
    linearise_forms,
    spread_of,
)
from surefoot.errors import Unsupported
from surefoot.network import interval
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.float32_error import float32_radius
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

_UNBOUNDED = {Shape.EXP, Shape.SQRT}  # have no finite bounds over every box
SLOPE_OFF = 2.0**-48  # of bands, relative to what they are computed from
SLOPES = 2.0**16  # slopes are whole multiples of 1 / SLOPES, as the checker has them: sets are alike then
WIDE_SLOPES = 2.0**13  # of tanh over more than 2^-7, where the checker has few different ones


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Coefficients of the bands of one activation: left * matrix * right."""

    group: int  # which activation's
    left: Array  # (cells, entries)
    matrix: Array | None  # (entries, bands) or (cells, entries, bands); None: bands of `columns` alone
    right: Array  # (cells, bands)
    columns: NDArray[np.intp]  # entries that have a band, as long as there is no matrix

    def sums(self) -> Array:
        """Of absolute values, entry by entry."""
        right = np.abs(self.right)
        if self.matrix is None:
            sums = np.zeros_like(self.left)
            sums[:, self.columns] = right
        elif self.matrix.ndim == 2:
            sums = right @ np.abs(self.matrix).T
        else:
            sums = np.matmul(np.abs(self.matrix), right[..., None])[..., 0]
        found: Array = np.abs(self.left) * sums
        return found

    def rows(self) -> Array:
        """The matrix, written out."""
        return np.eye(self.left.shape[1])[:, self.columns] if self.matrix is None else self.matrix

    def dense(self) -> Array:
        """(cells, entries, bands)."""
        return self.left[..., None] * self.rows() * self.right[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class _InputSet:
    """What the inputs are above their centres, over the symbols of the state and one for each radius."""

    symbols: Array  # (cells, inputs, symbols)
    widths: Array  # (cells, inputs)


@dataclass(slots=True, eq=False)
class _Value:
    """Entries as forms over the inputs (cells, entries, 1 + inputs), and over bands so far.

    Without `inputs` they are over the symbols of the state, (cells, entries, 1 + symbols): where there are
    fewer of these than inputs.
    """

    inputs: _InputSet | None
    forms: Array
    radius: Array
    blocks: tuple[_Block, ...] = ()
    _spread: Array | None = None

    def bands(self) -> Array:
        """How far the bands reach."""
        terms = 1 + sum(b.right.shape[1] for b in self.blocks)
        total: Array = np.zeros_like(self.radius)
        for block in self.blocks:
            total = total + block.sums()
        total = total * (1 + 4 * terms * UNIT)
        return total

    def spread(self) -> Array:
        """How far entries are from their centres."""
        if self._spread is None:
            own = _widths_over(self.inputs, self.forms[..., 1:])
            self._spread = (own + self.bands() + self.radius) * (1 + 4 * UNIT)
        return self._spread

    def size(self) -> Array:
        """What is added up in an entry, in absolute values."""
        found = np.abs(self.forms[..., 0]) + self.spread()
        if self.inputs is not None:
            found = found + np.matmul(np.abs(self.forms[..., 1:]), self.inputs.widths[..., None])[..., 0]
        return found

    def box(self) -> BoxArray:
        by, centre = self.spread(), self.forms[..., 0]
        by = by + (np.abs(centre) + by) * (2 * UNIT)
        return BoxArray(centre - by, centre + by)


def _widths_over(inputs: _InputSet | None, coefficients: Array) -> Array:
    """Of forms with these coefficients, without bands."""
    found: Array
    if inputs is None:
        found = np.abs(coefficients).sum(-1) * (1 + 2 * (1 + coefficients.shape[-1]) * UNIT)
        return found
    terms = sum(inputs.symbols.shape[1:])
    lost = np.matmul(np.abs(coefficients), inputs.widths[..., None])[..., 0] * (2 * terms * UNIT)
    found = (np.abs(np.matmul(coefficients, inputs.symbols)).sum(-1) + lost) * (1 + 2 * terms * UNIT)
    return found


@lru_cache(maxsize=64)
def _weights_of(node: Affine) -> tuple[Array, Array, Array, Array]:
    weights, bias = node.weights.astype(np.float64), node.bias.astype(np.float64)
    return weights, bias, np.abs(weights), np.abs(bias)


def propagate_network(network: Network, inputs: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Forms of the outputs (cells, outputs, 2 + symbols), and which cells have any.

    `inputs`: forms of the observations, before they are rounded to float32.
    """
    with np.errstate(all="ignore"):
        first = _read_inputs(network, inputs)
        values, boxes = [first], [first.box()]
        for number, node in enumerate(network.nodes):
            found = _add_rounding(node, boxes, _propagate_node(node, number, values))
            values.append(found)
            boxes.append(found.box())
        outputs = _forms_over_symbols(values[-1], inputs.shape[-1] - 2)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(outputs).all(axis=(1, 2)))
    return outputs, finite


def _read_inputs(network: Network, inputs: Array) -> _Value:
    """The observations, rounded to float32."""
    low, high = bounds_of(inputs)
    rounded = float32_radius(Pick(0, np.arange(network.width)), [], BoxArray(low, high), True, None)
    assert rounded is not None
    radius = (inputs[..., -1] + rounded) * (1 + 4 * UNIT)
    count = inputs.shape[1]
    if count >= inputs.shape[-1] - 2 or any(_multiplies(node) for node in network.nodes):
        return _Value(None, inputs[..., :-1], radius)
    symbols = np.concatenate([inputs[..., 1:-1], radius[..., None] * np.eye(count)], -1)
    widths = np.abs(symbols).sum(-1) * (1 + 2 * symbols.shape[-1] * UNIT)
    forms = np.broadcast_to(np.eye(count, 1 + count, 1), (len(inputs), count, 1 + count)).copy()
    forms[..., 0] = inputs[..., 0]
    return _Value(_InputSet(symbols, widths), forms, np.zeros_like(radius))


def _multiplies(node: Node) -> bool:
    """Are two values of a network multiplied or divided? Then inputs alone are no basis."""
    return isinstance(node, Combine) and node.pairing not in (Pairing.ADD, Pairing.MAXIMUM)


def _forms_over_symbols(value: _Value, count: int) -> Array:
    """Forms (cells, entries, 2 + symbols of the state): everything else is in the radius."""
    radius = value.radius + value.bands()
    if value.inputs is None:
        return np.concatenate([value.forms, radius[..., None]], axis=-1)
    coefficients = np.matmul(value.forms[..., 1:], value.inputs.symbols)
    terms = sum(value.inputs.symbols.shape[1:])
    lost = np.matmul(np.abs(value.forms[..., 1:]), value.inputs.widths[..., None])[..., 0]
    rest = np.abs(coefficients[..., count:]).sum(-1)
    radius = (radius + rest + lost * (2 * terms * UNIT)) * (1 + 2 * terms * UNIT)
    return np.concatenate([value.forms[..., :1], coefficients[..., :count], radius[..., None]], axis=-1)


def propagate_in_parts(network: Network, inputs: Array, halvings: int) -> tuple[Array, NDArray[np.bool_]]:
    """The same, narrower: the set of inputs is halved so often, along the symbols that matter most.

    Each part has forms of its own. One form around all of them has the mean of their coefficients, and as its
    radius what any part is away from that.
    """
    if not halvings:
        return propagate_network(network, inputs)
    cells, count, width = inputs.shape
    symbols = _heaviest_symbols(network, inputs, halvings)
    parts = 2**halvings
    centre, half = np.zeros((parts, cells, width - 2)), np.ones((parts, cells, width - 2))
    rows = np.arange(cells)
    for step in range(halvings):  # part p takes the upper half where bit `step` of p is set
        upper = ((np.arange(parts) >> step) & 1).astype(bool)
        chosen = symbols[step]
        half[:, rows, chosen] *= 0.5
        centre[:, rows, chosen] += np.where(upper, 1.0, -1.0)[:, None] * half[:, rows, chosen]
    several = np.broadcast_to(inputs, (parts, *inputs.shape)).copy()
    moved = (several[..., 1:-1] * centre[:, :, None]).sum(-1)
    several[..., 0] += moved
    several[..., 1:-1] *= half[:, :, None]
    several[..., -1] += (np.abs(several[..., 0]) + np.abs(inputs[..., 1:-1]).sum(-1)) * (2 * width * UNIT)
    found, finite = propagate_network(network, several.reshape(parts * cells, count, width))
    outputs = found.reshape(parts, cells, -1, width)
    with np.errstate(all="ignore"):
        slopes = outputs[..., 1:-1] / half[:, :, None]  # in the symbols of the whole
        offsets = outputs[..., 0] - (slopes * centre[:, :, None]).sum(-1)
        mean = slopes.mean(0)
        away = slopes - mean
        middle = offsets + (away * centre[:, :, None]).sum(-1)
        reach = (np.abs(away) * half[:, :, None]).sum(-1) + outputs[..., -1]
        size = np.abs(outputs[..., 0]) + np.abs(slopes).sum(-1) + np.abs(mean).sum(-1)
        reach = reach + size * (8 * (width + parts) * UNIT)
        low, high = (middle - reach).min(0), (middle + reach).max(0)
    joined = np.concatenate(
        [(0.5 * (low + high))[..., None], mean, (0.5 * (high - low) * (1 + 8 * UNIT))[..., None]], -1
    )
    return joined, finite.reshape(parts, cells).all(0) & np.isfinite(joined).all((1, 2))


def _heaviest_symbols(network: Network, inputs: Array, halvings: int) -> list[NDArray[np.intp]]:
    """For each halving the symbol (by cell) that moves the inputs most, weighted by the first layer."""
    weights = np.ones((1, inputs.shape[1]))
    for node in network.nodes:
        if isinstance(node, Affine):
            if node.weights.shape[1] == inputs.shape[1]:
                weights = np.abs(node.weights).astype(np.float64)
            break
    gain = np.matmul(weights, np.abs(inputs[..., 1:-1])).sum(1)  # (cells, symbols)
    found = []
    for _ in range(halvings):
        best = gain.argmax(1)
        found.append(best)
        gain[np.arange(len(gain)), best] *= 0.5
    return found


def _add_rounding(node: Node, boxes: list[BoxArray], found: _Value) -> _Value:
    absolute = _weights_of(node)[2:] if isinstance(node, Affine) else None
    by = float32_radius(node, boxes, found.box(), False, absolute)
    if by is None:
        return found
    spread = found.spread() + by * (1 + 4 * UNIT)
    return _Value(found.inputs, found.forms, found.radius + by, found.blocks, spread)


def _propagate_node(node: Node, number: int, values: list[_Value]) -> _Value:
    match node:
        case Affine(source):
            return _affine(node, values[source])
        case Elementwise(source, kind, constant):
            return _elementwise(kind, constant.astype(np.float64), values[source])
        case Activation(source, shape, parameters):
            return _activate(shape, parameters, values[source], number)
        case Combine(left, right, pairing):
            return _pair(pairing, values[left], values[right], number)
        case Pick(source, indices):
            return _pick(values[source], indices)
        case Join(sources):
            return _join([values[s] for s in sources])
    raise AssertionError(node)


def _pick(value: _Value, indices: NDArray[np.int64]) -> _Value:
    blocks = tuple(
        _Block(b.group, b.left[:, indices], b.rows()[..., indices, :], b.right, b.columns)
        for b in value.blocks
    )
    return _Value(value.inputs, value.forms[:, indices], value.radius[:, indices], blocks)


def _join(values: list[_Value]) -> _Value:
    """One after the other: entries of the others do not depend on a block."""
    total = sum(v.forms.shape[1] for v in values)
    blocks: list[_Block] = []
    begin = 0
    for value in values:
        end = begin + value.forms.shape[1]
        for block in value.blocks:
            dense = np.zeros((len(value.forms), total, block.right.shape[1]))
            dense[:, begin:end] = block.dense()
            blocks.append(_dense_block(block, dense))
        begin = end
    forms, radius = (np.concatenate([getattr(v, n) for v in values], 1) for n in ("forms", "radius"))
    return _Value(values[0].inputs, forms, radius, _merge_blocks(blocks))


def _dense_block(block: _Block, dense: Array) -> _Block:
    cells, entries, bands = dense.shape
    return _Block(block.group, np.ones((cells, entries)), dense, np.ones((cells, bands)), block.columns)


def _merge_blocks(blocks: list[_Block]) -> tuple[_Block, ...]:
    """Those of one activation added up."""
    found: dict[int, _Block] = {}
    for block in blocks:
        if block.group in found:
            block = _dense_block(block, found[block.group].dense() + block.dense())
        found[block.group] = block
    return tuple(found.values())


def _affine(node: Affine, value: _Value) -> _Value:
    weights, bias, size, size_bias = _weights_of(node)
    forms = np.matmul(weights, value.forms)
    forms[..., 0] += bias
    blocks = tuple(_block_times(weights, block) for block in value.blocks)
    both = np.matmul(size, np.stack([value.radius, value.size()], -1))
    terms = weights.shape[1] + 6 + 4 * len(blocks)
    lost = (both[..., 1] + size_bias) * (4 * terms * UNIT) + LEAST
    return _Value(value.inputs, forms, both[..., 0] + lost, blocks)


def _block_times(weights: Array, block: _Block) -> _Block:
    """weights @ (left * matrix * right): scaled columns while the matrix is the same for all cells."""
    cells, rows, columns = len(block.left), len(weights), block.columns
    ones = np.ones((cells, rows))
    if block.matrix is None:
        right = block.left[:, columns] * block.right
        return _Block(block.group, ones, weights[:, columns], right, columns)
    scaled = weights * block.left[:, None]  # (cells, rows, entries)
    if block.matrix.ndim == 2:
        flat = scaled.reshape(cells * rows, -1) @ block.matrix
        return _Block(block.group, ones, flat.reshape(cells, rows, -1), block.right, columns)
    return _Block(block.group, ones, np.matmul(scaled, block.matrix), block.right, columns)


def _scale_blocks(blocks: tuple[_Block, ...], factor: Array | float) -> tuple[_Block, ...]:
    return tuple(_Block(b.group, b.left * factor, b.matrix, b.right, b.columns) for b in blocks)


def _elementwise(kind: Constant, constant: Array, value: _Value) -> _Value:
    forms, radius, blocks = value.forms.copy(), value.radius, value.blocks
    size, factor = value.size(), np.ones_like(constant)
    if kind is Constant.ADD:
        forms[..., 0] += constant
    else:
        factor = constant if kind is Constant.MULTIPLY else 1.0 / constant
        forms *= factor[:, None]
        radius = radius * np.abs(factor)
        blocks = _scale_blocks(blocks, factor)
    found = _Value(value.inputs, forms, radius, blocks)
    lost = (np.abs(forms[..., 0]) + size * np.abs(factor) + np.abs(constant)) * (8 * UNIT) + LEAST
    return _Value(value.inputs, forms, radius + lost, blocks, found.spread() + lost * (1 + 4 * UNIT))


def _activate(shape: Shape, parameters: tuple[float, ...], value: _Value, number: int) -> _Value:
    box = value.box()
    slope, low, high = activation_band(shape, parameters, box.low, box.high)
    forms = value.forms * slope[..., None]
    forms[..., 0] += 0.5 * (low + high)
    band = 0.5 * (high - low)
    lost = value.size() * np.abs(slope) * (8 * UNIT) + (np.abs(low) + np.abs(high)) * UNIT
    exact = (band == 0) & ((slope == 0) | (slope == 1)) & (low == 0)
    band = np.where(exact, 0.0, band + lost + LEAST)
    blocks = _scale_blocks(value.blocks, slope)
    columns = np.flatnonzero((band > 0).any(0))
    if len(columns):
        blocks = (*blocks, _Block(number, np.ones_like(band), None, band[:, columns], columns))
    spread = (value.spread() * np.abs(slope) + band) * (1 + 8 * UNIT)
    return _Value(value.inputs, forms, value.radius * np.abs(slope), blocks, spread)


def activation_band(
    shape: Shape, parameters: tuple[float, ...], low: Array, high: Array
) -> tuple[Array, Array, Array]:
    """A slope, and the least and the greatest that the function is above slope * x between low and high."""
    match shape:
        case Shape.RELU:
            return _hinge_band(low, high, 0.0)
        case Shape.LEAKY_RELU:
            return _hinge_band(low, high, parameters[0])
        case Shape.CLIP:
            return _clip_band(low, high, *parameters)
        case Shape.TANH:
            return _tanh_band(low, high)
        case Shape.SIGMOID:  # (1 + tanh(x / 2)) / 2
            slope, least, most = _tanh_band(0.5 * low, 0.5 * high, SLOPES / 4)
            return 0.25 * slope, 0.5 + 0.5 * least, 0.5 + 0.5 * most
        case _:  # between two constants
            box = interval.ACTIVATION[shape](BoxArray(low, high), parameters)
            return np.zeros_like(low), box.low, box.high


def _round_slope(slope: Array, slopes: Array | float = SLOPES) -> Array:
    """Any slope is right: its band is computed for it."""
    return np.floor(slope * slopes) / slopes


def _hinge_band(low: Array, high: Array, below: float) -> tuple[Array, Array, Array]:
    """max(x, below * x) for 0 <= below <= 1 (else: from both ends, and 0 where the hinge is)."""
    width = np.maximum(high - low, LEAST)
    upper = _round_slope((high - below * low) / width)
    slope = np.where(low >= 0, 1.0, np.where(high <= 0, below, upper))
    is_open = (low < 0) & (high > 0)
    ends = np.stack([(1 - slope) * high, (below - slope) * low, np.zeros_like(low)])
    lost = np.where(is_open, (np.abs(low) + np.abs(high)) * (1 + abs(below)) * SLOPE_OFF, 0.0)
    least, most = np.where(is_open, ends.min(0), 0.0) - lost, np.where(is_open, ends.max(0), 0.0) + lost
    return slope, least, most


def _clip_band(low: Array, high: Array, least: float, most: float) -> tuple[Array, Array, Array]:
    """A line through both ends; the extremes are at ends and corners."""
    at_low, at_high = np.clip(low, least, most), np.clip(high, least, most)
    width = np.maximum(high - low, LEAST)
    inside = (low >= least) & (high <= most)
    flat = (at_low == at_high) & ~inside
    slope = np.where(
        inside, 1.0, np.where(flat, 0.0, _round_slope(np.clip((at_high - at_low) / width, 0.0, 1.0)))
    )
    corners = np.stack(
        [
            at_low - slope * low,
            at_high - slope * high,
            *(
                np.clip(np.clip(c, low, high), least, most) - slope * np.clip(c, low, high)
                for c in (least, most)
            ),
        ]
    )
    size = np.abs(low) + np.abs(high) + np.abs(at_low) + np.abs(at_high)
    lost = np.where(inside | flat, 0.0, size * SLOPE_OFF)
    down, up = np.where(inside, 0.0, corners.min(0)), np.where(inside, 0.0, corners.max(0))
    down, up = np.where(flat, at_low, down), np.where(flat, at_low, up)
    return slope, down - lost, up + lost


def _tanh_band(low: Array, high: Array, slopes: float = SLOPES) -> tuple[Array, Array, Array]:
    """The secant; where tanh' = slope the distance from it is extreme."""
    a, b = np.tanh(low), np.tanh(high)
    width = high - low
    slope = np.where(width > 1e-6, (b - a) / np.maximum(width, LEAST), 1 - a * a)
    slope = _round_slope(np.clip(slope, 0.0, 1.0), np.where(width > 2.0**-7, WIDE_SLOPES, slopes))
    peak = np.arctanh(np.minimum(np.sqrt(np.maximum(1 - slope, 0.0)), 1 - 2.0**-53))
    inner = [np.clip(p, low, high) for p in (peak, -peak)]
    # a point near the extreme is below it by the square of what it is off by
    gaps = np.stack([a - slope * low, b - slope * high, *(np.tanh(p) - slope * p for p in inner)])
    lost = (1.0 + np.abs(low) + np.abs(high)) * slope * SLOPE_OFF + SLOPE_OFF
    # with slopes below 1e-12 it is not known well where the extreme is, but tanh is within 4e-12 of 1 there
    lost += np.where(slope < 1e-12, 1e-11 + slope * (np.abs(low) + np.abs(high)), 0.0)
    return slope, gaps.min(0) - lost, gaps.max(0) + lost


def _pair(pairing: Pairing, left: _Value, right: _Value, number: int) -> _Value:
    if pairing is Pairing.ADD:
        return _sum(left, right)
    if pairing is Pairing.MAXIMUM:  # b + relu(a - b)
        minus = _Value(right.inputs, -right.forms, right.radius, _scale_blocks(right.blocks, -1.0))
        return _sum(_activate(Shape.RELU, (), _sum(left, minus), number), right)
    a, b = (np.concatenate([v.forms, (v.radius + v.bands())[..., None]], -1) for v in (left, right))
    if pairing is Pairing.DIVIDE:
        b = linearise_forms("inverse", b, spread_of(b))
    found = convolve_forms(a[:, None], b[:, None], spread_of(a)[:, None], spread_of(b)[:, None])
    return _Value(None, found[..., :-1], found[..., -1])


def _sum(left: _Value, right: _Value) -> _Value:
    forms = left.forms + right.forms
    lost = (np.abs(forms[..., 0]) + left.size() + right.size()) * (8 * UNIT) + LEAST
    blocks = _merge_blocks([*left.blocks, *right.blocks])
    return _Value(left.inputs, forms, left.radius + right.radius + lost, blocks)


@np.errstate(all="ignore")  # sets without bounds give no number, and whoever reads that gives them up
def clip_forms(forms: Array, least: Array, most: Array) -> Array:
    """Controls (cells, controls, …) brought into their limits; limits may be infinite."""
    found = forms.copy()
    for place, (low_end, high_end) in enumerate(zip(least, most, strict=True)):
        low, high = bounds_of(forms[:, place])
        if not ((low < low_end) | (high > high_end)).any():
            continue
        ends = (max(low_end, -1e300), min(high_end, 1e300))
        slope, down, up = _clip_band(low, high, *ends)
        row = forms[:, place] * slope[:, None]
        row[:, 0] += 0.5 * (down + up)
        row[:, -1] = (
            forms[:, place, -1] * slope
            + 0.5 * (up - down)
            + (np.abs(row[:, 0]) + spread_of(row)) * (8 * UNIT)
        )
        found[:, place] = row
    return found


def refuse_unknown_nodes(network: Network) -> None:
    """Nodes without a rule here."""
    if network.has_trees():
        what = f"`reach` follows no decision trees; `{network.name}` has some"
        raise Unsupported(what, fix="use bmc, induction or falsify")
    for node in network.nodes:
        if not isinstance(node, Affine | Elementwise | Activation | Combine | Pick | Join):
            raise Unsupported(f"reach has no rule for a network node {type(node).__name__}")
        if isinstance(node, Activation) and node.shape in _UNBOUNDED:
            raise Unsupported(f"reach has no rule for {node.shape.value} in a network")
