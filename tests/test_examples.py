"""The answers in the table of examples, checked by visiting every state."""

from collections.abc import Hashable

import pytest

from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state
from surefoot.problem.validate import validate_problem
from tests.examples import EXAMPLES, Example

DEEPEST = 12


def key(state: State) -> Hashable:
    return tuple(sorted(state.items()))


def after(problem: Problem, state: State) -> list[State]:
    return [s.state for s in enumerate_successors(problem, state)]


def shortest_violation(problem: Problem) -> int | None:
    """The number of steps of a shortest violating run, by trying all runs level by level.

    For infinite violations: steps until a state without good repeats (stem and loop together).
    """
    paths = [[s] for s in enumerate_initial_states(problem.environment, 1000)]
    assert paths
    for length in range(DEEPEST):
        if any(violates(problem, path) for path in paths):
            return length
        paths = [[*path, state] for path in paths for state in after(problem, path[-1])]
    return None


def violates(problem: Problem, path: list[State]) -> bool:
    ended = not after(problem, path[-1])
    match problem.property:
        case Never(bad, steps):
            return (steps is None or len(path) - 1 <= steps) and holds_in_state(problem, path[-1], bad)
        case Within(good, steps, start):
            seen = any(holds_in_state(problem, s, good) for s in path[start:])
            return not seen and (len(path) - 1 == steps or (ended and len(path) - 1 < steps))
        case Eventually(good):
            seen = any(holds_in_state(problem, s, good) for s in path)
            return not seen and (ended or key(path[-1]) in {key(s) for s in path[:-1]})
        case Recurs(good):
            if ended:
                return not holds_in_state(problem, path[-1], good)
            loops = [i for i, s in enumerate(path[:-1]) if key(s) == key(path[-1])]
            return any(not any(holds_in_state(problem, s, good) for s in path[i:]) for i in loops)
    raise AssertionError(problem.property)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_the_answer_is_right(example: Example) -> None:
    validate_problem(example.problem)
    assert shortest_violation(example.problem) == example.steps
    assert example.holds == (example.steps is None)


def test_names_are_unique() -> None:
    assert len({e.name for e in EXAMPLES}) == len(EXAMPLES)


def test_both_answers_occur_for_every_kind_of_property() -> None:
    for kind in (Never, Within, Eventually, Recurs):
        answers = {e.holds for e in EXAMPLES if isinstance(e.problem.property, kind)}
        assert answers == {True, False}
