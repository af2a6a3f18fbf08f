"""A mixed-integer program handed to HiGHS, seeded, with tolerances as tight as it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.query.query import Undecided, UndecidedReason, Unsat
from surefoot.solvers.linear_program import LinearProgram, ProgramStatus, solve_program
from surefoot.solvers.milp.program import MixedIntegerProgram


@dataclass(frozen=True, slots=True)
class MilpSolution:
    """Values of all columns that satisfy the program within the tolerance, and the objective there."""

    values: list[float]
    objective: float


def solve_milp_program(
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
    if not program.low:
        return MilpSolution([], 0.0)
    options: dict[str, Any] = {} if presolve else {"presolve": "off"}
    if enough is not None:
        options["objective_target"] = -enough
    found = solve_program(
        _linear_program(program, maximise or {}, room), seconds=seconds, random_seed=seed, **options
    )
    if found.columns is not None:
        return MilpSolution(found.columns.tolist(), -found.objective)
    match found.status:
        case ProgramStatus.INFEASIBLE:
            return Unsat()
        case ProgramStatus.TIME:
            return Undecided(UndecidedReason.TIMEOUT, found.status.value)
        case ProgramStatus.MEMORY:
            return Undecided(UndecidedReason.MEMORY, found.status.value)
        case _:
            return Undecided(UndecidedReason.NUMERICS, found.words)


def _linear_program(
    program: MixedIntegerProgram, maximise: Mapping[int, float], room: float
) -> LinearProgram:
    cost = np.zeros(len(program.low))
    for column, weight in maximise.items():
        cost[column] = -weight
    wider = room * _row_sizes(program) if room else 0.0
    return LinearProgram(
        cost,
        np.array(program.low),
        np.array(program.high),
        np.array(program.row_low) - wider,
        np.array(program.row_high) + wider,
        np.array([*program.starts, len(program.indices)], dtype=np.int32),
        np.array(program.indices, dtype=np.int32),
        np.array(program.values),
        np.array(program.whole) if any(program.whole) else None,
    )


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
