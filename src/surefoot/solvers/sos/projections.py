"""Gram matrices of one identity by projections, where they are too wide for an interior-point program.

The matrices that satisfy the identity are an affine space, and the projection onto it is cheap: without
multipliers the entries of each monomial change by the same amount. The projection onto the matrices that are
positive semidefinite is an eigendecomposition. The iteration of Douglas and Rachford between the two (Lions
and Mercier, SIAM J. Numer. Anal. 1979) comes to common matrices if there are any: for 136 monomials it takes
some milliseconds a round, where an interior-point program factors a matrix with a row for each of their 3876
products. Rounding takes a little of what is found, so matrices are looked for that are positive definite.

Proofs with matrices that are too wide for a program: by projections, and what is found is made exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from surefoot.query.polynomial import Monomial, Polynomial
from surefoot.solvers.sos.gram_blocks import GramBlock
from surefoot.solvers.sos.rational_identity import Summand, gram_blocks, round_to_identity
from surefoot.work.budget import Budget

Key: TypeAlias = tuple[tuple[tuple[int, ...], tuple[Monomial, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ProjectionProver:
    """About one list of constraints: the matrices of one proof are a good start for those of the next."""

    constraints: Sequence[Polynomial]
    products: Sequence[tuple[int, ...]]
    variables: Sequence[int]
    _split: dict[Key, IdentityProjection | None] = field(default_factory=dict)
    _last: dict[Key, NDArray[np.float64]] = field(default_factory=dict)

    def prove(self, wanted: Polynomial, budget: Budget) -> tuple[Summand, ...] | None:
        """wanted >= 0 where all constraints are. First with numbers as multipliers, then with any."""
        highest = max(p.degree for p in (wanted, *self.constraints))
        parts = gram_blocks(
            highest + highest % 2, self.constraints, self.products, self.variables, [wanted], "sos"
        )
        few = [block for block in parts if not block.of or len(block.basis) == 1]
        for several in (few, parts) if len(few) < len(parts) else (parts,):
            found = self._prove_with_blocks(wanted, several, budget)
            if found is not None:
                return found
        return None

    def _prove_with_blocks(
        self, wanted: Polynomial, parts: Sequence[GramBlock], budget: Budget
    ) -> tuple[Summand, ...] | None:
        key = tuple((block.of, block.basis) for block in parts)
        if key not in self._split:
            self._split[key] = prepare_projection(
                parts, variable_sizes(self.constraints, len(parts[0].basis[0]))
            )
        if (known := self._split[key]) is None:
            return None
        values = None
        if key in self._last:
            values = douglas_rachford(known, wanted, budget, self._last[key])
        if values is None:
            values = douglas_rachford(known, wanted, budget)
        if values is None:
            return None
        self._last[key] = values
        return round_to_identity(wanted, parts, gram_matrices(known, values))


def variable_sizes(constraints: Sequence[Polynomial], count: int) -> list[float]:
    """How large each variable may be, as far as constraints of single variables say; else 1."""
    found, nothing = [0.0] * count, (0,) * count
    for constraint in constraints:
        slopes = [(m, c) for m, c in constraint.terms.items() if m != nothing]
        if len(slopes) == 1 and sum(slopes[0][0]) == 1:
            index = slopes[0][0].index(1)
            found[index] = max(found[index], abs(float(constraint.terms.get(nothing, 0) / slopes[0][1])))
    return [size or 1.0 for size in found]


Floats: TypeAlias = NDArray[np.float64]
MARGIN, LEAST = 1e-3, 1e-7  # of the largest coefficient: eigenvalues that are looked for, and that will do
RELAXED, ROUNDS, LATER, LOOK = 1.6, 1500, 100, 10  # how far a round goes; how many, and when is looked
STUCK = 0.8  # of the distance LATER rounds ago: it hardly comes nearer
MOST_OTHERS = 6000  # entries of multipliers: a dense matrix of this width is inverted


@dataclass(frozen=True, slots=True, eq=False)
class IdentityProjection:
    """The equations of some blocks, one row for each monomial, with what their projection needs."""

    blocks: tuple[GramBlock, ...]
    sizes: tuple[float, ...]  # of the variables: they are divided by these
    rows: dict[Monomial, int]
    matrix: Any  # sparse; the columns are the entries of all blocks, those off the diagonal times sqrt(2)
    own: Floats  # of each row: the squares of the entries of blocks without a factor, which come first
    others: Any  # the columns of blocks with a factor
    inverse: Floats  # of what these add to the projection
    scales: tuple[float, ...]  # of each block: its factor is divided by this

    def affine_correction(self, values: Floats, right: Floats) -> Floats:
        """The smallest one that makes the identity hold."""
        gap: Floats = (right - self.matrix @ values) / self.own
        if self.others.shape[1]:
            gap = gap - (self.others @ (self.inverse @ (self.others.T @ gap))) / self.own
        found: Floats = self.matrix.T @ gap
        return found

    def right(self, wanted: Polynomial) -> Floats | None:
        """The coefficients of a polynomial; None: one of them has no place."""
        found = np.zeros(len(self.rows))
        for monomial, value in wanted.terms.items():
            if monomial not in self.rows:
                return None
            found[self.rows[monomial]] = float(value) * _monomial_scale(self.sizes, monomial)
        return found


def prepare_projection(blocks: Sequence[GramBlock], sizes: Sequence[float]) -> IdentityProjection | None:
    """None: a product has no place in a matrix without a factor, or there are too many multipliers."""
    rows: dict[Monomial, int] = {}
    data: list[float] = []
    row_of: list[int] = []
    column_of: list[int] = []
    begin, scales = 0, []
    for block in blocks:
        factor = [(m, float(c) * _monomial_scale(sizes, m)) for m, c in block.factor.terms.items()]
        scales.append(max(abs(c) for _, c in factor))
        for column, i, j, weight in block.entries():
            both = tuple(map(int.__add__, block.basis[i], block.basis[j]))
            for m, value in factor:
                monomial = tuple(map(int.__add__, both, m))
                if block.of and monomial not in rows:
                    return None
                row_of.append(rows.setdefault(monomial, len(rows)))
                column_of.append(begin + column)
                data.append(weight * value / scales[-1])
        begin += block.columns
    main = sum(block.columns for block in blocks if not block.of)
    if begin - main > MOST_OTHERS:
        return None
    matrix = sparse.csr_matrix((data, (row_of, column_of)), shape=(len(rows), begin))
    own = np.asarray(matrix[:, :main].power(2).sum(axis=1)).ravel()
    others = matrix[:, main:]
    inner = np.eye(begin - main) + (others.T @ sparse.diags(1 / own) @ others).toarray()
    inverse = linalg.inv(inner) if len(inner) else inner
    return IdentityProjection(tuple(blocks), tuple(sizes), rows, matrix, own, others, inverse, tuple(scales))


def douglas_rachford(
    known: IdentityProjection, wanted: Polynomial, budget: Budget, start: Floats | None = None
) -> Floats | None:
    """Entries of positive definite matrices whose sum is nearly the polynomial; None: none were found.

    `start`: of another polynomial about the same blocks, nearly the same matrices may do.
    """
    right = known.right(wanted)
    if right is None or not right.any() or _has_negative_diagonal(known, right):
        return None
    first = _constant_multipliers(known, right)
    right = right - known.matrix @ first
    size = float(np.abs(right).max())
    if not size:
        return None
    right, first = right / size, first / size
    values = np.zeros(len(first)) if start is None else start / size - first
    margin, before, sides = MARGIN, np.inf, sum(len(block.basis) for block in known.blocks)
    if start is not None and (found := _project_if_definite(known, values, right, first)) is not None:
        return found * size
    for turn in range(1, ROUNDS + 1):
        if budget.is_spent():
            return None
        near = values + known.affine_correction(values, right)
        inside = _project_semidefinite(known.blocks, 2 * near - values + first, margin) - first
        values = values + RELAXED * (inside - near)
        if turn % LOOK == 0 and (found := _project_if_definite(known, inside, right, first)) is not None:
            return found * size
        if turn % LATER == 0:
            distance = float(np.linalg.norm(inside - near))
            if distance > STUCK * before:
                if margin < LEAST or distance > 2 * margin * sqrt(sides):  # more than the margin is missing
                    return None
                margin /= 10
            before = distance
    return None


def _project_if_definite(
    known: IdentityProjection, values: Floats, right: Floats, first: Floats
) -> Floats | None:
    """The nearest entries for which the identity holds; None: a matrix is not positive definite."""
    found: Floats = values + known.affine_correction(values, right) + first
    least = min(float(np.linalg.eigvalsh(gram)[0]) for gram in _entries_to_grams(known.blocks, found))
    return found if least > LEAST else None


def _monomial_scale(sizes: Sequence[float], monomial: Monomial) -> float:
    return prod(size**exponent for size, exponent in zip(sizes, monomial, strict=True) if exponent)


def _has_negative_diagonal(known: IdentityProjection, right: Floats) -> bool:
    """Is a coefficient negative that is a single entry of a diagonal?"""
    own = (block for block in known.blocks if not block.of)
    squares = [known.rows[tuple(map(int.__add__, m, m))] for block in own for m in block.basis]
    alone = np.diff(known.matrix.indptr)[squares] == 1
    return bool(np.any(right[squares][alone] < 0))


def _constant_multipliers(known: IdentityProjection, right: Floats) -> Floats:
    """Multipliers that are numbers, such that the rest is small: the step of a barrier hardly changes it."""
    found = np.zeros(known.matrix.shape[1])
    begins = np.cumsum([0, *(block.columns for block in known.blocks)])
    single = [b for b, block in zip(begins, known.blocks, strict=False) if block.of and block.columns == 1]
    if single:
        columns = known.matrix[:, single].toarray()
        weights, rest = optimize.nnls(columns, right)
        if rest < np.linalg.norm(right) / 4:
            found[single] = weights
    return found


def gram_matrices(known: IdentityProjection, values: Floats) -> tuple[Floats, ...]:
    """Of each block, from its entries."""
    found = []
    for block, gram, scale in zip(
        known.blocks, _entries_to_grams(known.blocks, values), known.scales, strict=True
    ):
        sizes = np.array([_monomial_scale(known.sizes, m) for m in block.basis])
        found.append(gram / np.outer(sizes, sizes) / scale)
    return tuple(found)


def _entries_to_grams(blocks: Sequence[GramBlock], values: Floats) -> list[Floats]:
    found, begin = [], 0
    for block in blocks:
        side = len(block.basis)
        columns, rows = np.tril_indices(side)  # the upper triangle, column by column
        gram = np.zeros((side, side))
        gram[rows, columns] = values[begin : begin + block.columns] / sqrt(2.0)
        found.append(gram + gram.T + np.diag(np.diag(gram) * (sqrt(2.0) - 2.0)))
        begin += block.columns
    return found


def _gram_to_entries(gram: Floats) -> Floats:
    columns, rows = np.tril_indices(len(gram))
    found: Floats = gram[rows, columns] * np.where(rows == columns, 1.0, sqrt(2.0))
    return found


def _project_semidefinite(blocks: Sequence[GramBlock], values: Floats, margin: float) -> Floats:
    """The nearest matrices with eigenvalues that are at least the margin."""
    found = []
    for gram in _entries_to_grams(blocks, values):
        several, vectors = np.linalg.eigh(gram)
        found.append(_gram_to_entries((vectors * np.maximum(several, margin)) @ vectors.T))
    return np.concatenate(found)
