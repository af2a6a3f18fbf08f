"""Environments of the Gymnasium library in Python: by name, or as a live environment has been set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, WrongType
from surefoot.formats.gymnasium.episode import pose_question
from surefoot.formats.gymnasium.gym_model import GymModel
from surefoot.formats.gymnasium.gym_name import PREFIX
from surefoot.formats.gymnasium.live_environment import name_live_environment
from surefoot.formats.gymnasium.policy_wiring import wire_gym_policy
from surefoot.formats.gymnasium.reader import select_gym_property
from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.formats.model_file import file_sha256
from surefoot.formats.wiring import WiringChanges
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.expression import number_from
from surefoot.interface.policy import FilePolicy
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property


@dataclass(frozen=True, slots=True, repr=False)
class GymEnvironment(EnvironmentData):
    """A library environment as a model: its variables, edges and starts, and what goes with it.

    `text` is its name where a model file is expected; `properties` can be asked by name.
    """

    text: str = ""
    model: GymModel = field(default=None)  # type: ignore[assignment]  # `gym` always gives one

    @property
    def properties(self) -> Mapping[str, Property]:
        """What can be asked by name: `safe`, `goal`, `P goal`, `return` and `steps`, as far as they apply."""
        return self.model.properties

    @tell_arguments
    def policy(
        self,
        path: str | PathLike[str],
        *,
        output: str | None = None,
        normalize: str | PathLike[str] | None = None,
    ) -> FilePolicy:
        """The network in a file, wired to what the environment shows and takes."""
        from surefoot.formats.normalization import read_normalization

        read: list[Path] = []
        changes = None
        if normalize is not None:
            changes = WiringChanges(normalize=read_normalization(Path(normalize)))
            read.append(Path(normalize))
        wired = wire_gym_policy(self.model, Path(path), changes, output=output, record=read.append)
        inputs = {str(file): file_sha256(file) for file in read}
        return FilePolicy(wired.network, wired.observe, wired.actions, wired.choose, wired.notes, inputs)

    def problem(self, policy: Any, asked: Property | str) -> Problem:
        """The question about this environment, such that nothing counts after the end of an episode."""
        wanted = select_gym_property(self.model, asked) if isinstance(asked, str) else asked
        mine = replace(self.model, environment=plain_gym_environment(self))
        environment, posed = pose_question(mine, wanted)
        return Problem(self.name, environment, policy, posed)

    def is_unchanged(self) -> bool:
        """Is it still what its text means?"""
        return all(
            getattr(self, part.name) is getattr(self.model.environment, part.name)
            for part in fields(EnvironmentData)
        )

    def as_gym(self, **settings: Any) -> Any:
        """A Gymnasium environment of this model; settings as those of `surefoot.as_gym`."""
        from surefoot.interface.as_gym import as_gym

        return as_gym(self, **settings)

    def __repr__(self) -> str:
        return f"GymEnvironment({self.text!r}: {', '.join(v.name for v in self.variables)})"


def plain_gym_environment(given: GymEnvironment) -> EnvironmentData:
    """The data that engines read."""
    return EnvironmentData(**{part.name: getattr(given, part.name) for part in fields(EnvironmentData)})


@tell_arguments
def gym(environment: Any, **arguments: Any) -> GymEnvironment:
    """The model of a Gymnasium environment, which need not be installed: `gym("CartPole-v1", gravity=9.81)`.
    A live environment is modelled as it has been set up.

    >>> from surefoot import gym
    >>> env = gym("CartPole-v1")
    >>> list(env.properties)
    ['safe', 'P safe', 'return', 'steps']
    >>> [v.name for v in env.variables]
    ['x', 'x_dot', 'theta', 'theta_dot']
    """
    if isinstance(environment, str):
        text = environment if environment.startswith(PREFIX) else f"{PREFIX}{environment}"
    elif arguments:
        fix = "set it on the environment, or give a name"
        raise InvalidProblem(f"`{next(iter(arguments))}` beside a live environment", fix=fix)
    elif isinstance(environment, type | PathLike):
        raise WrongType("an environment is named, or given alive", fix='write gym("CartPole-v1")')
    else:
        text = name_live_environment(environment)
    if arguments:
        told = "&".join(f"{key}={_argument_text(value)}" for key, value in arguments.items())
        text = f"{text}{'&' if '?' in text else '?'}{told}"
    model = build_gym_model(text)
    parts = {part.name: getattr(model.environment, part.name) for part in fields(EnvironmentData)}
    return GymEnvironment(**parts, text=text, model=model)


def _argument_text(value: object) -> str:
    """The value as it stands behind `?`; rows of a map are separated by `/`, other lists by commas."""
    if isinstance(value, bool | None):
        return str(value).lower()
    if isinstance(value, list | tuple):
        between = "/" if all(isinstance(one, str) for one in value) else ","
        return between.join(_argument_text(one) for one in value)
    if isinstance(value, str):
        if "&" in value:
            raise InvalidProblem(f"`{value}` is more than one value", fix="give each argument by its name")
        return value
    return str(float(number_from(value)) if isinstance(value, float) else value)
