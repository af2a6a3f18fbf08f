"""States that refute a set {B <= 0}, evaluated by the reference meaning: exactly, with zero tolerance.

Nothing here knows how a state was found. The barrier's value is computed in rational numbers at the state as
it is; the step is made in the arithmetic of the problem, by its policy, with the controls as they are
clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, apply_move, has_value_type, is_initial, permitted_transitions
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Term

State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BarrierCounterexample:
    """`barrier`: its value at the state; `after`: at the next one, if it is about a step."""

    state: dict[str, Any]
    barrier: Fraction
    chosen: dict[str, Any]
    following: dict[str, Any] | None = None
    after: Fraction | None = None


def evaluate_barrier(barrier: Term, state: State) -> Fraction:
    """In rational numbers, whatever the arithmetic of the system is."""
    return Fraction(evaluate_term(barrier, {name: Fraction(x) for name, x in state.items()}))


def confirm_escaping_step(
    problem: Problem, barrier: Term, state: State, chosen: State, grows: bool = False
) -> BarrierCounterexample | None:
    """The state is in the set and the next one is not. `grows`: instead, the barrier grows."""
    before = evaluate_barrier(barrier, state)
    if not grows and before > 0:
        return None
    edge = problem.environment.components[0].edges[0]
    if not all(has_value_type(chosen[c.name], c.kind, problem.environment.arithmetic) for c in edge.chosen):
        return None
    try:
        (transition,) = permitted_transitions(problem, state)
        following = dict(apply_move(problem, state, Move(transition, (0,), chosen)))
    except InvalidProblem:  # undefined there, or no step
        return None
    after = evaluate_barrier(barrier, following)
    if after <= (before if grows else 0):
        return None
    return BarrierCounterexample(dict(state), before, dict(chosen), following, after)


def confirm_unsafe_member(problem: Problem, barrier: Term, state: State) -> BarrierCounterexample | None:
    """The state is in the set and unsafe."""
    before, bad = evaluate_barrier(barrier, state), problem.property
    if before > 0 or not isinstance(bad, Never):
        return None
    environment = problem.environment
    unsafe = not all(
        has_value_type(state[v.name], v.kind, environment.arithmetic) for v in environment.variables
    )
    if not unsafe and not evaluate_term(bad.bad, state, environment.arithmetic):
        return None
    return BarrierCounterexample(dict(state), before, {})


def confirm_uncovered_start(
    problem: Problem, barriers: Sequence[Term], state: State
) -> BarrierCounterexample | None:
    """A run may start there, and it is in none of the sets."""
    lowest = min(evaluate_barrier(b, state) for b in barriers)
    if lowest <= 0 or not is_initial(problem.environment, state):
        return None
    return BarrierCounterexample(dict(state), lowest, {})
