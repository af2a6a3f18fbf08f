"""Backward substitution: from a linear form over values to one over free variables that is nowhere larger.

Coefficients are integers in units of u = 2^-bits, the constant in units of u^2. A coefficient that is rounded
to c loses at most |true - c| * max |x|; with every rounding at most one unit this is at most the sum of all
max |x| of the value concerned, in units of u^2, and it is subtracted from the constant. So after every step
the form is a true lower bound, whatever was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import add, mul

from ..kernel.network import ActivationNode, AffineNode, CombineNode, ElementwiseNode, JoinNode, PickNode
from .case_problem import CallInput
from .interval_propagation import rounding_radius
from .relaxations import cached_relaxation
from .subdomain import LinearRelaxation, PrecisionGrid, ReluRelaxation, SubdomainState


class BackwardForm:
    """coefficients . values + constant, being substituted from the last value down to value 0."""

    __slots__ = ("coefficients", "constant", "grid", "special", "state")

    def __init__(
        self,
        grid: PrecisionGrid,
        state: SubdomainState,
        special: Mapping[int, LinearRelaxation | ReluRelaxation] | None = None,
    ) -> None:
        self.grid = grid
        self.state = state
        self.special = special or {}  # lines to be used instead of those of the state
        self.coefficients: dict[int, list[int]] = {}
        self.constant = 0

    def add_entry(self, v: int, i: int, coefficient: int) -> None:
        found = self.coefficients.get(v)
        if found is None:
            found = self.coefficients[v] = [0] * self.grid.values[v].width
        found[i] += coefficient

    def add_term(self, v: int, i: int, factor: int, coefficient: Fraction) -> None:
        """factor times coefficient; the product is rounded down to the grid."""
        product, rest = divmod(factor * coefficient.numerator, coefficient.denominator)
        self.add_entry(v, i, product)
        if rest:
            self.constant -= max(self.state.high[v][i], -self.state.low[v][i])

    def add_constant(self, factor: int, constant: Fraction) -> None:
        self.constant += factor * (constant.numerator << self.grid.bits) // constant.denominator

    def add_vector(self, v: int, vector: list[int]) -> None:
        found = self.coefficients.get(v)
        self.coefficients[v] = vector if found is None else list(map(add, found, vector))

    def substitute_all(self) -> tuple[list[int], int]:
        """Coefficients of value 0 and the constant."""
        coefficients = self.coefficients
        while (v := max(coefficients, default=0)) > 0:
            self._replace(v, coefficients.pop(v))
        return coefficients.get(0) or [0] * self.grid.values[0].width, self.constant

    def minimum(self) -> int:
        """A lower bound over the box of value 0, in units of u^2."""
        vector, constant = self.substitute_all()
        return constant + box_minimum(self.state, vector)

    def _replace(self, v: int, vector: list[int]) -> None:
        grid, state = self.grid, self.state
        value = grid.values[v]
        node = value.node
        if grid.float32:
            errors = rounding_radius(grid, state, v)
            if errors is not None:
                self.constant -= sum(map(mul, map(abs, vector), errors))
        if type(node) is AffineNode:
            source = value.sources[0]
            found, error = grid.kernel(v, node).rows.times(vector)
            self.constant += (found.pop() << grid.bits) - error * (state.total(source) + grid.one)
            self.add_vector(source, found)
        elif type(node) is ActivationNode:
            self._relax(v, value.sources, vector)
        elif isinstance(node, CallInput):
            self._mix(node, vector)
        elif isinstance(node, ElementwiseNode):
            self._elementwise(node, value.sources[0], vector)
        elif isinstance(node, PickNode):
            for i, c in zip(node.indices, vector, strict=True):
                self.add_entry(value.sources[0], i, c)
        elif isinstance(node, JoinNode):
            start = 0
            for source in value.sources:
                end = start + grid.values[source].width
                self.add_vector(source, vector[start:end])
                start = end
        elif isinstance(node, CombineNode) and node.kind == "sum":
            for source in value.sources:
                self.add_vector(source, vector.copy())
        else:
            self._relax(v, value.sources, vector)

    def _mix(self, node: CallInput, vector: list[int]) -> None:
        if node.span is not None:
            w, first = node.span
            rest = self.grid.values[w].width - first - len(vector)
            self.add_vector(w, [*[0] * first, *vector, *[0] * rest])
            return
        for row, constant, c in zip(node.rows, node.constants, vector, strict=True):
            if c:
                for w, i, factor in row:
                    self.add_term(w, i, c, factor)
                if constant:
                    self.add_constant(c, constant)

    def _elementwise(self, node: ElementwiseNode, source: int, vector: list[int]) -> None:
        ratios = self.grid.ratios(node)
        if node.kind == "add":
            bits = self.grid.bits
            self.constant += sum((c * n << bits) // d for c, (n, d) in zip(vector, ratios, strict=True))
            self.add_vector(source, vector)
        else:
            self.add_vector(source, [c * n // d for c, (n, d) in zip(vector, ratios, strict=True)])
            self.constant -= self.state.total(source)

    def _relax(self, v: int, sources: Sequence[int], vector: list[int]) -> None:
        grid, state = self.grid, self.state
        lines = self.special.get(v) or cached_relaxation(grid, state, v)
        bits = grid.bits
        if isinstance(lines, ReluRelaxation):
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
            self.add_vector(sources[0], product)
            return
        self.constant += sum(
            [
                c * (b if c > 0 else a)
                for c, b, a in zip(vector, lines.below_constant, lines.above_constant, strict=True)
            ]
        )
        for source, under, over in zip(sources, lines.below, lines.above, strict=True):
            product = [c * (b if c > 0 else a) >> bits for c, b, a in zip(vector, under, over, strict=True)]
            self.constant -= state.total(source)
            self.add_vector(source, product)


def entry_form(grid: PrecisionGrid, state: SubdomainState, v: int, i: int, side: int) -> BackwardForm:
    """The entry of a value, or (`side` 1) its negative.

    Where a value is linear in the free variables, the form is substituted once, with the bounds of the whole
    search space; what is lost by rounding there is enough for every part of it.
    """
    form = BackwardForm(grid, state)
    sign = -grid.one if side else grid.one
    if not grid.is_linear[v] or grid.root is None:
        form.add_entry(v, i, sign)
        return form
    known = grid.linear_forms.get((v, i, side))
    if known is None:
        whole = BackwardForm(grid, grid.root)
        whole.add_entry(v, i, sign)
        known = grid.linear_forms[v, i, side] = whole.substitute_all()
    form.coefficients[0], form.constant = known[0].copy(), known[1]
    return form


def box_minimum(state: SubdomainState, vector: Sequence[int]) -> int:
    """The minimum of vector . x over the box of value 0: twice that is c (low + high) - |c| (high - low)."""
    middle, spread = state.middle()
    twice: int = sum(map(mul, vector, middle)) - sum(map(mul, map(abs, vector), spread))
    return twice >> 1
