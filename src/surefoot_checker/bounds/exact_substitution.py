"""Exact arithmetic for real networks: evaluation at a point, and backward substitution without rounding.

Vectors are integers over one positive denominator. Relaxations have slopes and constants on the grid, so
they too are exact: only in the choice of the line something may be lost, never in the use of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from operator import add, mul

from ..kernel.network import ActivationNode, AffineNode, CombineNode, ElementwiseNode, JoinNode, PickNode
from ..kernel.strict_json import Refused, limit_bits
from .case_problem import CallInput, CaseAtom, CaseProblem
from .relaxations import cached_relaxation
from .subdomain import LinearRelaxation, PrecisionGrid, ReluRelaxation, SubdomainState

Replacement = tuple[int, int, list[tuple[int, list[int]]]]  # factor, constant, coefficients of sources
Vector = tuple[list[int], int]  # numerators and a common positive denominator


class ExactForm:
    """A positive multiple of (coefficients . values + constant), all integers."""

    def __init__(
        self,
        grid: PrecisionGrid,
        state: SubdomainState,
        special: Mapping[int, LinearRelaxation | ReluRelaxation],
    ) -> None:
        self.grid = grid
        self.state = state
        self.special = special
        self._terms: dict[tuple[int, int], Fraction] = {}
        self._constant = Fraction(0)

    def add_term(self, v: int, i: int, coefficient: Fraction) -> None:
        self._terms[v, i] = limit_bits(self._terms.get((v, i), Fraction(0)) + coefficient)

    def add_constant(self, constant: Fraction) -> None:
        self._constant = limit_bits(self._constant + constant)

    def reads_networks(self) -> bool:
        """Whether some value other than the free variables is in it."""
        return any(c for (v, _), c in self._terms.items() if v)

    def minimum(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """A lower bound of a positive multiple of the form, with these bounds of value 0."""
        values = self.grid.values
        scale = lcm(self._constant.denominator, *(c.denominator for c in self._terms.values()))
        vectors: dict[int, list[int]] = {}
        for (v, i), c in self._terms.items():
            vectors.setdefault(v, [0] * values[v].width)[i] = int(c * scale)
        constant = int(self._constant * scale)
        for v in range(len(values) - 1, 0, -1):
            vector = vectors.pop(v, None)
            if vector is None or not any(vector):
                continue
            factor, more, parts = self._replace_value(v, vector)
            if factor != 1:
                vectors = {w: [factor * c for c in old] for w, old in vectors.items()}
            constant = factor * constant + more
            for source, part in parts:
                vectors[source] = list(map(add, vectors[source], part)) if source in vectors else part
        return constant + sum(
            (
                c * (a if c > 0 else b)
                for c, a, b in zip(vectors.get(0, [0] * len(low)), low, high, strict=True)
            ),
            Fraction(0),
        )

    def _replace_value(self, v: int, vector: list[int]) -> Replacement:
        """factor * vector . value v >= constant + sum of vector . source."""
        value = self.grid.values[v]
        match value.node:
            case AffineNode() as node:
                rows, bias, factor = _integer_weights(node)
                columns = zip(*rows, strict=True) if rows else []
                found = [sum(map(mul, vector, column)) for column in columns] or [0] * node.columns
                return factor, sum(map(mul, vector, bias)), [(value.sources[0], found)]
            case ElementwiseNode(_, "add", _) as node:
                ratios = self.grid.ratios(node)
                factor = lcm(*(d for _, d in ratios))
                constant = sum(c * n * (factor // d) for c, (n, d) in zip(vector, ratios, strict=True))
                return factor, constant, [(value.sources[0], [factor * c for c in vector])]
            case ElementwiseNode() as node:
                ratios = self.grid.ratios(node)
                factor = lcm(*(d for _, d in ratios))
                found = [c * n * (factor // d) for c, (n, d) in zip(vector, ratios, strict=True)]
                return factor, 0, [(value.sources[0], found)]
            case CombineNode(kind="sum"):
                return 1, 0, [(source, vector) for source in value.sources]
            case PickNode(_, indices):
                found = [0] * self.grid.values[value.sources[0]].width
                for i, c in zip(indices, vector, strict=True):
                    found[i] += c
                return 1, 0, [(value.sources[0], found)]
            case JoinNode():
                parts, start = [], 0
                for source in value.sources:
                    end = start + self.grid.values[source].width
                    parts.append((source, vector[start:end]))
                    start = end
                return 1, 0, parts
            case CallInput() as mix:
                return self._replace_input(mix, vector)
            case _:
                return self._relax_value(v, vector)

    def _replace_input(self, mix: CallInput, vector: list[int]) -> Replacement:
        factor = lcm(
            *(c.denominator for row in mix.rows for _, _, c in row), *(c.denominator for c in mix.constants)
        )
        found: dict[int, list[int]] = {}
        for row, c in zip(mix.rows, vector, strict=True):
            for w, i, coefficient in row:
                entries = found.setdefault(w, [0] * self.grid.values[w].width)
                entries[i] += c * int(coefficient * factor)
        constant = sum(c * int(k * factor) for c, k in zip(vector, mix.constants, strict=True))
        return factor, constant, list(found.items())

    def _relax_value(self, v: int, vector: list[int]) -> Replacement:
        lines = self.special.get(v) or cached_relaxation(self.grid, self.state, v)
        if isinstance(lines, ReluRelaxation):
            return self._relax_relu(v, lines, vector)
        both = zip(vector, lines.below_constant, lines.above_constant, strict=True)
        constant = sum(c * (b if c > 0 else a) for c, b, a in both)
        parts = [
            (source, [c * (b if c > 0 else a) for c, b, a in zip(vector, below, above, strict=True)])
            for source, below, above in zip(
                self.grid.values[v].sources, lines.below, lines.above, strict=True
            )
        ]
        return self.grid.one, constant, parts

    def _relax_relu(self, v: int, ramps: ReluRelaxation, vector: list[int]) -> Replacement:
        """Like `_relaxed`; without bent entries nothing has to be scaled."""
        factor = self.grid.one if ramps.bent else 1
        found, constant = [c * factor if on else 0 for c, on in zip(vector, ramps.on, strict=True)], 0
        for i, below, above, level in ramps.bent:
            found[i] = vector[i] * (below if vector[i] > 0 else above)
            constant += vector[i] * level if vector[i] < 0 else 0
        return factor, constant, [(self.grid.values[v].sources[0], found)]


def _integer_weights(node: AffineNode) -> tuple[list[list[int]], list[int], int]:
    """The exact weights and bias times a power of two, and that power."""
    ratios = [w.as_integer_ratio() for w in node.weights + node.bias]
    factor = max((d for _, d in ratios), default=1)
    whole = [n * (factor // d) for n, d in ratios]
    width, split = node.columns, len(node.weights)
    return [whole[i : i + width] for i in range(0, split, width)] if width else [], whole[split:], factor


def evaluate_exactly(problem: CaseProblem, point: Sequence[Fraction]) -> list[Vector]:
    """All values at a point, exactly; refuses irrational functions and divisions by zero."""
    scale = lcm(*(x.denominator for x in point))
    values: list[Vector] = [([int(x * scale) for x in point], scale)]
    for value in problem.values[1:]:
        values.append(_evaluate_node(value.node, [values[s] for s in value.sources], values))
    return values


def _evaluate_node(node: object, read: list[Vector], values: list[Vector]) -> Vector:
    match node:
        case AffineNode():
            rows, bias, factor = _integer_weights(node)
            x, d = read[0]
            products = [sum(map(mul, row, x)) for row in rows] or [0] * len(bias)
            return [p + b * d for p, b in zip(products, bias, strict=True)], factor * d
        case CallInput(rows, constants, _):
            sums = [
                constant + sum((c * Fraction(values[v][0][i], values[v][1]) for v, i, c in row), Fraction(0))
                for row, constant in zip(rows, constants, strict=True)
            ]
            return _common_denominator(sums)
        case PickNode(_, indices):
            return [read[0][0][i] for i in indices], read[0][1]
        case JoinNode():
            scale = lcm(*(d for _, d in read))
            return [n * (scale // d) for x, d in read for n in x], scale
        case ActivationNode(_, "relu", _):
            return [max(n, 0) for n in read[0][0]], read[0][1]
        case ActivationNode(_, kind, parameters) if kind in ("leaky_relu", "clip"):
            exact = [Fraction(p) for p in parameters]
            return _common_denominator(
                [_apply_activation(Fraction(n, read[0][1]), kind, exact) for n in read[0][0]]
            )
        case ElementwiseNode(_, kind, constant):
            fractions = [Fraction(n, read[0][1]) for n in read[0][0]]
            return _common_denominator(
                [_PAIRS[kind](x, Fraction(c)) for x, c in zip(fractions, constant, strict=True)]
            )
        case CombineNode(_, _, kind):
            left, right = ([Fraction(n, d) for n in x] for x, d in read)
            return _common_denominator([_PAIRS[kind](x, y) for x, y in zip(left, right, strict=True)])
    raise Refused("a network with tanh or sigmoid has no exact values")


def _apply_activation(x: Fraction, kind: str, parameters: Sequence[Fraction]) -> Fraction:
    if kind == "clip":
        return min(max(x, parameters[0]), parameters[1])
    return x if x > 0 else parameters[0] * x


def _divide_exactly(x: Fraction, y: Fraction) -> Fraction:
    if not y:
        raise Refused("a division by zero")
    return x / y


_PAIRS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": add,
    "sum": add,
    "multiply": mul,
    "product": mul,
    "maximum": max,
    "divide": _divide_exactly,
    "quotient": _divide_exactly,
}


def _common_denominator(fractions: Sequence[Fraction]) -> Vector:
    scale = lcm(*(x.denominator for x in fractions))
    return [int(x * scale) for x in fractions], scale


def atom_holds(atom: CaseAtom, values: Sequence[Vector]) -> bool:
    """Whether an atom is true where the values are these."""
    total = atom.constant
    for v, i, c in atom.terms:
        numbers, scale = values[v]
        total += c * Fraction(numbers[i], scale)
    return {"<=": total <= 0, "<": total < 0, "=": total == 0}[atom.relation]
