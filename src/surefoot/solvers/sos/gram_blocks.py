"""Sums of squares: unknown Gram matrices as columns and cones of a program, in two ways.

Full: any positive semidefinite matrix. In pairs: a sum of positive semidefinite matrices that have entries at
two monomials only, which are second-order cones (scaled diagonally dominant matrices, SDSOS; Ahmadi and
Majumdar, "DSOS and SDSOS optimization", SIAM J. Appl. Algebra Geometry 2019). These are fewer sums of
squares, but a program has as many small cones as there are pairs where the full one has a single wide cone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal, TypeAlias

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.query.polynomial import Monomial, Polynomial

Floats: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[int, int]
Entry: TypeAlias = tuple[
    int, int, int, float
]  # column, two monomials, what the column is times their product
Squares: TypeAlias = Literal["auto", "sos", "sdsos"]
WIDEST_FULL = 48  # monomials: programs with wider full matrices take minutes


@dataclass(frozen=True, slots=True)
class GramBlock:
    """A Gram matrix over a basis; what it stands for is multiplied by `factor`."""

    basis: tuple[Monomial, ...]
    factor: Polynomial
    of: tuple[int, ...] = ()  # the constraints whose product the factor is
    pairs: tuple[Pair, ...] | None = None  # the first is the smaller; None: a full matrix

    def times(self, first: Monomial, second: Monomial) -> set[Monomial]:
        """The monomials of a product of two, times the factor."""
        both = tuple(map(int.__add__, first, second))
        return {tuple(map(int.__add__, both, n)) for n in self.factor.terms}

    @property
    def columns(self) -> int:
        if self.pairs is None:
            return _triangle_size(len(self.basis))
        return 3 * len(self.pairs) + len(self._alone)

    @property
    def _alone(self) -> list[int]:
        """Monomials that are in no pair."""
        paired = {i for pair in self.pairs or () for i in pair}
        return [i for i in range(len(self.basis)) if i not in paired]

    def entries(self) -> Iterator[Entry]:
        """What each column adds to the polynomial."""
        if self.pairs is None:
            places = ((i, j) for j in range(len(self.basis)) for i in range(j + 1))
            yield from ((k, i, j, 1.0 if i == j else sqrt(2.0)) for k, (i, j) in enumerate(places))
            return
        for k, (i, j) in enumerate(self.pairs):  # [[a, c], [c, b]] by a + b, a - b and 2 c
            yield from ((3 * k, i, i, 0.5), (3 * k, j, j, 0.5))
            yield from ((3 * k + 1, i, i, 0.5), (3 * k + 1, j, j, -0.5))
            yield 3 * k + 2, i, j, 1.0
        first = 3 * len(self.pairs)
        yield from ((first + k, i, i, 1.0) for k, i in enumerate(self._alone))

    def cones(self, begin: int, margin: int, columns: int) -> tuple[Any, list[Any]]:
        """Rows that are in these cones if the matrix is at least the margin times the identity."""
        count, side = self.columns, len(self.basis)
        data, rows, where = [-1.0] * count, list(range(count)), list(range(begin, begin + count))
        if self.pairs is None:
            data += [1.0] * side
            rows += [_triangle_size(j + 1) - 1 for j in range(side)]
            where += [margin] * side
            cones: list[Any] = [clarabel.PSDTriangleConeT(side)]
        else:
            cones = [clarabel.SecondOrderConeT(3)] * len(self.pairs)
            cones += [clarabel.NonnegativeConeT(len(self._alone))] if self._alone else []
        return sparse.coo_matrix((data, (rows, where)), shape=(count, columns)), cones

    def matrix(self, values: Floats, margin: float) -> Floats:
        """The matrix of a solution."""
        side = len(self.basis)
        found = np.zeros((side, side)) if self.pairs is None else np.eye(side) * margin
        for column, i, j, weight in self.entries():
            found[i, j] += weight * values[column] / (1.0 if i == j else 2.0)
            if i != j:
                found[j, i] = found[i, j]
        return found


def _triangle_size(side: int) -> int:
    return side * (side + 1) // 2


def split_into_pairs(
    blocks: Sequence[GramBlock], others: Sequence[Polynomial], squares: Squares
) -> list[GramBlock]:
    """The blocks of an identity as they are, or as sums over pairs: `auto` does that where one is wide.

    Then monomials and pairs are left out that nothing calls for (term sparsity: Wang, Magron and Lasserre,
    SIAM J. Optim. 2021). Without a factor a monomial is needed if its product with one of the block is a
    monomial of the other side or of a factor; with a factor if its square times that has a place among the
    products of the former. A pair is needed if its product has a monomial of the other side, of a square or
    of another pair that is needed.
    """
    if squares == "sos" or (squares == "auto" and max(len(block.basis) for block in blocks) <= WIDEST_FULL):
        return list(blocks)
    known = {m for p in (*others, *(block.factor for block in blocks)) for m in p.terms}
    own = [replace(block, basis=_needed_monomials(block.basis, known)) for block in blocks if not block.of]
    places = {tuple(map(int.__add__, m, n)) for block in own for m in block.basis for n in block.basis}
    rest = [replace(b, basis=tuple(m for m in b.basis if b.times(m, m) <= places)) for b in blocks if b.of]
    kept = [block for block in (*own, *rest) if block.basis]
    known.update(m for block in kept for one in block.basis for m in block.times(one, one))
    waiting = [
        (k, (i, j), products)
        for k, block in enumerate(kept)
        for j in range(len(block.basis))
        for i in range(j)
        if (products := block.times(block.basis[i], block.basis[j])) <= places
    ]
    pairs: list[list[Pair]] = [[] for _ in kept]
    while needed := [one for one in waiting if not one[2].isdisjoint(known)]:
        waiting = [one for one in waiting if one[2].isdisjoint(known)]
        for k, pair, products in needed:
            pairs[k].append(pair)
            known |= products
    return [replace(block, pairs=tuple(sorted(pairs[k]))) for k, block in enumerate(kept)]


def _needed_monomials(basis: Sequence[Monomial], known: Set[Monomial]) -> tuple[Monomial, ...]:
    """Those whose product with some monomial of the basis is known."""
    found = set[Monomial]()
    for j, second in enumerate(basis):
        for first in basis[: j + 1]:
            if tuple(map(int.__add__, first, second)) in known:
                found |= {first, second}
    return tuple(m for m in basis if m in found)
