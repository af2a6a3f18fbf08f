"""`surefoot engines` and `surefoot solvers`: what there is, and why each can or cannot take a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.model import load_model, model_flags, model_option_flag
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_option


@click.command()
@click.argument("model", required=False, type=click.Path(path_type=Path))
@model_flags
def engines(model: Path | None, **wiring: Any) -> int:
    """List the engines; with MODEL, say which can take its properties and why the others cannot."""
    for name, text in api.summarise_engines().items():
        print(f"{name:<12} {text}")
    if model is None:
        if given := next((name for name, value in wiring.items() if value), None):
            refuse_option(model_option_flag(given), "it is about a model", "name the model")
        return 0
    for problem in load_model(model, **wiring).problems.values():
        for engine, why in api.portfolio_objections(problem):
            print_line(f"{problem.name}: {engine!r}: {'can take it' if why is None else why}")
    return 0


@click.command()
def solvers() -> int:
    """List the solvers and whether they can be used here."""
    for name, (why, text) in api.summarise_solvers().items():
        print(f"{name:<12} {'ready' if why is None else why}; {text}")
    return 0
