"""A problem as the key of what was made for it."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.problem.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class ProblemIdentity:
    """A problem that is equal to itself only: comparing terms would take longer than it saves."""

    problem: Problem

    def __hash__(self) -> int:
        return id(self.problem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProblemIdentity) and other.problem is self.problem
