"""The question: an environment, a policy acting in it, and a property to decide."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import (
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
    take_policy,
)
from surefoot.problem.property import Property, take_property
from surefoot.problem.property_printer import show_property
from surefoot.term.arguments import check_fields, take_instance, take_optional, take_text
from surefoot.term.lexer import shorten_text

LONGEST_PROPERTY = 80  # characters of it that are shown in a line about the problem


@dataclass(frozen=True, slots=True, repr=False)
class Problem:
    name: str
    environment: Environment
    policy: Policy | None  # None only for questions about the optimum
    property: Property

    def __post_init__(self) -> None:
        environment = take_instance(Environment)
        check_fields(
            self,
            name=take_text,
            environment=environment,
            policy=take_optional(take_policy),
            property=take_property,
        )

    def __repr__(self) -> str:
        """One line; the fields have everything."""
        variables, edges = (
            len(self.environment.variables),
            sum(len(c.edges) for c in self.environment.components),
        )
        counts = f"{variables} variable{'s' * (variables != 1)}, {edges} edge{'s' * (edges != 1)}"
        asked = shorten_text(show_property(self.property), LONGEST_PROPERTY)
        return f"<{type(self).__name__} {self.name}: {counts}; {_describe_policy(self.policy)}; {asked}>"


def _describe_policy(policy: Policy | None) -> str:
    match policy:
        case None:
            return "no policy"
        case NeuralPolicy(network=network):
            memory = f", memory of {len(network.memory)}" if network.memory else ""
            return f"network {network.observed} -> {network.decided}{memory}"
        case ProgramPolicy(branches=rules):
            return f"program of {len(rules)} rule{'s' * (len(rules) != 1)}"
        case ShieldedPolicy(policy=inside):
            return f"shield around {_describe_policy(inside)}"
        case OraclePolicy(name=name):
            return f"black box `{name}`"


def in_time(problem: Problem, time: str, method: str | None = None) -> Problem:
    """The same equations in `continuous` time or by `steps`; methods of the other one are replaced."""
    flow = problem.environment.flow
    if flow is None:
        raise Unsupported(
            f"`{problem.name}` has no differential equation: its steps are all that there is",
            fix="leave --time out, or write derivatives in `[flow]`",
        )
    continuous = time == "continuous"
    kept = flow.method if continuous is flow.continuous else None
    usual = "taylor" if continuous else "euler"
    changed = replace(flow, continuous=continuous, method=method or kept or usual)
    return replace(problem, environment=replace(problem.environment, flow=changed))
