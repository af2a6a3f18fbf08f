"""A policy that draws an action which is not enabled ends the run: what is then true of all runs."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from surefoot.certify.replay import replay
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.engines.recurrence import Recurrence
from surefoot.engines.statistical import Statistical
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.run import verify
from surefoot.term.term import Term, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Estimated, Exact, Trace, Violated
from surefoot.work.budget import Budget

X = Var("x")


def climbing(asked: str) -> Problem:
    """Up to 3 by `a`, which stays possible there; `b` never is. Each is drawn half of the time."""

    def edge(label: str, guard: Term, value: Term) -> Edge:
        return Edge("here", label, guard, outcomes=(Outcome(updates=(Update(X, value),), target="here"),))

    edges = (edge("a", X < 3, X + 1), edge("b", X > 5, X), edge("a", equal(X, 3), X))
    world = Environment(
        "climbing",
        (Variable("x", Int(0, 3)),),
        equal(X, 0),
        (Component("c", edges, ("here",), ("here",)),),
    )
    drawing = NeuralPolicy(dense_network([([[0], [0]], [0, 0])]), (X,), ("a", "b"), Choose.SAMPLE)
    return Problem("climbing", world, drawing, parse_property(asked))


@pytest.mark.parametrize("asked", ["eventually x = 3", "within 3 x = 3", "recurs x = 3", "never stalled"])
@pytest.mark.parametrize("engine", [Bmc(depth=4), Induction(depth=4), None])
def test_the_run_that_ends_at_once_is_found_and_replayed(asked: str, engine: Bmc | Induction | None) -> None:
    problem = climbing(asked)
    if engine is not None and engine.objection(problem) is not None:
        assert isinstance(engine, Induction)
        return
    result = verify(problem, engine, Budget(30))
    assert isinstance(result.verdict, Violated)
    assert result.certified
    assert len(result.verdict.trace.states) == 1


def test_a_recurrence_set_is_no_proof_either() -> None:
    assert not isinstance(verify(climbing("recurs x = 3"), Recurrence(), Budget(30)).verdict, Violated)


def test_the_probability_that_it_does_not_end_before() -> None:
    exact = verify(climbing("P=? [F x = 3]"), Explicit(exact=True), Budget(30)).verdict
    assert isinstance(exact, Exact)
    assert exact.low == exact.high == Fraction(1, 8)
    estimated = verify(climbing("P=? [F x = 3]"), Statistical(), Budget(30, seed=1)).verdict
    assert isinstance(estimated, Estimated)
    assert estimated.low <= Fraction(1, 8) <= estimated.high


def test_a_trace_that_ends_by_a_draw_replays_only_where_the_draw_may_end_it() -> None:
    trace = Trace(({"x": 0},), ())
    assert replay(climbing("eventually x = 3"), trace) is None
    by_argmax = climbing("eventually x = 3")
    sure = NeuralPolicy(dense_network([([[0], [0]], [1, 0])]), (X,), ("a", "b"), Choose.ARGMAX)
    assert replay(Problem("sure", by_argmax.environment, sure, by_argmax.property), trace) is not None


def test_simulated_runs_end_in_the_same_way() -> None:
    runs = [simulate_run(climbing("never stalled"), {"x": 0}, 9, Random(seed)) for seed in range(40)]
    assert {run.ending for run in runs} == {"stalled"}
    assert {len(run.states) for run in runs} >= {1, 2, 3}


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("E=? [ steps for 1 steps ]", Fraction(1, 2)),
        ("E=? [ steps for 2 steps ]", Fraction(3, 4)),
        ("E=? [ (x + 1) for 1 steps ]", Fraction(1, 2)),
        ("E=? [ (x + 1) for 2 steps ]", Fraction(1)),
    ],
)
def test_a_draw_that_ends_the_run_is_no_step_and_pays_nothing(asked: str, value: Fraction) -> None:
    """The draw counted as a step to a copy of the state, and paid for it."""
    exact = verify(climbing(asked), Explicit(), Budget(30)).verdict
    assert isinstance(exact, Exact)
    assert exact.low is not None
    assert exact.high is not None
    assert exact.low <= value <= exact.high
    assert exact.high - exact.low < Fraction(1, 10**6)
