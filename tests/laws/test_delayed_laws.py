"""Laws of open outcomes: the values of the plain exploration, and certificates that the checker accepts."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.random_chains import problem

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.errors import SurefootError, Unsupported
from surefoot.explore.delayed import explorer, reduced_state, relevance, step
from surefoot.explore.delayed.reduced_state import ReducedState, Table
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Path, Probability
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Const, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact, PerStart, Verdict
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

SEEDS = range(90)
T, X, Y = Var("t"), Var("x"), Var("y")


def twins() -> Problem:
    """Two variables are drawn alike, the first one is read before the second: they are never different."""
    drawn = tuple(
        Outcome(Const(Fraction(1, 2)), (Update(X, Const(n)), Update(Y, Const(n)), Update(T, Const(1))))
        for n in (0, 1)
    )
    edges = [Edge(guard=equal(T, 0), outcomes=drawn)]
    edges += [
        Edge(guard=equal(T, 1) & equal(X, n), outcomes=(Outcome(updates=(Update(T, Const(2 + n)),)),))
        for n in (0, 1)
    ]
    kinds = (Variable("t", Int(0, 3)), Variable("x", Int(0, 1)), Variable("y", Int(0, 1)))
    start = equal(T, 0) & equal(X, 0) & equal(Y, 0)
    world = Environment("twins", kinds, start, (Component("c", tuple(edges)),))
    return Problem("twins", world, None, Probability(Path("F", equal(T, 2) & equal(Y, 1))))


def planted_problems() -> list[Problem]:
    return [twins(), *map(problem, SEEDS)]


def verdict_about(asked: Problem, tier: str) -> Exact | PerStart | None:
    """The exact answer, or None where there is none: the model may be undefined somewhere."""
    engine = Explicit(exact=True, tier=tier)  # type: ignore[arg-type]
    if engine.objection(asked) is not None:
        return None
    try:
        found: Verdict = engine.check(asked, Budget(30))
    except (SurefootError, Undefined):
        return None
    return found if isinstance(found, Exact | PerStart) else None


def ends_of(verdict: Exact | PerStart) -> list[Any]:
    if isinstance(verdict, Exact):
        return [(verdict.low, verdict.high)]
    return [
        (dict(state), v) for state, v in ((s, ends_of(x)) for s, x in verdict.table if isinstance(x, Exact))
    ]


def refusal(asked: Problem, verdict: Exact | PerStart) -> str:
    """Why the checker refuses the certificate; nothing if it accepts, or if there is none to be had."""
    try:
        certificate = build_process_certificate(asked, verdict)
    except Unsupported:
        return ""
    if certificate is None:
        return ""
    judged = judge_certificate(json.loads(json.dumps(certificate.content)))
    return "" if judged.accepted else judged.reason


def flaw_of(asked: Problem) -> str:
    """What is wrong with the answer that outcomes stay open for, beside that of the plain exploration."""
    plain, delayed = verdict_about(asked, "interpreter"), verdict_about(asked, "delayed")
    if delayed is None:
        return ""
    if plain is not None and ends_of(plain) != ends_of(delayed):
        return f"{ends_of(plain)} is {ends_of(delayed)} with open outcomes"
    return refusal(asked, delayed)


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_the_same_values_and_a_certificate(seed: int) -> None:
    assert flaw_of(problem(seed)) == ""


def test_most_questions_are_answered() -> None:
    both = [(verdict_about(problem(s), "interpreter"), verdict_about(problem(s), "delayed")) for s in SEEDS]
    answered = sum(delayed is not None for _, delayed in both)
    assert answered > 0.8 * sum(plain is not None for plain, _ in both) > 60


def _lose_correlation(row: Any, tables: Any, probabilities: Any, default: Any) -> ReducedState:
    """Every variable gets a source of its own."""
    numbers = dict(enumerate(sorted(tables)))
    apart = {slot: Table(n, tables[slot].values) for n, slot in numbers.items()}
    shares = {n: probabilities[tables[slot].source] for n, slot in numbers.items()}
    return reduced_state.canonical_state(row, apart, shares, default)


def _resolve_again(self: ReducedState, k: int) -> list[Any]:
    """The first column, whatever else was possible."""
    return [(sum(p for _, p in self.sources[k][1]), ReducedState(self.with_columns({k: 0}), ()))]


def _split_twice(self: ReducedState, k: int) -> list[Any]:
    """One variable of the source is known, the others stay as open as they were."""
    slots, columns = self.sources[k]
    found = []
    for column, probability in columns:
        row = list(self.row)
        row[slots[0]] = column[0]
        rest = {slot: self.table(slot) for slot in self.open if slot != slots[0]}
        shares = {n: [p for _, p in several] for n, (_, several) in enumerate(self.sources)}
        found.append((probability, reduced_state.canonical_state(row, rest, shares, self.row)))
    return found


def _forget_too_early(self: relevance.Relevance, roots: Any, live: Any, known: Any) -> frozenset[int]:
    return frozenset(roots)


def _never_wait(self: Any, state: ReducedState, enabled: Any) -> Any:
    """Whoever chooses does not see what is open."""
    bare = ReducedState(state.row, ())
    found = _LOOK_AT_STEPS(self, bare, enabled)
    return found if len(enabled) > 1 else _LOOK_AT_STEPS(self, state, enabled)


_LOOK_AT_STEPS = explorer.DelayedExplorer._look_at_steps


@pytest.mark.parametrize(
    ("place", "name", "instead"),
    [
        (step, "canonical_state", _lose_correlation),
        (ReducedState, "resolve_source", _resolve_again),
        (ReducedState, "resolve_source", _split_twice),
        (relevance.Relevance, "_close", _forget_too_early),
        (explorer.DelayedExplorer, "_look_at_steps", _never_wait),
    ],
    ids=["correlation lost", "one way out", "resolved twice", "forgotten too early", "blind choice"],
)
def test_a_planted_bug_is_refused(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, instead: Any
) -> None:
    """Somewhere the values of a damaged search differ, and the checker accepts none that does."""
    problems = planted_problems()
    true_values = [verdict_about(one, "interpreter") for one in problems]
    monkeypatch.setattr(place, name, instead)
    caught = 0
    for one, plain in zip(problems, true_values, strict=True):
        wrong = verdict_about(one, "delayed")
        if plain is None or wrong is None or ends_of(plain) == ends_of(wrong):
            continue
        assert refusal(one, wrong) != "", one.name
        caught += 1
    assert caught > 0
