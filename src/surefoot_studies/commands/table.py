"""`surefoot study table control 1`: tables of the shield paper made again, its numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies import Tell
from surefoot_studies.commands import options
from surefoot_studies.comparison import Study

if TYPE_CHECKING:
    from surefoot_studies.control.measured_table import MeasuredTable


@click.command("table")
@options.study_argument
@click.argument("number", metavar="1|2|3", type=click.IntRange(1, 3))
@click.option("--problem", "only", multiple=True, metavar="NAME", help="Only these rows.")
@click.option("--networks", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="A folder with NAME.onnx for the rows; default: what is shipped.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=1000, show_default=True)
@click.option("--steps", type=click.IntRange(1, 10_000_000), default=5000, show_default=True,
              help="Of each run.")  # fmt: skip
@click.option("--adversarial", type=click.IntRange(0), default=0, show_default=True, metavar="STEPS",
              help="Of tables 1 and 3: shielded steps for each of five adversaries.")  # fmt: skip
@options.seconds_option("--cap", 60.0, "Of table 2: per synthesis.")
@options.seconds_option("--timeout", 300.0, "Per simulation, and per synthesis of tables 1 and 3.")
@options.seed_option
@options.json_flag
@options.with_progress
def print_table(
    study: Study,
    number: int,
    only: tuple[str, ...],
    networks: Path | None,
    cap: float,
    timeout: float,
    as_json: bool,
    tell: Tell,
    **size_of_runs: int,
) -> int:
    """Make a table of the shield paper again: synthesis, simulated runs, overhead.

    Exit 1 if a shielded run was unsafe.
    """
    if study.name != "control":
        raise api.InvalidProblem(f"study `{study.name}` has no tables", fix="surefoot study table control 1")
    idle = {"--adversarial": "adversarial"} if number == 2 else {"--cap": "cap"}
    plugin.refuse_given_options(idle, f"on table {number}")
    size = api.EvaluationSize(seconds=timeout, **size_of_runs)
    from surefoot_studies.control.degree_table import degree_table  # with numpy, not for `--help`
    from surefoot_studies.control.measured_table import shield_table

    if number == 2:
        return _print_measured(degree_table(only, cap, networks, size, tell), as_json)
    return _print_measured(shield_table(number, only, networks, size, tell), as_json)


def _print_measured(table: MeasuredTable, as_json: bool) -> int:
    """Print the rows as they are done; 1 if a shielded run was unsafe, 130 if it was interrupted."""
    done: list[dict[str, Any]] = []
    mark = ""
    if not as_json:
        print(*table.legend, "", _table_line(table.head), _table_line(["---"] * len(table.head)), sep="\n")
    try:
        for measure_row in table.rows:
            done.append(measure_row())
            if not as_json:
                print(_table_line(done[-1]["cells"]), flush=True)
    except KeyboardInterrupt:
        mark = api.interruption_note(len(done), len(table.rows), "rows")
    if as_json:
        facts = {"study": "control", **table.facts, "rows": done}
        print(json.dumps(facts | ({"interrupted": mark} if mark else {}), indent=1))
    elif mark:
        print(f"\n{mark}")
    if mark:
        return 130
    return 1 if any(row["unsafe with shield"] for row in done) else 0


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
