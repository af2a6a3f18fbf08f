"""The options of `surefoot heatmap` about what is drawn, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from surefoot.cli.engine_options import engine_flags
from surefoot.cli.progress import limit_command

VALUED = ("explicit", "statistical")
QUANTITIES = ("value", "optimum", "gap", "effort")
OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--x", metavar="TERM", help="What is drawn from left to right: a variable or a term."),
    click.option("--y", metavar="TERM", help="What is drawn from bottom to top; without it, one row."),
    click.option("--y-down", "down", is_flag=True, help="--y grows downwards, as the lines of a text map."),
    click.option("--where", multiple=True, metavar="TERM", help="Draw only these starts: `dx = 0`."),
    click.option("--aggregate", type=click.Choice(["min", "max", "mean"]), default="max", show_default=True,
                 help="Of several starts in one cell."),
    click.option("--starts", metavar="TERM", help="Start in all reachable states like this one."),
    click.option("--quantity", "quantities", type=click.Choice(QUANTITIES), multiple=True,
                 help="May be repeated; default: value."),
    click.option("--optimise", type=click.Choice(["min", "max"]), help="What is best, for optimum and gap."),
    click.option("--end", type=click.Choice(["low", "middle", "high"]), default="middle", show_default=True,
                 help="Which end of each interval is drawn."),
    click.option("--range", "limits", metavar="LOW:HIGH|auto",
                 help="Ends of the scale; default: 0 to 1 for probabilities, else auto."),
    click.option("--sweep", "sweeps", multiple=True, metavar="N=0.1:0.5:0.1",
                 help="One map for each value of a constant or parameter; twice: a table of maps."),
    click.option("--checkpoints", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
                 help="One map for each network in a folder, in place of --policy."),
    click.option("--curve", type=click.Path(path_type=Path), metavar="FILE",
                 help="A learning curve (CSV, JSON or a recipe) above the maps of --checkpoints."),
    click.option("--threshold", metavar="'<= 0.1'", help="What every start should keep; sets the exit code."),
    click.option("--critical", metavar="FILE", help="Write the starts that miss it (.json, .csv)."),
    click.option("--title", metavar="TEXT", help="Default: the property."),
    click.option("--columns", type=click.IntRange(min=1), help="Maps beside each other."),
    click.option("--svg", metavar="FILE"),
    click.option("--png", metavar="FILE"),
    click.option("--json", metavar="FILE|-", help="Every number of the picture; - = stdout, nothing else."),
    click.option("--report", metavar="FILE", help="One HTML page on which cells can be clicked."),
    click.option("--no-certificates", "uncertified", is_flag=True,
                 help="Do not have exact values checked by the independent checker, which can take longer."),
    click.option("--timeout", type=float, callback=limit_command, default=60.0, show_default=True,
                 metavar="SECONDS", help="For the whole run; all maps share it equally."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--quiet", is_flag=True, help="No progress on stderr."),
)  # fmt: skip


def value_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of those engines that give a value to each start."""
    return engine_flags(command, VALUED)


def heat_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command
