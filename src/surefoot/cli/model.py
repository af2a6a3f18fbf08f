"""From a model on the command line to problems: which files were read, and how to read them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.model_file import LoadedModel, file_sha256, read_model
from surefoot.formats.policy_file import load_policy
from surefoot.formats.untrusted.regular_file import NO_SUCH_FILE
from surefoot.formats.vnnlib import no_float32_point, problem_from_vnnlib, read_vnnlib_file
from surefoot.reductions.discretise import in_time

normalise_flag = click.option(
    "--normalise", is_flag=True, help="Divide probabilities that add up to 1 within 1e-9 by their sum."
)


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
    said = {"properties": "property", "constants": "const"}
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


def set_time_semantics(loaded: LoadedModel, time: str | None, method: str | None) -> LoadedModel:
    """The problems in that time; both are part of how they were read."""
    if time is None:
        if method is not None:
            raise InvalidProblem(
                "a method without a time", fix="add --time steps or --time continuous", where="--flow-method"
            )
        return loaded
    problems = {name: in_time(problem, time, method) for name, problem in loaded.problems.items()}
    more = {"time": time} | ({} if method is None else {"method": method})
    return replace(loaded, problems=problems, source={**loaded.source, **more})


def load_model(model: Path, **options: Any) -> LoadedModel:
    """The problems of a file, as `read_model` reads them; a name without a file may be that of a study."""
    if not model.suffix and not model.exists():
        from surefoot.cli.study_problem import study_names

        meant = did_you_mean(model.parts[0], known) if (known := study_names()) else ""
        fix = f"check the path; if a problem of a study is meant, {meant}" if meant else "check the path"
        raise InvalidProblem(NO_SUCH_FILE, fix=fix, where=str(model))
    return read_model(model, **options)


def load_source(source: Mapping[str, Any], *, trust_python: bool = False) -> LoadedModel:
    """Read the problem of a stored result again, as the result says it was read."""
    fix = "give a file that --json wrote"
    constants = source.get("constants", [])
    others = [v for k, v in source.items() if k != "constants" and v is not None]
    if not isinstance(constants, list) or not all(isinstance(v, str) for v in (*constants, *others)):
        raise InvalidProblem("how the problem was read is not told in words", fix=fix, where="source")
    loaded = set_time_semantics(
        _reload_source(source, trust_python), source.get("time"), source.get("method")
    )
    if len(loaded.problems) != 1:
        raise InvalidProblem("the result does not say which property it is about", fix=fix, where="source")
    return loaded


def _reload_source(source: Mapping[str, Any], trust_python: bool) -> LoadedModel:
    match source:
        case {"kind": "vnnlib", "network": str(network), "specification": str(specification)}:
            spec = read_vnnlib_file(Path(specification))
            name = Path(specification).name
            read = load_policy(network, output=source.get("output")).network
            problem = problem_from_vnnlib(read, spec, name, float32=no_float32_point(spec) is None)
            inputs = {path: file_sha256(Path(path)) for path in (network, specification)}
            return LoadedModel({name: problem}, inputs, source)
        case {"kind": "study", "study": str(name)}:
            from surefoot.cli.study_problem import load_study_problem

            asked: dict[str, Any] = {"constants": tuple(str(c) for c in source.get("constants", ()))}
            asked |= {"policy": Path(source["policy"])} if source.get("policy") is not None else {}
            return load_study_problem(name, output=source.get("output"), **asked)
        case {"kind": "model", "model": str(model)}:
            said = {k: v for k, v in source.items() if v is not None}
            given: dict[str, Any] = {k: Path(said[k]) for k in ("policy", "normalize") if k in said}
            given |= {k: str(said[k]) for k in ("observe", "actions", "choose", "output") if k in said}
            given["constants"] = tuple(str(c) for c in source.get("constants", ()))
            given |= {k: said.get(k) == "yes" for k in ("no_policy", "ignore_goal", "normalise")}
            given["properties"] = (said["property"],) if "property" in said else ()
            return load_model(Path(model), trust_python=trust_python, **given)
        case _:
            what = "the result does not say from which files its problem was read"
            raise InvalidProblem(what, fix="give a file that --json wrote")
