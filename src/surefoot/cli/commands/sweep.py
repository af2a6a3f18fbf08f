"""`surefoot sweep MODEL…`: many problems, each with its own time, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.model import load_named_model, normalise_flag
from surefoot.cli.option_groups import GroupedCommand, json_flag, quiet_flag, seed_flag
from surefoot.cli.output import (
    check_folder,
    check_output_files,
    check_positive_seconds,
    deliver_file,
    write_facts,
)
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line

AXES = {  # field of a plan: the option
    "policies": ("--policy", "FILE|PATTERN", "A policy, or those that a pattern like 'runs/*.zip' means."),
    "properties": ("--property", "NAME|TEXT", "Default: every property of a model."),
    "where": ("--where", "TERM", "Only starts that satisfy this."),
    "engines": ("--engine", "NAME", "Default: all without objection, in turns."),
}
SWEPT = {
    "constants": ("--const", "N=5,10,15", "Values of a constant of the models; also FIRST:LAST:STEP."),
    "values": ("--value", "p=0.9,0.95", "Values for {p}, where it stands in properties and --where."),
    "options": ("--option", "eps=0.1,0.01", "Values of an option of the engines that have it."),
}
SETTINGS = (
    click.option("--observe", metavar="TERMS", help="What the network reads, in order: `x, y - 1`."),
    click.option("--actions", metavar="LABELS", help="What its outputs stand for, in order: `left,right`."),
    click.option("--choose", metavar="HOW", help="argmax, argmax-applicable, value or sample."),
    click.option("--output", metavar="NAME", help="Which output of the network, if it has several."),
    click.option("--normalize", metavar="FILE", help="Observation statistics."),
    click.option("--properties", "property_file", metavar="FILE",
                 help="Of a PRISM model: a file with properties."),
    normalise_flag,
    click.option("--no-policy", is_flag=True, help="Ask about the environment alone."),
    click.option("--ignore-goal", is_flag=True, help="Of PlaJA's questions: runs go on at the objective."),
    click.option("--trust-python", is_flag=True, help="Run models that are Python code."),
)  # fmt: skip
SETTING_NAMES = (
    *("observe", "actions", "choose", "output", "normalize", "property_file", "normalise", "no_policy"),
    *("ignore_goal", "trust_python"),
)


def _axis_flags(command: Any) -> Any:
    for option in reversed(SETTINGS):
        command = option(command)
    for name, (flag, metavar, words) in reversed({**AXES, **SWEPT}.items()):
        names = (flag, "--constant") if flag == "--const" else (flag,)
        command = click.option(*names, name, multiple=True, metavar=metavar, help=words)(command)
    return command


@click.command(cls=GroupedCommand)
@click.argument("models", nargs=-1)
@_axis_flags
@click.option("--plan", "plan_file", type=click.Path(path_type=Path), metavar="FILE.toml",
              help="All of this in a file; an option replaces what the file says of it.")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), metavar="N",
              help="Processes, each with a problem; default: one for each processor.")  # fmt: skip
@click.option("--ray", metavar="ADDRESS",
              help="Use the processors of a Ray cluster: HOST:PORT, auto, or local.")  # fmt: skip
@click.option("--run-directory", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Keep every result here as it is found, and a page of it.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with what --run-directory has.")
@click.option("--timeout", type=float, metavar="SECONDS", callback=lambda c, o, s: s if s is None
              else check_positive_seconds(c, o, s), help="For each problem.  [default: 60]")  # fmt: skip
@seed_flag
@json_flag("Write the table with all answers; - = stdout, nothing else.")
@click.option("--csv", "csv_path", metavar="FILE", help="Write the table, a line for each problem.")
@click.option("--report", metavar="FILE", help="Write a page with a matrix of all verdicts.")
@quiet_flag
def sweep(
    models: tuple[str, ...],
    plan_file: Path | None,
    workers: int | None,
    ray: str | None,
    run_directory: Path | None,
    resume: bool,
    timeout: float | None,
    seed: int,
    json_path: str | None,
    csv_path: str | None,
    report: str | None,
    quiet: bool,
    **axes: Any,
) -> int:
    """Ask about every combination of MODELS, policies, properties, parameters and engines, as `surefoot
    check` would, one problem for each worker, and print one table. What goes wrong with a problem is told in
    its row.

    Exit code: that of the worst row, of 130 (interrupted), 4 (failed), 1 (violated, or a threshold missed),
    2 (could not be read), 3 (unknown, undecided), 0 (all answered).
    """
    context = click.get_current_context()
    seeded = context.get_parameter_source("seed") is not click.core.ParameterSource.DEFAULT
    swept = {name: (flag, axes.pop(name)) for name, (flag, *_) in SWEPT.items()}
    settings = {name: one for name in SETTING_NAMES if (one := axes.pop(name))}
    said = {
        **axes,
        "models": models,
        "settings": settings,
        "seconds": timeout,
        "seed": seed if seeded else None,
    }
    plan = api.plan_sweep(plan_file, said, swept)
    outputs = {"--json": json_path, "--csv": csv_path, "--report": report}
    check_output_files(outputs, [*plan.models, *plan.policies])
    check_folder(run_directory, "--run-directory")
    with report_progress(quiet) as tell:
        asked: dict[str, Any] = {"workers": workers, "ray": ray, "folder": run_directory, "resume": resume}
        table = api.ask_sweep(plan, load_named_model, progress=tell, **asked)
    if report is not None:
        deliver_file(report, lambda: table.page(Path(report)), quiet)
    if csv_path is not None:
        deliver_file(csv_path, table.csv, quiet)
    if json_path is not None:
        write_facts(json_path, table.data, quiet)
    if json_path != "-":
        print(table)
    if run_directory is not None and not quiet:
        print_line(f"written: {run_directory / 'index.html'}", error=True)
    return table.exit_code
