"""The chain of one policy: sparse factors in float64, values refined to any number of bits.

`refine` is iterative refinement: the residual is computed in exact integers, the correction in floating
point. What it returns is close to the value of the policy; whoever claims something checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.solvers.markov.end_components import strongly_connected_components
from surefoot.solvers.markov.integer_vectors import (
    IntegerVector,
    divide_to_floats,
    round_to_integers,
    sum_rows,
)
from surefoot.solvers.markov.qualitative import csr_positions
from surefoot.solvers.markov.quotient import QuotientProcess

ROUNDS = 40
LARGE_PART = 200  # above this size of a strongly connected part the order of elimination is left to SuperLU


@dataclass(frozen=True, slots=True, eq=False)
class FloatQuotient:
    """A reduced process in floating point."""

    reduced: QuotientProcess
    owners: NDArray[np.int64]
    constants: NDArray[np.float64]
    matrix: Any  # [choices, nodes]


def quotient_to_floats(reduced: QuotientProcess) -> FloatQuotient:
    from scipy.sparse import csr_matrix

    weights = divide_to_floats(reduced.weights, reduced.unit)
    shape = (len(reduced.origin), reduced.nodes)
    matrix = csr_matrix((weights, reduced.targets, reduced.outcomes), shape=shape)
    owners = np.repeat(np.arange(reduced.nodes, dtype=np.int64), np.diff(reduced.choices))
    constants = divide_to_floats(reduced.constants, reduced.unit * reduced.scale)
    return FloatQuotient(reduced, owners, constants, matrix)


@dataclass(frozen=True, slots=True, eq=False)
class FactoredChain:
    """The equations of one policy, factored."""

    policy: NDArray[np.int64]  # [nodes]: choice of the reduced process
    order: NDArray[np.int64]
    factors: Any

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        solution = np.empty_like(right)
        solution[self.order] = self.factors.solve(right[self.order])
        return solution


def factor_chain(table: FloatQuotient, policy: NDArray[np.int64]) -> FactoredChain | None:
    """None where the equations have no solution in floating point."""
    from scipy.sparse import coo_matrix, identity
    from scipy.sparse.linalg import splu

    taken = table.matrix[policy]
    nodes = len(policy)
    coordinates = coo_matrix(taken)
    part = strongly_connected_components(
        coordinates.row.astype(np.int64), coordinates.col.astype(np.int64), nodes
    )
    order = _topological_order(part, coordinates.row, coordinates.col)
    largest = int(np.bincount(part).max(initial=0))
    equations = (identity(nodes, format="csr") - taken)[order][:, order].tocsc()
    kind = "NATURAL" if largest <= LARGE_PART else "COLAMD"
    try:
        factors = splu(equations, permc_spec=kind, diag_pivot_thresh=0.0, options={"SymmetricMode": False})
    except RuntimeError:
        return None
    return FactoredChain(policy, order, factors)


def _topological_order(
    part: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The nodes sorted so that what a part depends on comes before it (as far as SciPy numbers parts so)."""
    forward = int((part[rows] > part[columns]).sum())
    backward = int((part[rows] < part[columns]).sum())
    key = part if forward >= backward else -part
    return np.argsort(key, kind="stable").astype(np.int64)


def chain_residual(
    reduced: QuotientProcess, policy: NDArray[np.int64], values: IntegerVector
) -> IntegerVector:
    """constant + P values - values of the policy's chain, over unit * scale."""
    positions = csr_positions(reduced.outcomes, policy)
    counts = np.diff(reduced.outcomes)[policy]
    pointer = np.concatenate(([0], np.cumsum(counts)))
    next_values = sum_rows(reduced.weights[positions] * values[reduced.targets[positions]], pointer)
    return cast(IntegerVector, reduced.constants[policy] + next_values - reduced.unit * values)


def refine_chain_values(
    reduced: QuotientProcess, found: FactoredChain, start: NDArray[np.float64]
) -> tuple[IntegerVector, int] | None:
    """Values of the chain over `scale`, and the largest residual left, in units of 1 / scale."""
    if not np.isfinite(start).all():
        return None
    values = round_to_integers(start, reduced.scale)
    best: tuple[IntegerVector, int] | None = None
    for _ in range(ROUNDS):
        rest = chain_residual(reduced, found.policy, values)
        size = 1 + max((abs(r) for r in rest), default=0) // reduced.unit
        if best is not None and 2 * size > best[1]:
            return (values, size) if size < best[1] else best
        best = (values, size)
        if size <= 2:
            return best
        correction = found.solve(divide_to_floats(rest, reduced.unit * reduced.scale))
        if not np.isfinite(correction).all():
            return best
        values = values + round_to_integers(correction, reduced.scale)
    return best
