"""Runs that violate a property are found, in every kind of system; what is found replays."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.problem.environment import (
    Choice,
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Recurs, Within
from surefoot.problem.window import window
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name, location_name, network_output_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.verdict.verdict import Reason, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

x, d = Var("x"), Var("d")
AT_ZERO = equal(x, 0)


def falsify(problem: Problem, seconds: float = 60, seed: int = 0, **options: int) -> Verdict:
    """What is found replays."""
    executed = discretise(problem)
    ending, engine = end_at_goal(executed), Falsify(**options)
    assert engine.objection(ending) is None
    found = engine.check(ending, Budget(seconds, seed))
    if isinstance(found, Violated):
        assert replay(executed, found.trace) is None
    return found


def steps(found: Verdict) -> int:
    assert isinstance(found, Violated), found
    return len(found.trace.moves)


def counter(asked: Property, high: int = 9, start: Term = AT_ZERO) -> Problem:
    """It counts up or begins again, as it likes."""
    up = Edge("main", "up", guard=x < high, outcomes=(Outcome(1, (Update(x, x + 1),), target="main"),))
    again = Edge("main", "again", guard=x > 2, outcomes=(Outcome(1, (Update(x, Const(0)),), target="main"),))
    environment = Environment("counter", (Variable("x", Int(0, high)),), start, (_single(up, again),))
    return Problem("counter", environment, None, asked)


def _single(*edges: Edge) -> Component:
    return Component("main", edges, ("main",), ("main",))


@pytest.mark.parametrize(
    ("asked", "length"),
    [
        (Never(equal(x, 7)), 7),
        (Never(equal(x, 7), 7), 7),
        (NeverBefore(equal(x, 7), equal(x, 20)), 7),
        (Within(equal(x, 5), 4), 4),
        (Within(equal(x, 0), 6, 2), None),
        (Eventually(equal(x, 9)), None),
        (Recurs(equal(x, 9)), None),
    ],
)
def test_every_property_is_refuted_by_a_short_run(asked: Property, length: int | None) -> None:
    found = falsify(counter(asked))
    assert isinstance(found, Violated)
    if length is not None:
        assert steps(found) == length


@pytest.mark.parametrize(
    "asked", [Never(x > 9), Never(equal(x, 7), 6), Within(x >= 0, 3), Eventually(x >= 0), Recurs(x < 9)]
)
def test_nothing_is_found_where_nothing_is(asked: Property) -> None:
    found = falsify(counter(asked), runs=500)
    assert isinstance(found, Unknown)
    assert found.reason is Reason.INCOMPLETE
    assert "none of 500 runs" in found.detail


def test_a_run_begins_at_its_last_start_and_has_no_way_round() -> None:
    assert steps(falsify(counter(Never(equal(x, 8)), start=x < 7))) <= 8
    assert steps(falsify(counter(Never(equal(x, 4))), seed=3)) == 4


def test_starts_that_an_equation_ties_together() -> None:
    names = [f"a{i}" for i in range(6)]
    total = Var("a0")
    for name in names[1:]:
        total = total + Var(name)
    move = Edge(
        "main",
        "move",
        guard=(Var("a0") > 0) & (Var("a1") < 20),
        outcomes=(
            Outcome(1, (Update(Var("a0"), Var("a0") - 1), Update(Var("a1"), Var("a1") + 1)), target="main"),
        ),
    )
    environment = Environment(
        "heaps", tuple(Variable(n, Int(0, 20)) for n in names), equal(total, 17), (_single(move),)
    )
    assert isinstance(falsify(Problem("heaps", environment, None, Never(Var("a1") >= 12))), Violated)


def test_automata_that_synchronise() -> None:
    def turner(name: str) -> Component:
        go = Edge("off", "go", outcomes=(Outcome(1, (), target="on"),))
        back = Edge("on", "back", outcomes=(Outcome(1, (), target="off"),))
        return Component(name, (go, back), ("off", "on"), ("off",))

    both = (
        Synchronisation(("go", None), "go_a"),
        Synchronisation((None, "go"), "go_b"),
        Synchronisation(("back", "back"), "back"),
    )
    environment = Environment("pair", (), TRUE, (turner("a"), turner("b")), synchronisations=both)
    bad = Var(location_name("a", "on")) & Var(location_name("b", "on"))
    assert steps(falsify(Problem("pair", environment, None, Never(bad)))) == 2
    ended = Problem("pair", environment, None, Never(Var(DEADLOCKED)))
    assert isinstance(falsify(ended, runs=500), Unknown)


def walker(arithmetic: Arithmetic, bad: Term, noise: Fraction = Fraction(1, 10)) -> Problem:
    """x is damped and disturbed."""
    step = Edge(
        "main",
        None,
        chosen=(Choice("d", Real(-noise, noise)),),
        outcomes=(Outcome(1, (Update(x, Fraction(9, 10) * x + d),), target="main"),),
    )
    kind = Variable("x", Real(Fraction(-10), Fraction(10)))
    start = (x >= 0) & (x <= Fraction(1, 10))
    environment = Environment("walker", (kind,), start, (_single(step),), arithmetic=arithmetic)
    return Problem("walker", environment, None, Never(bad))


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_disturbances_at_the_ends_of_their_range_are_tried(arithmetic: Arithmetic) -> None:
    found = falsify(walker(arithmetic, x > Fraction(9, 10)))  # far from what chance comes to
    assert steps(found) >= 15


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_fractions_of_many_steps_stay_short_enough(arithmetic: Arithmetic) -> None:
    slow = Edge(
        "main",
        None,
        chosen=(Choice("d", Real(Fraction(0), Fraction(1, 3))),),
        outcomes=(Outcome(1, (Update(x, Fraction(999, 1000) * x + d),), target="main"),),
    )
    kind = Variable("x", Real(Fraction(0), Fraction(10**6)))
    environment = Environment("slow", (kind,), equal(x, 0), (_single(slow),), arithmetic=arithmetic)
    assert steps(falsify(Problem("slow", environment, None, Never(x > 40)))) >= 100


def test_a_needle_that_only_the_search_finds() -> None:
    """Starts in a box of which a ten-millionth is bad after a step."""
    names = "abcd"
    terms = [Var(n) for n in names]
    near = Fraction(1, 100)
    bad = TRUE
    for number, term in enumerate(terms):
        middle = Fraction(2 * number + 1, 9)
        bad = bad & (term >= middle - near) & (term <= middle + near)
    stay = Edge("main", None, outcomes=(Outcome(1, (), target="main"),))
    environment = Environment(
        "needle",
        tuple(Variable(n, Real(Fraction(0), Fraction(1))) for n in names),
        TRUE,
        (_single(stay),),
        arithmetic=Arithmetic.FLOAT64,
    )
    problem = Problem("needle", environment, None, Never(bad))
    found = falsify(problem, runs=40_000, steps=2)
    assert isinstance(found, Violated)


def drawing(choose: Choose, asked: Term) -> Problem:
    """Three actions, of which the last is almost never drawn, and `up` is not always enabled."""
    network = dense_network([(np.zeros((3, 1), np.float32), np.array([0, 0, -200], np.float32))])
    policy = NeuralPolicy(network, (x,), ("up", "stay", "down"), choose)
    edges = (
        Edge("main", "up", guard=x < 3, outcomes=(Outcome(1, (Update(x, x + 1),), target="main"),)),
        Edge("main", "stay", outcomes=(Outcome(1, (), target="main"),)),
        Edge("main", "down", outcomes=(Outcome(1, (Update(x, x - 1),), target="main"),)),
    )
    environment = Environment("drawn", (Variable("x", Int(-3, 3)),), equal(x, 0), (_single(*edges),))
    return Problem("drawn", environment, policy, Never(asked))


@pytest.mark.parametrize(
    "asked",
    [
        equal(x, -2),
        Var(STALLED),
        Var(chosen_name("down")),
        Var(network_output_name(0)) > Var(network_output_name(2)),
        equal(x, 3),
    ],
)
def test_policies_that_draw_may_draw_everything(asked: Term) -> None:
    assert isinstance(falsify(drawing(Choose.SAMPLE, asked)), Violated)


def test_what_is_chosen_and_what_stalls() -> None:
    """The largest output picks `up`, which is not enabled in 3."""
    assert steps(falsify(drawing(Choose.ARGMAX, Var(STALLED)))) == 3
    assert steps(falsify(drawing(Choose.ARGMAX, Var(chosen_name("up")) & equal(x, 2)))) == 2
    assert steps(falsify(drawing(Choose.ARGMAX_APPLICABLE, Var(chosen_name("stay"))))) == 3


def test_one_run_is_enough_where_nothing_is_open() -> None:
    found = falsify(drawing(Choose.ARGMAX, x < 0))
    assert isinstance(found, Unknown)
    assert found.reason is Reason.INCOMPLETE
    assert "1 run " in found.detail


def test_windows() -> None:
    """The last three values that the environment chose."""
    history = window("h", 3, Int(0, 9))
    shift = Edge(
        "main",
        None,
        chosen=(Choice("d", Int(0, 9)),),
        outcomes=(
            Outcome(
                1,
                tuple(Update(t, v) for t, v in zip(history.terms, (*history.terms[1:], d), strict=True)),
                target="main",
            ),
        ),
    )
    start = conjunction_of([equal(t, 0) for t in history.terms])
    environment = Environment("seen", history.variables, start, (_single(shift),))
    bad = (history.terms[0] > 7) & (history.terms[2] < 2) & equal(history.terms[1], 9)
    assert steps(falsify(Problem("seen", environment, None, Never(bad)))) >= 3


def test_a_lasso_of_truth_values() -> None:
    b = Var("b")
    flip = Edge("main", None, outcomes=(Outcome(1, (Update(b, Apply(Op.NOT, (b,))),), target="main"),))
    environment = Environment("flip", (Variable("b", Bool()), Variable("x", Int(0, 3))), ~b, (_single(flip),))
    found = falsify(Problem("flip", environment, None, Eventually(b & equal(x, 3))))
    assert isinstance(found, Violated)
    assert found.trace.loop == 0
    assert steps(found) == 2


def test_seeds_reproduce() -> None:
    problem = walker(Arithmetic.FLOAT64, x > Fraction(1, 2))
    assert falsify(problem, seed=5) == falsify(problem, seed=5)
    assert falsify(problem, seed=5) != falsify(problem, seed=6)


def test_the_budget_is_kept_and_it_goes_on_where_it_stopped() -> None:
    ending = end_at_goal(discretise(walker(Arithmetic.FLOAT64, x > 5)))
    looking = Falsify().begin(ending, 0)
    first = looking.check(ending, Budget(0.2))
    made = looking.taken
    second = looking.check(ending, Budget(0.2))
    assert isinstance(first, Unknown)
    assert isinstance(second, Unknown)
    assert first.reason is second.reason is Reason.TIMEOUT
    assert looking.taken > made > 0


def test_an_interruption_gives_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = end_at_goal(discretise(walker(Arithmetic.FLOAT64, x > 5)))

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    found = Falsify().check(ending, Budget(20, progress=interrupt))
    assert isinstance(found, Unknown)
    assert found.reason is Reason.INTERRUPTED
    assert "none of" in found.detail


def test_a_problem_without_edges_has_runs_of_one_state() -> None:

    alone = Environment(
        "alone", (Variable("x", Real(Fraction(0), Fraction(3))),), x <= 2, (Component("c", ()),)
    )
    found = Falsify().check(Problem("alone", alone, None, Never(x > 1)), Budget(5))
    assert isinstance(found, Violated)
    assert isinstance(Falsify(runs=9).check(Problem("alone", alone, None, Never(x > 2)), Budget(5)), Unknown)


def test_where_nobody_can_prove_it_a_violation_is_still_found() -> None:

    square = Apply(Op.FLOOR, (x * x,))
    grow = Edge("here", "go", outcomes=(Outcome(1, (Update(x, square + x * x / 100),)),))
    system = Environment("squares", (Variable("x", Real()),), (x >= 0) & (x <= 2), (Component("c", (grow,)),))
    assert isinstance(
        verify(Problem("up", system, None, Never(x > 10**6)), budget=Budget(10)).verdict, Violated
    )
    found = verify(Problem("up", system, None, Never(x < 0)), budget=Budget(4)).verdict
    assert isinstance(found, Unknown)
    assert re.match(r"no engine can take this problem: .*; falsify: none of ", found.detail)
    assert found.holds_up_to == 0  # the starts were looked at
