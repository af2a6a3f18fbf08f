"""Disturbances, and linear dynamics, from a table of logged runs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.estimate import (
    FittedDynamics,
    LoggedSteps,
    ToleranceBox,
    fit_linear_dynamics,
    fit_residuals,
    model_residuals,
    tolerance_box,
)

MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class DisturbanceEstimate:
    """A box of disturbances; `linear`: the dynamics, if they were fitted to the first half of the steps."""

    variables: tuple[str, ...]
    controls: tuple[str, ...]
    box: ToleranceBox
    linear: FittedDynamics | None
    confidence: float


def estimate_disturbances(
    log: Path,
    confidence: float,
    problem: Problem | None = None,
    variables: tuple[str, ...] = (),
    controls: tuple[str, ...] = (),
) -> DisturbanceEstimate:
    """How far logged next states are from those of a model; without one, of fitted linear dynamics."""
    if problem is not None:
        system = read_control_system(discretise(problem))
        variables, controls = system.variables, tuple(n for n, _, _ in system.controls)
        residuals = model_residuals(system, _read_steps(log, variables, controls))
        return DisturbanceEstimate(
            variables, controls, tolerance_box(residuals, confidence), None, confidence
        )
    steps = _read_steps(log, variables, controls)
    linear = fit_linear_dynamics(steps.half(first=True), confidence)
    box = tolerance_box(fit_residuals(linear, steps.half(first=False)), confidence)
    return DisturbanceEstimate(variables, controls, box, linear, confidence)


def _read_steps(path: Path, variables: tuple[str, ...], controls: tuple[str, ...]) -> LoggedSteps:
    """Pairs of rows that follow each other in one run."""
    require_file(path)
    if path.stat().st_size > MOST_BYTES:
        raise InvalidProblem("larger than 1 GB", where=str(path))
    before: list[list[float]] = []
    after: list[list[float]] = []
    number: list[int] = []
    last: tuple[str, list[float]] | None = None
    runs = 0
    try:
        for line, row in _read_rows(path, (*variables, *controls)):
            values = [_parse_number(row[name], name, path, line) for name in (*variables, *controls)]
            run = row.get("run") or ""
            if last is not None and last[0] == run:
                before.append(last[1])
                after.append(values[: len(variables)])
                number.append(runs)
            elif last is not None:
                runs += 1
            last = (run, values)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidProblem(f"not a table: {error}", where=str(path)) from None
    if len(before) < 2:
        raise InvalidProblem(
            "fewer than two steps: pairs of rows that follow each other in a run", where=str(path)
        )
    rows = np.array(before)
    runs_of = np.array(number, dtype=np.int64)
    return LoggedSteps(rows[:, : len(variables)], rows[:, len(variables) :], np.array(after), runs_of)


def _read_rows(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the line and values by column; spreadsheets begin a file with a byte order mark."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or ())
        for name in wanted:
            if name not in names:
                fix = f"the first line has to name {', '.join(wanted)}"
                raise InvalidProblem(f"no column `{name}`", fix=fix, where=str(path))
        for name in (*wanted, "run"):
            if names.count(name) > 1:
                raise InvalidProblem(f"two columns `{name}`", fix="rename one of them", where=str(path))
        for row in reader:
            if None in row:
                what = f"there are more values than the first line has columns, {len(names)}"
                raise InvalidProblem(what, where=f"{path}:{reader.line_num}")
            yield reader.line_num, row


def _parse_number(text: str | None, name: str, path: Path, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InvalidProblem(f"`{name}` is no number", where=f"{path}:{line}")
    return value
