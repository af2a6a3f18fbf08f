"""The question: an environment, a policy acting in it, and a property to decide."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.problem.environment import Environment
from surefoot.problem.policy import Policy
from surefoot.problem.property import Property


@dataclass(frozen=True, slots=True)
class Problem:
    name: str
    environment: Environment
    policy: Policy | None  # None only for questions about the optimum
    property: Property
