"""A PRISM model on the command line: questions of its property file or as text, with or without a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, did_you_mean, locate_errors
from surefoot.formats.jani_model import JaniQuestionOptions
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.policy_file import load_policy
from surefoot.formats.prism import PrismModel, read_prism
from surefoot.formats.prism.instants import count_instant
from surefoot.formats.prism.property_file import (
    PROPERTY_SUFFIXES,
    PrismQuestions,
    declared_constants,
    read_prism_questions,
)
from surefoot.formats.prism.questions import PrismQuestion, QuestionScope
from surefoot.formats.problem_file.declarations import Declarations
from surefoot.formats.problem_file.policy import NetworkFile, wire_network_file
from surefoot.formats.question_text import parse_question_text
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.formats.wiring import WiringChanges, wiring_path
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.verdict.property_phrases import property_in_words
from surefoot.verdict.sentences import count_noun, variable_ranges


def prism_question_scope(model: PrismModel) -> QuestionScope:
    """What questions may name."""
    rewards = tuple((r.written, r.name) for r in model.rewards)
    return QuestionScope(model.scope, model.kind, rewards, chain=model.kind in ("dtmc", "ctmc"))


def load_prism_problems(
    path: Path,
    asked: tuple[str, ...],
    constants: Mapping[str, str],
    how: JaniQuestionOptions,
    read: list[Path],
    property_file: Path | None = None,
) -> dict[str, Problem]:
    """One problem for each question that is asked, or for all of the property file.

    `read` collects further files.
    """
    questions_file = property_file or _file_beside(path)
    texts = {} if questions_file is None else _constants_of(questions_file)
    model = read_prism(path, _own_constants(path, constants, texts), normalise=how.normalise)
    known = prism_question_scope(model)
    questions = PrismQuestions({}, {}, known)
    if questions_file is not None:
        read.append(questions_file)
        questions = read_prism_questions(questions_file, known, constants)
    wanted: dict[str, PrismQuestion] = {}
    for name in asked or _every_question(questions, path):
        wanted[name] = _find_question(name, model, questions, path)
    policy = _wire_policy(model, how, read) if how.network is not None or how.rewires else None
    problems: dict[str, Problem] = {}
    for name, question in wanted.items():
        environment, meant = count_instant(model.environment, question, model.rewards)
        problems[name] = Problem(f"{model.name}/{name}", environment, policy, meant)
    return problems


def _constants_of(file: Path) -> Mapping[str, object]:
    text = read_input_bytes(file).decode("utf-8", errors="replace")
    with locate_errors(str(file)):
        return declared_constants(text)


def _own_constants(path: Path, given: Mapping[str, str], elsewhere: Mapping[str, object]) -> dict[str, str]:
    """The values that are meant for the model, and not for the property file alone."""
    own = _constants_of(path) if any(name in elsewhere for name in given) else {}
    return {name: value for name, value in given.items() if name not in elsewhere or name in own}


def _file_beside(path: Path) -> Path | None:
    """A property file of the same name: robot.props, or robot.prism.props."""
    found = [path.with_suffix(suffix) for suffix in PROPERTY_SUFFIXES]
    found += [path.with_name(path.name + suffix) for suffix in PROPERTY_SUFFIXES]
    return next((file for file in found if file.is_file()), None)


def _every_question(questions: PrismQuestions, path: Path) -> tuple[str, ...]:
    for name, error in questions.refused.items():
        fix = (
            f"ask for others with --property: {', '.join(questions.questions)}"
            if questions.questions
            else error.fix
        )
        raise type(error)(f"question `{name}`: {error.what}", fix=fix, where=error.where)
    if questions.questions:
        return tuple(questions.questions)
    fix = "ask with --property, for example 'Pmax=? [ F \"goal\" ]'"
    try:
        others = sorted(f.name for f in path.parent.iterdir() if f.suffix in PROPERTY_SUFFIXES)
    except OSError:
        others = []
    if others:
        shown = ", ".join(f"`{name}`" for name in others[:8])
        fix = f"ask with --property, or give a file with --properties, such as {shown}"
    raise InvalidProblem("there is no question about the model", fix=fix, where=str(path))


def _find_question(asked: str, model: PrismModel, questions: PrismQuestions, path: Path) -> PrismQuestion:
    """A question of the property file by its name, or one that is written out."""
    if asked in questions.refused:
        raise questions.refused[asked]
    if asked in questions.questions:
        return questions.questions[asked]
    environment = model.environment
    definitions = dict(environment.definitions)
    if asked.isidentifier() or asked.isdigit():
        known = (*questions.questions, *questions.refused)
        fix = did_you_mean(asked, known) if known else "give a file of questions with --properties"
        if asked in definitions:
            fix = f'`{asked}` is a name that questions can use: "never {asked}", \'P=? [ F "{asked}" ]\''
        raise InvalidProblem(f"there is no question `{asked}`", fix=fix, where=str(path))
    meant: dict[str, Term] = {**model.constants, **definitions}
    with locate_errors("--property"):
        return parse_question_text(
            asked,
            names=[v.name for v in environment.variables],
            constants=meant,
            hidden=model.hidden,
            prism=questions.known,
        )


def _wire_policy(model: PrismModel, how: JaniQuestionOptions, read: list[Path]) -> NeuralPolicy:
    network = how.network
    if network is None:
        raise InvalidProblem("there is no network that could be wired", fix="give one with --policy")
    if network.suffix == ".jani2nnet":
        fix = "give the network, with --observe and --actions"
        raise InvalidProblem("this file wires a network to a JANI model", fix=fix, where=str(network))
    read.append(network)
    whole, changes = (None, how.wiring) if isinstance(how.wiring, WiringChanges) else (how.wiring, None)

    def load(path: Path, chosen: str | None) -> LoadedPolicy:
        if whole is None:
            read.append(wiring_path(path))
        return load_policy(path, output=chosen)

    declared = Declarations(model.constants, model.environment.variables, (), ())
    return wire_network_file(NetworkFile(network, whole, how.output, changes), declared, load)


def describe_prism_model(
    path: Path, constants: Mapping[str, str], *, normalise: bool = False
) -> dict[str, Any]:
    """What stands in a model and in the property file beside it, for a reader."""
    beside = _file_beside(path)
    texts = {} if beside is None else _constants_of(beside)
    model = read_prism(path, _own_constants(path, constants, texts), normalise=normalise)
    environment = model.environment
    shown: dict[str, str] = {}
    if beside is not None:
        questions = read_prism_questions(beside, prism_question_scope(model), constants)
        asked = {n: count_instant(environment, q, model.rewards) for n, q in questions.questions.items()}
        shown = {name: property_in_words(meant) for name, (_, meant) in asked.items()}
        shown |= {name: f"refused: {error}" for name, error in questions.refused.items()}
    return {
        "kind": f"PRISM model ({model.kind})",
        "name": model.name,
        "constants": [f"{name} = {show_term(value)}" for name, value in model.constants.items()],
        "variables": list(variable_ranges(environment)),
        "names": [f"{name} = {show_term(term)}" for name, term in environment.definitions],
        "modules": [f"{c.name}: {count_noun(len(c.edges), 'edge')}" for c in environment.components],
        "synchronisations": len(environment.synchronisations),
        "rewards": [reward.name for reward in model.rewards],
        "properties": shown,
        "notes": list(environment.notes),
    }
