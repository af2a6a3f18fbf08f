"""Shields of systems with finitely many states, and what is proved about whoever acts behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.influence import is_about_states
from surefoot.errors import Unsupported
from surefoot.explore.initial_states import LateStarts
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Path,
    Probability,
    Recurs,
    Timed,
    Within,
)
from surefoot.run import verify
from surefoot.shields.export.action_shield import c_actions, python_actions
from surefoot.shields.finite.arena import ask_for_ever, bad_condition, is_finite_environment
from surefoot.shields.finite.safest_strategy import MOST_EXACT
from surefoot.shields.finite.shield import FiniteShield, action_table, examples_of, finite_shield
from surefoot.solvers.markov import MarkovUndecided
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Term
from surefoot.verdict.verdict import Exact, Proved, Result
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time


@dataclass(frozen=True, slots=True, eq=False)
class FiniteSynthesis:
    """`anybody`: about whoever acts behind the shield. `alone`, `behind`: the model's own policy.

    After an interruption what was not asked yet is None; without an answer about anybody nothing is proved.
    """

    shield: FiniteShield
    bound: Fraction
    anybody: Result | None
    alone: Result | None
    behind: Result | None
    interrupted: bool = False

    @property
    def kept_by_anybody(self) -> bool:
        """Is it proved that whoever acts behind the shield keeps the bound, from every start?"""
        match None if self.anybody is None else self.anybody.verdict:
            case Proved():
                return self.is_accepted
            case Exact(_, Fraction() as high):
                return self.is_accepted and high <= 1 - self.bound
            case _:
                return False

    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides."""
        told = list(self.shield.notes())
        if self.bound < 1 and self.anybody is not None and not self.kept_by_anybody:
            told.append(
                "risks that are permitted one by one add up over a run: only the safest actions are shown to "
                f"keep to {1 - self.bound}, not whoever acts behind the shield (`anybody`)"
            )
        return tuple(told)

    @property
    def safe_start_count(self) -> tuple[int, int]:
        """How many starts the safest actions keep as safe as asked for, of how many."""
        initial = self.shield.arena.markov.initial
        return int(self.shield.safest.kept[initial].sum()), len(initial)

    @property
    def is_accepted(self) -> bool:
        return (
            self.anybody is not None
            and self.anybody.certified
            and self.safe_start_count[0] == self.safe_start_count[1]
        )

    def certified_about(self) -> str:
        """What the accepted certificate says, in a sentence."""
        if not self.is_accepted or self.anybody is None:
            return "nothing"
        if isinstance(self.anybody.verdict, Proved):
            bad = show_term(bad_condition(self.shield.problem))
            return f"never {bad}, whoever acts behind the shield, from every start"
        return (
            "the probability in `anybody`, whoever acts behind the shield; that permitted actions keep the "
            "bound is computed exactly, and not certified"
        )

    def promise(self) -> str:
        bad = show_term(bad_condition(self.shield.problem))
        if self.bound == 1 and self.anybody is not None and isinstance(self.anybody.verdict, Proved):
            return f"Proved: from every start, whoever acts, never {bad}."
        return (
            "Computed exactly, not certified: after every permitted action, taking the safest ones from then "
            f"on avoids {bad} with probability {self.bound}{' or more' if self.bound < 1 else ''}."
        )

    def python(self) -> str:
        """The permitted actions as a Python module."""
        return python_actions(action_table(self.shield, self.promise()))

    def c(self, file: str) -> tuple[str, str]:
        """The permitted actions as a C header and a C file with this name."""
        return c_actions(action_table(self.shield, self.promise()), file, examples_of(self.shield))


def make_finite_shield(
    problem: Problem, bound: Fraction, budget: Budget, goals: Mapping[str, Term] | None = None
) -> FiniteSynthesis | str:
    """The shield with what is known about it, or what the time ended."""

    def attempt() -> FiniteSynthesis | str:
        return _synthesise_finite(ask_for_ever(problem), bound, budget, goals)

    try:
        return call_in_time(budget, attempt, lambda: "the time ended before there was a shield")
    except (LateStarts, MarkovUndecided, Unsupported) as why:
        if not budget.is_spent():
            raise
        return str(why)


def is_moved_by_actions(problem: Problem) -> bool:
    """Finitely many states and no controls."""
    environment = problem.environment
    return not environment.controls and environment.flow is None and is_finite_environment(environment)


def _synthesise_finite(
    problem: Problem, bound: Fraction, budget: Budget, goals: Mapping[str, Term] | None = None
) -> FiniteSynthesis:
    """The shield, what is proved about everybody, and about the policy of the model with and without it.

    An interruption before there is a shield is handed on: a part of it would permit too much. Later it ends
    the questions about the shield, and what was answered is kept.
    """
    shield = finite_shield(problem, 1 - bound, budget, goals=goals)
    anybody = alone = guarded = None
    try:
        asked = replace(shield.anybody(), property=_safety_property(problem, bound))
        anybody = verify(asked, Explicit(), budget)
        few = shield.arena.markov.states <= MOST_EXACT
        match anybody.verdict:
            case Exact(Fraction() as low, Fraction() as high) if few and low <= 1 - bound < high:
                anybody = verify(asked, Explicit(exact=True), budget)  # bounds do not tell
        if (behind := shield.shielded_problem()) is not None:
            chance = Probability(Path("F", bad_condition(problem)), None, "max")
            alone = _verify_uncertified(replace(problem, property=chance), budget)
            guarded = _verify_uncertified(replace(behind, property=chance), budget)
    except KeyboardInterrupt:
        return FiniteSynthesis(shield, bound, anybody, alone, guarded, interrupted=True)
    return FiniteSynthesis(shield, bound, anybody, alone, guarded)


def reachability_goals(problems: Mapping[str, Problem], about: Problem) -> dict[str, Term]:
    """What other properties of the same environment want to be reached, as far as it is about states."""
    found: dict[str, Term] = {}
    for name, problem in problems.items():
        match problem.property:
            case (
                Eventually(goal)
                | Recurs(goal)
                | Within(goal)
                | NeverBefore(_, goal)
                | Timed(Eventually(goal) | NeverBefore(_, goal))
            ):
                found[name] = goal
            case Probability(Path("F" | "U", goal)) | Expected(_, goal):
                found[name] = goal
    bad = bad_condition(ask_for_ever(about))
    kept: dict[Term, str] = {}
    for name, goal in found.items():
        same = problems[name].environment == about.environment and problems[name].property != about.property
        if same and goal not in (bad, FALSE) and is_about_states(goal):
            kept.setdefault(goal, name)
    return {name: goal for goal, name in kept.items()}


def _verify_uncertified(problem: Problem, budget: Budget) -> Result:
    return verify(problem, Explicit(), budget, certificates=False)


def _safety_property(problem: Problem, bound: Fraction) -> Never | Probability:
    bad = bad_condition(problem)
    return Never(bad) if bound == 1 else Probability(Path("F", bad), None, "max")
