"""A sub-domain without undecided neurons is a linear program: solve it, and let its duals be checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import Compiled
from surefoot.solve.native.dual.log import dyadic


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
    # Only their ratios matter: large numbers keep more of them on the grid of the log.
    multipliers *= 2.0**20 / (multipliers.max(initial=0.0) or 1.0)
    theta = np.zeros_like(domain.theta)
    theta[0, neurons] = multipliers[len(rows) :]
    theta, row_weights = dyadic(theta, domain.phase, multipliers[None, : len(rows)])
    return Leaf(result.x[:inputs], replace(domain, theta=theta, row_weights=row_weights))


def _affine(c: Compiled, domain: Domains) -> tuple[Array, Array, Array, Array]:
    """Neurons and rows as functions of the inputs: coefficients and constants of each."""
    problem = c.problem
    inputs = len(problem.low)
    on = domain.lower.reshape(problem.copies, -1) >= 0.0
    forms, constants, outputs, output_constants = [], [], [], []
    for t, index in enumerate(problem.index):
        value, constant = np.zeros((len(index), inputs)), np.zeros(len(index))
        value[np.arange(len(index)), index] = 1.0
        for layer, (w, b) in enumerate(zip(problem.weights, problem.biases, strict=True)):
            value, constant = w @ value, w @ constant + b
            if layer < len(c.slices):
                forms.append(value)
                constants.append(constant)
                active = on[t, c.slices[layer]]
                value, constant = value * active[:, None], constant * active
        outputs.append(value)
        output_constants.append(constant)
    stacked, stacked_constants = np.vstack(outputs), np.concatenate(output_constants)
    rows = problem.rows @ stacked
    return (
        np.vstack(forms),
        np.concatenate(constants),
        rows,
        problem.rows @ stacked_constants - problem.offsets,
    )
