"""Falsification by simulation: runs are made, thousands at a time, until one violates the property.

Random runs first (the baseline of every falsifier), with extreme disturbances and choices among them; then
runs that are bred to come nearer to a violation. What is found is made again by the reference semantics with
zero tolerance before it is an answer. That nothing is found says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from surefoot.engines.engine_text import show_changes
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.term.arguments import check_fields, take_in_range, take_optional, whole_number
from surefoot.verdict.verdict import Verdict
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.engines.falsify.continuous import ContinuousLooking
    from surefoot.engines.falsify.looking import Looking


@dataclass(frozen=True, slots=True, repr=False)
class Falsify:
    name: ClassVar[str] = "falsify"
    refutes_only: ClassVar[bool] = True

    steps: int | None = None
    """The longest run that is made; without it they grow to 4096 steps."""
    runs: int | None = None
    """Stop after so many runs; without it when the budget ends."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(
            self,
            steps=take_optional(take_in_range(whole_number, 0)),
            runs=take_optional(take_in_range(whole_number, 1)),
        )

    def objection(self, problem: Problem) -> str | None:
        from surefoot.engines.falsify.continuous import continuous_objection, is_in_continuous_time
        from surefoot.engines.falsify.looking import model_of_runs  # with all that simulates

        if is_in_continuous_time(problem):
            return continuous_objection(problem)
        if not isinstance(problem.property, Never | Within | Eventually | Recurs):
            kind = type(problem.property).__name__
            return f"falsify looks for runs that violate Never, Within, Eventually or Recurs, not {kind}"
        if problem.environment.overapproximate:
            return "the environment is an over-approximation: its runs may not exist"
        try:
            model_of_runs(problem)
        except SurefootError as why:
            return str(why)
        return None

    def begin(self, problem: Problem, seed: int) -> Looking | ContinuousLooking:
        """What goes on where it stopped, in turns."""
        from surefoot.engines.falsify.continuous import ContinuousLooking, is_in_continuous_time
        from surefoot.engines.falsify.looking import Looking

        if is_in_continuous_time(problem):
            return ContinuousLooking(problem, seed, self.steps, self.runs)
        return Looking(problem, seed, self.steps, self.runs)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        return self.begin(problem, budget.seed).check(problem, budget)
