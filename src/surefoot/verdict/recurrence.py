"""The steps of a recurrence: from a state of a region to a state of the next one."""

from __future__ import annotations

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State, policy_decision
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import free_names
from surefoot.verdict.verdict import RecurrenceRegion


def recurrence_move(problem: Problem, state: State, region: RecurrenceRegion) -> Move:
    """The move that a region says, with the values picked in this state."""
    made = policy_decision(problem, state)
    names = {**state, **(made.controls if made else {})}
    arithmetic = problem.environment.arithmetic
    for _, term in region.chosen:
        if unknown := sorted(free_names(term) - set(names)):
            raise InvalidProblem(f"`{unknown[0]}` is neither a variable nor a control")
    picked = {name: evaluate_term(term, names, arithmetic) for name, term in region.chosen}
    return Move(region.transition, region.outcomes, picked)
