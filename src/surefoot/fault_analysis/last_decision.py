"""The last decision of one violating run that could have been different, by what suits the system."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from surefoot.engines.explicit.engine import count_values_at_most
from surefoot.errors import SurefootError
from surefoot.fault_analysis.bounded_fault import AHEAD, bounded_objection, fault_by_looking
from surefoot.fault_analysis.finite_fault import fault_by_region
from surefoot.fault_analysis.winning_region import (
    condition_objection,
    region_objection,
    solve_region,
    start_only_in,
)
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.verdict.fault import FaultFinding
from surefoot.verdict.verdict import Reason, Trace
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

EXPLORING = 0.7  # of the time, before it is looked ahead
LEAST_SECONDS, SHARE = 0.5, 0.3  # for a part of another answer: so long, or this share of the time it took
FEW_STEPS = 20  # ahead, beside another answer
FEW_STATES, MANY_TIMES = 100_000, 20  # explored beside another answer, of so many times more that may be
NO_TIME = "there was no time to find it: `surefoot faults` takes as long as it is given"


def as_played(problem: Problem) -> Problem:
    """The problem as it is executed, with a plain `never` instead of one that has a goal."""
    return end_at_goal(discretise(problem, continuous=True))


def held_objection(problem: Problem) -> str | None:
    """Why the steps of a run are no decisions: most of them only hold one."""
    flow = problem.environment.flow
    if flow is None or flow.continuous or flow.control_period == flow.step:
        return None
    return "a decision is held for several steps, and decisions are looked at step by step"


def fault_objection(problem: Problem) -> str | None:
    """Why nothing can be said about the decisions in a problem as it is played, in a sentence."""
    if problem.policy is None:
        return "nobody decides: the problem has no policy"
    if problem.environment.flow is not None:
        return "the run is one in continuous time, and decisions are looked at step by step"
    return condition_objection(problem)


def find_fault(
    problem: Problem,
    trace: Trace,
    budget: Budget,
    *,
    ahead: int = AHEAD,
    shield: ProgramPolicy | None = None,
    max_states: int | None = None,
) -> FaultFinding:
    """The fault of a run that violates the property of a problem as it is played (`as_played`).

    `max_states`: explore no more, and nothing where the kinds of variables have many more values.
    """
    if (why := fault_objection(problem)) is not None:
        return FaultFinding(unknown=why)
    told = ""
    if shield is None and region_objection(problem) is None and _is_worth_exploring(problem, max_states):
        alone = replace(problem, environment=start_only_in(problem.environment, trace.states[0]))
        try:
            region = solve_region(alone, budget.part(EXPLORING), max_states)
            found = fault_by_region(problem, trace, region, budget.remaining)
            if not found.unknown:
                return found
            told = found.unknown
        except SurefootError as why_not:
            told = str(why_not)
    if (why := bounded_objection(problem, trace)) is not None:
        return FaultFinding(unknown=told or why)
    return fault_by_looking(problem, trace, budget, ahead, shield)


def _is_worth_exploring(problem: Problem, max_states: int | None) -> bool:
    if max_states is None:
        return True
    most = MANY_TIMES * max_states
    kinds = [v.kind for v in problem.environment.variables]
    return prod(count_values_at_most(kind, most + 1) for kind in kinds) <= most


def find_fault_beside(problem: Problem, trace: Trace, budget: Budget, spent: float) -> FaultFinding | None:
    """The same as a part of an answer that took so many seconds: a small share of them; None: no policy."""
    seconds = min(budget.remaining(), max(LEAST_SECONDS, SHARE * spent))
    played = as_played(problem)
    if played.policy is None:
        return None
    if (why := held_objection(problem)) is not None:
        return FaultFinding(unknown=why)
    if seconds <= 0.0:
        return FaultFinding(unknown=NO_TIME)
    clock = Budget(0.9 * seconds, budget.seed)  # what is not known by then ends in time itself

    def look() -> FaultFinding:
        try:
            return find_fault(played, trace, clock, ahead=FEW_STEPS, max_states=FEW_STATES)
        except KeyboardInterrupt:  # what was asked for is known: it is told, and nothing else is begun
            return FaultFinding(unknown=Reason.INTERRUPTED.value)
        except (SurefootError, MemoryError, ArithmeticError) as error:  # the answer is known already
            return FaultFinding(unknown=f"it was not found: {error}")

    alarm = Budget(seconds)
    found = call_in_time(alarm, look, lambda: FaultFinding(unknown=NO_TIME), strictly=True)
    return FaultFinding(unknown=NO_TIME) if found.unknown and clock.is_spent() else found
