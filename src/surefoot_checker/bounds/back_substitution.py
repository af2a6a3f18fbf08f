"""Backward substitution: from a linear form over values to one over free variables that is nowhere larger.

`BackwardForm` works on a grid. Coefficients are integers in units of u = 2^-bits, the constant in units of
u^2. A coefficient that is rounded to c loses at most |true - c| * max |x|; with every rounding at most one
unit this is at most the sum of all max |x| of the value concerned, in units of u^2, and it is subtracted from
the constant. So after every step the form is a true lower bound, whatever was rounded.

`ExactForm` does the same in fractions. Relaxations have slopes and constants on the grid, so they too are
exact: only in the choice of the line something may be lost, never in the use of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import add, mul
from typing import Any

from ..kernel.inference import integer_weights, over_common_denominator
from ..kernel.network import AffineNode, CombineNode, ElementwiseNode, JoinNode, PickNode
from ..kernel.strict_json import limit_bits
from ..kernel.trees import TreesNode
from .case_problem import CallInput
from .interval_propagation import rounding_radius
from .relaxations import cached_relaxation, relu_lines
from .subdomain import LinearRelaxation, PrecisionGrid, ReluRelaxation, SubdomainState
from .tree_leaves import cached_leaves, least_of_row
from .variable_box import exact_ends

Relaxation = LinearRelaxation | ReluRelaxation


class BackwardForm:
    """coefficients . values + constant, being substituted from the last value down to value 0."""

    __slots__ = ("coefficients", "constant", "grid", "special", "state")

    def __init__(
        self, grid: PrecisionGrid, state: SubdomainState, special: Mapping[int, Relaxation] | None = None
    ) -> None:
        self.grid = grid
        self.state = state
        self.special = special or {}  # lines to be used instead of those of the state
        self.coefficients: dict[int, list[Any]] = {}  # integers, or fractions in an exact form
        self.constant: Any = 0

    def add_entry(self, v: int, i: int, coefficient: Any) -> None:
        found = self.coefficients.get(v)
        if found is None:
            found = self.coefficients[v] = [0] * self.grid.values[v].width
        found[i] += coefficient

    def add_vector(self, v: int, vector: list[Any]) -> None:
        found = self.coefficients.get(v)
        self.coefficients[v] = vector if found is None else list(map(add, found, vector))

    def add_term(self, v: int, i: int, factor: Any, coefficient: Fraction) -> None:
        """factor times coefficient; the product is rounded down to the grid."""
        product, rest = divmod(factor * coefficient.numerator, coefficient.denominator)
        self.add_entry(v, i, product)
        if rest:
            self.constant -= max(self.state.high[v][i], -self.state.low[v][i])

    def add_constant(self, factor: Any, above: int, below: int) -> None:
        """factor times above / below."""
        self.constant += (factor * above << self.grid.bits) // below

    def add_bound(self, v: int, i: int, factor: Any) -> None:
        """factor times (entry - its upper bound), or its lower bound if the factor is negative."""
        self.add_entry(v, i, factor)
        self.constant -= factor * (self.state.high if factor > 0 else self.state.low)[v][i]

    def add_cut(self, factor: Any) -> None:
        """factor times the cut of the state, but for its power of two."""
        assert self.state.cut is not None
        vector, constant, _ = self.state.cut
        bits = self.grid.bits
        self.add_vector(0, [factor * c >> bits for c in vector])
        self.constant += (factor * constant >> bits) - self.state.total(0)

    def substitute_all(self) -> tuple[list[Any], Any]:
        """Coefficients of value 0 and the constant."""
        coefficients = self.coefficients
        while (v := max(coefficients, default=0)) > 0:
            vector = coefficients.pop(v)
            if any(vector):  # where bounds took everything away nothing is left to be bounded
                self._replace(v, vector)
        return coefficients.get(0) or [0] * self.grid.values[0].width, self.constant

    def minimum(self) -> Any:
        """A lower bound over the box of value 0, in units of u^2."""
        vector, constant = self.substitute_all()
        return constant + box_minimum(self.state, vector)

    def _replace(self, v: int, vector: list[Any]) -> None:
        grid = self.grid
        value = grid.values[v]
        node = value.node
        if grid.float32:
            errors = rounding_radius(grid, self.state, v)
            if errors is not None:
                self.constant -= sum(map(mul, map(abs, vector), errors))
        if type(node) is AffineNode:
            self._replace_affine(v, node, vector)
        elif isinstance(node, CallInput):
            self._replace_input(node, vector)
        elif isinstance(node, ElementwiseNode):
            self._replace_elementwise(node, value.sources[0], vector)
        elif isinstance(node, PickNode):
            for i, c in zip(node.indices, vector, strict=True):
                self.add_entry(value.sources[0], i, c)
        elif isinstance(node, JoinNode):
            start = 0
            for source in value.sources:
                end = start + grid.values[source].width
                self.add_vector(source, vector[start:end])
                start = end
        elif isinstance(node, TreesNode):
            leaves = cached_leaves(grid, self.state, v)
            self.add_constant(least_of_row(leaves, vector), 1, leaves.factor)
        elif isinstance(node, CombineNode) and node.kind == "sum":
            for source in value.sources:
                self.add_vector(source, vector.copy())
        else:
            lines = self.special.get(v) or cached_relaxation(grid, self.state, v)
            if isinstance(lines, ReluRelaxation):
                self._replace_relu(value.sources[0], lines, vector)
            else:
                self._replace_curved(value.sources, lines, vector)

    def _replace_affine(self, v: int, node: AffineNode, vector: list[Any]) -> None:
        source = self.grid.values[v].sources[0]
        found, error = self.grid.kernel(v, node).rows.times(vector)
        self.constant += (found.pop() << self.grid.bits) - error * (self.state.total(source) + self.grid.one)
        self.add_vector(source, found)

    def _replace_input(self, node: CallInput, vector: list[Any]) -> None:
        if node.span is not None:
            w, first = node.span
            rest = self.grid.values[w].width - first - len(vector)
            self.add_vector(w, [*[0] * first, *vector, *[0] * rest])
            return
        for row, constant, c in zip(node.rows, node.constants, vector, strict=True):
            if c:
                for w, i, factor in row:
                    self.add_term(w, i, c, factor)
                self.add_constant(c, constant.numerator, constant.denominator)

    def _replace_elementwise(self, node: ElementwiseNode, source: int, vector: list[Any]) -> None:
        ratios = self.grid.ratios(node)
        if node.kind == "add":
            for c, ratio in zip(vector, ratios, strict=True):
                self.add_constant(c, *ratio)
            self.add_vector(source, vector)
        else:
            self._add_products(source, vector, ratios)

    def _replace_relu(self, source: int, lines: ReluRelaxation, vector: list[Any]) -> None:
        bits = self.grid.bits
        product = list(map(mul, vector, lines.on))
        constant = -lines.lost
        for i, below, above, level in lines.bent:
            c = vector[i]
            if c > 0:
                product[i] = c * below >> bits
            elif c:
                product[i] = c * above >> bits
                constant += c * level
        self.constant += constant
        self.add_vector(source, product)

    def _replace_curved(self, sources: Sequence[int], lines: LinearRelaxation, vector: list[Any]) -> None:
        one = self.grid.one
        both = zip(vector, lines.below_constant, lines.above_constant, strict=True)
        self.add_constant(sum([c * (b if c > 0 else a) for c, b, a in both]), 1, one)
        for source, under, over in zip(sources, lines.below, lines.above, strict=True):
            ratios = [(b if c > 0 else a, one) for c, b, a in zip(vector, under, over, strict=True)]
            self._add_products(source, vector, ratios)

    def _add_products(self, source: int, vector: list[Any], ratios: Sequence[tuple[int, int]]) -> None:
        """Entry by entry times a ratio, each rounded down."""
        self.add_vector(source, [c * n // d for c, (n, d) in zip(vector, ratios, strict=True)])
        self.constant -= self.state.total(source)


class ExactForm(BackwardForm):
    """The same without rounding: coefficients and constant are fractions, and so are bounds of value 0."""

    __slots__ = ()

    def add_entry(self, v: int, i: int, coefficient: Any) -> None:
        super().add_entry(v, i, coefficient)
        limit_bits(self.coefficients[v][i])

    def add_term(self, v: int, i: int, factor: Any, coefficient: Fraction) -> None:
        self.add_entry(v, i, factor * coefficient)

    def add_constant(self, factor: Any, above: int, below: int) -> None:
        self.constant = limit_bits(self.constant + factor * Fraction(above, below))

    def add_bound(self, v: int, i: int, factor: Any) -> None:
        self.add_entry(v, i, factor)
        if v == 0:
            end = exact_ends(self.grid, self.state)[1 if factor > 0 else 0][i]
        else:
            end = Fraction((self.state.high if factor > 0 else self.state.low)[v][i], self.grid.one)
        self.add_constant(-factor, *end.as_integer_ratio())

    def add_cut(self, factor: Any) -> None:
        assert self.state.cut is not None
        vector, constant, _ = self.state.cut
        self.add_vector(0, [factor * Fraction(c, self.grid.one) for c in vector])
        self.add_constant(factor, constant, self.grid.one * self.grid.one)

    def reads_networks(self) -> bool:
        """Whether some value other than the free variables is in it."""
        return any(any(vector) for v, vector in self.coefficients.items() if v)

    def minimum(self) -> Fraction:
        """A lower bound over the exact bounds of value 0."""
        vector, constant = self.substitute_all()
        low, high = exact_ends(self.grid, self.state)
        terms = [c * (a if c > 0 else b) for c, a, b in zip(vector, low, high, strict=True)]
        return Fraction(constant + sum(terms))

    def _replace_affine(self, v: int, node: AffineNode, vector: list[Any]) -> None:
        rows, bias, factor = integer_weights(node)
        whole, scale = over_common_denominator(vector)
        columns = zip(*rows, strict=True) if rows else [()] * node.columns
        found = [Fraction(sum(map(mul, whole, column)), scale * factor) for column in columns]
        self.add_constant(1, sum(map(mul, whole, bias)), scale * factor)
        self.add_vector(self.grid.values[v].sources[0], found)

    def _replace_relu(self, source: int, lines: ReluRelaxation, vector: list[Any]) -> None:
        self._replace_curved((source,), relu_lines(self.grid, lines), vector)

    def _add_products(self, source: int, vector: list[Any], ratios: Sequence[tuple[int, int]]) -> None:
        self.add_vector(source, [c * Fraction(n, d) for c, (n, d) in zip(vector, ratios, strict=True)])


def entry_form(grid: PrecisionGrid, state: SubdomainState, v: int, i: int, side: int) -> BackwardForm:
    """The entry of a value, or (`side` 1) its negative."""
    form = BackwardForm(grid, state)
    form.add_entry(v, i, -grid.one if side else grid.one)
    return form


def box_minimum(state: SubdomainState, vector: Sequence[int]) -> int:
    """The minimum of vector . x over the box of value 0: twice that is c (low + high) - |c| (high - low)."""
    middle, spread = state.middle()
    twice: int = sum(map(mul, vector, middle)) - sum(map(mul, map(abs, vector), spread))
    return twice >> 1
