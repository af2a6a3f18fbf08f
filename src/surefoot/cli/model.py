"""From a model on the command line to problems: which files were read, and how to read them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.unused_options import refuse_option

normalise_flag = click.option(
    "--normalise", is_flag=True, help="Divide probabilities that add up to 1 within 1e-9 by their sum."
)


MODEL_OPTIONS = (
    "policy",
    "properties",
    "constants",
    "observe",
    "actions",
    "choose",
    "output",
    "normalize",
    "normalise",
    "trust_python",
    "no_policy",
    "ignore_goal",
    "property_file",
)  # the parameters of `model_flags`


def model_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a model is read."""
    for option in reversed(
        (
            click.option(
                "--policy", type=click.Path(path_type=Path), metavar="FILE", help="The network to check."
            ),
            click.option(
                "--property",
                "properties",
                multiple=True,
                metavar="NAME|TEXT",
                help="May be repeated; default: every property.",
            ),
            click.option(
                "--properties",
                "property_file",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Of a PRISM model: a file with properties (.props, .pctl, .csl).",
            ),
            click.option(
                "--const", "constants", multiple=True, metavar="N=16", help="Set a constant of the model."
            ),
            click.option("--observe", metavar="TERMS", help="What the network reads, in order: `x, y - 1`."),
            click.option(
                "--actions",
                metavar="LABELS",
                help="What its outputs stand for, in order: `left,right`, or `edges_of(car)`.",
            ),
            click.option("--choose", metavar="HOW", help="argmax, argmax-applicable, value or sample."),
            click.option("--output", metavar="NAME", help="Which output of the network, if it has several."),
            click.option(
                "--normalize", type=click.Path(path_type=Path), metavar="FILE", help="Observation statistics."
            ),
            normalise_flag,
            click.option(
                "--no-policy", is_flag=True, help="Ask about the environment alone: whatever it can do."
            ),
            click.option(
                "--ignore-goal",
                is_flag=True,
                help="Of PlaJA's questions: runs go on where the objective is reached.",
            ),
            click.option(
                "--trust-python", is_flag=True, help="Run MODEL as Python code that builds the problem."
            ),
        )
    ):
        command = option(command)
    return command


def model_option_flag(name: str) -> str:
    """How an option of `model_flags` is written."""
    said = {"properties": "property", "constants": "const", "property_file": "properties"}
    return f"--{said.get(name, name).replace('_', '-')}"


def time_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what a differential equation means."""
    times, methods = click.Choice(["steps", "continuous"]), click.Choice(["euler", "rk4", "taylor"])
    command = click.option(
        "--flow-method", type=methods, help="Of steps: euler, rk4; in continuous time: euler, taylor."
    )(command)
    return click.option(
        "--time", type=times, help="Of a differential equation: as executed by steps, or between them too."
    )(command)


def check_time_options(time: str | None, method: str | None) -> None:
    """A method is one of a time."""
    if time is None and method is not None:
        fix = "add --time steps or --time continuous"
        refuse_option("--flow-method", "a method without a time", fix)


def names_study(model: str | Path) -> bool:
    """Is this `STUDY/PROBLEM`, and not a file? The studies are imported only where it could be."""
    study = str(model).partition("/")[0]
    if "." in study or api.names_gym_model(model):
        return False
    from surefoot.cli.study_problem import study_names

    return study in study_names() and not Path(model).exists()


def load_named_model(model: str | Path, wiring: Mapping[str, Any]) -> api.LoadedModel:
    """The problems of a file, or the problem of a study."""
    if not names_study(model):
        return load_model(Path(model), **wiring)
    from surefoot.cli.study_problem import load_study_model

    return load_study_model(str(model), wiring)


def load_single_problem(model: str, wiring: Mapping[str, Any]) -> tuple[str, api.Problem, api.LoadedModel]:
    """The one problem that is meant."""
    loaded = load_named_model(model, wiring)
    if len(loaded.problems) != 1:
        names = ", ".join(f"`{n}`" for n in loaded.problems)
        raise api.InvalidProblem(
            "the model has several properties", fix=f"choose one with --property: {names}"
        )
    ((name, problem),) = loaded.problems.items()
    return name, problem, loaded


def check_model_file(model: Path) -> None:
    """Refuse a name without a file, before all that reads files is imported; it may be meant for a study."""
    if api.names_gym_model(model):
        return
    if not model.suffix and not model.exists():
        from surefoot.cli.study_problem import study_names

        meant = api.did_you_mean(model.parts[0], known) if (known := study_names()) else ""
        fix = f"check the path; if a problem of a study is meant, {meant}" if meant else "check the path"
        raise api.InvalidProblem(api.NO_SUCH_FILE, fix=fix, where=str(model))
    api.require_file(model)


def load_model(model: Path, **options: Any) -> api.LoadedModel:
    """The problems of a file, as `read_model` reads them."""
    check_model_file(model)
    return api.read_model(model, **options)


def load_source(source: Mapping[str, Any], *, trust_python: bool = False) -> api.LoadedModel:
    """Read the problem of a stored result again, also that of a study."""
    return api.reload_source(source, trust_python=trust_python, load_study=_reload_study)


def _reload_study(source: Mapping[str, Any]) -> api.LoadedModel:
    from surefoot.cli.study_problem import load_study_problem

    asked: dict[str, Any] = {"constants": tuple(str(c) for c in source.get("constants", ()))}
    asked |= {"policy": Path(source["policy"])} if source.get("policy") is not None else {}
    return load_study_problem(source["study"], output=source.get("output"), **asked)
