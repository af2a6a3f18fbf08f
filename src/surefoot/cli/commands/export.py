"""`surefoot export MODEL FILE`: an environment as JANI or PRISM for other tools, or as a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from surefoot import api
from surefoot.cli.model import load_model, names_study, normalise_flag
from surefoot.cli.output import check_output_files
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options, refuse_option


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--const", "constants", multiple=True, metavar="N=16", help="Set a constant of the model.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME|TEXT",
    help="May be repeated; default: every one.",
)
@click.option(
    "--type",
    "kind",
    type=click.Choice(["lts", "dtmc", "mdp"]),
    default="mdp",
    show_default=True,
    help="What the model calls itself.",
)
@normalise_flag
@click.option("--no-policy", is_flag=True, help="Write the environment alone, with questions about it.")
@click.option("--trust-python", is_flag=True, help="Run MODEL as Python code that builds the problem.")
def export(
    model: Path,
    file: Path,
    constants: tuple[str, ...],
    properties: tuple[str, ...],
    kind: Literal["lts", "dtmc", "mdp"],
    normalise: bool,
    no_policy: bool,
    trust_python: bool,
) -> int:
    """Write the environment of MODEL (a file, STUDY/PROBLEM or gym:NAME), with its properties, as the JANI or
    PRISM model or as the problem file FILE. The properties of a PRISM model stand in a file of the same name
    that ends in .props.

    A policy has no counterpart in JANI and PRISM: if the model has one, only the environment is written. A
    problem file (.toml) has the policy too; a network is named by its file.
    """
    to_prism, to_problem = file.suffix in api.PRISM_SUFFIXES, file.suffix == ".toml"
    if file.suffix != ".jani" and not to_prism and not to_problem:
        what = f"`{file}` does not end in .jani, .toml, or {', '.join(api.PRISM_SUFFIXES)}"
        refuse_option("FILE", what, "only JANI, PRISM and problem files are written")
    if to_prism and kind == "lts":
        refuse_option("--type", "PRISM has no model of type lts", "write --type mdp")
    if to_problem:
        refuse_given_options({"--type": "kind"}, "on a problem file, which says it by its edges")
    questions = file.with_suffix(".props")
    outputs = {"FILE": str(file)} | ({"its properties": str(questions)} if to_prism else {})
    check_output_files(outputs, [model])
    loaded = _load_exported(model, constants, properties, normalise, no_policy, trust_python)
    check_output_files(outputs, loaded.inputs)
    if to_problem:
        files = tuple(Path(name) for name in loaded.inputs)
        api.write_file(file, api.write_problems(loaded.problems, path=file, networks=files))
        print_line(f"written: {file}", error=True)
        return 0
    problems = {name: api.discretise(problem) for name, problem in loaded.problems.items()}
    environment = _common_environment(problems)
    asked = {name: p.property for name, p in problems.items() if p.policy is None}
    refused: dict[str, str] = {}
    if to_prism and kind != "lts":
        texts = api.write_prism(environment, asked, kind=kind)
        api.write_file(file, texts.model)
        if texts.questions:
            api.write_file(questions, texts.questions)
        refused = dict(texts.refused)
    else:
        api.write_file(file, api.write_jani(environment, asked, kind=kind))
    for name, reason in refused.items():
        print_line(f"left out: property `{name}`: {reason}", error=True)
    left_out = len(problems) - len(asked)
    told = (
        f" (without the policy, and without {api.count_noun(left_out, 'question')} about it)"
        if left_out
        else ""
    )
    print_line(f"written: {file}{told}", error=True)
    return 0


def _load_exported(
    model: Path,
    constants: tuple[str, ...],
    properties: tuple[str, ...],
    normalise: bool,
    no_policy: bool,
    trust_python: bool,
) -> api.LoadedModel:
    """The problems of a file, or the problem of a study."""
    if names_study(model):
        studies = {"--property": "properties", "--normalise": "normalise"}
        refuse_given_options(
            studies, "on a problem of a study: it has one property, with its own probabilities"
        )
        from surefoot.cli.study_problem import load_study_problem

        loaded = load_study_problem(str(model), constants=constants)
    else:
        given: dict[str, Any] = {"properties": properties, "constants": constants, "normalise": normalise}
        loaded = load_model(model, **given, trust_python=trust_python, bare=True)
    if not no_policy:
        return loaded
    alone = {name: replace(problem, policy=None) for name, problem in loaded.problems.items()}
    return replace(loaded, problems=alone)


def _common_environment(problems: Mapping[str, api.Problem]) -> api.EnvironmentData:
    environments = list({id(p.environment): p.environment for p in problems.values()}.values())
    if any(e != environments[0] for e in environments):
        raise api.InvalidProblem("the problems have different environments", fix="name one with --property")
    return environments[0]
