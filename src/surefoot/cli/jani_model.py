"""A JANI model on the command line: its properties by name or as text, with or without a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, SurefootError, did_you_mean
from surefoot.formats.jani import JaniModel, read_jani
from surefoot.formats.jani2nnet import read_jani2nnet, wired_to
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.plaja import Question, read_questions
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file.declarations import Declarations
from surefoot.formats.problem_file.policy import NetworkFile, wired
from surefoot.formats.wiring import Rewiring, Wiring, sidecar
from surefoot.problem.environment import Environment
from surefoot.problem.parse import parse_property
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import STEPS, Expected, Probability, Property
from surefoot.problem.show import show
from surefoot.problem.term import Term
from surefoot.verdict.questions import in_words
from surefoot.verdict.words import counted, region


def jani_problems(
    path: Path,
    asked: tuple[str, ...],
    constants: Mapping[str, str],
    settings: Mapping[str, Any],
    wiring: Wiring | Rewiring | None,
    read: list[Path],
    *,
    normalise: bool = False,
) -> dict[str, Problem]:
    """One problem for each property that is asked, or for all of the file; `read` collects further files."""
    model = read_jani(path, constants, normalise=normalise)
    reading = partial(read_questions, path, constants=constants, normalise=normalise)
    questions = _own_questions(model, asked, reading)
    for text in asked:
        if _is_file(text):
            questions |= _questions(text, reading)
    plain = [name for name in asked if name not in questions and not _is_file(name)]
    properties = {n: _property(model, n, path) for n in plain} if asked else _all(model, path, questions)
    if wanted := _rewards_of(properties.values()) - _rewards_in(model.environment):
        model = read_jani(path, constants, rewards=sorted(wanted), normalise=normalise)
    policy = _policy(model, settings["policy"], wiring, settings["output"], read)
    problems = {
        name: Problem(f"{model.name}/{name}", model.environment, policy, question)
        for name, question in properties.items()
    }
    for name, question in questions.items():
        read += [file for file in question.files if file != path]
        problems[name] = question.problem if policy is None else replace(question.problem, policy=policy)
    return problems


def _own_questions(
    model: JaniModel, asked: tuple[str, ...], reading: Callable[..., dict[str, Question]]
) -> dict[str, Question]:
    """Those properties that have starts or a policy of their own, by name."""
    wanted = set(model.refused) & set(asked) if asked else set(model.refused)
    return reading(wanted=wanted) if wanted else {}


def _rewards_of(asked: Iterable[Property]) -> set[str]:
    """The rewards that questions name."""
    found: set[str] = set()
    for one in asked:
        match one:
            case Expected(reward=str(name)):
                found.add(name)
            case Probability(path):
                found |= {b.reward for b in path.bounds if b.reward is not None}
    return found


def _rewards_in(environment: Environment) -> set[str]:
    outcomes = (o for c in environment.components for e in c.edges for o in e.outcomes)
    return {STEPS, *(name for outcome in outcomes for name, _ in outcome.rewards)}


def _is_file(asked: str) -> bool:
    return asked.partition("#")[0].endswith(".jani")


def _questions(asked: str, reading: Callable[..., dict[str, Question]]) -> dict[str, Question]:
    """PlaJA's questions in `FILE.jani`, or the one called `FILE.jani#NAME`, each by that text."""
    file, _, wanted = asked.partition("#")
    found = reading(questions=Path(file))
    if wanted and wanted not in found:
        raise InvalidProblem(f"there is no question `{wanted}`", fix=did_you_mean(wanted, found), where=file)
    if not found:
        raise InvalidProblem("the file has no question with the operator `PA`", where=file)
    return {f"{file}#{name}": question for name, question in found.items() if wanted in ("", name)}


def model_facts(path: Path, constants: Mapping[str, str], *, normalise: bool = False) -> dict[str, Any]:
    """What stands in a model, for a reader."""
    model = read_jani(path, constants, normalise=normalise)
    environment = model.environment
    rewards = (r for c in environment.components for e in c.edges for o in e.outcomes for r, _ in o.rewards)
    return {
        "kind": f"JANI model ({model.kind})",
        "name": model.name,
        "constants": [f"{name} = {show(value)}" for name, value in model.constants.items()],
        "variables": list(region(environment)),
        "names": [f"{name} = {show(term)}" for name, term in environment.definitions],
        "automata": [
            f"{c.name}: {counted(len(c.locations), 'location')}, {counted(len(c.edges), 'edge')}"
            for c in environment.components
        ],
        "synchronisations": len(environment.synchronisations),
        "rewards": list(dict.fromkeys(rewards)),
        "properties": {
            **{name: in_words(asked) for name, asked in model.properties.items()},
            **{name: f"refused: {error}" for name, error in model.refused.items()},
        },
        "notes": list(model.notes),
    }


def _all(model: JaniModel, path: Path, questions: Mapping[str, Question]) -> Mapping[str, Property]:
    for name, error in model.refused.items():
        if name in questions:
            continue
        others = ", ".join(f"`{n}`" for n in (*model.properties, *questions))
        fix = f"ask for others with --property: {others}" if others else "ask with --property TEXT"
        raise type(error)(f"property `{name}`: {error.what}", fix=fix, where=error.where)
    if not model.properties and not questions:
        fix = 'ask with --property, for example "Pmax=? [ F x = 3 ]"'
        raise InvalidProblem("the model has no property", fix=fix, where=f"{path}:/properties")
    return model.properties


def _property(model: JaniModel, asked: str, path: Path) -> Property:
    """A property of the file by its name, or one that is written out."""
    if asked in model.refused:
        raise model.refused[asked]
    if asked in model.properties:
        return model.properties[asked]
    known = (*model.properties, *model.refused)
    if asked.isidentifier():
        what, fix = f"the model has no property `{asked}`", did_you_mean(asked, known)
        if asked in dict(model.environment.definitions):
            fix = f'`{asked}` is a name that properties can use: "never {asked}", "P=? [ F {asked} ]"'
        raise InvalidProblem(what, fix=fix, where=f"{path}:/properties")
    names = [v.name for v in model.environment.variables]
    try:
        meant: dict[str, Term] = {**model.constants, **dict(model.environment.definitions)}
        return parse_property(asked, names=names, constants=meant, hidden=model.hidden)
    except SurefootError as error:
        raise error.at("--property") from None


def _policy(
    model: JaniModel,
    network: Path | None,
    wiring: Wiring | Rewiring | None,
    output: str | None,
    read: list[Path],
) -> NeuralPolicy | None:
    if network is None:
        if wiring is not None or output is not None:
            what = "there is no network that could be wired"
            raise InvalidProblem(what, fix="give one with --policy")
        return None
    read.append(network)
    whole, changes = (None, wiring) if isinstance(wiring, Rewiring) else (wiring, None)
    file = NetworkFile(network, whole, output, changes)
    if network.suffix == ".jani2nnet":
        described = read_jani2nnet(network)
        file = replace(file, path=network.parent / described.network)
        read.append(file.path)
        if whole is None:
            try:
                file = replace(file, wiring=wired_to(model, described))
            except InvalidProblem as error:
                raise error.at(str(network)) from None

    def load(path: Path, chosen: str | None) -> LoadedPolicy:
        if file.wiring is None:
            read.append(sidecar(path))
        return load_policy(path, output=chosen)

    declared = Declarations(model.constants, model.environment.variables, (), ())
    return wired(file, declared, load)
