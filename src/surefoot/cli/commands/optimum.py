"""`surefoot optimum MODEL`: the best way to choose, state by state, and how far a policy is from it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.model import load_model, model_flags
from surefoot.cli.option_groups import GroupedCommand, json_flag, quiet_flag, timeout_flag, workers_flag
from surefoot.cli.output import check_output_files, deliver_file
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_option


@click.command(cls=GroupedCommand)
@click.argument("model", type=click.Path(path_type=Path))
@model_flags
@click.option("--optimise", type=click.Choice(["min", "max"]), help="Default: as the property says, or max.")
@click.option("--exact", is_flag=True, help="Compute in fractions.")
@timeout_flag()
@workers_flag
@json_flag("Write value and choice of every state.")
@quiet_flag
def optimum(
    model: Path,
    optimise: api.Optimise | None,
    exact: bool,
    timeout: float,
    json_path: str | None,
    quiet: bool,
    **wiring: Any,
) -> int:
    """Print the optimum over all ways to choose at the starts of MODEL, for one P or E property.

    With a policy its own value stands beside it, and how much it misses. The table in JSON holds an optimal
    scheduler: which transition to take in which state. The bounds hold; they are not certified one by one.
    """
    check_output_files({"--json": json_path}, [model])
    budget = begin_budget(timeout)
    loaded = load_model(model, **wiring)
    check_output_files({"--json": json_path}, loaded.inputs)
    if len(loaded.problems) != 1:
        raise api.InvalidProblem("an optimum is about one property", fix="name one with --property")
    (given,) = loaded.problems.values()
    threshold = getattr(given.property, "threshold", None)
    if threshold is not None:
        what = "an optimum is a number: the threshold of the property would not be looked at"
        refuse_option("--property", what, "ask with =?, or `surefoot check` for the threshold")
    problem = api.discretise(given)
    asked = problem.property
    named = asked.optimise if isinstance(asked, api.Probability | api.Expected) else None
    way: api.Optimise = optimise or named or "max"
    with report_progress(quiet) as tell:
        budget = replace(budget, progress=tell)
        table = api.solve_optimum(problem, way, budget, exact)
    if isinstance(table, api.Unknown):
        print_line(f"unknown ({table.reason.value}): {table.detail}")
        return 3
    if json_path == "-":
        sys.stdout.write(api.optimum_to_json(table, given.name, way, exact))
        return 0
    written = json_path is None or deliver_file(
        json_path, lambda: api.optimum_to_json(table, given.name, way, exact), quiet
    )
    for line in api.render_optimum(table, way):
        print_line(line)
    return 0 if written else 4
