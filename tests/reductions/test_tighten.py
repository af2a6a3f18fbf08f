"""Bounds that a parameter moves: what they say about variables, windows, steps and the property."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs
from surefoot.problem.property_printer import show_property
from surefoot.problem.validate import validate_problem
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.reductions.restriction import EmptyRegion, restrict_variables
from surefoot.term.interval import Span
from surefoot.term.printer import show_term
from surefoot.term.term import TRUE, Const, Var
from surefoot.term.value_types import Int, Real
from surefoot_studies.aurora.problem import aurora_environment, liveness_loss, safety_shallow_buffer

NETWORK = dense_network([([[0.0] * 30], [1.0])])
HALF = Const(Fraction(1, 2))


def test_the_bound_of_a_window_gives_the_environment_with_that_bound() -> None:
    problem = safety_shallow_buffer(NETWORK)
    made = parse_bound_template("send_ratio<=", problem).at(problem, Fraction(5))
    validate_problem(made)
    wanted = aurora_environment(Fraction(1, 100), (Fraction(2), Fraction(5)))
    assert made.environment.variables == wanted.variables
    (edge,), (other,) = (e.components[0].edges for e in (made.environment, wanted))
    assert [(c.name, c.kind) for c in edge.chosen] == [(c.name, c.kind) for c in other.chosen]
    assert edge.assuming == TRUE
    assert edge.outcomes == other.outcomes
    assert made.property == problem.property


def test_several_bounds_move_together_each_linear_in_its_variable() -> None:
    problem = safety_shallow_buffer(NETWORK, epsilon=Fraction(1))
    tighten = parse_bound_template("latency_gradient, -latency_gradient, 2*latency_ratio - 2 <=", problem)
    assert tighten.rises
    spans = tighten.spans(problem, Fraction(1, 10))
    assert spans["latency_gradient_3"] == Span(Fraction(-1, 10), Fraction(1, 10))
    assert spans["latency_ratio_9"] == Span(None, Fraction(21, 20))
    assert len(spans) == 20
    assert tighten.text(Fraction(1, 10)).endswith("2 * latency_ratio - 2 <= 0.1")


@pytest.mark.parametrize(
    ("text", "rises", "asked"),
    [
        ("output[0]>=", True, "never output[0] < 0.5 at the start"),
        ("output[0] >", True, "never output[0] <= 0.5 at the start"),
        ("output[0]<=", False, "never output[0] > 0.5 at the start"),
        ("output[0], -output[0] <", False, "never output[0] >= 0.5 or -output[0] >= 0.5 at the start"),
    ],
)
def test_the_bound_of_an_output_becomes_the_property(text: str, rises: bool, asked: str) -> None:
    problem = safety_shallow_buffer(NETWORK)
    tighten = parse_bound_template(text, problem)
    assert tighten.rises is rises
    assert not tighten.of_inputs
    assert show_property(tighten.at(problem, Fraction(1, 2)).property) == asked


def test_what_is_then_true_of_every_state() -> None:
    problem, live = safety_shallow_buffer(NETWORK), liveness_loss(NETWORK)

    def said(text: str, value: int) -> str:
        condition = parse_bound_template(text, problem).condition(problem, Fraction(value))
        return "" if condition is None else show_term(condition)

    assert said("output[0]>=", 2) == "output[0] >= 2"
    assert said("send_ratio_0>=", 3) == "send_ratio_0 >= 3 => not output[0] >= 0"
    assert parse_bound_template("send_ratio>=", live).condition(live, Fraction(3)) is None
    assert isinstance(parse_bound_template("send_ratio>=", live).at(live, Fraction(3)).property, Recurs)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("send_ratio", "does not say which bound"),
        ("send_ratio<", "not strict"),
        ("3<=", "mentions no name"),
        ("send_ratio, output[0]<=", "cannot be moved together"),
        ("send_ratio_0 - send_ratio_1<=", "no single variable"),
        ("send_ratio_0 - send_ratio_0<=", "does not depend"),
        ("send_ratio_0 * send_ratio_0<=", "not linear"),
        ("", "does not say which bound"),
    ],
)
def test_bounds_that_cannot_be_moved(text: str, why: str) -> None:
    with pytest.raises((InvalidProblem, Unsupported), match=why):
        parse_bound_template(text, safety_shallow_buffer(NETWORK))


def stepping(*edges: Edge) -> Problem:
    where = Environment(
        "steps",
        (Variable("n", Int(0, 9)), Variable("x", Real(Fraction(0), Fraction(9)))),
        TRUE,
        (Component("world", edges),),
    )
    return Problem("steps", where, ProgramPolicy((Branch(TRUE, "go"),)), Never(Var("n") > 5))


def test_a_step_is_taken_only_if_it_keeps_the_bounds() -> None:
    up = Edge(action="go", outcomes=(Outcome(updates=(Update(Var("n"), Var("n") + 1),)),))
    (edge,) = (
        restrict_variables(stepping(up), {"n": Span(high=Fraction(7, 2))}).environment.components[0].edges
    )
    assert show_term(edge.assuming) == "n + 1 <= 3.5"
    made = restrict_variables(stepping(up), {"n": Span(high=Fraction(7, 2))}).environment
    assert made.variables[0].kind == Int(0, 3)
    assert show_term(made.initial) == "n <= 3.5"


def test_updates_in_sequence_are_followed() -> None:
    updates = (Update(Var("n"), Var("n") + 1), Update(Var("x"), Var("n") * 2, index=1))
    edge = Edge(action="go", outcomes=(Outcome(updates=updates),))
    (made,) = (
        restrict_variables(stepping(edge), {"x": Span(high=Fraction(4))}).environment.components[0].edges
    )
    leaves = "not ((n + 1) * 2 >= 0 and (n + 1) * 2 <= 9)"  # an error of the model, which must not be hidden
    assert show_term(made.assuming) == f"(n + 1) * 2 <= 4 or {leaves}"


def test_chance_that_may_or_may_not_leave_the_bounds_is_refused() -> None:
    halves = (Outcome(HALF, (Update(Var("n"), Const(0)),)), Outcome(HALF, (Update(Var("n"), Const(9)),)))
    problem = stepping(Edge(action="go", outcomes=halves))
    with pytest.raises(Unsupported, match="several outcomes"):
        restrict_variables(problem, {"n": Span(high=Fraction(3))})
    restrict_variables(problem, {"x": Span(high=Fraction(3))})  # chance does not touch x


def test_nothing_left_is_an_error_of_its_own() -> None:
    pick = Edge(
        action="go",
        chosen=(Choice("by", Int(5, 9)),),
        outcomes=(Outcome(updates=(Update(Var("n"), Var("by")),)),),
    )
    with pytest.raises(EmptyRegion, match="no value of `n`"):
        restrict_variables(stepping(), {"n": Span(low=Fraction(10))})
    with pytest.raises(EmptyRegion, match="no value of `by`"):
        restrict_variables(stepping(pick), {"n": Span(high=Fraction(3))})
    with pytest.raises(InvalidProblem, match="`nowhere` is not a variable"):
        restrict_variables(stepping(), {"nowhere": Span()})
    boolean = replace(stepping(), environment=replace(stepping().environment, variables=()))
    with pytest.raises(InvalidProblem):
        restrict_variables(boolean, {"n": Span()})
