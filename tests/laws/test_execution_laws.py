"""The checker's unrolling agrees with the reference semantics on random finite systems.

Its formulas are evaluated in every state, and for every pair of states: a pair satisfies the move exactly if
a step of the reference leads from one to the other. On ties the formulas may hold of more, never of less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.finite_systems import KINDS, problems

from surefoot.certify.checker.claim import Places
from surefoot.certify.checker.execution.problem import Problem as Read
from surefoot.certify.checker.execution.problem import read_problem
from surefoot.certify.checker.execution.unroll import Moment
from surefoot.certify.checker.query import Formula, form, inner
from surefoot.certify.execution.canonical import canonical
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Environment, Int
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.problem.names import location_key
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, decision, holds, is_initial, successors, transitions


def satisfied(formula: Formula, values: Mapping[str, Fraction]) -> bool:
    if formula[0] == "and":
        return all(satisfied(part, values) for part in inner(formula))
    if formula[0] == "or":
        return any(satisfied(part, values) for part in inner(formula))
    total = sum((c * values[n] if n else c for n, c in form(formula).items()), Fraction(0))
    return {"<=": total <= 0, "<": total < 0, "=": total == 0}[str(formula[0])]


def states(environment: Environment) -> Iterator[State]:
    ranges: dict[str, list[Any]] = {}
    for variable in environment.variables:
        kind = variable.kind
        ranges[variable.name] = (
            list(range(kind.low or 0, (kind.high or 0) + 1)) if isinstance(kind, Int) else [False, True]
        )
    (component,) = environment.components
    if len(component.locations) > 1:
        ranges[location_key(component.name)] = list(range(len(component.locations)))
    for values in product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))


def numbers(problem: Problem, state: State, time: int) -> dict[str, Fraction]:
    found = {f"{name}@{time}": Fraction(value) for name, value in state.items()}
    made = decision(problem, state)
    outputs = made.outputs if made is not None and made.outputs is not None else ()
    return found | {f"output[{i}]@{time}": Fraction(o) for i, o in enumerate(outputs)}


def is_tied(problem: Problem, state: State) -> bool:
    made = decision(problem, state)
    return made is not None and made.outputs is not None and len(set(made.outputs)) < len(made.outputs)


def agrees(said: bool, true: bool, tied: bool) -> bool:
    return said is true or (tied and said)


def read(problem: Problem) -> Read | None:
    try:
        return read_problem(canonical(problem), Places(Path()))
    except Unsupported:
        return None


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_a_state_has_the_same_meaning(seed: int, kind: str) -> None:
    problem = problems(seed)[kind]
    if (found := read(problem)) is None:
        return
    moment = Moment(found, 0)
    initial, may_hold, may_fail = moment.initial(), moment.condition(True), moment.condition(False)
    ended, escape = moment.ended(), moment.escape()
    condition = next(
        iter(getattr(problem.property, n) for n in ("bad", "good") if hasattr(problem.property, n))
    )
    for state in states(problem.environment):
        values, tied = numbers(problem, state, 0), is_tied(problem, state)
        assert satisfied(initial, values) is is_initial(problem.environment, state)
        true = holds(problem, state, condition)
        assert agrees(satisfied(may_hold, values), true, tied)
        assert agrees(satisfied(may_fail, values), not true, tied)
        assert agrees(satisfied(ended, values), not transitions(problem, state), tied)
        assert agrees(any(satisfied(escape, values | p) for p in picks(found)), escapes(problem, state), tied)


def picks(found: Read) -> list[dict[str, Fraction]]:
    """All values of what the environment may pick: 0 or 1."""
    names = {v.name for v in Moment(found, 0).declared() if v.name.startswith("chosen[")}
    return [dict(zip(names, map(Fraction, bits), strict=True)) for bits in product((0, 1), repeat=len(names))]


def escapes(problem: Problem, state: State) -> bool:
    try:
        for _ in successors(problem, state):
            pass
    except Undefined:
        return True
    return False


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_a_step_has_the_same_meaning(seed: int) -> None:
    problem = problems(seed)["never"]
    if (found := read(problem)) is None:
        return
    move, several = Moment(found, 0).move(), picks(found)
    everything = list(states(problem.environment))
    for state in everything:
        values, after = numbers(problem, state, 0), reached(problem, state)
        tied = is_tied(problem, state) or escapes(problem, state)  # then the list of next states is cut off
        for other in everything:
            pair = values | {f"{name}@1": Fraction(v) for name, v in other.items()}
            said = any(satisfied(move, pair | pick) for pick in several)
            assert agrees(said, other in after, tied)


def reached(problem: Problem, state: State) -> list[State]:
    """The next states within their ranges."""
    found: list[State] = []
    steps = successors(problem, state)
    while True:
        try:
            found.append(next(steps).state)
        except (StopIteration, InvalidProblem):
            return found
