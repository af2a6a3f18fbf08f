"""Runs that an environment prolongs by habit: it always picks its values in the same way.

A habit makes of each edge's free choices terms of the state: the value that the variable which it sets has
now, half way from there to an end of its range, or a constant. A run that follows a habit for long without a
good state may be one that can do so for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Choice, Edge
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Recurs
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    State,
    apply_move,
    holds_in_state,
    permitted_transitions,
)
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Bool, Int, Real, ValueType
from surefoot.verdict.recurrence import recurrence_move
from surefoot.verdict.verdict import RecurrenceRegion, Trace

ENVIRONMENT_STRATEGIES = (
    "keep",
    "last",
    "towards low",
    "towards high",
    "towards zero",
    "low",
    "high",
    "middle",
)
_TRUE = Const(True)
_MOST_BITS = 2000  # of a number in a run; beyond, the run is long enough


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """A run, and for each of its steps what the environment did, as a region without limits."""

    trace: Trace
    steps: tuple[RecurrenceRegion, ...]  # of the moves after the first `len(trace.moves) - len(steps)`


def follow_strategy(problem: Problem, run: Trace, habit: str, most: int) -> StrategyRun | None:
    """The run, prolonged until `most` steps in a row have met no good state; None if that does not happen.

    For `Recurs` good states may come before, for a while; `steps` are those after the last of them.
    """
    try:
        return _extend_run(problem, run, habit, most)
    except InvalidProblem:  # it comes to a state in which something has no value
        return None


def _extend_run(problem: Problem, run: Trace, habit: str, most: int) -> StrategyRun | None:
    assert isinstance(problem.property, Eventually | Recurs)
    good, last = problem.property.good, _last_picks(run)
    patience = most if isinstance(problem.property, Recurs) else 0
    states, moves, steps = list(run.states), list(run.moves), list[RecurrenceRegion]()
    was_good = holds_in_state(problem, states[-1], good)
    while len(steps) < most:
        found = list(_strategy_steps(problem, states[-1], habit, last, good))
        quiet = [way for way, is_good in found if not is_good]
        if not found or (not quiet and not patience):
            return None
        region, move, state = (quiet or [way for way, _ in found])[0]
        steps = [*steps, region] if quiet and not was_good else []
        was_good = not quiet
        patience -= was_good
        moves.append(move)
        states.append(state)
        if _is_long(state):
            break
    return StrategyRun(Trace(tuple(states), tuple(moves)), tuple(steps))


def _strategy_steps(
    problem: Problem, state: State, habit: str, last: Mapping[str, Any], good: Term
) -> Iterator[tuple[tuple[RecurrenceRegion, Move, State], bool]]:
    """The steps from here by this habit, and whether they lead to a good state; none after a quiet one."""
    environment = problem.environment
    for transition in permitted_transitions(problem, state):
        edges = [environment.components[c].edges[e] for c, e in transition.edges]
        chosen = tuple((c.name, _choose_value(habit, c, e, last)) for e in edges for c in e.chosen)
        if len(edges) > 1:
            continue
        for outcome in range(len(edges[0].outcomes)):
            region = RecurrenceRegion(_TRUE, transition, (outcome,), chosen)
            try:
                move = recurrence_move(problem, state, region)
                after = apply_move(problem, state, move)
                is_good = holds_in_state(problem, after, good)
            except (NotAStep, InvalidProblem):
                continue
            yield (region, move, after), is_good
            if not is_good:
                return


def _last_picks(run: Trace) -> dict[str, Any]:
    """What was picked last, by name."""
    return {name: value for move in run.moves for name, value in move.chosen.items()}


def _choose_value(habit: str, choice: Choice, edge: Edge, last: Mapping[str, Any]) -> Term:
    """What a habit picks; where it does not apply, what was picked last or a constant."""
    current = next(_set_by(choice, edge), None)
    low, high = _type_bounds(choice.kind)
    smooth = isinstance(choice.kind, Real) and not choice.kind.float32
    if habit == "keep" and current is not None:
        return current
    if habit.startswith("towards") and smooth and current is not None:
        end = {"towards low": low, "towards high": high, "towards zero": Fraction(0)}[habit]
        if end is not None:
            return (current + Const(end)) / 2 if end else current / 2
    if habit == "last" and choice.name in last and not isinstance(last[choice.name], tuple):
        return Const(last[choice.name])
    return _constant_choice(habit, choice.kind)


def _set_by(choice: Choice, edge: Edge) -> Iterator[Var]:
    """The variables that are set to the picked value."""
    for outcome in edge.outcomes:
        for update in outcome.updates:
            if update.value == Var(choice.name) and isinstance(update.target, Var):
                yield update.target


def _type_bounds(kind: ValueType) -> tuple[Fraction | None, Fraction | None]:
    match kind:
        case Real(low, high) | Int(low, high):
            return (None if low is None else Fraction(low), None if high is None else Fraction(high))
        case _:
            return None, None


def _constant_choice(habit: str, kind: ValueType) -> Term:
    if isinstance(kind, Bool):
        return Const(habit in ("high", "towards high"))
    low, high = _type_bounds(kind)
    bottom, top = (low if low is not None else high), (high if high is not None else low)
    if bottom is None or top is None:
        return Const(0)
    if habit in ("high", "towards high"):
        return Const(top)
    if habit == "middle":
        middle = (bottom + top) / 2
        return Const(middle if isinstance(kind, Real) else Fraction(middle.__floor__()))
    return Const(max(min(Fraction(0), top), bottom) if habit in ("keep", "towards zero") else bottom)


def _is_long(state: State) -> bool:
    numbers = [v for value in state.values() for v in (value if isinstance(value, tuple) else (value,))]
    return any(
        max(v.numerator.bit_length(), v.denominator.bit_length()) > _MOST_BITS
        for v in numbers
        if isinstance(v, Fraction)
    )
