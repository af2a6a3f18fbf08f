"""The search for an inductive invariant among bounds, and its use in a later proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.invariant_search import template_bounds
from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.run import verify
from surefoot.search import SearchSettings, find_invariant, verify_assuming
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, TRUE, Term, Var, disjunction_of, equal
from surefoot.term.value_types import Int, Real
from surefoot.verdict.artifact import Invariant
from surefoot.verdict.verdict import Found, Proved, Reason, Result, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

X, N = Var("x"), Var("n")
ANY = ProgramPolicy((Branch(TRUE, "go"),))


def halving(bad: Term) -> Problem:
    """x' = x/2 + w with |w| <= 1 starts in [-1, 1]: it stays in [-2, 2], and no smaller interval is kept."""
    wide = Real(Fraction(-100), Fraction(100))
    edge = Edge(
        action="go",
        chosen=(Choice("w", Real(Fraction(-1), Fraction(1))),),
        outcomes=(Outcome(updates=(Update(X, X / 2 + Var("w")),)),),
    )
    start = (X >= -1) & (X <= 1)
    where = Environment("halving", (Variable("x", wide),), start, (Component("plant", (edge,)),))
    return Problem("halving", where, ANY, Never(bad))


def search(problem: Problem, *templates: tuple[str, int, int], precision: str = "0.5") -> Result:
    moving = [
        b
        for text, low, high in templates
        for b in template_bounds(
            problem, parse_bound_template(text, problem), Fraction(low), Fraction(high), Fraction(precision)
        )
    ]
    return find_invariant(problem, tuple(moving), SearchSettings(Bmc(), Budget(60)))


def test_bounds_are_weakened_until_no_step_leaves_them() -> None:
    result = search(halving(X > 3), ("x<=", 0, 50), ("x>=", -50, 0))
    assert isinstance(result.verdict, Found)
    assert isinstance(result.verdict.artifact, Invariant)
    assert [o.name for o in result.verdict.artifact.obligations] == [
        "every start is inside",
        "every bad state is outside",
        "no step leads out",
    ]
    words = [outcome for _, outcome in result.verdict.artifact.candidates]
    assert "a step leaves it: weakened" in words
    assert result.certified
    bound = result.verdict.artifact.condition
    assert "x <= 2" in show_term(bound) or "x <= 2.5" in show_term(bound)


def test_where_weakening_went_too_far_it_is_taken_back() -> None:
    result = search(halving(Fraction(17, 8) < X), ("x<=", 0, 50), ("x>=", -50, 0), precision="0.25")
    assert isinstance(result.verdict, Found)
    assert isinstance(result.verdict.artifact, Invariant)
    assert any("strengthened" in outcome for _, outcome in result.verdict.artifact.candidates)


def test_there_is_none_if_the_bad_states_can_be_reached_in_the_limit() -> None:
    verdict = search(halving(Fraction(3, 2) <= X), ("x<=", 0, 50), ("x>=", -50, 0)).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.detail.startswith("no bounds on this grid")


def test_a_range_that_ends_too_early() -> None:
    verdict = search(halving(X > 3), ("x<=", 0, 1), ("x>=", -50, 0)).verdict
    assert isinstance(verdict, Unknown)
    assert "widest bounds" in verdict.detail
    outside = search(halving(X > 3), ("x<=", -9, 0), ("x>=", -50, 0)).verdict
    assert isinstance(outside, Unknown)
    assert "some start is outside" in outside.detail


def test_no_start_at_all_is_vacuous() -> None:
    problem = halving(X > 3)
    empty = replace(problem, environment=replace(problem.environment, initial=(X > 1) & (X < 0)))
    assert isinstance(search(empty, ("x<=", 0, 50)).verdict, Vacuous)
    assert isinstance(search(replace(problem, property=Never(FALSE)), ("x<=", 0, 50)).verdict, Vacuous)


def test_only_never_has_invariants_and_only_variables_bounds() -> None:
    problem = halving(X > 3)
    with pytest.raises(Unsupported, match="of another kind"):
        search(replace(problem, property=Recurs(X < 1)), ("x<=", 0, 5))
    with pytest.raises(Unsupported, match="name variables"):
        search(problem, ("2*x<=", 0, 5))


def jumping() -> Problem:
    """From 0 round 0, 2, 4; from odd numbers, which are never reached, round 1, 3, 5 and then to 9."""
    pairs = ((0, 2), (2, 4), (4, 0), (5, 7), (7, 5), (7, 9), (9, 9), (1, 3), (3, 5), (8, 8), (6, 6))
    moves = disjunction_of(tuple(equal(N, a) & equal(Var("m"), b) for a, b in pairs))
    outcome = Outcome(updates=(Update(N, Var("m")),))
    edge = Edge(action="go", chosen=(Choice("m", Int(0, 9)),), assuming=moves, outcomes=(outcome,))
    where = Environment("jumping", (Variable("n", Int(0, 9)),), equal(N, 0), (Component("w", (edge,)),))
    return Problem("jumping", where, ANY, Never(equal(N, 9)))


def test_a_proved_invariant_helps_a_later_proof() -> None:
    problem, first = jumping(), Induction(depth=1)
    assert isinstance(verify(problem, first, Budget(60)).verdict, Unknown)
    result = verify_assuming(problem, N <= 4, SearchSettings((Bmc(), Induction()), Budget(60)))
    assert isinstance(result.verdict, Proved)
    assert any("with the invariant n <= 4, which was proved first" in note for note in result.notes)
    assert result.certified


def test_an_assumption_that_is_wrong_or_unproved_is_not_used() -> None:
    problem = jumping()
    with pytest.raises(Unsupported, match="the assumed invariant is wrong"):
        verify_assuming(problem, N <= 2, SearchSettings((Bmc(), Induction()), Budget(60)))
    unproved = verify_assuming(problem, ~equal(N, 9), SearchSettings(Induction(depth=1), Budget(60)))
    assert isinstance(unproved.verdict, Unknown)
    assert unproved.verdict.reason is Reason.INCOMPLETE


def test_a_violation_found_with_an_invariant_is_one_of_the_problem() -> None:
    problem = replace(jumping(), property=Never(equal(N, 4)))
    result = verify_assuming(problem, N <= 4, SearchSettings((Bmc(), Induction()), Budget(60)))
    assert isinstance(result.verdict, Violated)
    assert result.certified
