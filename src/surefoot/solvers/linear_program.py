"""Linear and mixed-integer programs by HiGHS: the one place that calls it. One thread, silent.

It computes in floats with tolerances: what it finds is a guess, and what it calls infeasible its word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import MissingBackend

Floats = NDArray[np.float64]
TOLERANCE = 1e-9  # how far HiGHS may be off a bound, a row or a whole number
_LONG = (  # searches within the search, whatever the limit of nodes; older versions do not know all of them
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
)


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """The least cost . x with row_low <= matrix . x <= row_high and low <= x <= high; `whole`: columns that
    are whole numbers. The matrix is given by its rows: where each starts, its columns and its values."""

    cost: Floats
    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
    starts: NDArray[np.int32]  # with the end of the last row
    indices: NDArray[np.int32]
    values: Floats
    whole: NDArray[np.bool_] | None = None


class ProgramStatus(Enum):
    """What HiGHS says of a program; `OTHER` in its own words."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME = "HiGHS reached the time limit"
    MEMORY = "HiGHS reached the memory limit"
    REFUSED = "HiGHS refuses numbers of this size"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSolution:
    """`columns`: a point that satisfies the program within the tolerance, if there is one at hand."""

    status: ProgramStatus
    words: str
    columns: Floats | None = None
    objective: float = 0.0
    row_duals: Floats | None = None
    column_duals: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Values of the columns, and by how much the optimum rises with the right-hand side of each row."""

    columns: Floats
    marginals: Floats  # never positive: more room makes the minimum smaller; zeros with whole numbers
    reduced_costs: Floats


def missing_highs() -> str | None:
    """None if HiGHS can be imported, else the one-line reason."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return str(MissingBackend("this needs highspy", fix="pip install highspy"))
    return None


def open_highs(*, feasibility: float = TOLERANCE, seconds: float = np.inf, **options: object) -> Any:
    """A HiGHS object, silent and with one thread."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": feasibility,
        **({} if isinf(seconds) else {"time_limit": max(0.01, seconds)}),
        **options,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver


def run_highs(solver: Any) -> ProgramSolution:
    """The answer about the model that the object holds."""
    import highspy

    solver.run()
    status, known, information = solver.getModelStatus(), highspy.HighsModelStatus, solver.getInfo()
    said = {
        known.kOptimal: ProgramStatus.OPTIMAL,
        known.kInfeasible: ProgramStatus.INFEASIBLE,
        known.kTimeLimit: ProgramStatus.TIME,
        known.kInterrupt: ProgramStatus.TIME,
        known.kMemoryLimit: ProgramStatus.MEMORY,
    }.get(status, ProgramStatus.OTHER)
    words = f"HiGHS ended with `{solver.modelStatusToString(status)}`"
    if information.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return ProgramSolution(said, words)
    found = solver.getSolution()
    return ProgramSolution(
        said,
        words,
        np.array(found.col_value),
        float(information.objective_function_value),
        np.array(found.row_dual),
        np.array(found.col_dual),
    )


def solve_program(
    program: LinearProgram, *, feasibility: float = TOLERANCE, seconds: float = np.inf, **options: object
) -> ProgramSolution:
    """HiGHS's answer, within so many seconds; `options` are its own."""
    import highspy

    model: Any = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.low), len(program.row_low)
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, program.low, program.high
    model.row_lower_, model.row_upper_ = program.row_low, program.row_high
    if program.whole is not None:
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in program.whole.tolist()]
        options = {"mip_feasibility_tolerance": feasibility, **options}
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.starts, program.indices
    model.a_matrix_.value_ = program.values
    solver = open_highs(feasibility=feasibility, seconds=seconds, **options)
    if solver.passModel(model) == highspy.HighsStatus.kError:
        return ProgramSolution(ProgramStatus.REFUSED, ProgramStatus.REFUSED.value)
    return run_highs(solver)


def minimise_program(
    cost: Floats,
    matrix: Floats,
    right: Floats,
    low: Floats,
    high: Floats,
    *,
    whole: NDArray[np.bool_] | None = None,
    most_nodes: int = 1,
    most_steps: int = 10**6,
    **options: Any,
) -> Optimum | None:
    """The least cost . x with matrix . x <= right and low <= x <= high; None where HiGHS has no answer.

    With `whole` some columns are whole numbers; then a good point within `most_nodes` nodes is enough.
    """
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(right)))]).astype(np.int32)
    below = np.full(len(right), -np.inf)
    program = LinearProgram(
        cost, low, high, below, right, starts, columns.astype(np.int32), matrix[rows, columns], whole
    )
    options["simplex_iteration_limit"] = most_steps
    if whole is not None:
        options |= {"mip_max_nodes": most_nodes, **dict.fromkeys(_LONG, False)}
    found = solve_program(program, **options)
    if found.columns is None or found.row_duals is None or found.column_duals is None:
        return None
    if whole is not None:
        return Optimum(found.columns, np.zeros(len(right)), np.zeros(len(low)))
    if found.status is not ProgramStatus.OPTIMAL:
        return None
    return Optimum(found.columns, np.minimum(found.row_duals, 0.0), found.column_duals)
