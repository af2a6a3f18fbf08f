"""Shields of systems with real variables that actions move: a set is found, proved, and put to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from surefoot.engines.reach import Reach
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.run import verify
from surefoot.search.shield_cost import ShieldCost, measure_shield_cost
from surefoot.shields.export.switched_code import c_switched, python_switched
from surefoot.shields.finite.arena import ask_for_ever
from surefoot.shields.switched.sliding_set import find_sliding_sets
from surefoot.shields.switched.switched_shield import SwitchedShield, make_switched_shield
from surefoot.shields.switched.switched_system import SwitchedSystem, read_switched_system
from surefoot.term.term import Term
from surefoot.verdict.verdict import Proved, Result
from surefoot.work.budget import Budget

TRIED = 8  # candidates that are put to proof
SHARE = 0.5  # of the time that is left, for the proof of one of them
RUNS, STEPS = 500, 500  # of what is simulated to tell the cost


@dataclass(frozen=True, slots=True, eq=False)
class SwitchedSynthesis:
    """The shield with the proof of its set; `cost`: what was seen in runs, if the problem has a policy."""

    shield: SwitchedShield
    proof: Result
    cost: ShieldCost | None = None
    tried: int = 1

    @property
    def is_accepted(self) -> bool:
        """Did the checker accept that the program keeps the set?"""
        return isinstance(self.proof.verdict, Proved) and self.proof.certified

    @property
    def covered(self) -> Fraction:
        """The share of the starts, by volume, from which the shield is proved to keep the system safe."""
        return self.shield.covered_share() if self.is_accepted else Fraction(0)

    def promise(self) -> str:
        """What holds behind the shield, in a sentence."""
        where = "every start and " if self.covered == 1 else ""
        asked = show_property(self.shield.problem.property)
        return f"From {where}every state in the set, whatever is proposed: {asked}."

    def certified_about(self) -> str:
        """What the checker has followed, and what stands beside it."""
        if not self.is_accepted:
            return "nothing"
        worst = max(self.shield.obligation.errors, default=0)
        rounding = f", with rounding errors of up to {float(worst):.2g} in each step" if worst else ""
        return (
            "the program never leaves the set and is never bad there, for ever"
            f"{rounding}: followed by the independent checker in coordinates of the set. That these are "
            "coordinates of the model (an exact inverse) and the bound of the rounding are computed here"
        )

    def python(self) -> str:
        return python_switched(self.shield, self.promise())

    def c(self, file: str) -> tuple[str, str]:
        return c_switched(self.shield, self.promise(), file)


def is_moved_by_real_steps(problem: Problem) -> bool:
    """Actions, no controls, and real variables: what this kind of shield is for."""
    try:
        read_switched_system(ask_for_ever(problem))
    except SurefootError:
        return False
    return True


def is_meant_as_switched(problem: Problem) -> bool:
    """Likewise, or something of actions that does not fit; what does not is then said."""
    environment = problem.environment
    edges = [edge for component in environment.components for edge in component.edges]
    return not environment.controls and any(edge.action is not None for edge in edges)


def make_switched_synthesis(
    problem: Problem, budget: Budget, goals: Mapping[str, Term] | None = None
) -> SwitchedSynthesis:
    """Find a set and prove it; `Unsupported` says why there is none."""
    problem = ask_for_ever(problem)
    system = read_switched_system(problem)
    found = _prove_some_set(problem, system, budget)
    shielded = found.shield.shielded_problem()
    if shielded is None or not found.is_accepted or budget.is_spent():
        return found
    assert isinstance(shielded.policy, ShieldedPolicy)
    budget.progress(f"{RUNS} runs with and without the shield")
    cost = measure_shield_cost(shielded, system.bad, goals or {}, RUNS, STEPS, budget)
    return replace(found, cost=cost)


def _prove_some_set(problem: Problem, system: SwitchedSystem, budget: Budget) -> SwitchedSynthesis:
    last: SwitchedSynthesis | None = None
    why = "no set was found that one of two actions, pushing in opposite directions, never leaves"
    for number, candidate in enumerate(find_sliding_sets(system, budget), 1):
        if number > TRIED or budget.is_spent():
            break
        try:
            shield = make_switched_shield(problem, system, candidate)
        except Unsupported as error:
            why = error.what
            continue
        budget.progress(
            f"set {number}: {float(shield.covered_share()) * 100:.0f} % of the starts; to be proved"
        )
        part = budget.begin_part(budget.remaining() * SHARE)
        last = SwitchedSynthesis(shield, verify(shield.obligation.problem, Reach(), part), tried=number)
        if last.is_accepted:
            return last
    if last is None:
        raise Unsupported(f"there is no shield: {why}", fix="give more time, or a program of your own")
    return last
