"""A stored run in continuous time, checked again.

Its certificate must be about the problem and about this run: the same start, choices and moment. The checker
does not read the other states, which are there for people: they have to lie in enclosures that are computed
once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import inf
from typing import Any

from surefoot.certify.reach.claim import matches_reach_claim
from surefoot.engines.reach.validate_run import NotShown, enclose_run_states, scalars_of_state
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Trace, Violated

DRAWN = 1e-3  # likewise, between the run as it was integrated and the middles of enclosures
NEAR = 1e-6  # relative to 1 and the value: what a state that is told may be outside of its enclosure


def flow_run_objection(
    problem: Problem,
    verdict: Violated,
    inputs: Mapping[str, str],
    accept: Callable[[Mapping[str, Any]], tuple[str, str]],
) -> str | None:
    """Why a run in continuous time is not shown to violate the property; None if it is."""
    if verdict.certificate is None:
        return "a run in continuous time violates a property by its certificate, and there is none"
    if verdict.trace.loop is not None or verdict.trace.recurrence:
        return "a run in continuous time has no loop"
    content = verdict.certificate.content
    if not matches_reach_claim(content, problem, inputs, "reach-violation"):
        return "the certificate is about another problem than the result"
    word, why = accept(content)
    if word != "accepted":
        return why
    try:
        return _run_mismatch(problem, verdict, content)
    except (SurefootError, NotShown, KeyError) as error:
        return f"the states of the run cannot be enclosed again: {error}"


def _run_mismatch(problem: Problem, verdict: Violated, content: Mapping[str, Any]) -> str | None:
    """Why the run that is told is not that of a certificate which the checker has accepted."""
    trace, walk = verdict.trace, content["reach"]
    flow = problem.environment.flow
    assert flow is not None
    period, (whole, piece) = Fraction(flow.control_period), walk["at"]
    last = (whole + Fraction(piece, walk["pieces"])) * period
    times = [n * period for n in range(whole + 1)] + ([last] if piece else [])
    if list(trace.times) != times:
        return "the run is told at other times than its certificate says"
    start = {name: Fraction(value) for name, value in walk["start"].items()}
    if scalars_of_state(problem, trace.states[0]) != start:
        return "the run starts elsewhere than its certificate says"
    chosen = [[Fraction(w) for w in values] for values in walk["chosen"]]
    told = [[Fraction(w) for w in move.chosen.values()] for move in trace.moves]
    if told != (chosen[: len(told)] or [[] for _ in told]):
        return "the environment chooses something else in the run than its certificate says"
    for number, (low, high) in enumerate(enclose_run_states(problem, start, chosen, walk)):
        found = scalars_of_state(problem, trace.states[number])
        for value, least, most in zip(found.values(), low, high, strict=True):
            slack = NEAR * (1 + abs(float(value)))
            if not least - slack <= float(value) <= most + slack:
                return f"state {number} of the run is none that it comes through"
    return _picture_mismatch(trace, verdict.artifact)


def _picture_mismatch(trace: Trace, drawn: object) -> str | None:
    """Why the points that are drawn are not those of the run, at times that both have."""
    if not isinstance(drawn, SuspectedRun):
        return None
    told = {float(time): state for time, state in zip(trace.times, trace.states, strict=True)}
    if drawn.times[0] != 0 or drawn.times[-1] > float(trace.times[-1]) + NEAR:
        return "the run is drawn at other times than it is told"
    for time, point in zip(drawn.times, drawn.states, strict=True):
        state = told.get(time)
        if state is not None and any(
            abs(point.get(name, inf) - float(value)) > DRAWN * (1 + abs(float(value)))
            for name, value in state.items()
        ):
            return f"the run is drawn through another state at time {time:.6g} than it is told"
    return None
