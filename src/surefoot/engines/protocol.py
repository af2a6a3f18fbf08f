"""What every engine is: a frozen dataclass whose fields are its options, with two methods."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Verdict
from surefoot.work.budget import Budget


class Engine(Protocol):
    name: ClassVar[str]

    def objection(self, problem: Problem) -> str | None:
        """Why this engine cannot answer the problem, in one sentence; None if it can."""
        ...

    def check(self, problem: Problem, budget: Budget) -> Verdict: ...


class Turns(Protocol):
    """An engine at work on one problem, which goes on where it stopped."""

    def check(self, problem: Problem, budget: Budget) -> Verdict: ...


@runtime_checkable
class Resumable(Protocol):
    """An engine that can be asked for some time, and later again."""

    def begin(self, problem: Problem, seed: int) -> Turns: ...


class LookingTurns(Turns, Protocol):
    def look_first(self, problem: Problem, budget: Budget) -> Verdict:
        """A short look: the same amount of work whatever the clock says, if there is time for it."""
        ...


@runtime_checkable
class Falsifier(Protocol):
    """A resumable engine that looks for violations, and proves nothing."""

    refutes_only: ClassVar[bool]

    def begin(self, problem: Problem, seed: int) -> LookingTurns: ...
