"""Backward substitution of many rows at once, through affine values and ReLUs, with numbers of one word.

A column holds the coefficients of one entry of a value in all rows, packed into one integer with a field of
64 bits for each. They count in units of 2^-places, which is the same for all rows and chosen anew at every
affine value, so that nothing overflows. An affine value combines columns: one multiplication by a weight, of
at most 30 bits, serves all rows. ReLUs that are off need nothing, those that are on no more than what
rounding costs; for the others the columns are parted into their positive and their negative entries.
What is lost by rounding is the same for every row, and is subtracted at the end: see `backward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from operator import add, itemgetter, mul, sub

from ..kernel.network import ActivationNode, AffineNode
from .back_substitution import BackwardForm
from .interval_propagation import rounding_radius
from .packed_vectors import (
    DIGIT,
    ROOM,
    WORD,
    divide_offset_vectors,
    offset_vectors,
    pack_fields,
    positive_fields,
    repeat_field,
    unpack_fields,
)
from .relaxations import cached_relaxation
from .subdomain import AffineKernel, PrecisionGrid, ReluRelaxation, SubdomainState

MANY = 6  # rows of a step that are worth doing together
SLOPE = 28  # bits of slopes after the point
MOST = ROOM - SLOPE - 1  # before it is multiplied by a slope


def row_forms(
    grid: PrecisionGrid, state: SubdomainState, v: int, rows: Sequence[tuple[int, int]]
) -> RowBatch | None:
    """Forms below the entries of an affine value (`side` 1: their negatives), substituted as far as possible.

    None: the numbers are too large for this way of doing it.
    """
    node = grid.values[v].node
    if not isinstance(node, AffineNode) or grid.bits < SLOPE:
        return None
    kernel = grid.kernel(v, node)
    narrow = kernel.narrow
    if narrow is None:
        return None
    work = RowBatch(grid, state, grid.values[v].sources[0], len(rows))
    work.constants = [narrow.shifts[i][side] for i, side in rows]
    if grid.float32:
        errors = rounding_radius(grid, state, v)
        assert errors is not None
        work.constants = [
            c - (errors[i] << grid.bits) for c, (i, _) in zip(work.constants, rows, strict=True)
        ]
    height = len(node.bias)
    pick = itemgetter(*(i + side * height for i, side in rows), 0)  # one more, so that it is a tuple
    work.places, work.size = kernel.rows.places, kernel.rows.largest.bit_length()
    work.columns = {j: pack_fields(pick(narrow.signed[j])[:-1], 1) for j in work.live_entries()}
    work.lose(0 if kernel.rows.exact else 1, work.places)
    work.fit()
    while work.step():
        pass
    return work


class RowBatch:
    """Rows at one value: its columns, one constant for each row, and what all rows lose."""

    def __init__(self, grid: PrecisionGrid, state: SubdomainState, place: int, count: int) -> None:
        self.grid, self.state, self.place, self.count = grid, state, place, count
        self.columns: dict[int, int] = {}  # entries that are missing have coefficient 0
        self.places = 0
        self.size = 0  # coefficients are from -2^size up to below 2^size, in units of 2^-places
        self.constants: list[int] = []  # in squares of the grid's unit
        self.lost = 0  # likewise
        self.charged = False  # whether the errors of the value where the rows are were subtracted

    def step(self) -> bool:
        """Substitute the value where the rows are, if it is of a kind that can be done here."""
        node = self.grid.values[self.place].node
        if isinstance(node, ActivationNode) and node.kind == "relu":
            self._relu()
            return True
        if isinstance(node, AffineNode) and self.grid.kernel(self.place, node).narrow is not None:
            self._affine(self.grid.kernel(self.place, node))
            return True
        return False

    def live_entries(self) -> list[int]:
        """The entries that can matter: not those of ReLUs that are off."""
        value = self.grid.values[self.place]
        if not (isinstance(value.node, ActivationNode) and value.node.kind == "relu"):
            return list(range(value.width))
        ramps = cached_relaxation(self.grid, self.state, self.place)
        assert isinstance(ramps, ReluRelaxation)
        return [*compress(range(value.width), ramps.on), *(i for i, _, _, _ in ramps.bent)]

    def lose(self, units: int, places: int) -> None:
        """Every coefficient here is off by at most so many units of 2^-places."""
        self.lost += _scale_round_up(units * self.state.total(self.place), self.grid.bits - places)

    def fit(self) -> None:
        """As many places as leave room for what comes next: a relu, an affine value, or both."""
        place, most = self.place, ROOM
        node = self.grid.values[place].node
        if isinstance(node, ActivationNode) and node.kind == "relu":
            place, most = self.grid.values[place].sources[0], MOST
            node = self.grid.values[place].node
        if isinstance(node, AffineNode) and (narrow := self.grid.kernel(place, node).narrow) is not None:
            most = min(MOST, narrow.size)
        if self.size <= most:
            more = 0 if most == ROOM else most - self.size
            self.columns = {j: column << more for j, column in self.columns.items()}
            self.places, self.size = self.places + more, self.size + more
            return
        vectors = list(self.columns.values())
        for less in range(max(0, self.size - most - 12), self.size - most + 1):
            digits = offset_vectors(vectors, self.count, most + less)
            if digits is not None:
                found = divide_offset_vectors(digits, self.count, most + less, less)
                self.columns = dict(zip(self.columns, found, strict=True))
                self.places -= less
                self.size = most
                self.lose(1 if less else 0, self.places)
                return
        raise AssertionError("columns within their bounds fit")

    def _relu(self) -> None:
        """Below a x with any a, above the chord whose slope c is rounded up, and -c l: see `lines`.

        Of every entry either what is not negative (`plus`) or the rest (`minus`) is 0, so that the products
        with slopes are off by less than one unit, and not larger in size than they should be.
        """
        grid, size = self.grid, self.size
        ramps = cached_relaxation(grid, self.state, self.place)
        assert isinstance(ramps, ReluRelaxation)
        self.place = grid.values[self.place].sources[0]
        errors = self._errors()
        coarse, one, low = grid.bits - SLOPE, 1 << SLOPE, ramps.low
        offset, every = repeat_field(1 << size, self.count), repeat_field(1, self.count)
        mask = repeat_field((1 << (WORD - SLOPE)) - 1, self.count)
        given, columns = self.columns, {}
        parts, prices = [], []
        for i, below, above, _ in ramps.bent:
            column = given.get(i)
            if column:
                digits = column + offset  # as in `positive`
                signs = (digits >> size) & every
                plus = digits & ((signs << size) - signs)
                minus = plus - column
                below, above = below >> coarse, -(-above >> coarse)
                error = 0 if errors is None else errors[i]
                parts.append(minus)
                prices.append(-(above * (low[i] - error) >> SLOPE))
                columns[i] = -((above * minus >> SLOPE) & mask)
                if below:
                    columns[i] += plus if below == one else (below * plus >> SLOPE) & mask
                    parts.append(plus)
                    prices.append(-(-below * error >> SLOPE))
        for i in compress(range(len(ramps.on)), ramps.on):
            column = given.get(i)
            if column:
                columns[i] = column
                if errors is not None:
                    digits = column + offset
                    signs = (digits >> size) & every
                    parts.append(2 * (digits & ((signs << size) - signs)) - column)
                    prices.append(errors[i])
        self.columns = columns
        self.lost += _scale_round_up(ramps.lost, grid.bits - self.places)
        self.charged = errors is not None
        self._subtract(parts, prices)

    def _errors(self) -> list[int] | None:
        """What an affine value may be off from the product with its stored weights; None: not at all.

        Stored weights are off by at most 1/2, so the product by half of the sum of all absolute values.
        """
        grid, value = self.grid, self.grid.values[self.place]
        if not isinstance(value.node, AffineNode):
            return None
        kernel = grid.kernel(self.place, value.node)
        if kernel.narrow is None:
            return None
        errors = rounding_radius(grid, self.state, self.place)
        if kernel.rows.exact:
            return errors
        off = _scale_round_up(self.state.total(value.sources[0]) + grid.one, -kernel.rows.places - 1)
        return [off] * value.width if errors is None else [off + error for error in errors]

    def _subtract(self, parts: list[int], prices: list[int]) -> None:
        """Take prices, in units of the grid, times columns without negative entries from the constants."""
        if not parts:
            return
        less = max(0, sum(prices).bit_length() + self.size - ROOM, max(prices).bit_length() - DIGIT)
        prices = [-(-price >> less) for price in prices]
        while sum(prices) >> (ROOM + 1 - self.size):
            prices, less = [-(-price >> 1) for price in prices], less + 1
        found = unpack_fields(sum(map(mul, prices, parts)), self.count, 1, 0)
        shift = less + self.grid.bits - self.places
        self.constants = [c - _scale_round_up(x, shift) for c, x in zip(self.constants, found, strict=True)]

    def _affine(self, kernel: AffineKernel) -> None:
        grid, count = self.grid, self.count
        errors = None if self.charged else self._errors()
        if errors is not None:
            parts = [
                2 * positive_fields(column, count, self.size) - column for column in self.columns.values()
            ]
            self._subtract(parts, [errors[i] for i in self.columns])
        factors = list(self.columns.values())
        self.place = grid.values[self.place].sources[0]
        self.charged = False
        if not factors:
            self.columns = {}
            return
        pick = itemgetter(*self.columns, 0)  # one more, so that it is a tuple
        shift = 2 * grid.bits - self.places - kernel.rows.places
        biases = unpack_fields(sum(map(mul, pick(kernel.columns.entries[-1]), factors)), count, 1, 0)
        self.constants = [c - _scale_round_up(-b, shift) for c, b in zip(self.constants, biases, strict=True)]
        wanted, columns = self.live_entries(), kernel.columns.entries
        self.columns = {j: sum(map(mul, pick(columns[j]), factors)) for j in wanted}
        self.places += kernel.rows.places
        self.size = min(ROOM, self.size + kernel.rows.norm.bit_length())
        self.fit()

    def minima(self, box: tuple[list[int], list[int]]) -> list[int]:
        """Lower bounds of the rows over the box of the value where they are, in squares of the unit."""
        twice = [0] * self.count
        for j, column in self.columns.items():
            least, most = box[0][j], box[1][j]
            entries = unpack_fields(column, self.count, 1, 0)
            middle = map(mul, entries, repeat(least + most))
            twice = list(map(add, twice, map(sub, middle, map(mul, map(abs, entries), repeat(most - least)))))
        shift = self.grid.bits - self.places - 1
        return [
            c - self.lost - _scale_round_up(-t, shift) for c, t in zip(self.constants, twice, strict=True)
        ]

    def forms(self) -> list[BackwardForm]:
        """What is left, row by row."""
        grid, width = self.grid, self.grid.values[self.place].width
        empty = [0] * self.count
        shift = grid.bits - self.places
        lists = [
            unpack_fields(self.columns[j], self.count, 1, 0) if j in self.columns else empty
            for j in range(width)
        ]
        if shift < 0:
            self.lose(1, grid.bits)
        lists = [[-_scale_round_up(-x, shift) for x in column] for column in lists]
        vectors = map(list, zip(*lists, strict=True)) if width else ([] for _ in empty)
        found = []
        for vector, constant in zip(vectors, self.constants, strict=True):
            form = BackwardForm(grid, self.state)
            form.coefficients[self.place] = vector
            form.constant = constant - self.lost
            found.append(form)
        return found


def _scale_round_up(number: int, places: int) -> int:
    """A number times 2^places, rounded up."""
    return number << places if places >= 0 else -(-number >> -places)
