from __future__ import annotations

from fractions import Fraction

from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move
from surefoot.reductions.concretise import CandidateRun, concretise_run
from surefoot.term.term import FALSE, TRUE, Term, Var, equal
from surefoot.term.value_types import Arithmetic, Real
from surefoot.verdict.verdict import Trace

X, W = Var("x"), Var("w")
UNIT = Real(Fraction(0), Fraction(1))
ONLY = Transition(((0, 0),), None)


def problem(
    kind: Real = UNIT,
    initial: Term = TRUE,
    assuming: Term = TRUE,
    arithmetic: Arithmetic = Arithmetic.EXACT,
) -> Problem:
    edge = Edge(
        chosen=(Choice("w", UNIT),),
        assuming=assuming,
        outcomes=(Outcome(updates=(Update(X, (X + W) / 2),)),),
    )
    variables, components = (Variable("x", kind),), (Component("c", (edge,)),)
    environment = Environment("drift", variables, initial, components, arithmetic=arithmetic)
    return Problem("drift", environment, None, Never(FALSE))


def candidate(x: object, *chosen: object) -> CandidateRun:
    return CandidateRun({"x": x}, tuple(Move(ONLY, (0,), {"w": w}) for w in chosen))


def test_states_are_computed_and_not_taken_from_the_solver() -> None:
    trace = concretise_run(problem(), candidate(Fraction(1, 2), Fraction(1, 4), Fraction(0)))
    assert isinstance(trace, Trace)
    assert [s["x"] for s in trace.states] == [Fraction(1, 2), Fraction(3, 8), Fraction(3, 16)]


def test_values_just_outside_their_kind_are_put_back() -> None:
    tiny = Fraction(1, 10**9)
    trace = concretise_run(problem(), candidate(-tiny, 1 + tiny))
    assert isinstance(trace, Trace)
    assert trace.states[0]["x"] == 0
    assert trace.moves[0].chosen == {"w": 1}


def test_a_tolerance_is_rounded_away() -> None:
    start = equal(X, Fraction(1, 3))
    near = Fraction(1, 3) + Fraction(1, 10**9)
    trace = concretise_run(problem(initial=start, assuming=equal(W, X)), candidate(near, near))
    assert isinstance(trace, Trace)
    assert trace.states[0]["x"] == Fraction(1, 3)


def test_float32_kinds_get_float32_numbers_within_their_bounds() -> None:
    kind = Real(Fraction(0), Fraction(1, 3), float32=True)
    trace = concretise_run(problem(kind), candidate(Fraction(1, 3)))
    assert isinstance(trace, Trace)
    value = trace.states[0]["x"]
    assert value < Fraction(1, 3)
    assert Fraction(1, 3) - value < Fraction(1, 2**24)


def test_float64_environments_keep_floats() -> None:
    kind = Real(Fraction(0), Fraction(1, 10))
    trace = concretise_run(problem(kind, arithmetic=Arithmetic.FLOAT64), candidate(0.1))
    assert isinstance(trace, Trace)
    assert isinstance(trace.states[0]["x"], float)
    assert trace.states[0]["x"] == 0.1  # the limit is the double nearest to 1/10, which is larger


def test_a_candidate_that_is_no_run_says_why() -> None:
    assert "initial state" in str(concretise_run(problem(initial=X > 0), candidate(Fraction(0))))
    assert isinstance(
        concretise_run(problem(initial=X > 0), candidate(Fraction(0)), from_initial=False), Trace
    )
    refused = concretise_run(problem(assuming=W < X), candidate(Fraction(1, 2), Fraction(0), Fraction(1)))
    assert "step 1" in str(refused)
    assert "assumption" in str(refused)
    mislabelled = CandidateRun({"x": Fraction(0)}, (Move(Transition(((0, 0),), "fly"), (0,), {"w": 0}),))
    assert "not permitted" in str(concretise_run(problem(), mislabelled))
