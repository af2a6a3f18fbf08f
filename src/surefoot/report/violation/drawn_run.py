"""Runs as they are drawn: numbers over time, of everything that a property speaks of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, nan
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Recurs, Timed, Within
from surefoot.problem.semantics import names_in_state
from surefoot.reductions.discretise import discretise
from surefoot.report.violation.condition_parts import number_text
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Term, Var, free_names, split_target
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Trace


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run by the values of names in each of its states; a state without values has none."""

    label: str
    times: tuple[float, ...]
    names: tuple[Mapping[str, Any], ...]
    loop: int | None = None
    classes: str = ""  # of its elements in a page

    def values_of(self, term: Term, arithmetic: Arithmetic) -> tuple[float, ...]:
        """The numbers of a term; not a number where it has none."""
        return tuple(_number_of(term, names, arithmetic) for names in self.names)


def _number_of(term: Term, names: Mapping[str, Any], arithmetic: Arithmetic) -> float:
    try:
        value = names[term.name] if isinstance(term, Var) else evaluate_term(term, names, arithmetic)
        return nan if isinstance(value, tuple) else float(value)
    except (InvalidProblem, KeyError, OverflowError):
        return nan


@dataclass(frozen=True, slots=True)
class WatchedCondition:
    condition: Term
    kind: str  # `bad` or `goal`


def watched_conditions(problem: Problem) -> tuple[WatchedCondition, ...]:
    """What states are judged by."""
    match problem.property:
        case Never(bad):
            return (WatchedCondition(bad, "bad"),)
        case NeverBefore(bad, goal):
            return WatchedCondition(bad, "bad"), WatchedCondition(goal, "goal")
        case Within(good) | Eventually(good) | Recurs(good):
            return (WatchedCondition(good, "goal"),)
        case Timed(plain):
            return watched_conditions(replace(problem, property=plain))
        case _:
            return ()


def draw_traces(problem: Problem, traces: Sequence[Trace], wanted: Collection[str]) -> tuple[DrawnRun, ...]:
    """Runs of the reference with the values of variables and of the wanted names."""
    executed, factor = discretise(problem, continuous=True), time_factor(problem.environment)
    several = len(traces) > 1
    return tuple(
        DrawnRun(
            f"run {number}: {count_noun(len(trace.moves), 'step')}" if several else "",
            tuple(map(float, trace.times or (n * factor for n in range(len(trace.states))))),
            tuple(_values_in_state(executed, state, wanted) for state in trace.states),
            trace.loop,
            f"witness witness-{number}" if several else "",
        )
        for number, trace in enumerate(traces, 1)
    )


def draw_flow_run(found: SuspectedRun, trace: Trace) -> DrawnRun:
    """As it was integrated, and on to the moment at which its violation is shown."""
    later = [(float(t), s) for t, s in zip(trace.times, trace.states, strict=True) if t > found.times[-1]]
    numbers = [{name: float(value) for name, value in state.items()} for _, state in later]
    return DrawnRun("", (*found.times, *(t for t, _ in later)), (*found.states, *numbers))


def _values_in_state(problem: Problem, state: Mapping[str, Any], wanted: Collection[str]) -> dict[str, Any]:
    try:
        return names_in_state(problem, state, wanted)
    except InvalidProblem:
        return {}


def time_factor(environment: Environment) -> Fraction:
    """How long a step lasts: that of the flow, where all edges follow it, else 1."""
    flow = environment.flow
    if flow is None:
        return Fraction(1)
    flowing = {name for name, _ in flow.derivatives}
    updates = [u for c in environment.components for e in c.edges for o in e.outcomes for u in o.updates]
    return Fraction(1) if any(split_target(u.target)[0] in flowing for u in updates) else flow.step


def time_unit(environment: Environment) -> str:
    follows = environment.flow is not None and (
        environment.flow.continuous or time_factor(environment) == environment.flow.step
    )
    return "time" if follows else "step"


def moment_of(problem: Problem, run: DrawnRun) -> tuple[float, str] | None:
    """When a run has violated the property, and words for that; None: it goes on for ever."""
    last = run.times[-1]
    when = f"{time_unit(problem.environment)} {number_text(last)}"
    match problem.property:
        case Never() | NeverBefore() | Timed(Never() | NeverBefore()):
            return last, f"violated at {when}"
        case Within(_, steps) if len(run.times) > steps:
            return last, f"not reached until {when}"
        case Timed(Eventually(), Fraction() | int() as until) if last >= until:
            return last, f"not reached until {when}"
        case _ if run.loop is None:
            return last, f"ends at {when}"
        case _:
            return None


def names_of_conditions(conditions: Sequence[WatchedCondition]) -> frozenset[str]:
    return frozenset(n for one in conditions for n in free_names(one.condition))


def is_drawable(values: Sequence[float]) -> bool:
    return any(isfinite(v) for v in values)
