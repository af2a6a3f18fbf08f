"""Environments that know how to wire a policy, and that have properties by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.interface.environment import Environment, EnvironmentData
from surefoot.problem.environment import expand_definitions
from surefoot.problem.policy import Branch, NeuralPolicy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.policy import Policy as PolicyData
from surefoot.problem.property import Property

Wire = Callable[[Path], PolicyData]


class ReadyEnvironment(Environment):
    """An environment about which `check(env, "policy.zip", "safe")` can be asked: `properties` are what can
    be asked by name, and a policy in a file is wired by itself.
    """

    __slots__ = ("absent", "properties", "wire")

    properties: Mapping[str, Property]
    absent: Mapping[str, str]  # why a usual name is not there
    wire: Wire

    @classmethod
    def from_data(
        cls, data: EnvironmentData, properties: Mapping[str, Property], absent: Mapping[str, str], wire: Wire
    ) -> ReadyEnvironment:
        made = cls(**{field.name: getattr(data, field.name) for field in fields(EnvironmentData)})
        for name, value in (("properties", dict(properties)), ("absent", dict(absent)), ("wire", wire)):
            object.__setattr__(made, name, value)
        return made


def find_ready_property(environment: EnvironmentData, name: str) -> Property | None:
    """The property of that name; None: the text is one written out."""
    properties: Any = getattr(environment, "properties", None)
    if not isinstance(environment, ReadyEnvironment) or properties is None:
        return None
    if name in properties:
        found: Property = properties[name]
        return found
    if name in environment.absent:
        what = f"there is no property `{name}`: {environment.absent[name]}"
        fix = did_you_mean("", properties)
        raise InvalidProblem(what, fix=fix, where="property")
    if name.removeprefix("Pmax ").removeprefix("P ").isidentifier():
        what = f"there is no property `{name}`"
        raise InvalidProblem(what, fix=did_you_mean(name, properties), where="property")
    return None


def wire_ready_policy(environment: EnvironmentData, path: Path) -> PolicyData | None:
    """The policy in a file, as it acts in this environment; None: the environment cannot say."""
    wire: Any = getattr(environment, "wire", None)
    if not isinstance(environment, ReadyEnvironment) or wire is None:
        return None
    made: PolicyData = wire(path)
    return made


def expand_policy_names(policy: PolicyData, environment: EnvironmentData) -> PolicyData:
    """The policy, in which names of the environment's definitions stand for what they mean."""
    if not environment.definitions:
        return policy
    match policy:
        case ProgramPolicy(branches):
            expanded = tuple(_expand_branch(branch, environment) for branch in branches)
            return replace(policy, branches=expanded)
        case NeuralPolicy(observe=observe):
            return replace(policy, observe=tuple(expand_definitions(t, environment) for t in observe))
        case ShieldedPolicy(inner, permits, fallback):
            return replace(
                policy,
                policy=expand_policy_names(inner, environment),
                permits=expand_definitions(permits, environment),
                fallback=expand_policy_names(fallback, environment),
            )
        case _:
            return policy


def _expand_branch(branch: Branch, environment: EnvironmentData) -> Branch:
    then = branch.then
    if not isinstance(then, str | tuple):
        then = expand_policy_names(then, environment)
    return Branch(expand_definitions(branch.when, environment), then)
