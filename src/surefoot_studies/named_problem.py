"""A problem of a study by its name, `aurora/safety-excellent`; its parameters are constants."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot_studies.comparison import load_study


def load_named_problem(
    model: str, *, policy: Path | None = None, constants: tuple[str, ...] = (), output: str | None = None
) -> api.LoadedModel:
    """The problem with its parameters; a study that ships no network needs one."""
    name, _, wanted = model.partition("/")
    study = load_study(name)
    known = {**study.problems, **study.needs_network}
    if policy is not None and f"network-{wanted}" in study.needs_network:
        wanted = f"network-{wanted}"  # the same problem, controlled by that network
    if not wanted:
        fix = f"choose one: {name}/{next(iter(known))}, …; `surefoot study show {name}` lists them"
        raise api.InvalidProblem(f"`{name}` is a study, not one of its problems", fix=fix)
    if wanted not in known:
        raise api.InvalidProblem(
            f"study `{name}` has no problem `{wanted}`", fix=api.did_you_mean(wanted, known)
        )
    source: dict[str, object] = {"kind": "study", "study": f"{name}/{wanted}", "constants": list(constants)}
    given: list[Any] = []
    inputs: dict[str, str] = {}
    if wanted in study.needs_network:
        if policy is None:
            raise api.InvalidProblem(f"`{model}` needs a network", fix="give it with --policy FILE")
        given.append(api.load_policy(policy, output=output).network)
        inputs[str(policy)] = api.file_sha256(policy)
        source |= {"policy": str(policy)} | ({} if output is None else {"output": output})
    elif output is not None:
        raise api.InvalidProblem(f"`{model}` has its own policy", fix="leave it out", where="--output")
    elif policy is not None:
        raise api.InvalidProblem(f"`{model}` has its own policy", fix="leave --policy out")
    problem = known[wanted](*given, **_parse_parameters(known[wanted], constants, model))
    return api.LoadedModel({wanted: problem}, inputs, source)


def _parse_parameters(build: Any, constants: tuple[str, ...], model: str) -> Mapping[str, Any]:
    """The keyword arguments of a problem that `--const NAME=VALUE` sets."""
    known = [p.name for p in signature(build).parameters.values() if p.default is not p.empty]
    given: dict[str, Any] = {}
    for name, value in api.parse_constants(constants).items():
        if name not in known:
            fix = api.did_you_mean(name, known)
            raise api.InvalidProblem(f"`{model}` has no parameter `{name}`", fix=fix, where="--const")
        term = api.parse_term(value)
        if not isinstance(term, api.Const) or isinstance(term.value, bool):
            raise api.InvalidProblem(f"`{value}` is not a number", where="--const")
        whole = isinstance(term.value, int) and name == "steps"
        given[name] = term.value if whole else Fraction(term.value)
    return given
