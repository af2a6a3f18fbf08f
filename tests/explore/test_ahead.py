"""States that are passed through: exactly those with one way on, in every tier; loops of them stay."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.explore.against_reference import explored_rows
from tests.solvers.markov.random_processes import Rows, random_rows, stretched
from tests.solvers.markov.written import one_of, problem

from surefoot.explore.exploration import Tier, explore_problem
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.limits import MOST_PASSED
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, TRUE, Const, Var, equal
from surefoot.term.value_types import Int

X = Var("x")
TIERS: tuple[Tier, ...] = ("interpreter", "llvm")


def only_way(rows: Rows, state: int, through: list[bool]) -> int | None:
    """Where a state leads that is passed through."""
    if not through[state] or len(rows[state]) != 1 or len(rows[state][0]) != 1:
        return None
    ((_, after, paid),) = rows[state][0]
    return None if paid or after == state else after


def may_lead_to(rows: Rows, state: int, kept: int, through: list[bool], starts: list[bool]) -> bool:
    """Is `kept` the end of the way from here, or on the loop that it comes to, or a start that stays?"""
    if kept == state and starts[state]:
        return True
    way = [state]
    while way[-1] not in way[:-1]:
        following = only_way(rows, way[-1], through)
        if following is None:
            return kept == way[-1]
        way.append(following)
    return kept in way[way.index(way[-1]) :]


@pytest.mark.parametrize("tier", TIERS)
def test_random_processes(tier: Tier) -> None:
    passed = 0
    for seed in range(100):
        draw = Random(seed)
        rows = stretched(random_rows(seed)[0], draw)
        starts = [s == 0 or draw.random() < 0.1 for s in range(len(rows))]
        through = [draw.random() < 0.9 for _ in rows]
        asked = problem(rows, Never(FALSE), starts)
        found = explore_problem(asked, labels={}, rewards=("cost",), through=one_of(through), tier=tier)
        for number in range(found.markov.states):
            state = found.valuation(number)["where"]
            choices = explored_rows(found, number)
            assert len(choices) == len(rows[state])
            for (_, ours), theirs in zip(choices, rows[state], strict=True):
                assert [(p, paid["cost"]) for p, _, paid in ours] == [(p, paid) for p, _, paid in theirs]
                for (_, ((_, kept),), _), (_, after, _) in zip(ours, theirs, strict=True):
                    assert may_lead_to(rows, after, kept, through, starts), (seed, state)
        passed += len(rows) - found.markov.states
    assert passed > 500


def walk(length: int, back: int, *more: Edge) -> Environment:
    """x counts to its last value and then goes back to `back`."""
    step = Edge(guard=length - 2 >= X, outcomes=(Outcome(Const(1), (Update(X, X + 1),)),))
    again = Edge(guard=equal(X, length - 1), outcomes=(Outcome(Const(1), (Update(X, Const(back)),)),))
    return Environment(
        "walk", (Variable("x", Int(0, length)),), equal(X, 0), (Component("c", (step, again, *more)),)
    )


def explored(where: Environment, tier: Tier, **more: Any) -> ExploredModel:
    wanted = Problem("walk", where, more.pop("policy", None), Never(FALSE))
    return explore_problem(
        wanted, labels={"end": equal(X, 9)}, rewards=("cost",), tier=tier, through=TRUE, **more
    )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("length", [2, 10, MOST_PASSED + 2, 3 * MOST_PASSED + 7])
def test_a_loop_is_kept(tier: Tier, length: int) -> None:
    found = explored(walk(length, 1), tier).markov
    assert found.states <= length  # which of its states are kept depends on how long it is
    assert not found.cut.any()
    assert (found.choices[1:] == found.choices[:-1] + 1).all()  # a run goes on for ever


@pytest.mark.parametrize("tier", TIERS)
def test_an_end_is_kept(tier: Tier) -> None:
    leap = Edge(guard=equal(X, 4), outcomes=(Outcome(Const(Fraction(1)), (Update(X, Const(10)),)),))
    where = walk(10, 0, leap)
    found = explored(where, tier)
    assert [found.valuation(i)["x"] for i in range(found.markov.states)] == [0, 4, 10]
    assert found.markov.choices.tolist() == [0, 1, 3, 3]


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_earned_stops(tier: Tier) -> None:
    paid = Edge(guard=equal(X, 4), outcomes=(Outcome(Const(1), (Update(X, Const(0)),), (("cost", X),)),))
    step = Edge(guard=X < 4, outcomes=(Outcome(Const(1), (Update(X, X + 1),)),))
    where = Environment("paid", (Variable("x", Int(0, 4)),), equal(X, 0), (Component("c", (step, paid)),))
    found = explored(where, tier)
    assert [found.valuation(i)["x"] for i in range(found.markov.states)] == [0, 4]


@pytest.mark.parametrize("tier", TIERS)
def test_the_policy_is_asked(tier: Tier) -> None:
    step = Edge(action="go", guard=equal(X % 3, 0), outcomes=(Outcome(Const(1), (Update(X, X + 1),)),))
    other = Edge(guard=equal(X % 3, 1) | equal(X, 2), outcomes=(Outcome(Const(1), (Update(X, X + 1),)),))
    where = Environment("asked", (Variable("x", Int(0, 9)),), equal(X, 0), (Component("c", (step, other)),))
    policy = ProgramPolicy((Branch(TRUE, "go"),), ("go",))
    found = explored(where, tier, policy=policy)
    assert [found.valuation(i)["x"] for i in range(found.markov.states)] == [0, 3, 5]


@pytest.mark.parametrize("tier", TIERS)
def test_errors_are_still_found(tier: Tier) -> None:
    step = Edge(outcomes=(Outcome(Const(1), (Update(X, X + 1),)),))
    where = Environment("errors", (Variable("x", Int(0, 9)),), equal(X, 0), (Component("c", (step,)),))
    with pytest.raises(Undefined, match=r"`x` becomes 10, outside its kind .* x = 9"):
        explored(where, tier)
