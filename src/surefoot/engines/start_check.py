"""The first states of runs, where a step is more than a solver takes: is one of them bad already?

What is asked is a problem without steps: the same states, and nobody who acts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from surefoot.engines.bounded_check import BoundedCheck, Clear
from surefoot.engines.protocol import Engine
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.unroll import encoding_objection, unroll
from surefoot.solvers.protocol import Solver
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import free_names
from surefoot.verdict.verdict import Reason, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

ONLY_STARTS = "only the starts were looked at"
NOT_LOOKED_AT = Unknown(Reason.INCOMPLETE, "the starts were not looked at")


@runtime_checkable
class StartChecker(Engine, Protocol):
    """An engine that can look at the starts of a problem whose steps it cannot take."""

    def check_start(self, problem: Problem, budget: Budget) -> Verdict:
        """Unknown without any knowledge: it cannot do that either."""
        ...


def check_first_states(problem: Problem, solver: Solver, budget: Budget) -> Verdict:
    """A bad start, that there is no start, or that no start is bad, as far as that is found out."""
    still = remove_steps(problem)
    if still is None or encoding_objection(still) is not None:
        return NOT_LOOKED_AT
    encoded = unroll(still, 0)
    if solver.objection(encoded.query_with(encode_violation(encoded))) is not None:
        return NOT_LOOKED_AT
    try:
        found = BoundedCheck(still, solver, budget).examine(0, deeper=False)
    except Late:
        return NOT_LOOKED_AT
    match found:
        case Violated() | Vacuous():
            return found
        case Clear():
            return Unknown(Reason.INCOMPLETE, ONLY_STARTS, 0, solver.name)
        case _:
            return NOT_LOOKED_AT


def remove_steps(problem: Problem) -> Problem | None:
    """The starts as a problem of their own; None: the property is about more than states."""
    if not isinstance(problem.property, Never) or problem.environment.flow is not None:
        return None
    names = {v.name for v in problem.environment.variables}
    asked = free_names(problem.property.bad) - names
    if any(location_parts(name) is None for name in asked):
        return None  # what the policy does there
    still = tuple(replace(component, edges=()) for component in problem.environment.components)
    environment = replace(problem.environment, components=still, controls=(), synchronisations=())
    return replace(problem, environment=environment, policy=None, property=replace(problem.property, steps=0))
