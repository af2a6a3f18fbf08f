"""Tipping points and abstractions of small problems with known answers, through `verify`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.network import dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.abstraction import FreedValues
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.search import SearchSettings, find_tipping_point, verify_abstracted
from surefoot.solvers.native import Native
from surefoot.term.interval import Span
from surefoot.term.term import Var
from surefoot.verdict.artifact import TippingPoint
from surefoot.verdict.verdict import Found, Holds, Proved, Result, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget
from surefoot_studies.toy.problem import UPPER_RIGHT, always_positive, below_thirteen, toy_environment

OUTPUT = Var("output[0]")
FIRST = (Fraction(0), Fraction(1))


def search(problem: Problem, text: str, low: str, high: str, precision: str) -> tuple[Problem, Result]:
    between = (Fraction(low), Fraction(high))
    asking = SearchSettings(Bmc(Native()), Budget(60))
    return find_tipping_point(
        problem, parse_bound_template(text, problem), between, Fraction(precision), asking
    )


def ends(result: Result) -> tuple[Fraction, Fraction]:
    assert isinstance(result.verdict, Found)
    found = result.verdict.artifact
    assert isinstance(found, TippingPoint)
    assert found.proved is not None
    assert found.refuted is not None
    assert found.refuted.certified
    return found.proved.value, found.refuted.value


def test_the_largest_output_of_the_toy_network_is_twelve() -> None:
    """Invariant A's template: the inputs are fixed, the output's bound moves (the maximum is at (-1, 0))."""
    about, result = search(always_positive(), "output[0]<=", "1/8", "257/8", "1/4")
    assert ends(result) == (Fraction("12.125"), Fraction("11.875"))
    assert isinstance(about.property, Never)


def test_a_bound_of_an_input_moves_while_the_property_stays() -> None:
    """output[0] >= 10 needs x1 <= -2/3: with x1 >= b the bound 10 is kept from about there on."""
    problem = replace(always_positive(), property=Never(OUTPUT >= 10, 0))
    about, result = search(problem, "x1>=", "-1", "1", "1/16")
    proved, refuted = ends(result)
    assert proved - refuted == Fraction(1, 16)
    assert any("only runs that keep x1 >=" in note for note in result.notes)
    assert about.property == problem.property


def test_a_range_in_which_nothing_holds_is_a_violation_and_one_without_states_is_vacuous() -> None:
    _, violated = search(always_positive(), "output[0]<=", "0", "8", "1")
    assert isinstance(violated.verdict, Violated)
    assert any("already at the easy end" in note for note in violated.notes)
    corner = replace(below_thirteen(), environment=toy_environment(UPPER_RIGHT))
    _, empty = search(corner, "x1<=", "-1", "1", "1/2")  # no start has x1 <= -1
    assert isinstance(empty.verdict, Vacuous)
    _, nothing = search(corner, "x1<=", "-9", "1", "1/2")  # nor has any state x1 <= -9
    assert isinstance(nothing.verdict, Vacuous)
    with pytest.raises(InvalidProblem, match="not below"):
        search(corner, "x1<=", "1", "1", "1/2")


def ignoring() -> Problem:
    """The output is 3 * x1 + 1; x2 is read and has no weight."""
    network = dense_network([([[3.0, 0.0]], [1.0])], name="ignoring")
    problem = below_thirteen()
    assert isinstance(problem.policy, NeuralPolicy)
    start: Environment = toy_environment(UPPER_RIGHT)
    policy = replace(problem.policy, network=network)
    return Problem("ignoring", start, policy, Never(OUTPUT > 5))


def test_a_proof_with_fewer_inputs_carries_over() -> None:
    result = verify_abstracted(
        ignoring(), FreedValues(frozenset({1})), SearchSettings((Bmc(), Induction()), Budget(60))
    )
    assert isinstance(result.verdict, Proved)
    assert result.certified
    assert "depends only on: x1" in result.notes
    claim: Any = result.verdict.certificate.content["claim"]
    assert claim["problem"] == run_problem_to_json(ignoring())  # the original, not the abstraction
    assert claim["argument"]["free"] == {"inputs": [[1, -1, 1]], "outputs": []}


def test_inputs_that_a_proof_needs_are_found() -> None:
    problem = replace(ignoring(), property=Never(Fraction(1, 2) > OUTPUT, 0))  # starts have x1 >= 0
    result = verify_abstracted(problem, None, SearchSettings(Bmc(), Budget(60)))
    assert isinstance(result.verdict, Holds | Proved)
    assert any("depends only on: x1 (" in note for note in result.notes)
    nothing = replace(problem, property=Never(OUTPUT < -3, 0))
    result = verify_abstracted(nothing, None, SearchSettings(Bmc(), Budget(60)))
    assert any("depends only on: nothing" in note for note in result.notes)
    wide = {1: Span(Fraction(-50), Fraction(50)), 0: Span(Fraction(-50), Fraction(50))}
    result = verify_abstracted(nothing, None, SearchSettings(Bmc(), Budget(60)), wide)
    assert any("depends only on: x1 (" in note for note in result.notes)


def test_a_spurious_trace_is_not_reported_and_a_real_one_is() -> None:
    problem = replace(ignoring(), property=Never(Fraction(1, 2) > OUTPUT, 0))
    result = verify_abstracted(problem, FreedValues(frozenset({0})), SearchSettings(Bmc(), Budget(60)))
    assert isinstance(result.verdict, Holds | Proved)
    assert any("it is spurious" in note for note in result.notes)
    real = replace(problem, property=Never(Fraction(7, 2) < OUTPUT))
    result = verify_abstracted(real, FreedValues(frozenset({1})), SearchSettings(Bmc(), Budget(60)))
    assert isinstance(result.verdict, Violated)
    assert result.certified
    assert all(set(s) == {"x1", "x2"} for s in result.verdict.trace.states)
    assert any("replays on the problem itself" in note for note in result.notes)


def test_a_freed_output_is_anything_in_a_range_that_was_proved() -> None:
    problem = replace(ignoring(), property=Never(Var("x1") > 2))
    asking = SearchSettings((Bmc(), Induction()), Budget(60))
    result = verify_abstracted(problem, FreedValues(outputs=frozenset({0})), asking)
    assert isinstance(result.verdict, Proved)
    narrow = FreedValues(outputs=frozenset({0}), output_ranges={0: Span(*FIRST)})
    result = verify_abstracted(problem, narrow, SearchSettings((Bmc(), Induction()), Budget(60)))
    assert isinstance(result.verdict, Unknown)
    assert "could not be proved" in result.verdict.detail
    right = FreedValues(outputs=frozenset({0}), output_ranges={0: Span(Fraction(-3), Fraction(5))})
    result = verify_abstracted(problem, right, SearchSettings((Bmc(), Induction()), Budget(60)))
    assert isinstance(result.verdict, Proved)
    claim: Any = result.verdict.certificate.content["claim"]
    assert claim["argument"]["free"]["outputs"] == [[0, -3, 5]]
