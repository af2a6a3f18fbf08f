"""Replay a counterexample with the reference semantics, step by step and with zero tolerance.

Nothing here knows a solver, an encoding or an engine. The answer is None, or the sentence that says where
the trace fails.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Recurs, Within
from surefoot.problem.semantics import State, apply_move, has_value_type, holds_in_state, is_initial, may_end
from surefoot.term.reserved_names import is_about_acting, location_key
from surefoot.term.term import FALSE, Term, free_names
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Arithmetic, Array, Real, ValueType
from surefoot.verdict.recurrence import recurrence_move
from surefoot.verdict.verdict import Trace

ROUNDS = 3  # of a recurrence that are made


def replay(problem: Problem, trace: Trace) -> str | None:
    """Why the trace does not refute the property; None if it does."""
    if trace.recurrence:
        return "that the run stays in the recurrence set cannot be replayed"
    if trace.times:
        return "a run in continuous time cannot be replayed step by step"
    try:
        return _replay_run(problem, trace) or _violation_objection(problem, trace)
    except InvalidProblem as error:  # a term without value, a move that is not permitted
        return str(error)


def replay_stem(problem: Problem, trace: Trace) -> str | None:
    """Why the trace does not lead into its recurrence set without a good state that matters.

    That a run can stay there for ever is for a certificate to show; here it does so for a few rounds.
    """
    if not trace.recurrence or trace.loop is not None:
        return "the trace has no recurrence set, or a loop as well"
    try:
        return _replay_run(problem, trace) or _replay_rounds(problem, trace)
    except (InvalidProblem, TypeError) as error:  # also a set that is no condition, in a file that says so
        return str(error)


def _replay_rounds(problem: Problem, trace: Trace) -> str | None:
    match problem.property:
        case Eventually(good):
            first = 0
        case Recurs(good):
            first = len(trace.states) - 1
        case _:
            return "a finite run violates this property; the trace claims a recurrence set"
    if (why := _good_state_objection(problem, trace, good, first)) is not None:
        return why
    state = trace.states[-1]
    for count in range(ROUNDS * len(trace.recurrence)):
        region = trace.recurrence[count % len(trace.recurrence)]
        if not holds_in_state(problem, state, region.where):
            return f"{count} steps after its last state the run is not in its recurrence set"
        if holds_in_state(problem, state, good):
            return f"{count} steps after its last state the run is in a good one"
        state = apply_move(problem, state, recurrence_move(problem, state, region))
    return None


def _replay_run(problem: Problem, trace: Trace) -> str | None:
    if len(trace.states) != len(trace.moves) + 1:
        return "the trace needs one move between each two states"
    if trace.loop is not None and not isinstance(problem.property, Eventually | Recurs):
        return "a finite run violates this property; the trace claims a loop"
    for number, state in enumerate(trace.states):
        if (why := _state_objection(problem.environment, state)) is not None:
            return f"state {number} {why}"
    if not is_initial(problem.environment, trace.states[0]):
        return "the trace does not start in an initial state"
    for number, move in enumerate(trace.moves):
        reached, claimed = apply_move(problem, trace.states[number], move), trace.states[number + 1]
        if reached != claimed:
            return f"step {number} leads to another state than the trace says"
    return None


def _state_names(environment: Environment) -> set[str]:
    """The keys of a state: every variable, and the location of every component that has several."""
    several = (c.name for c in environment.components if len(c.locations) > 1)
    return {v.name for v in environment.variables} | {location_key(name) for name in several}


def _state_objection(environment: Environment, state: State) -> str | None:
    """Why this is no state at all: other names, or a value of another kind than declared."""
    names = _state_names(environment)
    if set(state) != names:
        return f"lacks or does not know `{sorted(set(state) ^ names)[0]}`"
    for variable in environment.variables:
        value = state[variable.name]
        kind, arithmetic = variable.kind, environment.arithmetic
        if not has_value_type(value, kind, arithmetic) or not _has_types(value, kind, arithmetic):
            return f"gives `{variable.name}` the value {value!r}, which is not of its kind"
    for component in environment.components:
        index = state.get(location_key(component.name), 0)
        if type(index) is not int or not 0 <= index < len(component.locations):
            return f"puts `{component.name}` into a location that it does not have"
    return None


def _has_types(value: Any, kind: ValueType, arithmetic: Arithmetic) -> bool:
    """Real numbers are floats in float64 environments and exact in the others."""
    if isinstance(kind, Array):
        return all(_has_types(v, kind.element, arithmetic) for v in value)
    return not isinstance(kind, Real) or isinstance(value, float) is (arithmetic is Arithmetic.FLOAT64)


def _violation_objection(problem: Problem, trace: Trace) -> str | None:
    last = len(trace.states) - 1
    match problem.property:
        case Never(bad, steps):
            if steps is not None and last > steps:
                return f"the trace is longer than the {steps} steps asked about"
            return None if holds_in_state(problem, trace.states[last], bad) else "the last state is not bad"
        case NeverBefore(bad, goal, steps):
            return _before_goal(problem, trace, goal) or _violation_objection(
                replace(problem, property=Never(_where_it_ends(problem, trace, bad, goal), steps)), trace
            )
        case Within(good, steps, after):
            for number in range(after, min(last, steps) + 1):
                if holds_in_state(problem, trace.states[number], good):
                    return f"state {number} is good"
            if last < steps and not may_end(problem, trace.states[last]):
                return f"the run could go on after {last} of {steps} steps"
            return None
        case Eventually(good):
            return _lasso_objection(problem, trace) or _good_state_objection(problem, trace, good, 0)
        case Recurs(good):
            return _lasso_objection(problem, trace) or _good_state_objection(
                problem, trace, good, last if trace.loop is None else trace.loop
            )
        case other:
            return f"a trace cannot refute {type(other).__name__} yet"


def _before_goal(problem: Problem, trace: Trace, goal: Term) -> str | None:
    for number, state in enumerate(trace.states[:-1]):
        if holds_in_state(problem, state, goal):
            return f"state {number} satisfies the goal, before the run is bad"
    return None


def _where_it_ends(problem: Problem, trace: Trace, bad: Term, goal: Term) -> Term:
    """What is bad in the last state: where that satisfies the goal nobody acts any more."""
    acting = {name: FALSE for name in free_names(bad) if is_about_acting(name)}
    return (
        substitute_names(bad, acting) if acting and holds_in_state(problem, trace.states[-1], goal) else bad
    )


def _lasso_objection(problem: Problem, trace: Trace) -> str | None:
    """Why the run is neither maximal nor a lasso; None if it stands for a whole execution."""
    last = len(trace.states) - 1
    if trace.loop is None:
        if not may_end(problem, trace.states[last]):
            return f"the run could go on after {last} steps, and the trace claims no loop"
        return None
    if type(trace.loop) is not int or not 0 <= trace.loop < last:
        return f"the loop must lead back to one of the states before state {last}"
    if trace.states[trace.loop] != trace.states[last]:
        return f"the last state is another one than state {trace.loop}, to which the trace claims to return"
    return None


def _good_state_objection(problem: Problem, trace: Trace, good: Term, first: int) -> str | None:
    for number in range(first, len(trace.states)):
        if holds_in_state(problem, trace.states[number], good):
            return f"state {number} is good"
    return None
