"""Replay accepts exactly the traces that the reference semantics permits and that violate the property."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from surefoot.certify.replay import replay
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Path, Probability, Property, Recurs, Within
from surefoot.problem.semantics import Move
from surefoot.term.term import TRUE, Var, equal
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot.verdict.verdict import Trace

X = Var("x")


def counter(prop: object = None) -> Problem:
    """x goes up by a freely chosen 1..2 while the network says `up` (x < 2.5), else down by 1."""
    up = Edge(
        action="up",
        guard=X <= 4,
        chosen=(Choice("by", Int(1, 3)),),
        assuming=Var("by") <= 2,
        outcomes=(Outcome(updates=(Update(X, X + Var("by")),)),),
    )
    down = Edge(action="down", guard=X >= 1, outcomes=(Outcome(updates=(Update(X, X - 1),)),))
    environment = Environment(
        "counter", (Variable("x", Int(0, 6)),), equal(X, 0), (Component("world", (up, down)),)
    )
    network = dense_network([([[-1.0], [1.0]], [2.5, -2.5])])
    return Problem("counter", environment, NeuralPolicy(network, (X,), ("up", "down")), prop or Never(X >= 3))


UP = Transition(((0, 0),), "up")


def up(by: int) -> Move:
    return Move(UP, (0,), {"by": by})


DOWN = Move(Transition(((0, 1),), "down"), (0,))
GOOD = Trace(({"x": 0}, {"x": 2}, {"x": 4}), (up(2), up(2)))


def test_a_true_trace_is_accepted() -> None:
    assert replay(counter(), GOOD) is None


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (Trace(({"x": 1}, {"x": 3}), (up(2),)), "initial state"),
        (Trace(({"x": 0}, {"x": 3}), (up(3),)), "assumption"),
        (Trace(({"x": 0}, {"x": 2}), (up(2),)), "not bad"),
        (Trace(({"x": 0}, {"x": 2}, {"x": 5}), (up(2), up(2))), "another state"),
        (Trace(({"x": 0}, {"x": 2}, {"x": 1}), (up(2), DOWN)), "not permitted"),
        (Trace(({"x": 0}, {"x": 4}), (up(4),)), "outside its kind"),
        (Trace(({"x": 0}, {"x": 2}), (Move(UP, (0,)),)), "chooses other values"),
        (Trace(({"x": 0}, {"x": 2}), (Move(UP, (1,), {"by": 2}),)), "probability 0"),
        (Trace(({"x": Fraction(1, 2)},), ()), "not of its kind"),
        (Trace(({"x": 0}, {"x": 2}, {"x": 4}), (up(2),)), "one move between"),
    ],
)
def test_a_false_trace_is_refused(trace: Trace, why: str) -> None:
    assert why in (replay(counter(), trace) or "accepted")


def test_a_bounded_never_refuses_a_longer_trace() -> None:
    assert "longer" in (replay(counter(Never(X >= 3, steps=1)), GOOD) or "accepted")
    assert replay(counter(Never(X >= 3, steps=2)), GOOD) is None


def test_within_needs_all_its_states_or_the_end_of_the_run() -> None:
    slow = Trace(({"x": 0}, {"x": 1}, {"x": 2}), (up(1), up(1)))
    assert replay(counter(Within(X >= 3, 2)), slow) is None
    assert "could go on" in (replay(counter(Within(X >= 3, 3)), slow) or "accepted")
    assert "state 1 is good" in (replay(counter(Within(equal(X, 1), 2)), slow) or "accepted")
    assert replay(counter(Within(equal(X, 1), 2, after=2)), slow) is None


def test_a_stalled_run_ends() -> None:
    problem = counter(Within(X >= 6, 9))
    stubborn = dense_network([([[0.0], [0.0]], [0.0, 1.0])])
    assert isinstance(problem.policy, NeuralPolicy)
    problem = replace(problem, policy=replace(problem.policy, network=stubborn))
    assert replay(problem, Trace(({"x": 0},), ())) is None


def test_other_properties_are_not_refuted_by_a_trace() -> None:
    assert "Probability" in (replay(counter(Probability(Path("F", X >= 3))), GOOD) or "accepted")


ROUND = Trace(({"x": 0}, {"x": 2}, {"x": 3}, {"x": 2}), (up(2), up(1), DOWN), 1)


@pytest.mark.parametrize(
    ("asked", "trace", "why"),
    [
        (Eventually(X >= 4), ROUND, None),
        (Recurs(X >= 4), ROUND, None),
        (Recurs(equal(X, 0)), ROUND, None),
        (Eventually(equal(X, 0)), ROUND, "state 0 is good"),
        (Recurs(equal(X, 3)), ROUND, "state 2 is good"),
        (Recurs(equal(X, 2)), ROUND, "state 1 is good"),
        (Recurs(X >= 4), replace(ROUND, loop=None), "could go on"),
        (Recurs(X >= 4), replace(ROUND, loop=0), "another one than state 0"),
        (Recurs(X >= 4), replace(ROUND, loop=2), "another one than state 2"),
        (Recurs(X >= 4), replace(ROUND, loop=3), "one of the states before"),
        (Recurs(X >= 4), replace(ROUND, loop=-3), "one of the states before"),
        (Recurs(X >= 4), replace(ROUND, loop=True), "one of the states before"),
        (Recurs(X >= 4), Trace(({"x": 0},), (), 0), "one of the states before"),
        (Never(X >= 2), ROUND, "claims a loop"),
        (Within(X >= 4, 3), ROUND, "claims a loop"),
    ],
)
def test_a_lasso_must_return_exactly_and_see_nothing_good(
    asked: Property, trace: Trace, why: str | None
) -> None:
    found = replay(counter(asked), trace)
    assert found is None if why is None else why in (found or "accepted")


def test_a_finite_run_violates_recurs_unless_it_ends_well() -> None:
    stuck = replace(counter(), environment=replace(counter().environment, initial=TRUE))
    assert isinstance(stuck.policy, NeuralPolicy)
    stubborn = replace(stuck.policy, network=dense_network([([[0.0], [0.0]], [0.0, 1.0])]))  # always `down`
    trace = Trace(({"x": 1}, {"x": 0}), (DOWN,))
    for asked, why in (
        (Recurs(equal(X, 1)), None),
        (Recurs(equal(X, 0)), "state 1 is good"),
        (Eventually(equal(X, 1)), "state 0 is good"),
        (Eventually(X >= 2), None),
    ):
        assert replay(replace(stuck, policy=stubborn, property=asked), trace) == why


def plant(arithmetic: Arithmetic, prop: Property) -> Problem:
    """x grows by one in each step."""
    edge = Edge(action="up", outcomes=(Outcome(updates=(Update(X, X + 1),)),))
    environment = Environment(
        "plant", (Variable("x", Real()),), TRUE, (Component("world", (edge,)),), arithmetic=arithmetic
    )
    return Problem("plant", environment, ProgramPolicy((Branch(TRUE, "up"),)), prop)


BIG = 2**53
STEP = Move(Transition(((0, 0),), "up"), (0,))


@pytest.mark.parametrize(
    ("arithmetic", "states", "why"),
    [
        (Arithmetic.EXACT, [BIG, BIG + 1], None),
        (Arithmetic.EXACT, [float(BIG), float(BIG)], "not of its kind"),
        (Arithmetic.FLOAT64, [float(BIG), float(BIG)], None),
        (Arithmetic.FLOAT64, [BIG, BIG + 1], "not of its kind"),
        (Arithmetic.EXACT, [float("nan")], "not of its kind"),
        (Arithmetic.FLOAT64, [float("inf")], "not of its kind"),
        (Arithmetic.EXACT, [True, 2], "not of its kind"),
    ],
)
def test_states_have_the_types_of_their_arithmetic(
    arithmetic: Arithmetic, states: list[object], why: str | None
) -> None:
    trace = Trace(tuple({"x": x} for x in states), (STEP,) * (len(states) - 1))
    found = replay(plant(arithmetic, Never(X >= BIG if len(states) > 1 else TRUE)), trace)
    assert found is None if why is None else why in (found or "accepted")


@pytest.mark.parametrize("name", ["output[0]", "stalled", "deadlocked", "chosen(up)", "at(world, here)", "u"])
def test_a_state_cannot_bring_reserved_names_along(name: str) -> None:
    problem = counter(Never(Var("deadlocked")))
    assert "does not know" in (replay(problem, Trace(({"x": 0, name: True},), ())) or "accepted")
