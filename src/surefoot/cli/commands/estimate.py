"""`surefoot estimate LOG`: a box of disturbances, and linear dynamics, from logged runs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import click
import numpy as np

from surefoot.cli.commands.invariant import load_single_problem
from surefoot.cli.output import check_output_files, write_facts
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options
from surefoot.errors import InvalidProblem
from surefoot.formats.model_file import file_sha256
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.estimate import (
    FittedDynamics,
    LoggedSteps,
    ToleranceBox,
    fit_linear_dynamics,
    fit_residuals,
    model_residuals,
    needed_steps,
    tolerance_box,
)
from surefoot.visible import join_visible

MOST_BYTES = 1 << 30


def _parse_names(_: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...]:
    found = tuple(part.strip() for part in (given or "").split(",") if part.strip())
    if len(set(found)) < len(found):
        raise click.BadParameter("a name occurs twice", param=option)
    return found


@click.command()
@click.argument("log", type=click.Path(path_type=Path), metavar="LOG.csv")
@click.option(
    "--problem", metavar="MODEL|STUDY/PROBLEM", help="The model; without it a linear one is fitted."
)
@click.option(
    "--variables", callback=_parse_names, metavar="x1,x2", help="Columns of the state, without a model."
)
@click.option(
    "--controls", callback=_parse_names, metavar="u1", help="Columns of the controls, without a model."
)
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.999,
              show_default=True)  # fmt: skip
@click.option("--share", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Of disturbances that the box has to contain.")  # fmt: skip
@click.option("--trust-python", is_flag=True, help="Run MODEL as Python code that builds the problem.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write everything; - = stdout, nothing else.")
def estimate(
    log: Path,
    problem: str | None,
    variables: tuple[str, ...],
    controls: tuple[str, ...],
    confidence: float,
    share: float | None,
    trust_python: bool,
    json_path: str | None,
) -> int:
    """From LOG.csv, one row for each moment with a column for each variable and control (and `run`, which
    changes where another run begins): how far next states are from those of a model, as a box that contains a
    share of all disturbances with the given confidence, if they are independent and distributed alike.

    Exit 0, or 3 if the box contains less than --share.
    """
    check_output_files({"--json": json_path}, [log, *([] if problem is None else [problem])])
    if both := [name for name in variables if name in controls]:
        what, fix = f"`{both[0]}` is a variable too", "name it once"
        raise InvalidProblem(what, fix=fix, where="--controls")
    linear: FittedDynamics | None = None
    if problem is not None:
        refuse_given_options(
            {"--variables": "variables", "--controls": "controls"}, "on --problem, which has its own"
        )
        wiring: dict[str, Any] = dict.fromkeys(
            ("policy", "observe", "actions", "choose", "output", "normalize")
        )
        wiring |= {"properties": (), "constants": (), "normalise": False, "trust_python": trust_python}
        system = read_control_system(discretise(load_single_problem(problem, wiring)[1]))
        variables, controls = system.variables, tuple(n for n, _, _ in system.controls)
        steps = _read_steps(log, variables, controls)
        box = tolerance_box(model_residuals(system, steps), confidence)
    elif variables:
        steps = _read_steps(log, variables, controls)
        linear = fit_linear_dynamics(steps.half(first=True), confidence)
        box = tolerance_box(fit_residuals(linear, steps.half(first=False)), confidence)
    else:
        raise InvalidProblem("residuals of what?", fix="give --problem MODEL, or --variables x1,x2 …")
    enough = share is None or box.share >= share
    if json_path is not None:
        data = {"schema": 1, "log": str(log), "sha256": file_sha256(log), "problem": problem}
        data |= _estimate_to_json(variables, controls, box, linear, confidence) | {"enough": enough}
        write_facts(json_path, lambda: data, quiet=True)
    if json_path != "-":
        print(_render_estimate(variables, controls, box, linear, confidence))
        if share is not None and not enough:
            least = needed_steps(share, 2 * len(variables), confidence)
            print_line(f"not enough   a share of {share} needs {least} steps for the box")
    return 0 if enough else 3


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


def _render_estimate(
    variables: tuple[str, ...],
    controls: tuple[str, ...],
    box: ToleranceBox,
    linear: FittedDynamics | None,
    confidence: float,
) -> str:
    lines = []
    if linear is not None:
        columns = (*variables, *controls, "1")
        for name, row, near in zip(variables, linear.matrix, linear.within, strict=True):
            parts = [f"({k:.6g} ± {w:.2g})*{c}" for k, w, c in zip(row, near, columns, strict=True)]
            lines.append(f"next {name} = {' + '.join(parts)}")
        lines.append(
            f"fitted       to {linear.count} steps; ± with confidence {confidence} for all at once, "
            "if residuals are independent and normal"
        )
    for name, low, high in zip(variables, box.low, box.high, strict=True):
        lines.append(f"disturbance  of next {name}: from {float(low)!r} to {float(high)!r}")
    lines.append(
        f"contains     a share of at least {np.floor(box.share * 1e6) / 1e6:.6f} of disturbances, with "
        f"confidence {confidence} ({box.count} steps)"
    )
    what = "disturbances" if linear is None else "disturbances, with the error of the fit,"
    lines.append(f"supposes     that {what} are independent and distributed alike")
    lines.append("a proof with this box is about runs whose disturbances stay in it; n steps all do with a")
    lines.append(f"probability of at least 1 - n * {np.ceil((1 - box.share) * 1e6) / 1e6:.6f}")
    return join_visible(lines)


def _estimate_to_json(
    variables: tuple[str, ...],
    controls: tuple[str, ...],
    box: ToleranceBox,
    linear: FittedDynamics | None,
    confidence: float,
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "confidence": confidence,
        "share": box.share,
        "steps of the box": box.count,
        "supposes": "disturbances (with the error of the fit) are independent and distributed alike",
        "disturbances": {
            n: [float(a), float(b)] for n, a, b in zip(variables, box.low, box.high, strict=True)
        },
    }
    if linear is not None:
        finite = bool(np.all(np.isfinite(linear.within)))
        data["linear"] = {
            "columns": [*variables, *controls, "1"],
            "matrix": linear.matrix.tolist(),
            "within": linear.within.tolist() if finite else None,
            "steps": linear.count,
        }
    return data
