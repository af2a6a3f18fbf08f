"""Arguments and options that several commands of `surefoot study` have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies.comparison import load_study

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


study_argument: Decorator = click.argument(
    "study", metavar="STUDY", callback=lambda _context, _argument, name: load_study(name)
)
json_flag: Decorator = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
seed_option: Decorator = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
folder_option: Decorator = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write pictures and data here.",
)


def with_progress(command: Callable[..., int]) -> Callable[..., Any]:
    """Adds --quiet; the command gets `tell`, which shows how far it is."""

    @wraps(command)
    def run(*, quiet: bool, **options: Any) -> int:
        with plugin.report_progress(quiet) as tell:
            return command(tell=tell, **options)

    return click.option("--quiet", is_flag=True, help="No progress on stderr.")(run)


def seconds_option(name: str, default: float, words: str) -> Decorator:
    """A limit of time."""
    return click.option(
        name,
        type=float,
        callback=plugin.check_positive_seconds,
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=words,
    )


def workers_option(words: str) -> Decorator:
    return click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help=words)


def sampling_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How panels are made that are sampled in the paper."""
    eps = click.option(
        "--eps", type=plugin.PositiveNumber(), metavar="NUMBER", help="Half the width of an interval."
    )
    engines, words = click.Choice(["statistical", "explicit"]), "Of the panels that are sampled."
    engine = click.option("--engine", type=engines, default="statistical", show_default=True, help=words)
    return engine(eps(command))


def output_option(required: bool) -> Decorator:
    """Where a network is written."""
    return click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE.onnx",
        callback=_check_onnx,
        required=required,
        help="Write the network.",
    )


def _check_onnx(_context: click.Context, _option: click.Parameter, output: Path | None) -> Path | None:
    if output is not None and output.suffix != ".onnx":
        raise api.InvalidProblem(f"`{output}` is no .onnx file", fix="end its name so", where="--output")
    return output
