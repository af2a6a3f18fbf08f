from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, apply_move
from surefoot.reductions.discretise import discretise
from surefoot.term.term import FALSE, TRUE, Const, Term, Var
from surefoot.term.value_types import Arithmetic, Real

X, V, U, W = (Var(n) for n in "xvuw")
STEP = Fraction(1, 10)
REAL = Real()
SPRING = (("x", V), ("v", U - X + W))


def problem(
    method: str = "euler", derivatives: tuple[tuple[str, Term], ...] = SPRING, *edges: Edge
) -> Problem:
    kept = edges or (Edge(chosen=(Choice("w", REAL),)),)
    environment = Environment(
        "spring",
        (Variable("x", REAL), Variable("v", REAL)),
        TRUE,
        (Component("c", kept),),
        (Control("u"),),
        flow=Flow(derivatives, STEP, method),
    )
    return Problem("spring", environment, ProgramPolicy((Branch(TRUE, (2 * X,)),)), Never(FALSE))


def after(given: Problem, x: object, v: object, w: object = Fraction(0)) -> tuple[object, object]:
    discrete = discretise(given)
    assert discrete.environment.flow is None
    state = apply_move(discrete, {"x": x, "v": v}, Move(Transition(((0, 0),), None), (0,), {"w": w}))
    return state["x"], state["v"]


def test_euler_reads_the_old_state_controls_and_chosen_values() -> None:
    # u = 2x = 2; x' = 1 + 3/10; v' = 3 + (2 - 1 + 5)/10
    assert after(problem(), Fraction(1), Fraction(3), Fraction(5)) == (Fraction(13, 10), Fraction(36, 10))


def test_rk4_is_the_classical_formula() -> None:
    derivatives: tuple[tuple[str, Term], ...] = (("x", X), ("v", -V))
    x, v = after(problem("rk4", derivatives), Fraction(1), Fraction(1))
    growth = sum((STEP**n / Fraction(f) for n, f in enumerate((1, 1, 2, 6, 24))), Fraction(0))
    decay = sum(((-STEP) ** n / Fraction(f) for n, f in enumerate((1, 1, 2, 6, 24))), Fraction(0))
    assert (x, v) == (growth, decay)
    assert abs(float(growth) - exp(0.1)) < 1e-7


def test_rk4_moves_all_variables_together() -> None:
    x, v = after(problem("rk4", (("x", V), ("v", -X))), Fraction(1), Fraction(0))
    h = STEP
    assert (x, v) == (1 - h**2 / 2 + h**4 / 24, -h + h**3 / 6)


def test_float64_follows_the_order_written() -> None:
    given = problem("euler", (("x", X * V),))
    given = replace(given, environment=replace(given.environment, arithmetic=Arithmetic.FLOAT64))
    x, v = after(given, 0.1, 0.3, 0.0)
    assert (x, v) == (0.1 + 0.1 * (0.1 * 0.3), 0.3)


def test_outcomes_that_write_a_variable_keep_their_own_value() -> None:
    half = Const(Fraction(1, 2))
    bounce = Outcome(half, (Update(V, -V), Update(X, X + V, 3)))
    edge = Edge(chosen=(Choice("w", REAL),), outcomes=(Outcome(half), bounce))
    discrete = discretise(problem("euler", SPRING, edge))
    first, second = discrete.environment.components[0].edges[0].outcomes
    assert [u.target for u in first.updates] == [X, V]
    assert second == bounce
    only_v = replace(bounce, updates=(Update(V, -V, 2),))
    discrete = discretise(problem("euler", SPRING, replace(edge, outcomes=(only_v,))))
    added = discrete.environment.components[0].edges[0].outcomes[0].updates[1]
    assert (added.target, added.index) == (X, 2)  # with the first writes: it reads the old `v`


def test_a_problem_without_flow_is_returned_as_it_is() -> None:
    given = discretise(problem())
    assert discretise(given) is given


def test_what_cannot_be_discretised_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="unknown method `ruler`"):
        discretise(problem("ruler"))
    with pytest.raises(InvalidProblem, match="`w`"):
        discretise(problem("euler", SPRING, Edge()))
    with pytest.raises(InvalidProblem, match="two derivatives"):
        discretise(problem("euler", (("x", V), ("x", X))))
    given = problem()
    frozen = replace(given.environment, flow=Flow(SPRING, Fraction(0)))
    with pytest.raises(InvalidProblem, match="positive"):
        discretise(replace(given, environment=frozen))
    component = given.environment.components[0]
    joint = replace(
        given.environment,
        components=(component, replace(component, name="d")),
        synchronisations=(Synchronisation(("go", "go")),),
    )
    with pytest.raises(Unsupported, match="move together"):
        discretise(replace(given, environment=joint))
    many = X
    for _ in range(6):
        many = many * many
    with pytest.raises(Unsupported, match="operations"):
        discretise(problem("rk4", (("x", many),)))
