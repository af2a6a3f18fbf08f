"""A JANI model on the command line: its properties by name or as text, with or without a policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, did_you_mean, locate_errors
from surefoot.formats.jani import JaniModel, read_jani
from surefoot.formats.jani2nnet import check_layers, read_jani2nnet, wire_to_model
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.onnx.external_data import list_external_files
from surefoot.formats.plaja import PlajaProperty, read_plaja_properties
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file.declarations import Declarations
from surefoot.formats.problem_file.policy import NetworkFile, wire_network_file
from surefoot.formats.question_text import own_question_scope, parse_question_text, plain_question
from surefoot.formats.wiring import PolicyWiring, WiringChanges, wiring_path
from surefoot.problem.environment import Environment
from surefoot.problem.policy import NeuralPolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import STEPS, Expected, Probability, Property
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.verdict.property_phrases import property_in_words
from surefoot.verdict.sentences import count_noun, variable_ranges


@dataclass(frozen=True, slots=True)
class JaniQuestionOptions:
    """How the properties of a model are asked about: its network and wiring, or nobody; runs beyond goals."""

    network: Path | None
    wiring: PolicyWiring | WiringChanges | None
    output: str | None
    alone: bool  # without any policy: the environment is asked about
    beyond: bool  # runs go on where an objective is reached
    normalise: bool = False  # divide probabilities by their sum

    @property
    def rewires(self) -> bool:
        return self.wiring is not None or self.output is not None

    def read_questions(
        self,
        path: Path,
        questions: Path | None,
        constants: Mapping[str, str],
        wanted: Sequence[str] | None = None,
    ) -> dict[str, PlajaProperty]:
        """PlaJA's questions of a model, or of a file about it."""
        goal, normalise = not self.beyond, self.normalise
        return read_plaja_properties(path, questions, constants, wanted, goal=goal, normalise=normalise)


def load_jani_problems(
    path: Path,
    asked: tuple[str, ...],
    constants: Mapping[str, str],
    how: JaniQuestionOptions,
    read: list[Path],
) -> tuple[dict[str, Problem], dict[str, tuple[Term, ...]]]:
    """One problem for each property that is asked, or for all of the file; and predicates that they name.

    `read` collects further files.
    """
    model = read_jani(path, constants, normalise=how.normalise)
    own = [name for name in asked if not _is_file(name)]
    questions = how.read_questions(path, None, constants, own if asked else None)
    for text in asked:
        if _is_file(text):
            questions |= _read_question_file(path, text, constants, how)
    if how.beyond and not any(question.goal is not None for question in questions.values()):
        what = "no question has an objective with a goal beyond which runs could go on"
        raise InvalidProblem(what, fix="leave it out", where="--ignore-goal")
    plain = [name for name in own if name not in questions]
    properties = (
        {n: _find_property(model, n, path) for n in plain}
        if asked
        else _all_properties(model, path, questions)
    )
    if wanted := _rewards_of(properties.values()) - _rewards_in(model.environment):
        model = read_jani(path, constants, rewards=sorted(wanted), normalise=how.normalise)
    bare = bool(properties) or any(q.wiring is None for q in questions.values())
    policy = _wire_policy(model, how, read) if how.network is not None or (how.rewires and bare) else None
    problems = {
        name: Problem(f"{model.name}/{name}", model.environment, policy, question)
        for name, question in properties.items()
    }
    for name, question in questions.items():
        read += [file for file in question.files if file != path]
        problems[name] = replace(question.problem, policy=policy or _own_policy(model, question, how, read))
        if problems[name].policy is None and not how.alone:
            what = f"the question `{name}` names no policy"
            fix = "give one with --policy, or ask about the environment alone: --no-policy"
            raise InvalidProblem(what, fix=fix, where=str(path))
    return problems, {name: question.predicates for name, question in questions.items()}


def _own_policy(
    model: JaniModel, question: PlajaProperty, how: JaniQuestionOptions, read: list[Path]
) -> Policy | None:
    """The policy that a question names, with what the command line changes of its wiring."""
    if question.wiring is None or not how.rewires:
        return question.problem.policy
    return _wire_policy(model, replace(how, network=question.wiring), read)


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


def _read_question_file(
    path: Path, asked: str, constants: Mapping[str, str], how: JaniQuestionOptions
) -> dict[str, PlajaProperty]:
    """PlaJA's questions in `FILE.jani`, or the one called `FILE.jani#NAME`, each by that text."""
    file, _, wanted = asked.partition("#")
    found = how.read_questions(path, Path(file), constants)
    if wanted and wanted not in found:
        raise InvalidProblem(f"there is no question `{wanted}`", fix=did_you_mean(wanted, found), where=file)
    if not found:
        raise InvalidProblem("the file has no question with the operator `PA`", where=file)
    return {f"{file}#{name}": question for name, question in found.items() if wanted in ("", name)}


def describe_jani_model(
    path: Path, constants: Mapping[str, str], *, normalise: bool = False
) -> dict[str, Any]:
    """What stands in a model, for a reader."""
    model = read_jani(path, constants, normalise=normalise)
    environment = model.environment
    rewards = (r for c in environment.components for e in c.edges for o in e.outcomes for r, _ in o.rewards)
    return {
        "kind": f"JANI model ({model.kind})",
        "name": model.name,
        "constants": [f"{name} = {show_term(value)}" for name, value in model.constants.items()],
        "variables": list(variable_ranges(environment)),
        "names": [f"{name} = {show_term(term)}" for name, term in environment.definitions],
        "automata": [
            f"{c.name}: {count_noun(len(c.locations), 'location')}, {count_noun(len(c.edges), 'edge')}"
            for c in environment.components
        ],
        "synchronisations": len(environment.synchronisations),
        "rewards": list(dict.fromkeys(rewards)),
        "properties": {
            **{name: property_in_words(asked) for name, asked in model.properties.items()},
            **{name: f"refused: {error}" for name, error in model.refused.items()},
        },
        "notes": list(model.notes),
    }


def _all_properties(
    model: JaniModel, path: Path, questions: Mapping[str, PlajaProperty]
) -> Mapping[str, Property]:
    for name, error in model.refused.items():
        if name in questions:
            continue
        others = ", ".join(f"`{n}`" for n in (*model.properties, *questions))
        fix = f"ask for others with --property: {others}" if others else "ask with --property TEXT"
        raise type(error)(f"property `{name}`: {error.what}", fix=fix, where=error.where)
    if not model.properties and not questions:
        fix = 'ask with --property, for example "Pmax=? [ F x = 3 ]"'
        raise InvalidProblem("the model has no property", fix=fix, where=f"{path}:/properties")
    return {name: asked for name, asked in model.properties.items() if name not in questions}


def _find_property(model: JaniModel, asked: str, path: Path) -> Property:
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
    environment = model.environment
    definitions = dict(environment.definitions)
    meant: dict[str, Term] = {**model.constants, **definitions}
    prism = own_question_scope(environment, meant, chain=model.kind == "dtmc")
    with locate_errors("--property"):
        names = [v.name for v in environment.variables]
        found = parse_question_text(asked, names=names, constants=meant, hidden=model.hidden, prism=prism)
        return plain_question(found)


def _wire_policy(model: JaniModel, how: JaniQuestionOptions, read: list[Path]) -> NeuralPolicy:
    network = how.network
    if network is None:
        raise InvalidProblem("there is no network that could be wired", fix="give one with --policy")
    read.append(network)
    if network.name.endswith((".onnx", ".onnx.gz")):
        read.extend(list_external_files(network))
    whole, changes = (None, how.wiring) if isinstance(how.wiring, WiringChanges) else (how.wiring, None)
    file = NetworkFile(network, whole, how.output, changes)
    described = read_jani2nnet(network) if network.suffix == ".jani2nnet" else None
    if described is not None:
        file = replace(file, path=network.parent / described.network)
        read.append(file.path)
        if whole is None:
            with locate_errors(str(network)):
                file = replace(file, wiring=wire_to_model(model, described))

    def load(path: Path, chosen: str | None) -> LoadedPolicy:
        if file.wiring is None:
            read.append(wiring_path(path))
        loaded = load_policy(path, output=chosen)
        if described is not None:
            with locate_errors(str(network)):
                check_layers(described, loaded.network)
        return loaded

    declared = Declarations(model.constants, model.environment.variables, (), ())
    return wire_network_file(file, declared, load)
