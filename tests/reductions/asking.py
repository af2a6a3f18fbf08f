"""A problem unrolled, Z3 asked about it, and the same questions answered by the reference semantics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from surefoot.errors import InvalidProblem
from surefoot.problem import semantics
from surefoot.problem.problem import Problem
from surefoot.query.query import Sat, Undecided
from surefoot.reductions.unroll import Unrolling, encoding_objection, unroll
from surefoot.term.term import Const, Term, Var, conjunction_of, equal

pytest.importorskip("z3")
from surefoot.solvers.z3.solver import prepare_z3

State = dict[str, Any]


class Asked:
    """A problem unrolled, and Z3 asked about it."""

    def __init__(self, encoded: Unrolling) -> None:
        self.encoded = encoded
        self._ask = prepare_z3(encoded.query, 0)

    def __call__(self, *more: Term) -> dict[str, Any] | None:
        answer = self._ask(more, 20.0)
        assert not isinstance(answer, Undecided), answer
        return dict(answer.assignment) if isinstance(answer, Sat) else None

    def state(self, assignment: dict[str, Any], step: int) -> State:
        layout = self.encoded.system.layout
        values = {name: assignment[f"{name}@{step}"] for name in layout.kinds}
        return layout.invert(self.encoded.problem.environment, values)

    def is_state(self, state: State, step: int) -> Term:
        trees = self.encoded.system.layout.trees
        return conjunction_of(tuple(p for n, v in state.items() for p in _equals(trees[n], v, step)))

    def runs(self, start: State) -> set[Any]:
        """The moves and states that the encoding admits from a start, found by blocking each in turn."""
        found: set[Any] = set()
        blocked: list[Term] = [self.is_state(start, 0)]
        while (model := self(*blocked)) is not None:
            candidate = self.encoded.invert(model)
            after = [self.state(model, i + 1) for i in range(self.encoded.steps)]
            run = tuple((_move(m), _frozen(s)) for m, s in zip(candidate.moves, after, strict=True))
            assert run not in found, "a blocked run was found again"
            found.add(run)
            selectors = (equal(Var(f"move@{i}"), model[f"move@{i}"]) for i in range(self.encoded.steps))
            blocked.append(
                ~conjunction_of((*selectors, *(self.is_state(s, i + 1) for i, s in enumerate(after))))
            )
        return found


def _equals(tree: Any, value: Any, step: int) -> Iterator[Term]:
    if isinstance(tree, tuple):
        for part, inner in zip(tree, value, strict=True):
            yield from _equals(part, inner, step)
    else:
        yield equal(Var(f"{tree.name}@{step}"), Const(value))


def _move(move: semantics.Move) -> Any:
    return move.transition, move.outcomes


def _frozen(state: Any) -> Any:
    return tuple(sorted(state.items()))


def reference(problem: Problem, state: Any, steps: int) -> set[Any]:
    """The same runs by the reference semantics."""
    if steps == 0:
        return {()}
    return {
        ((_move(s.move), _frozen(s.state)), *rest)
        for s in semantics.enumerate_successors(problem, state)
        for rest in reference(problem, s.state, steps - 1)
    }


def well_defined(problem: Problem, state: Any) -> bool:
    try:
        list(semantics.enumerate_successors(problem, state))
    except InvalidProblem:
        return False
    return True


def unrolled(problem: Problem, steps: int, **options: bool) -> Asked:
    assert encoding_objection(problem) is None
    return Asked(unroll(problem, steps, from_initial=False, **options))


def check_state(problem: Problem, asked: Asked, state: State, conditions: list[Term]) -> None:
    """Conditions, ends and escapes agree with the reference; `asked` has no steps and no slack."""
    encoded, here = asked.encoded, asked.is_state(state, 0)
    escape = encoded.escape(0)
    fails = escape is not None and asked(here, escape) is not None
    assert fails is not well_defined(problem, state), state
    if fails:
        return
    assert (asked(here, encoded.ended_at(0)) is not None) is semantics.may_end(problem, state)
    for condition in conditions:
        try:
            expected = semantics.holds_in_state(problem, state, condition)
        except InvalidProblem:  # no such name here
            continue
        assert (asked(here, encoded.condition_at(condition, 0)) is not None) is expected, (condition, state)
        assert (asked(here, encoded.condition_at(~condition, 0)) is None) is expected, (condition, state)
