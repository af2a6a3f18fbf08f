"""Backward substitution of many rows at once, through affine values and ReLUs.

A column holds the coefficients of one entry of a value in all rows, packed into one integer with fields of
128 bits. An affine value combines columns: one multiplication for each weight serves all rows. ReLUs that are
on or off need nothing at all; the columns of the others are taken apart, as their line depends on the sign.
What remains at a value of another kind is handed over row by row to `backward`, which says what is lost by
rounding; here it is the same for every row.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, repeat
from operator import add, itemgetter, mul, sub
from sys import byteorder

from ..network import Activation, Affine
from .backward import Form
from .forward import radius
from .lines import lines_of
from .packed import ones, scaled
from .state import Grid, Ramps, State

WEIGHT = 52  # bits of weights after the point: two digits of a Python integer for most
MANY = 6  # rows of a step that are worth doing together,
BENT = 3  # if at most one in so many ReLUs is bent
LIMIT = 1 << 62  # of coefficients in a word


@dataclass(frozen=True, slots=True, eq=False)
class Light:
    """Weights and bias times 2^WEIGHT, rounded: off by 1/2 at most, by nothing if `exact`."""

    rows: list[list[int]]  # for each output on the grid, rounded down, the bias last
    columns: list[list[int]]  # for each input, then for the bias
    norm: int  # the largest absolute sum of a column
    exact: bool

    @classmethod
    def of(cls, node: Affine, bits: int) -> Light:
        width, height = node.columns, len(node.bias)
        flat, exact = scaled(node.weights + node.bias, WEIGHT)
        bias = flat[width * height :]
        rounded = [w >> (WEIGHT - bits) for w in flat]
        rows = [[*rounded[i * width : (i + 1) * width], rounded[width * height + i]] for i in range(height)]
        columns = [flat[j : width * height : width] for j in range(width)] + [bias]
        return cls(rows, columns, max(sum(map(abs, c)) for c in columns), exact)


@lru_cache(maxsize=64)
def _constants(count: int, bits: int) -> tuple[int, int]:
    """The vectors of 2^bits, and of 2^(128 - bits) - 1: what is left of a field shifted by `bits`."""
    every = ones(count, 2)
    return every << bits, every * ((1 << (128 - bits)) - 1)


def packed(entries: Sequence[int]) -> int:
    """Signed words in fields of 128 bits: two's complement, and then the sign restored."""
    words = array("q", bytes(16 * len(entries)))
    words[::2] = array("q", entries)
    sign, _ = _constants(len(entries), 63)
    return (int.from_bytes(words.tobytes(), "little") ^ sign) - sign


def unpacked(column: int, count: int) -> list[int]:
    """The fields, which are signed words."""
    sign, _ = _constants(count, 63)
    return memoryview(((column + sign) ^ sign).to_bytes(16 * count, "little")).cast("q")[::2].tolist()


def shifted(columns: Sequence[int], count: int, bits: int) -> list[int]:
    """Every field divided by 2^bits and rounded down.

    With 2^127 added no field is negative; shifted, a field has bits of the next one above its own, which are
    masked; then what became of 2^127 is taken off again.
    """
    half, _ = _constants(count, 127)
    _, mask = _constants(count, bits)
    rest = half >> bits
    return [(((column + half) >> bits) & mask) - rest for column in columns]


def fits(columns: Iterable[int], count: int, bits: int) -> bool:
    """Whether all fields are from -2^bits up to below 2^bits.

    Only then do they, with 2^bits added, have no bit above that; a negative one has all of them.
    """
    offset, _ = _constants(count, bits)
    above = ones(count, 2) * ((1 << 128) - (2 << bits))
    return not any((column + offset) & above for column in columns)


def worthwhile(grid: Grid, state: State, v: int, count: int) -> bool:
    """Whether it is faster to treat rows together: there are several, and few ReLUs on the way are bent."""
    if count < MANY or grid.is_linear[v]:
        return False
    bent, every, place = 0, 0, v
    while isinstance(node := grid.values[place].node, Affine | Activation):
        if isinstance(node, Activation):
            lines = lines_of(grid, state, place)
            if not isinstance(lines, Ramps):
                break
            bent, every = bent + len(lines.bent), every + len(lines.on)
        place = grid.values[place].sources[0]
    return bent * BENT <= every


def row_forms(grid: Grid, state: State, v: int, rows: Sequence[tuple[int, int]]) -> list[Form] | None:
    """Forms below the entries of an affine value (`side` 1: their negatives), substituted as far as possible.

    None: the numbers are too large for this way of doing it.
    """
    node = grid.values[v].node
    if not isinstance(node, Affine) or byteorder != "little":
        return None
    if grid.bits > WEIGHT:
        return None
    light = _light(grid, v, node)
    source = grid.values[v].sources[0]
    parts = [light.rows[i] if side == 0 else [-w for w in light.rows[i]] for i, side in rows]
    work = _Rows(grid, state, source, len(rows), [part[-1] << grid.bits for part in parts])
    work.lists = {j: [part[j] for part in parts] for j in work.wanted(source)}
    if grid.float32:
        errors = radius(grid, state, v)
        assert errors is not None
        work.constants = [
            c - (errors[i] << grid.bits) for c, (i, _) in zip(work.constants, rows, strict=True)
        ]
    work.largest = (light.norm >> (WEIGHT - grid.bits)) + 1
    work.lost = (1 if light.exact else 2) * (state.total(source) + grid.one)
    while work.step():
        pass
    return None if work.largest >= LIMIT else work.forms()


def _light(grid: Grid, v: int, node: Affine) -> Light:
    found = grid.light[v]
    if found is None:
        shared = grid.lights.get(id(node))
        found = grid.light[v] = grid.lights[id(node)] = shared or Light.of(node, grid.bits)
    assert isinstance(found, Light)
    return found


class _Rows:
    """Rows at one value: columns as lists or packed, one constant per row, and what all rows lose."""

    def __init__(self, grid: Grid, state: State, place: int, count: int, constants: list[int]) -> None:
        self.grid, self.state, self.place, self.count = grid, state, place, count
        self.constants = constants
        self.lists: dict[int, list[int]] = {}
        self.columns: dict[int, int] = {}
        self.largest = 0  # an upper bound of all coefficients
        self.lost = 0

    def step(self) -> bool:
        """Substitute the value where the rows are, if it is of a kind that can be done here."""
        node = self.grid.values[self.place].node
        if self.largest >= LIMIT:
            return False
        if isinstance(node, Activation) and node.kind == "relu":
            self._relu()
        elif isinstance(node, Affine):
            self._affine(node)
        else:
            return False
        return True

    def _list(self, j: int) -> list[int]:
        found = self.lists.get(j)
        return unpacked(self.columns[j], self.count) if found is None else found

    def _relu(self) -> None:
        ramps = lines_of(self.grid, self.state, self.place)
        assert isinstance(ramps, Ramps)
        bits = self.grid.bits
        lists, columns = {}, {}
        for i, below, above, level in ramps.bent:
            if i in self.lists or i in self.columns:
                column = self._list(i)
                lists[i] = [c * (below if c > 0 else above) >> bits for c in column]
                levels = [c * level if c < 0 else 0 for c in column]
                self.constants = list(map(add, self.constants, levels))
        for i in compress(range(len(ramps.on)), ramps.on):
            if i in self.columns:
                columns[i] = self.columns[i]
            elif i in self.lists:
                lists[i] = self.lists[i]
        self.lists, self.columns = lists, columns
        self.lost += ramps.lost
        self.largest += 1
        self.place = self.grid.values[self.place].sources[0]

    def _affine(self, node: Affine) -> None:
        grid, state, count = self.grid, self.state, self.count
        if grid.float32:
            errors = radius(grid, state, self.place)
            assert errors is not None
            for i in (*self.lists, *self.columns):
                self.constants = list(
                    map(sub, self.constants, map(mul, map(abs, self._list(i)), repeat(errors[i])))
                )
        light = _light(grid, self.place, node)
        if (light.norm * self.largest).bit_length() > 126:
            self.largest = LIMIT
            return
        source = grid.values[self.place].sources[0]
        chosen = [(i, packed(column)) for i, column in self.lists.items()] + list(self.columns.items())
        chosen = [(i, column) for i, column in chosen if column]
        places, factors = [i for i, _ in chosen], [column for _, column in chosen]
        self.lists, self.columns = {}, {}
        wanted = [*self.wanted(source), node.columns]
        if places:
            pick = itemgetter(*places, places[0])  # one more, so that it is a tuple
            totals = [sum(map(mul, pick(light.columns[j]), factors)) for j in wanted]
            self.columns = dict(zip(wanted, shifted(totals, count, WEIGHT), strict=True))
        else:
            self.columns = dict.fromkeys(wanted, 0)
        shift = self.columns.pop(node.columns)
        if not fits([shift], count, 62):  # no word holds what the bias adds
            self.largest = LIMIT
            return
        constants = unpacked(shift, count)
        self.constants = [c + (b << grid.bits) for c, b in zip(self.constants, constants, strict=True)]
        # Stored weights are off by 1/2 at most: together by less than 1/2 of the sum of all coefficients.
        error = 1 if light.exact else 2 + (len(places) * self.largest >> (WEIGHT + 1))
        self.lost += error * (state.total(source) + grid.one)
        self.largest = (light.norm * self.largest >> WEIGHT) + 2
        for bits in (grid.bits + 3, grid.bits + 9, 61):
            if self.largest > 1 << bits and fits(self.columns.values(), count, bits):
                self.largest = 1 << bits
        self.place = source

    def wanted(self, source: int) -> list[int]:
        """The entries of a value that can matter: not those of ReLUs that are off."""
        value = self.grid.values[source]
        if not (isinstance(value.node, Activation) and value.node.kind == "relu"):
            return list(range(value.width))
        ramps = lines_of(self.grid, self.state, source)
        assert isinstance(ramps, Ramps)
        return [*compress(range(value.width), ramps.on), *(i for i, _, _, _ in ramps.bent)]

    def forms(self) -> list[Form]:
        """What is left, row by row."""
        width = self.grid.values[self.place].width
        empty = [0] * self.count
        lists = [self._list(j) if j in self.lists or j in self.columns else empty for j in range(width)]
        vectors = map(list, zip(*lists, strict=True)) if width else ([] for _ in empty)
        found = []
        for vector, constant in zip(vectors, self.constants, strict=True):
            form = Form(self.grid, self.state)
            form.coefficients[self.place] = vector
            form.constant = constant - self.lost
            found.append(form)
        return found
