"""Linear and mixed-integer programs by HiGHS, for guesses: nothing rests on what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.compiled_query import Mask

_FEASIBILITY = 1e-9
_LONG = (  # searches within the search, whatever the limit of nodes; older versions do not know all of them
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
)


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Values of the columns, and by how much the optimum rises with the right-hand side of each row."""

    columns: Array
    marginals: Array  # never positive: more room makes the minimum smaller; zeros for a mixed-integer program


def minimise_program(
    cost: Array,
    matrix: Array,
    right: Array,
    low: Array,
    high: Array,
    *,
    whole: Mask | None = None,
    most_nodes: int = 1,
    most_steps: int = 10**6,
) -> Optimum | None:
    """The least cost . x with matrix . x <= right and low <= x <= high; None where HiGHS has no answer.

    With `whole` some columns are whole numbers; then a good point within `most_nodes` nodes is enough.
    """
    import highspy

    model: Any = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, low, high
    model.row_lower_, model.row_upper_ = np.full(len(right), -np.inf), right
    rows, columns = np.nonzero(matrix)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(right)))])
    model.a_matrix_.start_, model.a_matrix_.index_ = starts.astype(np.int32), columns.astype(np.int32)
    model.a_matrix_.value_ = matrix[rows, columns]
    options: dict[str, object] = {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": _FEASIBILITY,
        "simplex_iteration_limit": most_steps,
    }
    if whole is not None:
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in whole.tolist()]
        options |= {"mip_max_nodes": most_nodes, "mip_feasibility_tolerance": _FEASIBILITY}
        options |= dict.fromkeys(_LONG, False)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in options.items():
        solver.setOptionValue(name, value)
    if solver.passModel(model) == highspy.HighsStatus.kError:
        return None
    solver.run()
    if whole is None and solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    found = solver.getSolution()
    marginals = np.array(found.row_dual) if whole is None else np.zeros(len(right))
    return Optimum(np.array(found.col_value), np.minimum(marginals, 0.0))
