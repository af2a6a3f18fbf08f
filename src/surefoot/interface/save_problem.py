"""Problems and environments as problem files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from surefoot.errors import WrongType
from surefoot.formats.output_file import write_file
from surefoot.formats.problem_file import write_problem_file, write_problems
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.environment import EnvironmentData, plain_environment
from surefoot.interface.gym_environment import GymEnvironment, plain_gym_environment
from surefoot.interface.policy import FilePolicy
from surefoot.interface.pose_problem import LoadedProblem, read_given_property
from surefoot.interface.questions import plain_problem
from surefoot.interface.ready_environment import ReadyEnvironment
from surefoot.interface.result import output_path
from surefoot.problem.policy import Policy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property
from surefoot.term.arguments import describe_value


@tell_arguments
def save(
    problem: Problem | EnvironmentData | Sequence[Problem],
    path: str | PathLike[str],
    properties: Mapping[str, Property | str] | None = None,
) -> None:
    """Write a problem, several that differ in their property, or an environment with `properties` by name, as
    a problem file (.toml). `load` reads it back as the same data; what a problem file cannot say is refused.

    A network is named by the file that it was read from.

    >>> from surefoot import Environment, integer, load, never, save
    >>> x = integer("x", 0, 9)
    >>> env = Environment("counter", start=x == 0).edge("up", guard=x < 9, update={x: x + 1})
    >>> save(env, "counter.toml", {"safe": never(x == 9)})
    >>> load("counter.toml", no_policy=True).property == never(x == 9)
    True
    """
    target = output_path(path)
    if target.suffix != ".toml":
        raise WrongType(f"`{target}` does not end in .toml", fix='write save(problem, "model.toml")')
    if isinstance(problem, EnvironmentData):
        write_file(target, _environment_text(problem, properties, target))
        return
    if properties is not None:
        fix = "write save(problem.environment, path, properties)"
        raise WrongType("properties beside a problem, which has one", fix=fix, where="properties")
    given = [problem] if isinstance(problem, Problem) else problem
    if not isinstance(given, list | tuple) or not given or not all(isinstance(p, Problem) for p in given):
        fix = "give a problem, a list of problems, or an environment"
        raise WrongType(f"{describe_value(problem)} is not a problem", fix=fix, where="problem")
    named = _name_problems(given)
    files = tuple(dict.fromkeys(f for p in given for f in _input_files(p)))
    write_file(target, write_problems(named, path=target, networks=files))


def _environment_text(
    environment: EnvironmentData, properties: Mapping[str, Property | str] | None, target: Path
) -> str:
    if properties is None:  # what can be asked by name
        known = environment.properties if isinstance(environment, ReadyEnvironment) else {}
    elif isinstance(properties, Mapping):
        known = {str(name): read_given_property(one, environment) for name, one in properties.items()}
    else:
        fix = 'write {"safe": never(x > 5)}'
        what = f"{describe_value(properties)} does not give properties by name"
        raise WrongType(what, fix=fix, where="properties")
    plain = (
        plain_gym_environment(environment)
        if isinstance(environment, GymEnvironment)
        else plain_environment(environment)
    )
    return write_problem_file(plain, known, path=target)


def _name_problems(given: Sequence[Problem]) -> dict[str, Problem]:
    """By the name of the property: that of the file, or what follows the name of the environment."""
    named: dict[str, Problem] = {}
    for problem in given:
        name = problem.name.removeprefix(f"{problem.environment.name}/")
        if isinstance(problem, LoadedProblem):
            name = str(problem.source.get("property", name))
        if name in ("", problem.environment.name):
            name = "property"
        kept, number = name, 2
        while name in named:
            name, number = f"{kept}_{number}", number + 1
        named[name] = plain_problem(problem)
    return named


def _input_files(problem: Problem) -> tuple[Path, ...]:
    """Files that the networks of its policy may have come from."""
    found = list(problem.inputs) if isinstance(problem, LoadedProblem) else []
    parts: list[Policy] = [] if problem.policy is None else list(nested_policies(problem.policy))
    found += [name for part in parts if isinstance(part, FilePolicy) for name in part.inputs]
    return tuple(Path(name) for name in found)
