"""Networks of wide layers on affine forms: chains of affine nodes and activations, for one set of inputs.

A layer is kept by columns: the centres of its neurons, then for each input their coefficients. Of a matrix
each column is packed once, its rows being the fields of one integer (bounds/packed_vectors.py): matrix times
vector is one multiplication of a small integer by a large one for every entry of the vector.

The bands of an activation, one symbol for each neuron, have a diagonal matrix diag(d). Behind the next matrix
they are W diag(d), whose sums of magnitudes are |W| d: one product. Slopes s of the next activation make that
diag(s) W diag(d), which is exact as long as it is kept so. Only behind a second matrix V the coefficients are
computed, V diag(s) W diag(d): row by row, as combinations of rows of W with V_ik s_k as factors, or column by
column, as V times each column with a band. The cheaper of the two is taken.

Fields have as many words as a bound of the result asks for. What is divided by a power of two is rounded
down: less than a unit is lost for each column. Radii contain what float32 adds: for an affine node of n
columns g(n + 1) times the sum of magnitudes |w x| and |b|, so that |W| is multiplied by radii and by what
float32 adds together, in units of 2^-FINE of the others.

Constants at the outputs are applied to coefficients that are written out, those of bands among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, compress, repeat
from operator import add, mul, rshift, sub

from ...bounds.packed_vectors import WORD, PackedMatrix, pack_fields, positive_fields, unpack_fields
from ...kernel.network import ActivationNode, AffineNode, ElementwiseNode, FlatNetwork
from ...kernel.strict_json import Refused
from .activation_lines import SLOPE, Line, activation_lines, line_size
from .affine_form import Form
from .network_outputs import InputBasis, PartOutputs, round_input
from .weighted_rows import LARGEST_FLOAT, Scale, WeightedRows

FINE = 6  # more bits of what is summed up many times
FEW = 4  # rows that are not packed
MOST_CONSTANTS = 16
LEAST_SHARE = 24  # bits of quotients in fields of one word
ONE = 1 << SLOPE
_IDENTITY: Line = (ONE, (0, 0), 0)


def is_chain(network: FlatNetwork) -> bool:
    """Affine nodes and activations, each of the value before it, no two activations in a row.

    Constants may be added or multiplied where there are few entries, as at the outputs.
    """
    before: object = None
    for place, node in enumerate(network.nodes):
        match node:
            case AffineNode(source):
                pass
            case ActivationNode(source) if not isinstance(before, ActivationNode):
                pass
            case ElementwiseNode(source, _, constant) if len(constant) <= MOST_CONSTANTS:
                pass
            case _:
                return False
        if source != place:
            return False
        before = node
    return True


class WideMatrix:
    """Of an affine node: its columns packed, those of the magnitudes, and its rows."""

    def __init__(self, matrix: WeightedRows, columns: int, scale: Scale) -> None:
        self.matrix, self.places = matrix, scale.weight
        self.rows, self.count = len(matrix.rows), columns
        self.strongest = max(matrix.sums, default=0)
        self.bias = [divmod(b.numerator << scale.bits, b.denominator) for b in matrix.bias]
        self.highest = max((abs(b) + 1 for b, _ in self.bias), default=0)
        self._columns, self._heights = (
            PackedMatrix(list(zip(*rows, strict=True)) or [()] * columns, self.rows, self.places, True)
            for rows in (matrix.rows, matrix.sizes)
        )
        self._by_rows = PackedMatrix(matrix.rows, columns, self.places, True)

    def times(self, column: Sequence[int], less: int) -> list[int]:
        """The product, divided by 2^(places + less) and rounded down."""
        return self._times(self.matrix.rows, self._columns, column, less)

    def times_all(self, columns: Sequence[Sequence[int]]) -> list[list[int]]:
        """The product with each column."""
        if self.rows > FEW or self.count > FEW:
            return [self.times(column, 0) for column in columns]
        entries = list(zip(*columns, strict=True))
        found = []
        for row in self.matrix.rows:
            total: Iterable[int] = repeat(0, len(columns))
            for weight, entry in zip(row, entries, strict=True):
                total = map(add, total, map(mul, repeat(weight), entry))
            found.append(map(rshift, total, repeat(self.places)))
        return list(map(list, zip(*found, strict=True)))

    def heights_times(self, column: Sequence[int], less: int) -> list[int]:
        """Of the magnitudes, with numbers that are not negative."""
        return self._times(self.matrix.sizes, self._heights, column, less)

    def _times(
        self, rows: Sequence[Sequence[int]], packed: PackedMatrix, column: Sequence[int], less: int
    ) -> list[int]:
        places = self.places + less
        if self.rows <= FEW:
            return [sum(map(mul, row, column)) >> places for row in rows]
        top = max(max(column), -min(column), 1)
        words = _count_words(self.strongest * top)
        return unpack_fields(packed.combine_rows(column, words), self.rows, words, places)

    def column(self, place: int) -> Sequence[int]:
        return self._columns.entries[place]

    def combine(self, factors: Sequence[int]) -> list[int]:
        """The sum of factor times row, exactly."""
        words = _count_words(max(sum(map(abs, factors)), 1) * self._by_rows.largest)
        return unpack_fields(self._by_rows.combine_rows(factors, words), self.count, words, 0)


def _count_words(largest: int) -> int:
    """Of fields that hold numbers up to this size, with a bit to spare."""
    return (largest.bit_length() + 1) // WORD + 1


def _scale_all(columns: Sequence[Sequence[int]], factors: Sequence[int]) -> list[list[int]]:
    return [[x * factor for x in column] for column, factor in zip(columns, factors, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class BandMatrix:
    """diag(left) W diag(right) as coefficients of bands, left in units of 2^-SLOPE."""

    matrix: WideMatrix
    left: list[int] | None
    right: list[int]
    heights: list[int]  # above the sums of magnitudes in the rows of W diag(right)


class WideRun:
    """One set of inputs on its way through a network.

    `columns`: centres, coefficients of the inputs (of the symbols, if there is no basis), and those of bands.
    `bands`: of the neurons of the last activation. What is computed in float32 is within `radii` of all that.
    """

    def __init__(self, inputs: Sequence[Form], scale: Scale, less: int) -> None:
        self.scale, self.less = scale, less
        self.limit = int(LARGEST_FLOAT * (1 << scale.bits))
        self.inputs = [round_input(x, less) for x in inputs]
        self.count = len(self.inputs[0][1])
        self.basis: InputBasis | None = None
        self.columns: list[list[int]] = [[x[0] for x in self.inputs]]
        if len(self.inputs) < self.count:
            self.basis = InputBasis(self.inputs, max(scale.words, 2))
            widths = self.basis.widths
            self.columns += [[w if i == j else 0 for i, w in enumerate(widths)] for j in range(len(widths))]
            self.radii = [0] * len(self.inputs)
        else:
            self.columns += map(list, zip(*(x[1] for x in self.inputs), strict=True))
            self.radii = [x[2] for x in self.inputs]
        self.own = len(self.columns)  # those that are no bands
        self.bands: list[int] | None = None
        self.behind: list[BandMatrix] = []
        self.sizes: list[int] | None = None  # bounds of magnitudes of computed values

    def multiply(self, wide: WideMatrix) -> None:
        """An affine node.

        Stored weights are off by 1/2 unless exact: that moves a sum by half of the sum of sizes.
        """
        sizes = self.sizes or self._form_sizes()
        self._check_overflow(wide, sizes)
        places, matrix, n = wide.places, wide.matrix, wide.count
        off = 0 if matrix.exact else (sum(sizes) >> (places + 1)) + 1
        factor = n + 2 if n < 4000 else 2 * n + 2  # at least g(n + 1) / u
        fine = [
            (r << FINE) + (size * factor >> (24 - FINE)) + 1
            for r, size in zip(self.radii, sizes, strict=True)
        ]
        reached = wide.heights_times(fine, FINE)
        dense: list[list[int]] = []
        for band in self.behind:
            found, by = _multiply_bands(wide, band)
            dense += found
            off += by
        self.columns = wide.times_all(self.columns)
        self.columns += dense
        self.columns[0] = [x + b for x, (b, _) in zip(self.columns[0], wide.bias, strict=True)]
        lost = len(self.columns) + 1 + off + 2  # the last two: for float32, with (4 n + 4) t
        self.radii = [
            r + lost + bool(rest) + ((off + abs(b) + 3) * factor >> 24)
            for r, (b, rest) in zip(reached, wide.bias, strict=True)
        ]
        self.behind = []
        if self.bands is not None:
            heights = [x + 1 for x in wide.heights_times(self.bands, 0)]
            self.behind.append(BandMatrix(wide, None, self.bands, heights))
            self.bands = None
        self.sizes = None

    def _check_overflow(self, wide: WideMatrix, sizes: Sequence[int]) -> None:
        """Of sums in any order; what float32 adds to them is less than as much again."""
        largest = max(sizes, default=0)
        if 2 * max((wide.strongest * (largest + 1) >> wide.places) + wide.highest + 1, largest) > self.limit:
            raise Refused("a float32 evaluation of a network may overflow")

    def _form_sizes(self) -> list[int]:
        """Bounds of magnitudes, from centres and widths."""
        return list(map(add, map(abs, self.columns[0]), self._add_widths(range(1, self.own))))

    def _add_widths(self, own: Iterable[int]) -> list[int]:
        """Sums of magnitudes of these columns, and of all that are bands, with the radii."""
        total = self.radii
        for column in chain(map(self.columns.__getitem__, own), self.columns[self.own :]):
            total = list(map(add, total, map(abs, column)))
        for band in self.behind:
            total = list(map(add, total, band.heights))
        return list(map(add, total, self.bands)) if self.bands is not None else list(total)

    def widths(self) -> list[int]:
        """How far values are from their centres."""
        if self.basis is None:
            return self._add_widths(range(1, self.own))
        return list(map(add, self._add_widths(()), self._spread_inputs(self.basis)))

    def _spread_inputs(self, basis: InputBasis) -> list[int]:
        """The largest magnitudes of sums A_i s_i over the inputs, neuron by neuron.

        Quotients of coefficients by widths have as many bits as a field of one word leaves to them.
        Sums of |v| over symbols, all neurons at once, are twice those of what is positive, less those of v.
        """
        columns = self.columns[1 : self.own]
        sizes = [list(map(abs, column)) for column in columns]
        plain = list(map(sum, zip(*sizes, strict=True)))
        count, most = len(plain), max(plain)
        bits = WORD - 4 - most.bit_length()
        if bits < LEAST_SHARE or most * self.count >> (WORD - 4):
            basis.check_room(most)
            return [basis.spread(values) for values in zip(repeat(0), *columns)]
        shares, radii = basis.divide_inputs(bits)
        packed = [pack_fields(column, 1) for column in columns]
        vectors = [sum(map(mul, share, packed)) for share in zip(*shares, strict=True)]
        positive = sum(positive_fields(vector, count, WORD - 2) for vector in vectors)
        totals = unpack_fields(2 * positive - sum(vectors), count, 1, 0)
        # each quotient is less than a unit too small
        off = map(
            add, map(mul, plain, repeat(self.count)), map(sum, zip(*_scale_all(sizes, radii), strict=True))
        )
        return [
            min(size, (total + by >> bits) + 1) for size, total, by in zip(plain, totals, off, strict=True)
        ]

    def activate(self, kind: str, parameters: Sequence[Fraction]) -> None:
        """Slopes for what there is, and a band for each neuron that is not followed exactly."""
        lost = 1 + len(self.columns)
        centres, widths, before = self.columns[0], self.widths(), self.radii
        lows, highs = list(map(sub, centres, widths)), list(map(add, centres, widths))
        found = activation_lines(kind, lows, highs, self.scale.bits, parameters)
        lines = [line or _IDENTITY for line in found]
        slopes = [slope for slope, _, _ in lines]
        middles = [(least + most) >> 1 for _, (least, most), _ in lines]
        radii = [error for _, _, error in lines]
        bands = [
            most - middle + ((abs(slope) * radius >> SLOPE) + lost if slope else 0)
            for (slope, (_, most), _), middle, radius in zip(lines, middles, before, strict=True)
        ]
        sizes = [line_size(line, low, high) for line, low, high in zip(lines, lows, highs, strict=True)]
        for i, line in enumerate(found):
            if line is None:  # it is what it was
                bands[i], radii[i], sizes[i] = 0, before[i], max(-lows[i], highs[i])
        if any(slope != ONE for slope in slopes):
            self.columns = [
                list(map(rshift, map(mul, column, slopes), repeat(SLOPE))) for column in self.columns
            ]
        self.columns[0] = list(map(add, self.columns[0], middles))
        self.behind = [BandMatrix(b.matrix, slopes, b.right, b.heights) for b in self.behind]
        self.bands, self.radii, self.sizes = bands, radii, sizes

    def apply_constants(self, kind: str, constant: Sequence[Fraction]) -> None:
        """x + c, x * c or x / c, which is rounded to float32."""
        self._settle_bands()
        if kind == "add":
            parts = [divmod(c.numerator << self.scale.bits, c.denominator) for c in constant]
            self.columns[0] = [x + c for x, (c, _) in zip(self.columns[0], parts, strict=True)]
            self.radii = [r + bool(rest) for r, (_, rest) in zip(self.radii, parts, strict=True)]
        else:
            ratios = [
                c.as_integer_ratio() if kind == "multiply" else (1 / c).as_integer_ratio() for c in constant
            ]
            self.columns = [
                [x * top // below for x, (top, below) in zip(column, ratios, strict=True)]
                for column in self.columns
            ]
            self.radii = [
                -(-r * abs(top) // below) + len(self.columns)
                for r, (top, below) in zip(self.radii, ratios, strict=True)
            ]
        self.radii = [r + (size >> 24) + 2 for r, size in zip(self.radii, self._form_sizes(), strict=True)]
        self.sizes = None
        self._check_largest()

    def _check_largest(self) -> None:
        if max(self.sizes or self._form_sizes(), default=0) > self.limit:
            raise Refused("a float32 evaluation of a network may overflow")

    def _settle_bands(self) -> None:
        """Bands among the columns: behind a matrix they are multiplied out, each coefficient rounded down."""
        self._check_largest()
        for band in self.behind:
            left = band.left or [ONE] * len(self.radii)
            places = SLOPE + band.matrix.places
            used = [j for j, d in enumerate(band.right) if d]
            for j in used:
                factors = [row[j] * s for row, s in zip(band.matrix.matrix.rows, left, strict=True)]
                self.columns.append([f * band.right[j] >> places for f in factors])
            self.radii = [r + len(used) for r in self.radii]
        for i, new in enumerate(self.bands or ()):
            self.columns.append([new if i == j else 0 for j in range(len(self.radii))])
        self.behind, self.bands = [], None

    def outputs(self) -> PartOutputs:
        self._settle_bands()
        if self.basis is not None:
            self.basis.check_room(sum(max(max(x), -min(x)) for x in self.columns[1 : self.own]))
        entries = list(map(list, zip(*self.columns, strict=True)))
        return PartOutputs(entries, self.radii, self.count, self.basis, self.less)


def _multiply_bands(wide: WideMatrix, band: BandMatrix) -> tuple[list[list[int]], int]:
    """V diag(left) W diag(right) by columns, without those that are 0, and what more an entry is off.

    Each coefficient is rounded down as well, which is not counted here. Costs are in fields of a product.
    """
    inner, used = band.matrix, [j for j, d in enumerate(band.right) if d]
    active = sum(map(bool, band.left)) if band.left else inner.rows
    by_rows = wide.rows * (active * (inner.count + 20) + 40 * len(used))
    by_columns = len(used) * (active * (wide.rows + 20) + 40 * inner.rows)
    return (_multiply_by_rows if by_rows < by_columns else _multiply_by_columns)(wide, band, used)


def _multiply_by_columns(
    wide: WideMatrix, band: BandMatrix, used: Sequence[int]
) -> tuple[list[list[int]], int]:
    """V times columns of diag(left) W diag(right), which are less than 2^-FINE of a unit too small."""
    inner, left = band.matrix, band.left or [ONE] * band.matrix.rows
    places = inner.places + SLOPE - FINE
    found = []
    for j in used:
        d = band.right[j]
        column = [w * s * d >> places if s else 0 for w, s in zip(inner.column(j), left, strict=True)]
        found.append(wide.times(column, FINE))
    return found, (len(used) * wide.strongest >> (wide.places + FINE)) + 1


def _multiply_by_rows(wide: WideMatrix, band: BandMatrix, used: Sequence[int]) -> tuple[list[list[int]], int]:
    """Factors V_ik s_k lose less than a unit of 2^-places, and with each up to `heights` of a row."""
    inner, left = band.matrix, band.left or [ONE] * band.matrix.rows
    places = wide.places + 4
    less, over = wide.places + SLOPE - places, places + inner.places
    right = [band.right[j] for j in used]
    rows = []
    for row in wide.matrix.rows:
        found = inner.combine([w * s >> less for w, s in zip(row, left, strict=True)])
        values = found if len(used) == len(found) else [found[j] for j in used]
        rows.append([x * d >> over for x, d in zip(values, right, strict=True)])
    off = (sum(compress(band.heights, left)) >> places) + 1
    return list(map(list, zip(*rows, strict=True))), off


class WideNetwork:
    """A chain whose matrices are packed, once for each scale."""

    def __init__(self, network: FlatNetwork, bits: int) -> None:
        self.network, self.bits = network, bits
        self._matrices: dict[int, list[WideMatrix | None]] = {}

    def run(
        self, inputs: Sequence[Form], scale: Scale, matrices: Sequence[WeightedRows | None]
    ) -> PartOutputs:
        """`matrices`: of the nodes, in this scale."""
        known = self._matrices.get(scale.bits)
        if known is None:
            known = self._matrices[scale.bits] = [
                WideMatrix(m, node.columns, scale) if isinstance(node, AffineNode) and m is not None else None
                for node, m in zip(self.network.nodes, matrices, strict=True)
            ]
        found = WideRun(inputs, scale, self.bits - scale.bits)
        for node, wide in zip(self.network.nodes, known, strict=True):
            if wide is not None:
                found.multiply(wide)
            elif isinstance(node, ElementwiseNode):
                found.apply_constants(node.kind, [Fraction(c) for c in node.constant])
            else:
                assert isinstance(node, ActivationNode)
                found.activate(node.kind, [Fraction(p) for p in node.parameters])
        return found.outputs()
