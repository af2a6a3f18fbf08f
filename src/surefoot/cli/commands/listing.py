"""`surefoot engines` and `surefoot solvers`: what there is, and why each can or cannot take a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surefoot.cli.model import load_model, model_flags, model_option_flag
from surefoot.cli.terminal import print_line
from surefoot.engines import ENGINES
from surefoot.errors import InvalidProblem, SurefootError
from surefoot.query.query import Query, QueryVariable
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.run import build_portfolio, engine_objection
from surefoot.solvers import SOLVERS
from surefoot.term.term import TRUE
from surefoot.term.value_types import Real


@click.command()
@click.argument("model", required=False, type=click.Path(path_type=Path))
@model_flags
def engines(model: Path | None, **wiring: Any) -> int:
    """List the engines; with MODEL, say which can take its properties and why the others cannot."""
    for name, kind in ENGINES.items():
        print(f"{name:<12} {_first_line(kind)}")
    if model is None:
        if given := next((name for name, value in wiring.items() if value), None):
            raise InvalidProblem("it is about a model", fix="name the model", where=model_option_flag(given))
        return 0
    for problem in load_model(model, **wiring).problems.values():
        for engine in build_portfolio():
            try:
                why = engine_objection(engine, end_at_goal(discretise(problem, continuous=True)))
            except SurefootError as error:
                why = str(error)
            print_line(f"{problem.name}: {engine!r}: {'can take it' if why is None else why}")
    return 0


@click.command()
def solvers() -> int:
    """List the solvers and whether they can be used here."""
    trivial = Query((QueryVariable("x", Real()),), (TRUE,))
    for name, kind in SOLVERS.items():
        why = kind().objection(trivial)
        print(f"{name:<12} {'ready' if why is None else why}; {_first_line(kind)}")
    return 0


def _first_line(kind: type) -> str:
    import sys

    text = kind.__doc__ if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else None
    return (text or sys.modules[kind.__module__].__doc__ or "").strip().splitlines()[0]
