"""From a solver's candidate to a run of the reference semantics.

A solver computes with tolerances and with networks that may be off by their rounding error; the run computed
here has neither. Only the initial state, the transitions and the chosen values are taken from the candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State, apply_move, free_choices, has_value_type, is_initial
from surefoot.term.float32 import round_to_float32
from surefoot.term.value_types import Array, Int, Real, ValueType
from surefoot.verdict.verdict import Reason, Refused, Trace

_SIMPLE = (
    10**6
)  # solvers' tolerances are smaller than the distance of fractions with such denominators matters


@dataclass(frozen=True, slots=True)
class CandidateRun:
    """Where a run may start and which moves it may make."""

    initial: State
    moves: tuple[Move, ...]


def concretise_run(
    problem: Problem, candidate: CandidateRun, *, from_initial: bool = True
) -> Trace | Refused:
    """The run that the candidate stands for, or the sentence why it is none."""
    first, again = concrete_runs(problem, candidate, from_initial=from_initial)
    return again if isinstance(first, Refused) and isinstance(again, Trace) else first


def concrete_runs(
    problem: Problem, candidate: CandidateRun, *, from_initial: bool = True
) -> Iterator[Trace | Refused]:
    """Both runs that the candidate may stand for, each or the sentence why it is none.

    Real values are put back into their kinds first. If that is not enough they are also rounded to simple
    fractions, which removes a solver's tolerance where the true value is one.
    """
    for simple in (False, True):
        yield _replay_candidate(
            problem, _repair_candidate(problem.environment, candidate, simple=simple), from_initial
        )


def _replay_candidate(problem: Problem, candidate: CandidateRun, from_initial: bool) -> Trace | Refused:
    states = [candidate.initial]
    try:
        if from_initial and not is_initial(problem.environment, candidate.initial):
            return Refused(Reason.SPURIOUS, "the run does not start in an initial state")
        for variable in problem.environment.variables:
            value = candidate.initial[variable.name]
            if not has_value_type(value, variable.kind, problem.environment.arithmetic):
                return Refused(Reason.SPURIOUS, f"`{variable.name}` starts outside its kind")
        for number, move in enumerate(candidate.moves):
            try:
                states.append(apply_move(problem, states[-1], move))
            except InvalidProblem as error:
                return Refused(Reason.SPURIOUS, f"step {number}: {error}")
    except InvalidProblem as error:
        return Refused(Reason.SPURIOUS, f"the initial state: {error}")
    return Trace(tuple(states), candidate.moves)


def _repair_candidate(environment: Environment, candidate: CandidateRun, *, simple: bool) -> CandidateRun:
    kinds = {v.name: v.kind for v in environment.variables}
    moves = []
    for move in candidate.moves:
        free = {c.name: c.kind for c in free_choices(environment, move.transition)}
        moves.append(Move(move.transition, move.outcomes, dict(_repair_values(move.chosen, free, simple))))
    return CandidateRun(dict(_repair_values(candidate.initial, kinds, simple)), tuple(moves))


def _repair_values(
    values: Mapping[str, Any], kinds: Mapping[str, ValueType], simple: bool
) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        yield name, _repair_value(value, kinds[name], simple) if name in kinds else value


def _repair_value(value: Any, kind: ValueType, simple: bool) -> Any:
    """The nearest value of this kind (of simple fractions, if asked)."""
    match kind:
        case Array(element):
            return tuple(_repair_value(v, element, simple) for v in value)
        case Int(low, high):
            return _clamp_value(value, low, high)
        case Real(low, high, float32):
            number = Fraction(value).limit_denominator(_SIMPLE) if simple else value
            if isinstance(value, float):  # in float64 limits are doubles
                low, high = (None if end is None else Fraction(float(end)) for end in (low, high))
                number = Fraction(float(number))
            inside = _clamp_value(number, low, high)
            inside = _float32_within(Fraction(inside), low, high) if float32 else inside
            return float(inside) if isinstance(value, float) else inside
        case _:
            return value


def _clamp_value(value: Any, low: Any, high: Any) -> Any:
    raised = value if low is None or value >= low else low
    return raised if high is None or raised <= high else high


def _float32_within(value: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    """The nearest float32 number, or its neighbour where that one is out of bounds."""
    nearest = round_to_float32(value)
    if high is not None and Fraction(float(nearest)) > high:
        nearest = np.nextafter(nearest, np.float32(-np.inf))
    elif low is not None and Fraction(float(nearest)) < low:
        nearest = np.nextafter(nearest, np.float32(np.inf))
    return Fraction(float(nearest))
