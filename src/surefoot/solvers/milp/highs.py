"""Running a program with HiGHS: one thread, seeded, silent, with tolerances as tight as it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import MissingBackend
from surefoot.query.query import Undecided, UndecidedReason, Unsat
from surefoot.solvers.milp.program import MixedIntegerProgram

TOLERANCE = 1e-9  # how far HiGHS may be off a bound, a row or a whole number


@dataclass(frozen=True, slots=True)
class MilpSolution:
    """Values of all columns that satisfy the program within the tolerance, and the objective there."""

    values: list[float]
    objective: float


def run_highs(
    program: MixedIntegerProgram,
    *,
    seed: int,
    seconds: float,
    maximise: Mapping[int, float] | None = None,
    enough: float | None = None,
    presolve: bool = True,
    room: float = 0.0,
) -> MilpSolution | Unsat | Undecided:
    """Any solution, or the one that maximises a sum of columns; `enough`: stop at this objective.

    `room`: how much wider every row is, as a share of its largest product.
    """
    import highspy

    if not program.low:
        return MilpSolution([], 0.0)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {
        "output_flag": False,
        "threads": 1,
        "random_seed": seed,
        "primal_feasibility_tolerance": TOLERANCE,
        "mip_feasibility_tolerance": TOLERANCE,
    }
    if not presolve:
        options["presolve"] = "off"
    if not isinf(seconds):
        options["time_limit"] = max(0.01, seconds)
    if enough is not None:
        options["objective_target"] = -enough
    for name, value in options.items():
        solver.setOptionValue(name, value)
    if solver.passModel(_highs_model(highspy, program, maximise or {}, room)) == highspy.HighsStatus.kError:
        return Undecided(UndecidedReason.NUMERICS, "HiGHS refuses numbers of this size")
    solver.run()
    return _read_answer(highspy, solver)


def _highs_model(
    highspy: Any, program: MixedIntegerProgram, maximise: Mapping[int, float], room: float
) -> Any:
    model = highspy.HighsLp()
    columns = len(program.low)
    model.num_col_, model.num_row_ = columns, len(program.row_low)
    cost = np.zeros(columns)
    for column, weight in maximise.items():
        cost[column] = -weight
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.array(program.low), np.array(program.high)
    wider = room * _row_sizes(program) if room else 0.0
    model.row_lower_, model.row_upper_ = np.array(program.row_low) - wider, np.array(program.row_high) + wider
    kinds = highspy.HighsVarType
    if any(program.whole):
        model.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in program.whole]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array([*program.starts, len(program.indices)], dtype=np.int32)
    model.a_matrix_.index_ = np.array(program.indices, dtype=np.int32)
    model.a_matrix_.value_ = np.array(program.values)
    return model


def _row_sizes(program: MixedIntegerProgram) -> NDArray[np.float64]:
    """The largest product of a coefficient and a bounded column in each row, at least 1."""
    largest = np.maximum(np.abs(program.low), np.abs(program.high))
    largest[~np.isfinite(largest)] = 0.0
    products = np.abs(program.values) * largest[np.array(program.indices, dtype=np.intp)]
    ends = np.array([*program.starts, len(program.indices)], dtype=np.intp)
    sizes = np.ones(len(program.starts))
    filled = np.diff(ends) > 0
    if filled.any():
        sizes[filled] = np.maximum(1.0, np.maximum.reduceat(products, ends[:-1][filled]))
    return sizes


def _read_answer(highspy: Any, solver: Any) -> MilpSolution | Unsat | Undecided:
    status = solver.getModelStatus()
    known = highspy.HighsModelStatus
    information = solver.getInfo()
    if information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        return MilpSolution(
            list(solver.getSolution().col_value), -float(information.objective_function_value)
        )
    if status == known.kInfeasible:
        return Unsat()
    if status in (known.kTimeLimit, known.kInterrupt):
        return Undecided(UndecidedReason.TIMEOUT, "HiGHS reached the time limit")
    if status == known.kMemoryLimit:
        return Undecided(UndecidedReason.MEMORY, "HiGHS reached the memory limit")
    return Undecided(UndecidedReason.NUMERICS, f"HiGHS ended with `{solver.modelStatusToString(status)}`")


def missing_highs() -> str | None:
    """None if HiGHS can be imported, else the one-line reason."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return str(MissingBackend("this needs highspy", fix="pip install highspy"))
    return None
