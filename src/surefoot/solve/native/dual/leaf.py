"""A sub-domain without undecided neurons is a linear program: solve it, and let its duals be checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.dual.ascend import to_grid
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import MULTIPLIER_GRID, SLOPE_GRID, Compiled


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The point that violates the inequalities least, and the sub-domain with the program's multipliers."""

    point: Array
    domain: Domains


def solve_leaf(c: Compiled, domain: Domains, *, keep_phases: bool = False) -> Leaf | None:
    """Solve for one sub-domain (a batch of one); None if the program could not be solved.

    By default phases may be violated like rows, so that the program always has multipliers which prove it
    empty if it is. With `keep_phases` only rows may: the point is then as far inside the rows as possible.
    """
    from scipy.optimize import linprog

    neurons = np.flatnonzero(domain.phase[0])
    forms, constants, rows, row_constants = _affine(c, domain)
    sign = -domain.phase[0, neurons].astype(np.float64)
    matrix = np.vstack([rows, sign[:, None] * forms[neurons]])
    right = -np.concatenate([row_constants, sign * constants[neurons]])
    size = np.abs(matrix) @ np.maximum(np.abs(domain.low[0]), np.abs(domain.high[0])) + np.abs(right)
    scale = 1.0 / np.maximum(size, 1e-9)
    matrix, right = matrix * scale[:, None], right * scale
    inputs = len(c.problem.low)
    violable = np.full(len(right), -1.0)
    if keep_phases:
        violable[len(rows) :] = 0.0
    # One more variable: by how much (relative to its magnitude) the worst inequality is violated.
    result = linprog(
        np.append(np.zeros(inputs), 1.0),
        A_ub=np.hstack([matrix, violable[:, None]]),
        b_ub=right,
        bounds=[*zip(domain.low[0], domain.high[0], strict=True), (-1.0, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    multipliers = np.maximum(-result.ineqlin.marginals, 0.0) * scale
    # Only their ratios matter: large numbers keep more of them on their grids.
    multipliers *= 2.0**20 / (multipliers.max(initial=0.0) or 1.0)
    theta, row_weights = np.zeros_like(domain.theta), multipliers[None, : len(rows)].copy()
    theta[0, neurons] = multipliers[len(rows) :]
    to_grid(theta, np.where(domain.phase != 0, c.grid, SLOPE_GRID))
    to_grid(row_weights, np.full(len(rows), MULTIPLIER_GRID))
    return Leaf(result.x[:inputs], replace(domain, theta=theta, row_weights=row_weights))


def _affine(c: Compiled, domain: Domains) -> tuple[Array, Array, Array, Array]:
    """Neurons and rows as functions of the inputs: coefficients and constants of each."""
    problem, copies = c.problem, c.problem.copies
    on = domain.lower[0] >= 0.0
    value, constant = problem.first, problem.first_bias
    forms, constants = [value], [constant]
    for layer, (s, w) in enumerate(zip(c.slices, problem.weights, strict=True)):
        value, constant = value * on[s][:, None], constant * on[s]
        value = np.matmul(w, value.reshape(copies, w.shape[1], -1)).reshape(copies * len(w), -1)
        constant = (constant.reshape(copies, -1) @ w.T).reshape(-1) + c.biases[layer + 1]
        forms.append(value)
        constants.append(constant)
    return (
        np.vstack(forms[:-1]),
        np.concatenate(constants[:-1]),
        problem.rows @ value + problem.direct,
        problem.rows @ constant - problem.offsets,
    )
