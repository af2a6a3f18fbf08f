"""Runs that end where the answer cannot change any more, and bounds on rewards."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.engines.statistical.chains import X, chance, mix, system

from surefoot.engines.explicit import Explicit
from surefoot.engines.pctl_question import pctl_question
from surefoot.engines.statistical import Statistical
from surefoot.engines.statistical.answer import watched_runs
from surefoot.engines.statistical.out_of_reach import still_possible
from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.simulate.simulator import make_simulator
from surefoot.term.parser import parse_term
from surefoot.term.term import TRUE, Const, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Estimated, Exact
from surefoot.work.budget import Budget

HALF = Fraction(1, 2)
COARSE = Statistical(eps=Fraction(1, 50))


def coin(text: str) -> Problem:
    """Heads at 2, tails at 0; both stay there for ever."""
    toss = Edge(action="go", guard=equal(X, Const(1)), outcomes=chance((HALF, Const(2)), (HALF, Const(0))))
    stay = Edge(action="go", guard=~equal(X, Const(1)))
    return system((toss, stay), text)


def circles(text: str) -> Problem:
    """Tails goes round 3, 4, 5 with rests at each, and never comes back."""
    toss = Edge(action="go", guard=equal(X, Const(1)), outcomes=chance((HALF, Const(2)), (HALF, Const(3))))
    stay = Edge(action="go", guard=equal(X, Const(2)))
    onward = chance((HALF, Const(3) + (X - 2) % 3), (HALF, X))
    return system((toss, stay, Edge(action="go", guard=X > 2, outcomes=onward)), text, top=5)


FORMULAS = [
    ("P=? [ F x = 2 ]", HALF),
    ("P=? [ G x < 2 ]", HALF),
    ("P=? [ x = 1 U x = 2 ]", HALF),
    ("P=? [ x < 2 W x > 4 ]", HALF),
    ("P=? [ x = 2 R x > 0 ]", None),
    ("P=? [ X x = 2 ]", HALF),
    ("P=? [ F<=3 x = 2 ]", HALF),
    ("P=? [ G<=100000 x < 2 ]", None),
    ("P=? [ F[2,100000] x = 2 ]", HALF),
]


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS])
@pytest.mark.parametrize("make", [coin, circles])
def test_absorbing_states_and_closed_sets(make: Any, text: str) -> None:
    problem = make(text)
    found, value = COARSE.check(problem, Budget(60)), Explicit().check(problem, Budget(60))
    assert isinstance(found, Estimated)
    assert isinstance(value, Exact)
    assert value.low is not None
    assert found.counts["undecided"] == 0
    assert found.stop == "precise enough"
    assert found.low <= value.low <= found.high
    assert found.high - found.low <= Fraction(1, 25)


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS])
@pytest.mark.parametrize("make", [coin, circles])
def test_both_tiers_end_the_same_runs(make: Any, text: str) -> None:
    asked, path = watched_runs(make(text), pctl_question(make(text).property, "max"))
    fast, slow = (make_simulator(asked, path, max_steps=700, tier=t) for t in ("llvm", "interpreter"))
    for first in (0, 40):
        one, other = fast.runs(3, None, first, 40), slow.runs(3, None, first, 40)
        assert one.outcome.tolist() == other.outcome.tolist()
        assert one.steps.tolist() == other.steps.tolist()


def test_a_goal_that_is_surely_reached_some_time() -> None:
    rare = Edge(
        action="go",
        guard=X < 2,
        outcomes=chance((Fraction(1, 10**7), Const(2)), (1 - Fraction(1, 10**7), 1 - X)),
    )
    found = replace(COARSE, max_steps=1000).check(system((rare,), "P=? [ F x = 2 ]"), Budget(60))
    assert isinstance(found, Estimated)
    assert found.counts["succeeded"] == found.counts["runs"]


def test_what_is_not_proved_stays_undecided() -> None:
    """It looks closed for any number of runs, and is not."""
    found = replace(COARSE, max_steps=500).check(mix(HALF, HALF, leaving=Fraction(1, 10**9)), Budget(60))
    assert isinstance(found, Estimated)
    assert found.counts["undecided"] > 0
    assert found.high == 1


@pytest.mark.parametrize("make", [coin, circles])
def test_rewards_until_a_goal_that_is_out_of_reach(make: Any) -> None:
    engine = replace(COARSE, least=Fraction(0), most=Fraction(10**6))
    assert engine.check(make("E=? [ steps until x = 2 ]"), Budget(60)) == Exact(None, None, None)
    computed = Explicit().check(make("E=? [ steps until x = 2 ]"), Budget(60))
    assert isinstance(computed, Exact)
    assert computed.low is None
    counted = COARSE.check(make("E=? [ steps for 20 steps ]"), Budget(60))
    assert isinstance(counted, Estimated)
    assert counted.low <= 20 <= counted.high


def test_locations_from_which_there_is_no_way() -> None:
    edges = (
        Edge(source="a", outcomes=(Outcome(target="b"),)),
        Edge(source="a", outcomes=(Outcome(target="c"),)),
        Edge(source="b", outcomes=(Outcome(updates=(Update(X, X + 1),), target="b"),)),
    )
    part = Component("c", edges, ("a", "b", "c"), ("a",))
    system = Environment("parts", (Variable("x", Int(0, 9)),), equal(X, 0), (part,))
    assert still_possible(parse_term("at(c, b)"), system) == parse_term("at(c, a) or at(c, b)")
    assert still_possible(parse_term("at(c, c) and x > 3"), system) == parse_term("at(c, a) or at(c, c)")
    assert still_possible(parse_term("not at(c, b)"), system) == parse_term("at(c, a) or at(c, c)")
    assert still_possible(parse_term("at(c, c) or x > 3"), system) == TRUE
    assert still_possible(parse_term("x > 3"), system) == TRUE


def earning() -> Problem:
    """Two components that earn together: 1 or 2 in each step of the one, 1/2 in every step of the other."""
    throw = tuple(Outcome(Const(HALF), (Update(X, X + 1),), (("cost", Const(amount)),)) for amount in (1, 2))
    other = Outcome(rewards=(("cost", Const(HALF)),))
    return Problem(
        "earning",
        Environment(
            "earning",
            (Variable("x", Int(0, 6)),),
            equal(X, 0),
            (
                Component("one", (Edge(action="go", guard=X < 6, outcomes=throw),)),
                Component("two", (Edge(action="go", outcomes=(other,)),)),
            ),
            synchronisations=(Synchronisation(("go", "go"), "go"),),
        ),
        None,
        parse_property("P=? [ F{cost}<=5 (x = 3) ]"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "P=? [ F{cost}<=6 (x = 3) ]",
        "P=? [ F{cost}<6.5 (x = 3) ]",
        "P=? [ G{cost}<=6 (x < 3) ]",
        "P=? [ F{cost}[5.5,6] (x = 3) ]",
        "P=? [ (x < 4) U{cost}<=7 (x = 3) ]",
    ],
)
def test_bounds_on_rewards(text: str) -> None:
    problem = replace(earning(), property=parse_property(text))
    value = Explicit().check(problem, Budget(60))
    assert isinstance(value, Exact)
    assert value.low is not None
    assert 0 < value.low < 1
    found = COARSE.check(problem, Budget(60))
    assert isinstance(found, Estimated)
    assert found.low <= value.low <= found.high
    asked, path = watched_runs(problem, pctl_question(problem.property, "max"))
    fast, slow = (make_simulator(asked, path, max_steps=50, tier=t) for t in ("llvm", "interpreter"))
    one, other = fast.runs(1, None, 0, 50), slow.runs(1, None, 0, 50)
    assert (one.outcome.tolist(), one.steps.tolist()) == (other.outcome.tolist(), other.steps.tolist())


def test_a_bound_on_what_may_fall_is_refused() -> None:
    loss = Outcome(rewards=(("cost", Const(1) - X),))
    problem = system((Edge(action="go", outcomes=(loss,)),), "P=? [ F{cost}<=2 (x = 3) ]")
    assert "may be negative" in str(COARSE.objection(problem))


def test_a_bound_on_a_fraction_of_the_state() -> None:
    """Such a counter is no whole number, so that the runs are interpreted."""
    up = tuple(Outcome(Const(HALF), (Update(X, X + d),), (("cost", X / 3),)) for d in (0, 1))
    problem = system((Edge(action="go", guard=X < 4, outcomes=up),), "P=? [ F{cost}<=2 (x = 3) ]")
    value, found = Explicit().check(problem, Budget(60)), COARSE.check(problem, Budget(60))
    assert isinstance(value, Exact)
    assert isinstance(found, Estimated)
    assert value.low is not None
    assert 0 < value.low < 1
    assert found.low <= value.low <= found.high
