"""Environments that compute in float64: constants, limits and starts are doubles, and integers stay exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from surefoot.certify.replay import replay
from surefoot.engines.bmc import Bmc
from surefoot.errors import InvalidProblem
from surefoot.explore.exploration import explore_problem
from surefoot.explore.initial_states import initial_rows
from surefoot.explore.row_layout import row_layout
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    apply_move,
    enumerate_successors,
    has_value_type,
    is_initial,
    permitted_transitions,
)
from surefoot.problem.validate import validate_problem
from surefoot.reductions.barrier import read_control_system
from surefoot.run import verify
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Const,
    Term,
    Var,
)
from surefoot.term.value_types import Arithmetic, Array, Int, Real
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

FLOAT64 = Arithmetic.FLOAT64
X, Y, N, M, B = (Var(name) for name in "xynmb")
EDGE = 2**53


def world(variables: dict[str, Any], start: str, updates: dict[str, Term], **more: Any) -> Environment:
    written = tuple(Update(Var(name), value) for name, value in updates.items())
    edge = Edge(
        outcomes=(Outcome(updates=written),), chosen=more.pop("chosen", ()), action=more.pop("action", None)
    )
    declared = tuple(Variable(name, kind) for name, kind in variables.items())
    parts = (Component("one", (edge,)),)
    return Environment("doubles", declared, parse_term(start), parts, arithmetic=FLOAT64, **more)


def following(environment: Environment) -> dict[str, Any]:
    """The state after one step from the only start, by the reference; the interpreter of rows agrees."""
    problem = Problem("doubles", environment, None, Never(FALSE))
    (start,) = enumerate_initial_states(environment, 10)
    (after,) = (s.state for s in enumerate_successors(problem, start))
    explored = explore_problem(problem, labels={}, tier="interpreter", max_states=2)
    seen = [explored.valuation(i) for i in range(explored.markov.states)]
    assert start in seen
    assert after in seen
    assert [type(v) for s in seen for v in s.values()] == [type(v) for v in start.values()] * len(seen)
    return dict(after)


class TestReproducers:
    def test_a_whole_start_is_a_double_from_the_first_step_on(self) -> None:
        environment = world({"x": Real()}, f"x = {EDGE}", {"x": (X + 1) - EDGE})
        (start,) = enumerate_initial_states(environment, 1)
        assert repr(start["x"]) == repr(float(EDGE))
        assert following(environment) == {"x": 0.0}
        assert [repr(v) for row in initial_rows(environment, row_layout(environment)) for v in row] == [
            repr(float(EDGE))
        ]

    def test_an_integer_is_no_value_of_a_real_variable(self) -> None:
        environment = world({"x": Real(), "a": Array(Real(), 2)}, "true", {})
        assert is_initial(environment, {"x": 3.0, "a": (0.0, 1.0)})
        assert not is_initial(environment, {"x": 3, "a": (0.0, 1.0)})
        assert not is_initial(environment, {"x": 3.0, "a": (0.0, 1)})

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (f"x + {EDGE + 1} - {EDGE}", 0.0),
            (f"ite(x < 1, {EDGE + 1}, x)", float(EDGE)),
            (f"ite(x < 1, n, x) - {EDGE}", 0.0),
            (f"min(x, {EDGE + 1}) * 0 + max(x, {EDGE + 1})", float(EDGE)),
            (f"[x, {EDGE + 1}][1] - {EDGE}", 0.0),
            (f"ite({EDGE + 1} <= x + {EDGE}, 1, 0)", 1.0),
            (f"ite({EDGE + 1} = x + {EDGE}, 1, 0)", 1.0),
            (f"(n - {EDGE}) + x", 1.0),
            ("(n + 0) / 3", (2.0**53) / 3.0),
            ("sum(n, 1, -n, x)", 1.0),
            ("(x - 1)^65", -1.0),
            ("2^(3 + 0)", 8.0),
        ],
    )
    def test_whole_constants_where_they_meet_real_numbers(self, text: str, value: float) -> None:
        """`n` is 2^53 + 1, an integer: exact until it meets `x`, which is 0."""
        kinds = {"x": Real(), "n": Int()}
        after = following(world(kinds, f"x = 0 and n = {EDGE + 1}", {"x": parse_term(text)}))
        assert repr(after["x"]) == repr(value)

    def test_limits_are_doubles(self) -> None:
        limits = Real(Fraction(-7, 100), Fraction(7, 100))
        clamped = parse_term("max(-0.07, min(0.07, 5 * x - 1))")
        environment = world({"x": limits, "a": Array(limits, 1)}, "x = 0.01 and a = [0]", {"x": clamped})
        assert following(environment)["x"] == -0.07
        kind = environment.variables[0].kind
        assert has_value_type(-0.07, kind, FLOAT64)
        assert not has_value_type(float(np.nextafter(-0.07, -1)), kind, FLOAT64)

    def test_limits_of_controls_and_chosen_values_are_doubles(self) -> None:
        fraction = Fraction(1, 10)
        chosen = (Choice("d", Real(-fraction, fraction)),)
        control = (Control("u", -fraction, fraction),)
        environment = world({"x": Real()}, "x = 0", {"x": X + Var("u")}, controls=control, chosen=chosen)
        problem = Problem("c", environment, ProgramPolicy((Branch(TRUE, (Const(7),)),)), Never(FALSE))
        (start,) = enumerate_initial_states(environment, 1)
        (transition,) = permitted_transitions(problem, start)
        assert apply_move(problem, start, Move(transition, (0,), {"d": 0.1})) == {"x": 0.1}
        for other in (float(np.nextafter(0.1, 1)), Fraction(1, 10), 0):
            with pytest.raises(NotAStep):
                apply_move(problem, start, Move(transition, (0,), {"d": other}))

    def test_exact_environments_keep_their_limits(self) -> None:
        kind = Real(Fraction(-7, 100), Fraction(7, 100))
        assert has_value_type(Fraction(-7, 100), kind)
        assert not has_value_type(Fraction(-0.07), kind)

    def test_a_limit_beyond_all_doubles_is_refused(self) -> None:
        wide = Real(None, Fraction(10**400))
        environment = world({"x": wide}, "x = 0", {})
        with pytest.raises(InvalidProblem, match="beyond float64"):
            validate_problem(Problem("wide", environment, None, Never(FALSE)))
        environment = world({"x": Real()}, "x = 0", {}, controls=(Control("u", Fraction(-(10**400))),))
        policy = ProgramPolicy((Branch(TRUE, (Const(0),)),))
        with pytest.raises(InvalidProblem, match="beyond float64"):
            validate_problem(Problem("wide", environment, policy, Never(FALSE)))

    @pytest.mark.parametrize("text", ["x + 10^400", "ite(x < 1, 10^400, x)", "10^400 < x", "1e400/3"])
    def test_numbers_beyond_all_doubles_have_no_value(self, text: str) -> None:
        with pytest.raises(Undefined):
            evaluate_term(parse_term(text), {"x": 0.0}, FLOAT64)

    def test_violations_are_replayed_in_doubles(self) -> None:
        limits = Real(Fraction(0), Fraction(3, 10))
        environment = world({"x": Real(), "y": limits}, "x = 0.1 and y = 0.3", {"x": X + Y}, action="go")
        policy = ProgramPolicy((Branch(TRUE, "go"),))
        problem = Problem("sum", environment, policy, Never(parse_term("x > 0.35"), 1))
        result = verify(problem, Bmc(), Budget(seconds=20))
        assert isinstance(result.verdict, Violated)
        trace = result.verdict.trace
        assert [(s["x"], s["y"]) for s in trace.states] == [(0.1, 0.3), (0.1 + 0.3, 0.3)]
        assert replay(problem, trace) is None

    def test_barriers_speak_of_the_same_limits(self) -> None:
        """Starts contain the double ends; integers alone are computed exactly."""
        wide = parse_term(f"x * ({EDGE + 1} - {EDGE})")
        environment = world(
            {"x": Real(Fraction(-7, 100), Fraction(7, 100))}, "-0.07 <= x and x <= 0.07", {"x": wide}
        )
        system = read_control_system(
            Problem("b", environment, ProgramPolicy((Branch(TRUE, ()),)), Never(X > 1))
        )
        assert system.next == (X * 1,)
        assert system.compares_rounded
        assert system.initial[0][0] <= Fraction(-0.07)
