"""`surefoot faults MODEL`: the last decisions of violating runs that could have been different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from surefoot import api
from surefoot.cli.model import check_time_options, load_single_problem, model_flags, time_flags
from surefoot.cli.option_groups import (
    GroupedCommand,
    json_flag,
    quiet_flag,
    seed_flag,
    timeout_flag,
    workers_flag,
)
from surefoot.cli.output import check_output_files, deliver_file, write_facts
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.unused_options import refuse_option


@click.command(cls=GroupedCommand)
@click.argument("model", type=click.Path(path_type=Path))
@model_flags
@time_flags
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=100, show_default=True,
              help="Violating runs whose decisions are looked at.")  # fmt: skip
@click.option("--by", type=click.Choice(["last", "costliest"]),
              help="What is counted of a run; default: last, costliest where there is chance.")  # fmt: skip
@click.option("--ahead", type=click.IntRange(0, 100_000), default=50, show_default=True, metavar="STEPS",
              help="Beyond the violation, where the game is not solved exactly.")  # fmt: skip
@click.option("--shield", type=click.Path(path_type=Path), metavar="FILE",
              help="Ask the sets of a shield of `surefoot shield`, proved again.")  # fmt: skip
@timeout_flag("For the whole run.")
@workers_flag
@seed_flag
@json_flag("Write all decisions; - = stdout, nothing else.")
@click.option("--export", metavar="FILE", help="Write training data: .csv, .jsonl or .npz.")
@click.option("--report", metavar="FILE", help="Write a page with pictures.")
@click.option("--svg", metavar="FILE", help="Draw how often each decision occurs, and where.")
@quiet_flag
def faults(
    model: Path,
    time: str | None,
    flow_method: str | None,
    runs: int,
    by: Literal["last", "costliest"] | None,
    ahead: int,
    shield: Path | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    export: str | None,
    report: str | None,
    svg: str | None,
    quiet: bool,
    **wiring: Any,
) -> int:
    """Find, along runs of MODEL that violate a property, the last decision that could have been different:
    what the policy chose there, what would have been safe, and how often each such decision occurs.

    Violating runs are drawn; if none is met, engines search for one, as `surefoot check` does. The exit code
    is 1 if there are violating runs, else that of the engines.
    """
    outputs = {"--json": json_path, "--export": export, "--report": report, "--svg": svg}
    inputs = [model, *([] if shield is None else [shield])]
    check_output_files(outputs, inputs)
    if export is not None and not Path(export).suffix:
        refuse_option("--export", f"`{export}` says no format", "end it with .csv, .jsonl or .npz")
    check_time_options(time, flow_method)
    budget = begin_budget(timeout, seed)
    name, _, loaded = load_single_problem(str(model), wiring)
    loaded = api.set_time_semantics(loaded, time, flow_method)
    check_output_files(outputs, [*loaded.inputs, *inputs])
    problem = loaded.problems[name]
    with report_progress(quiet) as tell:
        found = api.search_faults(
            problem, replace(budget, progress=tell), runs=runs, by=by, ahead=ahead, shield=shield
        )
    table = found.table
    for path, make in (
        (export, lambda: api.export_faults(problem, table, Path(str(export)).suffix)),
        (report, lambda: api.render_fault_page(problem, table)),
        (svg, lambda: api.render_svg(api.draw_faults(problem, table))),
    ):
        if path is not None:
            deliver_file(path, make, quiet)
    if json_path is not None:
        write_facts(json_path, lambda: api.fault_table_to_json(problem, table), quiet)
    if json_path != "-":
        print(api.render_fault_table(problem, table))
        if not table.runs and found.result is not None:
            print(api.render(problem, found.result))
    if table.stop == api.Reason.INTERRUPTED.value:
        return 130
    if table.runs:
        return 1
    return 3 if found.result is None else api.exit_code(found.result, problem)
