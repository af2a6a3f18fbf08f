"""Which problem the arguments of a question mean: a file, an environment with its policy and property, …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.formats.gymnasium.gym_name import names_gym_model
from surefoot.formats.gymnasium.reader import select_gym_property
from surefoot.formats.model_file import read_model
from surefoot.formats.question_text import own_question_scope, parse_question_text, plain_question
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.expression import Expression, expression_from, number_from
from surefoot.interface.gym_environment import GymEnvironment, gym
from surefoot.interface.ready_environment import (
    expand_policy_names,
    find_ready_property,
    wire_ready_policy,
)
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.policy import Policy, take_policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability, Property, take_property
from surefoot.term.arguments import (
    describe_value,
    take_named_tuple,
)
from surefoot.term.printer import show_term
from surefoot.term.term import Term

PathText: TypeAlias = str | PathLike[str]
_POLICY_SUFFIXES = (
    ".onnx",
    ".gz",
    ".zip",
    ".nnet",
    ".pt",
    ".pth",
    ".pkl",
    ".json",
    ".csv",
    ".npy",
)  # also of files that are refused


@dataclass(frozen=True, slots=True, repr=False)
class LoadedProblem(Problem):
    """A problem from a file, which a stored result names so that it can be read again."""

    inputs: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # path -> sha256
    source: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    as_read: Problem | None = field(default=None, repr=False, compare=False)

    def is_unchanged(self) -> bool:
        """Is it still what the file says, so that a result may name the file?"""
        read = self.as_read
        return (
            read is not None
            and self.environment is read.environment
            and self.policy is read.policy
            and self.property is read.property
        )


def read_loaded_problems(path: PathText, property: str | None, **given: Any) -> list[LoadedProblem]:
    """Every problem that is asked for, with the files that it was read from."""
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if property is not None:
        if not isinstance(property, str):
            fix = 'give the name of a property, or one as text: "never x > 5"'
            raise WrongType(f"{describe_value(property)} is not the name of a property", fix=fix)
        options["properties"] = (property,)
    options["constants"] = _constant_texts(options.get("constants", {}))
    for name in ("policy", "normalize", "property_file"):
        if name in options:
            options[name] = take_input_path(options[name])
    for name in ("observe", "actions"):
        if name in options and not isinstance(options[name], str):
            options[name] = ", ".join(take_named_tuple(name, options[name], _option_text))
    loaded = read_model(take_input_path(path), **options)
    return [
        LoadedProblem(
            problem.name,
            problem.environment,
            problem.policy,
            problem.property,
            loaded.inputs,
            {**loaded.source, "property": name},
            problem,
        )
        for name, problem in loaded.problems.items()
    ]


def take_input_path(given: object) -> Path:
    if not isinstance(given, str | PathLike):
        raise WrongType(f"{describe_value(given)} is not the path of a file", fix="give a str or a Path")
    return Path(given)


def _constant_texts(given: object) -> tuple[str, ...]:
    if not isinstance(given, Mapping):
        raise WrongType(f"{describe_value(given)} does not give constants", fix='write constants={"N": 16}')
    return tuple(f"{name}={show_constant(value)}" for name, value in given.items())


def show_constant(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(number_from(value))


def _option_text(given: object) -> str:
    return given if isinstance(given, str) else show_term(expression_from(given).term)


@tell_arguments
def pose_problem(
    problem: Problem | EnvironmentData | PathText,
    policy: Policy | PathText | None = None,
    property: Property | str | None = None,
) -> Problem:
    """The one problem that these arguments of `check` mean; it can be given to `check` alone."""
    policy, property = sort_second_argument(policy, property)
    return problem_from_arguments(problem, policy, property)


def sort_second_argument(policy: Any, property: Any) -> tuple[Any, Any]:
    """Policy and property: the second argument of `check` is the property where it cannot be a policy."""
    if isinstance(policy, Property):
        if property is not None:
            fix = "write check(problem, policy, property)"
            raise WrongType("a property stands where the policy is expected", fix=fix, where="policy")
        return None, policy
    if isinstance(policy, str) and property is None and not _names_policy_file(policy):
        return None, policy
    return policy, property


def _names_policy_file(text: str) -> bool:
    """Is there such a file, or is it called like one?"""
    is_path = " " not in text and any(mark in text for mark in ("/", "\\"))
    return exists(text) or is_path or Path(text).suffix in _POLICY_SUFFIXES


def problem_from_arguments(
    given: object,
    policy: object,
    property: object,
    *,
    needs_policy: bool = True,
    constants: Mapping[str, object] | None = None,
) -> Problem:
    """The one problem that is meant."""
    if isinstance(given, Problem):
        return _change_problem(given, policy, property)
    given = _gym_environment_or_text(given, policy, property)
    if isinstance(given, GymEnvironment):
        return _problem_of_gym(given, policy, property, needs_policy)
    if isinstance(given, EnvironmentData):
        return _problem_of_environment(given, policy, property, needs_policy)
    if not isinstance(given, str | PathLike):
        fix = "give a problem from load(path), a path, or an environment with its policy and property"
        raise WrongType(f"{describe_value(given)} is not a problem", fix=fix)
    network = policy if isinstance(policy, str | PathLike) else None
    text = property if isinstance(property, str) else None
    found = read_loaded_problems(given, text, policy=network, constants=constants)
    if len(found) > 1 and (property is None or text is not None):
        known = ", ".join(f"`{p.source['property']}`" for p in found)
        fix = "name one with property=…, or ask about each of load(path)"
        raise InvalidProblem(f"the file has {len(found)} properties: {known}", fix=fix, where=str(given))
    rest = None if network is not None else policy
    return _change_problem(found[0], rest, None if text is not None else property)


def _gym_environment_or_text(given: object, policy: object, property: object) -> object:
    """A library environment, or its name where all is read as from a file, so that results name it."""
    plain = all(part is None or isinstance(part, str | PathLike) for part in (policy, property))
    if isinstance(given, GymEnvironment):
        return given.text if plain and given.is_unchanged() else given
    if isinstance(given, str) and names_gym_model(given) and not plain:
        return gym(given)
    return given


def _problem_of_gym(
    environment: GymEnvironment, policy: object, property: object, needs_policy: bool
) -> Problem:
    """A library environment wires files by itself, and knows properties by name."""
    acting = environment.policy(policy) if isinstance(policy, str | PathLike) else policy
    asked = select_gym_property(environment.model, property) if isinstance(property, str) else property
    found = _problem_of_environment(environment, acting, asked, needs_policy)
    return environment.problem(found.policy, found.property)


def _change_problem(problem: Problem, policy: object, property: object) -> Problem:
    """The problem with another policy, or with another property."""
    if isinstance(policy, str | PathLike):
        fix = "give the path to load(path, policy=…), or Policy.from_file(path, observe=…, actions=…)"
        raise WrongType("a network alone does not say what it observes", fix=fix, where="policy")
    if policy is not None:
        problem = replace(problem, policy=_policy_from(policy))
    if property is not None:
        if isinstance(problem, LoadedProblem) and isinstance(property, str) and property.isidentifier():
            what = f"`{property}` is no property written out, and the problem has been read"
            fix = f'name it where it is read: load({problem.source.get("model")!r}, property="{property}")'
            raise InvalidProblem(what, fix=fix, where="property")
        problem = replace(problem, property=read_given_property(property, problem.environment))
    return problem


def _policy_from(given: object) -> Policy:
    if callable(given) and not isinstance(given, type | Policy):
        fix = 'write it as rules, Policy.program([(x < 5, "up"), …]), or export it: Policy.from_file(path, …)'
        raise WrongType("a function in Python cannot be looked into", fix=fix, where="policy")
    taken: Any = take_policy(given)
    acting: Policy = taken
    return acting


def _problem_of_environment(
    environment: EnvironmentData, policy: object, property: object, needs_policy: bool
) -> Problem:
    if property is None:
        fix = 'give never(condition), eventually(condition), … or a text: "never x > 5"'
        raise WrongType("nothing is asked about the environment", fix=fix, where="property")
    asked = read_given_property(property, environment)
    if isinstance(policy, str | PathLike):
        policy = wire_ready_policy(environment, take_input_path(policy)) or policy
    if needs_policy and policy is None and not isinstance(asked, Probability | Expected):
        fix = (
            "give Policy.from_file(path, observe=…, actions=…) or Policy.program(rules); about everything "
            "that the environment can do: Problem(name, environment, None, property)"
        )
        raise WrongType("nobody acts in the environment", fix=fix, where="policy")
    if isinstance(policy, str | PathLike):
        fix = "write Policy.from_file(path, observe=…, actions=…)"
        raise WrongType("a network alone does not say what it observes", fix=fix, where="policy")
    acting = None if policy is None else expand_policy_names(_policy_from(policy), environment)
    return Problem(environment.name, environment, acting, asked)


def read_given_property(given: object, environment: EnvironmentData) -> Property:
    if isinstance(given, Expression | Term):
        what = f"the condition `{show_term(expression_from(given).term)}` alone is no property"
        raise WrongType(
            what, fix="write never(…), eventually(…), recurs(…) or probability_of(…)", where="property"
        )
    if isinstance(given, list | tuple):
        raise WrongType("several properties are given", fix="ask about one at a time", where="property")
    if isinstance(given, Policy):
        fix = "write check(problem, policy, property)"
        raise WrongType("a policy stands where the property is expected", fix=fix, where="property")
    if not isinstance(given, str):
        asked: Any = take_property(given)
        found: Property = asked
        return found
    if (ready := find_ready_property(environment, given)) is not None:
        return ready
    names = [v.name for v in environment.variables] + [c.name for c in environment.controls]
    try:
        meant = dict(environment.definitions)
        known = own_question_scope(environment, meant)
        return plain_question(parse_question_text(given, names=names, constants=meant, prism=known))
    except (InvalidProblem, Unsupported) as error:
        raise error.at("property") from None
