"""Proofs with matrices that are too wide for a program: by projections, and what is found is made exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.query.polynomial import Monomial, Polynomial
from surefoot.solvers.sos.gram_blocks import GramBlock
from surefoot.solvers.sos.projections import (
    IdentityProjection,
    douglas_rachford,
    gram_matrices,
    prepare_projection,
)
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
