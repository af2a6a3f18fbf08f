"""Recurrence sets: what they refute, and what must not be taken for one."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.engines.never_returning import NEW, VIOLATED, B, X, moving, picked

from surefoot.certify.evidence import certify_verdict
from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.recurrence import Recurrence
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs
from surefoot.problem.semantics import holds_in_state
from surefoot.report.result_text import render
from surefoot.run import verify
from surefoot.search import SearchSettings, verify_assuming
from surefoot.solvers import SOLVERS
from surefoot.term.term import Const, Term
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Holds, Proved, RecurrenceRegion, Trace, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget


@pytest.mark.parametrize("name", VIOLATED)
def test_a_run_that_never_returns_is_found_and_certified(name: str) -> None:
    problem = VIOLATED[name]
    result = verify(problem, Recurrence(), Budget(60))
    found = result.verdict
    assert isinstance(found, Violated), found
    assert result.certified
    assert found.certificate is not None
    assert found.certificate.kind == "recurrence"
    assert found.trace.loop is None
    assert holds_in_state(problem, found.trace.states[-1], found.trace.recurrence[0].where)
    told = render(problem, result)
    assert "accepted by the independent checker" in told
    assert "leads into" in told


@pytest.mark.parametrize("name", ["halves", "picked", "network"])
def test_the_native_solver_finds_them_too(name: str) -> None:
    result = verify(VIOLATED[name], Recurrence(SOLVERS["native"]()), Budget(60))
    assert isinstance(result.verdict, Violated)
    assert result.certified


def test_the_portfolio_looks_for_them() -> None:
    problem = VIOLATED["halves"]
    alone = verify(problem, Bmc(depth=5), Budget(20)).verdict
    assert isinstance(alone, Holds)
    assert not alone.as_asked
    result = verify(problem, budget=Budget(60))
    assert isinstance(result.verdict, Violated)
    assert result.engine.startswith("Recurrence(")


def test_two_sets_in_turn_and_locations() -> None:
    for name, value in (("two sets", "x"), ("locations", "b")):
        found = verify(VIOLATED[name], Recurrence(), Budget(60)).verdict
        assert isinstance(found, Violated)
        assert len(found.trace.recurrence) == 2
        assert len({r.where for r in found.trace.recurrence}) == 2
        assert value in str(found.trace.recurrence[0].where)


def test_a_good_state_in_the_stem_saves_eventually_but_not_recurs() -> None:
    for asked in (Eventually(X >= 1), Recurs(X >= 1)):
        found = verify(moving(X / 2, asked), Recurrence(), Budget(30)).verdict
        assert isinstance(found, Violated) is isinstance(asked, Recurs)
    held = verify(moving(X / 2, Eventually(X >= 1)), budget=Budget(30)).verdict
    assert isinstance(held, Proved)


def test_a_run_that_becomes_good_in_the_end_is_not_refuted() -> None:
    for asked in (Eventually(Fraction(1, 100) >= X), Recurs(Fraction(1, 100) >= X)):
        problem = moving(X / 2, asked)
        assert isinstance(verify(problem, Recurrence(), Budget(20)).verdict, Unknown)


@pytest.mark.parametrize(
    "assuming",
    [
        X + Fraction(1, 10) < NEW,  # x must rise by more than 1/10, up to 1: after ten steps nothing is left
        (NEW > X) & (NEW < X),
        (NEW > X) & (Fraction(3, 4) > X) & (Fraction(3, 4) < NEW),
    ],
)
def test_where_the_assumption_cannot_be_kept_there_is_no_run(assuming: Term) -> None:
    problem = picked(assuming, Recurs(X < 0))
    assert isinstance(verify(problem, Recurrence(depth=3), Budget(20)).verdict, Unknown)
    every = verify(replace(problem, property=Eventually(X < 0)), budget=Budget(4)).verdict
    assert isinstance(every, Unknown | Vacuous), every


def claimed(problem: Problem, where: Term, *chosen: tuple[str, Term]) -> Unknown | Violated:
    """What becomes of an engine's claim that the start of `moving` or `picked` is in such a set."""
    region = RecurrenceRegion(where, Transition(((0, 0),), "go"), (0,), chosen)
    start = {"x": Fraction(1) if not chosen else Fraction(1, 2)}
    verdict = Violated(Trace((start,), (), None, (region,)))
    evidence = certify_verdict(problem, verdict, "milp", {}, {}, Budget(20))
    assert isinstance(evidence.verdict, Unknown | Violated)
    assert evidence.certified is isinstance(evidence.verdict, Violated)
    return evidence.verdict


def test_a_set_that_a_run_must_leave_is_refused() -> None:
    halves = moving(X / 2, Eventually(Fraction(1, 100) >= X))
    assert isinstance(claimed(halves, Fraction(1, 100) < X), Unknown)  # it is left after seven steps
    assert isinstance(claimed(halves, X > 0), Unknown)  # some of its states are good
    assert isinstance(claimed(halves, X < 1), Unknown)  # the start is not in it
    assert isinstance(claimed(moving(X / 2, Eventually(X <= 0)), X > 0), Violated)
    assert isinstance(claimed(moving(X / 2, Never(X <= 0)), X > 0), Unknown)


def test_a_pick_against_the_assumption_is_refused() -> None:
    rising = picked(NEW > X, Recurs(X < 0))
    assert isinstance(claimed(rising, X < 1, ("new", (X + 1) / 2)), Violated)
    assert isinstance(claimed(rising, X <= 1, ("new", (X + 1) / 2)), Unknown)  # not from 1
    assert isinstance(claimed(rising, X < 1, ("new", X)), Unknown)
    assert isinstance(claimed(rising, X < 1, ("new", X + Fraction(1, 4))), Unknown)  # out of its range
    assert isinstance(claimed(rising, X < 1, ("new", Const(True))), Unknown)
    assert isinstance(claimed(rising, X < 1, ("new", B)), Unknown)  # there is no such name


def test_an_answer_without_certificate_is_unknown_and_says_why() -> None:
    """A product of two numbers that vary is beyond certificates."""
    problem = moving(X * X / 2, Eventually(X <= 0))
    verdict = claimed(problem, X > 0)
    assert isinstance(verdict, Unknown)
    assert "not certified" in verdict.detail


def test_with_an_invariant_that_was_proved_first() -> None:
    """What is found with the invariant is certified of the problem itself."""
    problem = moving(X / 2, Eventually(X <= 0))
    result = verify_assuming(problem, X <= 1, SearchSettings((Induction(), Recurrence()), Budget(30)))
    assert isinstance(result.verdict, Violated)
    assert result.certified
    assert result.verdict.certificate is not None
    assert json.loads(json.dumps(run_problem_to_json(problem))) == claim_of(result.verdict)["problem"]


def claim_of(verdict: Violated) -> Any:
    assert verdict.certificate is not None
    return json.loads(json.dumps(verdict.certificate.content))["claim"]


def test_what_is_not_for_this_engine() -> None:
    engine = Recurrence()
    assert "this property is Never" in str(engine.objection(moving(X / 2, Never(X <= 0))))
    assert engine.objection(moving(X / 2, Eventually(X <= 0))) is None
    no_policy = replace(moving(X / 2, Eventually(X <= 0)), policy=None)
    assert "needs a policy" in str(engine.objection(no_policy))


def test_without_bounds() -> None:
    """x rises by 1 for ever; a proof needs bounds, so this is open or certified, never wrong."""
    problem = moving(X + 1, Eventually(X <= 0), kind=Real(None, None))
    result = verify(problem, Recurrence(), Budget(20))
    assert isinstance(result.verdict, Violated | Unknown)
    assert result.certified is isinstance(result.verdict, Violated)
