"""The question: an environment, a policy acting in it, and a property to decide."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.problem.environment import Environment
from surefoot.problem.policy import Policy, take_policy
from surefoot.problem.property import Property, take_property
from surefoot.term.arguments import check_fields, take_instance, take_optional, take_text


@dataclass(frozen=True, slots=True)
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
