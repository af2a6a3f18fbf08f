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
from surefoot.problem.meaning.evaluate import evaluate
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, conforms, is_initial, step, transitions
from surefoot.problem.term import Term

State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refutation:
    """`barrier`: its value at the state; `after`: at the next one, if it is about a step."""

    state: dict[str, Any]
    barrier: Fraction
    chosen: dict[str, Any]
    following: dict[str, Any] | None = None
    after: Fraction | None = None


def value(barrier: Term, state: State) -> Fraction:
    """In rational numbers, whatever the arithmetic of the system is."""
    return Fraction(evaluate(barrier, {name: Fraction(x) for name, x in state.items()}))


def left_by_a_step(
    problem: Problem, barrier: Term, state: State, chosen: State, grows: bool = False
) -> Refutation | None:
    """The state is in the set and the next one is not. `grows`: instead, the barrier grows."""
    before = value(barrier, state)
    if not grows and before > 0:
        return None
    edge = problem.environment.components[0].edges[0]
    if not all(conforms(chosen[c.name], c.kind, problem.environment.arithmetic) for c in edge.chosen):
        return None
    try:
        (transition,) = transitions(problem, state)
        following = dict(step(problem, state, Move(transition, (0,), chosen)))
    except InvalidProblem:  # undefined there, or no step
        return None
    after = value(barrier, following)
    if after <= (before if grows else 0):
        return None
    return Refutation(dict(state), before, dict(chosen), following, after)


def unsafe_in_set(problem: Problem, barrier: Term, state: State) -> Refutation | None:
    """The state is in the set and unsafe."""
    before, bad = value(barrier, state), problem.property
    if before > 0 or not isinstance(bad, Never):
        return None
    environment = problem.environment
    unsafe = not all(conforms(state[v.name], v.kind, environment.arithmetic) for v in environment.variables)
    if not unsafe and not evaluate(bad.bad, state, environment.arithmetic):
        return None
    return Refutation(dict(state), before, {})


def start_outside(problem: Problem, barriers: Sequence[Term], state: State) -> Refutation | None:
    """A run may start there, and it is in none of the sets."""
    lowest = min(value(b, state) for b in barriers)
    if lowest <= 0 or not is_initial(problem.environment, state):
        return None
    return Refutation(dict(state), lowest, {})
