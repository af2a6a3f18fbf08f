"""`surefoot estimate LOG`: a box of disturbances, and linear dynamics, from logged runs."""

from __future__ import annotations

from pathlib import Path

import click

from surefoot import api
from surefoot.cli.model import load_single_problem
from surefoot.cli.option_groups import json_flag
from surefoot.cli.output import check_output_files, write_facts
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options, refuse_option


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
@json_flag("Write everything; - = stdout, nothing else.")
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
        refuse_option("--controls", f"`{both[0]}` is a variable too", "name it once")
    if problem is not None:
        refuse_given_options(
            {"--variables": "variables", "--controls": "controls"}, "on --problem, which has its own"
        )
        _, model, _ = load_single_problem(problem, {"trust_python": trust_python})
        found = api.estimate_disturbances(log, confidence, model)
    elif variables:
        found = api.estimate_disturbances(log, confidence, None, variables, controls)
    else:
        raise api.InvalidProblem("residuals of what?", fix="give --problem MODEL, or --variables x1,x2 …")
    enough = share is None or found.box.share >= share
    if json_path is not None:
        data = {"schema": 1, "log": str(log), "sha256": api.file_sha256(log), "problem": problem}
        data |= api.disturbances_to_json(found) | {"enough": enough}
        write_facts(json_path, lambda: data, quiet=True)
    if json_path != "-":
        print(api.render_disturbances(found))
        if share is not None and not enough:
            least = api.needed_steps(share, 2 * len(found.variables), confidence)
            print_line(f"not enough   a share of {share} needs {least} steps for the box")
    return 0 if enough else 3
