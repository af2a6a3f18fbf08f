"""`gym:NAME` as problems: one for each property that is asked, with the policy wired to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from surefoot.errors import InvalidProblem, did_you_mean, locate_errors
from surefoot.formats.gymnasium.episode import pose_question
from surefoot.formats.gymnasium.gym_model import ELAPSED, GymModel
from surefoot.formats.gymnasium.policy_wiring import Record, wire_gym_policy
from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.formats.wiring import PolicyWiring, WiringChanges
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import LONGEST_PROPERTY, Problem
from surefoot.problem.property import Property
from surefoot.problem.property_parser import parse_property
from surefoot.problem.validate import validate_problem
from surefoot.term.lexer import shorten_text
from surefoot.term.term import free_names

_COUNTED = re.compile(rf"(?<![\w.]){ELAPSED}(?![\w.])")


def read_gym_problems(
    text: str,
    properties: tuple[str, ...],
    constants: Mapping[str, str],
    policy: Path | None,
    wiring: PolicyWiring | WiringChanges | None,
    output: str | None,
    record: Record,
) -> dict[str, Problem]:
    """The problems by the names of their properties; without any named, all that the model has."""
    seen = wiring.observe if isinstance(wiring, PolicyWiring) else ()
    counted = any(map(counts_elapsed, properties)) or any(ELAPSED in free_names(term) for term in seen)
    model = build_gym_model(text, constants, counted=counted)
    if policy is None:
        if wiring is not None or output is not None:
            what = "there is no network that could be wired"
            raise InvalidProblem(what, fix="give one with --policy", where=text)
        acting: NeuralPolicy | None = None
    else:
        acting = wire_gym_policy(model, policy, wiring, output=output, record=record)
    asked = {name: select_gym_property(model, name) for name in properties}
    if not asked:  # the optimum over all policies is that of the one that acts
        usual = model.properties.items()
        asked = {name: own for name, own in usual if acting is None or not name.startswith("Pmax ")}
    problems: dict[str, Problem] = {}
    for name, wanted in asked.items():
        environment, posed = pose_question(model, wanted)
        problem = Problem(
            f"{model.environment.name}/{shorten_text(name, LONGEST_PROPERTY)}", environment, acting, posed
        )
        with locate_errors(text, InvalidProblem):
            validate_problem(problem, controlled=False)
        problems[name] = problem
    return problems


def counts_elapsed(text: str) -> bool:
    """Does a question name the steps of the episode so far?"""
    return _COUNTED.search(text) is not None


def select_gym_property(model: GymModel, asked: str) -> Property:
    """The property of that name, or the one that the text says."""
    name = model.aliases.get(asked, asked)
    if name in model.properties:
        return model.properties[name]
    known = [*model.properties, *model.aliases]
    if name in model.absent:
        what = f"{model.environment.name} has no property `{asked}`: {model.absent[name]}"
        raise InvalidProblem(what, fix=f"ask {_listed(known)}, or write one out", where="--property")
    if asked.removeprefix("Pmax ").removeprefix("P ").isidentifier():
        what = f"{model.environment.name} has no property `{asked}`"
        raise InvalidProblem(what, fix=did_you_mean(asked, known), where="--property")
    names = [v.name for v in model.environment.variables] + [c.name for c in model.environment.controls]
    with locate_errors("property"):
        return parse_property(asked, names=names, constants=dict(model.environment.definitions))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
