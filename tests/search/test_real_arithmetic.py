"""What is proved for exact real arithmetic only is never passed on as a statement about float32."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.engines.bmc import Bmc
from surefoot.engines.invariant_search import template_bounds
from surefoot.problem.environment import Component, Control, Edge, Environment, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.abstraction import FreedValues
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.search import IN_REALS, SearchSettings, find_invariant, verify_abstracted
from surefoot.solvers.native import Native
from surefoot.term.term import TRUE, Var
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Proved, Unknown
from surefoot.work.budget import Budget

WEIGHT = np.float32(1 / 3)


def largest_is_reached(steps: int | None) -> Problem:
    """The output is at most its weight, which the bounds of rounding exceed."""
    unit = Real(Fraction(0), Fraction(1))
    world = (Component("world", (Edge(),)),)
    environment = Environment(
        "unit", (Variable("x", unit), Variable("y", unit)), TRUE, world, (Control("u"),)
    )
    policy = NeuralPolicy(dense_network([([[WEIGHT, 0]], [0])]), (Var("x"), Var("y")), (), Choose.VALUE)
    return Problem("largest", environment, policy, Never(Var("output[0]") > Fraction(float(WEIGHT)), steps))


def test_an_abstraction_proved_in_reals_says_nothing_about_float32() -> None:
    asking = SearchSettings(Bmc(Native()), Budget(60))
    result = verify_abstracted(largest_is_reached(0), FreedValues(frozenset({1})), asking)
    assert isinstance(result.verdict, Proved)  # of the problem itself, and in reals as well
    assert result.verdict.arithmetic == "proved-real"
    assert result.arithmetic == "network in exact real arithmetic, environment exact"
    assert any(IN_REALS in note for note in result.notes)


def test_an_obligation_shown_in_reals_makes_no_invariant() -> None:
    problem = largest_is_reached(None)
    moving = template_bounds(
        problem, parse_bound_template("y<=", problem), Fraction(0), Fraction(1), Fraction(1)
    )
    result = find_invariant(problem, moving, SearchSettings(Bmc(Native()), Budget(60)))
    assert isinstance(result.verdict, Unknown)
    assert "real arithmetic only" in result.verdict.detail
