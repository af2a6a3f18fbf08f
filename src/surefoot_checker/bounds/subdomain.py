"""What is known in one part of the search space: bounds of all values, living sets, a cut, slopes.

All bounds are integers: multiples of 2^-bits. Whatever a state says is true of every point of its part that
satisfies one of its living sets. Parts share what they do not change with the state they come from; a list
once stored in a state is never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import frexp
from operator import add, gt, or_, sub

from ..kernel.network import AffineNode, ElementwiseNode, Numbers
from .case_problem import CallInput, CaseProblem, GraphValue
from .packed_vectors import DIGIT, ROOM, PackedMatrix, scale_to_integers

Contents = tuple[Numbers, Numbers, int, int, bool]  # weights, bias, columns and the precision of a kernel


class PrecisionGrid:
    """The values of a problem with all numbers prepared for one precision."""

    def __init__(
        self, problem: CaseProblem, bits: int, matrices: dict[Contents, AffineKernel], coarse: bool = False
    ) -> None:
        self.problem = problem
        self.values: tuple[GraphValue, ...] = problem.values
        self.float32 = problem.float32
        self.bits = bits
        self.one = 1 << bits
        self.tiny = -(-(1 << bits) >> 126)  # 2^-126, rounded up
        readers: list[list[int]] = [[] for _ in self.values]
        for place, value in enumerate(self.values):
            for source in value.sources:
                readers[source].append(place)
        self.readers = tuple(map(tuple, readers))
        self.root: SubdomainState | None = None  # the whole search space
        self._matrices = matrices
        self.coarse = coarse  # whether weights have one digit, if they can
        self.is_separate = _separable_values(problem.values)
        self._kernels: list[AffineKernel | None] = [None] * len(self.values)
        self._ratios: dict[int, list[tuple[int, int]]] = {}
        self.trees: dict[int, object] = {}  # numbers of tree ensembles, by node (`tree_leaves`)

    def ratios(self, node: ElementwiseNode) -> list[tuple[int, int]]:
        """Numerators and positive denominators of the constants; of one over the constant for a division."""
        found = self._ratios.get(id(node))
        if found is None:
            pairs = [c.as_integer_ratio() for c in node.constant]
            if node.kind == "divide":
                pairs = [(d, n) if n > 0 else (-d, -n) for n, d in pairs]
            found = self._ratios[id(node)] = pairs
        return found

    def kernel(self, v: int, node: AffineNode) -> AffineKernel:
        """The matrices of a node, made once for all nodes with these weights."""
        found = self._kernels[v]
        if found is None:
            contents = node.weights, node.bias, node.columns, self.bits, self.coarse
            found = self._matrices.get(contents)
            if found is None:
                found = self._matrices[contents] = AffineKernel.of(node, self.bits, self.coarse)
            self._kernels[v] = found
        return found


def _separable_values(values: tuple[GraphValue, ...]) -> list[bool]:
    """Which values have in each entry a linear function of one free variable, no two of the same."""
    found = [True]
    for value in values[1:]:
        node = value.node
        if isinstance(node, CallInput):
            read = [(v, i) for row in node.rows for v, i, _ in row]
            alone = all(len(row) <= 1 for row in node.rows) and len(set(read)) == len(read)
            found.append(alone and all(v == 0 for v, _ in read))
        else:
            found.append(isinstance(node, ElementwiseNode) and found[value.sources[0]])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class NarrowWeights:
    """What substituting many rows at once needs besides: weights of one digit, ready to be picked from."""

    signed: list[list[int]]  # the weights of each input, and then their negatives
    shifts: list[tuple[int, int]]  # the biases in squares of the grid's unit, rounded down; the negatives'
    size: int  # factors of at most 2^size leave all sums of weights or biases below 2^ROOM


@dataclass(frozen=True, slots=True, eq=False)
class AffineKernel:
    """The weights of an affine node, ready for products."""

    rows: PackedMatrix  # one row of weights for each output, with the bias as last entry
    columns: PackedMatrix  # one row for each input, and the bias as last row
    sizes: PackedMatrix  # absolute values of `columns`
    narrow: NarrowWeights | None = None  # if all of these have fields of one word

    @classmethod
    def of(cls, node: AffineNode, bits: int, coarse: bool) -> AffineKernel:
        """With numbers of one digit if `coarse`, unless they are too large or too many."""
        if coarse and node.weights:
            matrices = _scaled_matrices(node, *_scale_to_digits(node.weights + node.bias), True)
            size = ROOM - matrices[0].norm.bit_length()
            if matrices[0].places >= 0 and size >= DIGIT // 2:
                inputs = matrices[1].entries[:-1]
                signed = [[*column, *(-w for w in column)] for column in inputs]
                ratios = [b.as_integer_ratio() for b in node.bias]
                shifts = [((n << 2 * bits) // d, (-n << 2 * bits) // d) for n, d in ratios]
                return cls(*matrices, NarrowWeights(signed, shifts, size))
        places = 64 if bits <= 48 else 64 * (bits // 64 + 1)
        whole, exact = scale_to_integers(node.weights + node.bias, places)
        return cls(*_scaled_matrices(node, whole, places, exact, False))


def _scale_to_digits(numbers: Numbers) -> tuple[list[int], int, bool]:
    """Integers of at most DIGIT bits: the numbers times 2^places, the places, and whether that is exact."""
    places = min(DIGIT - frexp(max(map(abs, numbers)))[1], 2 * DIGIT)
    whole, exact = scale_to_integers(numbers, places)
    common = reduce(or_, whole)
    if exact and common:
        spare = min(max(places, 0), (common & -common).bit_length() - 1)  # bits that are 0 in all of them
        whole, places = [w >> spare for w in whole], places - spare
    return whole, places, exact


def _scaled_matrices(
    node: AffineNode, whole: list[int], places: int, exact: bool, narrow: bool
) -> tuple[PackedMatrix, PackedMatrix, PackedMatrix]:
    width, height = node.columns, len(node.bias)
    bias = whole[width * height :]
    rows = [[*whole[i * width : (i + 1) * width], b] for i, b in enumerate(bias)]
    columns = [*(whole[i : width * height : width] for i in range(width)), bias]
    return (
        PackedMatrix(rows, width + 1, places, exact, narrow),
        PackedMatrix(columns, height, places, exact, narrow),
        PackedMatrix([list(map(abs, column)) for column in columns], height, places, exact, narrow),
    )


Slopes = tuple[tuple[int, ...] | None, tuple[int, ...] | None]  # below and above, as the certificate says


@dataclass(slots=True, eq=False)
class LinearRelaxation:
    """below . x + below_constant <= value <= above . x + above_constant; one list of slopes per source."""

    below: tuple[list[int], ...]
    below_constant: list[int]
    above: tuple[list[int], ...]
    above_constant: list[int]


@dataclass(slots=True, eq=False)
class ReluRelaxation:
    """The lines of a ReLU: entries that are on or off, and lines around those that may be either.

    Entries that are on or off have lines of their own as well where a step gives them another slope below.
    """

    on: list[int]  # 1 or 0
    bent: list[tuple[int, int, int, int]]  # entry, slope below, slope above, constant above
    lost: int  # the sum of the largest absolute values of the bent entries
    zero: list[int]  # entries that are 0 everywhere: on or off, as slopes say
    low: list[int]  # lower bounds of all entries


@dataclass(slots=True, eq=False)
class ReachedLeaves:
    """Tree by tree the leaves that can be reached, and the start; all numbers times `factor`."""

    trees: tuple[list[tuple[int, ...]], ...]
    start: tuple[int, ...]
    factor: int


@dataclass(slots=True, eq=False)
class SubdomainState:
    low: list[list[int]]
    high: list[list[int]]
    alive: int  # bit s: set s
    exact_low: list[Fraction | None]  # bounds of value 0 where they are not just the integers
    exact_high: list[Fraction | None]
    void: bool = False  # some lower bound exceeds its upper bound: there is no point
    cut: tuple[list[int], int, int] | None = None  # coefficients, constant: <= 0; times 2^ the third
    slopes: dict[int, Slopes] = field(default_factory=dict)
    # Derived from bounds when needed, kept until these change (an earlier one would be true as well).
    lines: dict[int, LinearRelaxation | ReluRelaxation | ReachedLeaves] = field(default_factory=dict)
    radii: dict[int, list[int] | None] = field(default_factory=dict)
    totals: dict[int, int] = field(default_factory=dict)
    middles: tuple[list[int], list[int]] | None = None
    boxes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    def sizes(self, v: int) -> list[int]:
        """The largest absolute value of every entry: high or -low, since low <= high."""
        return [b if a + b > 0 else -a for a, b in zip(self.low[v], self.high[v], strict=True)]

    def total(self, v: int) -> int:
        """The sum of the largest absolute values of all entries."""
        found = self.totals.get(v)
        if found is None:
            found = self.totals[v] = sum(self.sizes(v))
        return found

    def middle(self) -> tuple[list[int], list[int]]:
        """low + high and high - low of value 0."""
        if self.middles is None:
            low, high = self.low[0], self.high[0]
            self.middles = list(map(add, low, high)), list(map(sub, high, low))
        return self.middles

    def narrow(self, grid: PrecisionGrid, v: int, low: list[int], high: list[int]) -> None:
        """Bounds of a value that hold as well as those known."""
        self.low[v] = [a if a > b else b for a, b in zip(self.low[v], low, strict=True)]
        self.high[v] = [a if a < b else b for a, b in zip(self.high[v], high, strict=True)]
        self.invalidate_value(grid, v)

    def invalidate_value(self, grid: PrecisionGrid, v: int) -> None:
        """Forget what was derived from the bounds of a value, and see whether they contradict each other."""
        self.totals.pop(v, None)
        if v == 0:
            self.middles = None
            self.boxes = {}
        for reader in grid.readers[v]:
            self.lines.pop(reader, None)
            self.radii.pop(reader, None)
        if any(map(gt, self.low[v], self.high[v])):
            self.void = True

    def copy(self) -> SubdomainState:
        return SubdomainState(
            self.low.copy(),
            self.high.copy(),
            self.alive,
            self.exact_low,
            self.exact_high,
            self.void,
            self.cut,
            self.slopes.copy(),
            self.lines.copy(),
            self.radii.copy(),
            self.totals.copy(),
            self.middles,
            self.boxes,
        )
