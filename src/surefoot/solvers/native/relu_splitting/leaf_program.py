"""The relaxation of one sub-domain as a linear program, solved by HiGHS: its duals are the best multipliers.

A column for every input and for the value after every undecided ReLU. Nothing rests on the solver: its duals
are rounded to the grids and bounded like any other multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.linear_program import minimise_program
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, ReluDomains
from surefoot.solvers.native.relu_splitting.dual_bound import (
    MULTIPLIER_GRID,
    SLOPE_GRID,
    DualProblem,
    round_to_multiples,
)

_FEASIBILITY = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class LeafSolution:
    """The point that violates the inequalities least, and the sub-domain with the program's multipliers."""

    point: Array
    domain: ReluDomains


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnForms:
    """Neurons before their ReLU, and rows, as functions of the columns."""

    neurons: Array
    constants: Array
    rows: Array
    row_constants: Array


def solve_leaf_program(
    c: DualProblem, domain: ReluDomains, *, keep_phases: bool = False
) -> LeafSolution | None:
    """Solve for one sub-domain (a batch of one); None if the program could not be solved.

    By default phases may be violated like rows, so that the program always has multipliers which prove it
    empty if it is. With `keep_phases` only rows may: the point is then as far inside the rows as possible.
    """
    problem = c.problem
    lower, upper = domain.lower[0], domain.upper[0]
    split = np.flatnonzero(domain.phase[0])
    free = np.flatnonzero((domain.phase[0] == 0) & (lower < 0.0) & (upper > 0.0))
    forms = _build_column_forms(c, lower, free)
    low = np.concatenate([domain.low[0], np.zeros(len(free)), [-1.0]])
    high = np.concatenate([domain.high[0], upper[free], [np.inf]])
    sign = -domain.phase[0, split].astype(np.float64)
    matrix = np.vstack([forms.rows, sign[:, None] * forms.neurons[split]])
    right = -np.concatenate([forms.row_constants, sign * forms.constants[split]])
    size = np.abs(matrix) @ np.maximum(np.abs(low[:-1]), np.abs(high[:-1])) + np.abs(right)
    scale = 1.0 / np.maximum(size, 1e-9)
    # The last column: by how much (relative to its magnitude) the worst inequality is violated.
    violable = np.full(len(right), -1.0)
    if keep_phases:
        violable[len(forms.rows) :] = 0.0
    matrix = np.hstack([matrix * scale[:, None], violable[:, None]])
    lines, line_right = _relu_constraints(problem.low.size, forms, lower[free], upper[free], free)
    found = minimise_program(
        np.append(np.zeros(len(low) - 1), 1.0),
        np.vstack([matrix, lines]),
        np.concatenate([right * scale, line_right]),
        low,
        high,
        feasibility=_FEASIBILITY,
        dual_feasibility_tolerance=_FEASIBILITY,
    )
    if found is None:
        return None
    values, row_duals, column_duals = found.columns, -found.marginals, np.maximum(found.reduced_costs, 0.0)
    count, inputs = len(forms.rows), len(problem.low)
    multipliers = row_duals[: len(right)] * scale
    theta = domain.theta.copy()
    theta[0, split] = multipliers[count:]
    by_line, by_zero = (
        row_duals[len(right) : len(right) + len(free)],
        column_duals[inputs : inputs + len(free)],
    )
    share = by_line / np.maximum(by_line + np.maximum(by_zero, 0.0), 1e-300)
    theta[0, free] = np.where(by_line > 0.0, np.minimum(share, 1.0), 0.0)
    row_weights = multipliers[None, :count].copy()
    _normalise_multipliers(theta, row_weights, split)
    round_to_multiples(theta, np.where(domain.phase != 0, c.grid, SLOPE_GRID))
    round_to_multiples(row_weights, np.full(count, MULTIPLIER_GRID))
    return LeafSolution(values[:inputs], replace(domain, theta=theta, row_weights=row_weights))


def _normalise_multipliers(theta: Array, row_weights: Array, split: Indices) -> None:
    """Only ratios of multipliers matter: rows that add up to 1, unless phases matter far more."""
    total = float(row_weights.sum())
    largest = float(theta[0, split].max(initial=0.0))
    factor = 1.0 / total if total > 1e-4 * largest else 2.0**10 / (largest or 1.0)
    row_weights *= factor
    theta[0, split] *= factor


def _build_column_forms(c: DualProblem, lower: Array, free: Indices) -> _ColumnForms:
    problem, copies = c.problem, c.problem.copies
    column = np.full(problem.neurons, -1)
    column[free] = len(problem.low) + np.arange(len(free))
    on = (lower >= 0.0).astype(np.float64)
    width = len(problem.low) + len(free)
    value = np.zeros((len(problem.first), width))
    value[:, : len(problem.low)] = problem.first
    constant = problem.first_bias
    forms, constants = [value], [constant]
    for layer, (s, w) in enumerate(zip(c.slices, problem.weights, strict=True)):
        value, constant = value * on[s][:, None], constant * on[s]
        own = column[s]
        value[np.flatnonzero(own >= 0), own[own >= 0]] = 1.0
        value = np.matmul(w, value.reshape(copies, w.shape[1], -1)).reshape(copies * len(w), -1)
        constant = (constant.reshape(copies, -1) @ w.T).reshape(-1) + c.biases[layer + 1]
        forms.append(value)
        constants.append(constant)
    rows = problem.rows @ value
    rows[:, : len(problem.low)] += problem.direct
    return _ColumnForms(
        np.vstack(forms[:-1]), np.concatenate(constants[:-1]), rows, problem.rows @ constant - problem.offsets
    )


def _relu_constraints(
    inputs: int, forms: _ColumnForms, lower: Array, upper: Array, free: Indices
) -> tuple[Array, Array]:
    """z - y <= 0 and y <= chord(z) for every undecided neuron; the last column is not in them."""
    z, constants = forms.neurons[free], forms.constants[free]
    chord = upper / (upper - lower)
    unit = np.zeros_like(z)
    unit[np.arange(len(free)), inputs + np.arange(len(free))] = 1.0
    below, above = z - unit, unit - chord[:, None] * z
    right = np.concatenate([-constants, chord * (constants - lower)])
    matrix = np.vstack([below, above])
    return np.hstack([matrix, np.zeros((len(matrix), 1))]), right
