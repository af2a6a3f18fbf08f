"""Sketches by the user: the monomials of rules and of barriers."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot.certify.barrier.claim import build_barrier_certificate
from surefoot.engines.barrier.invariant_set import barrier_to_term
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.engines.barrier.sos_candidate import fit_barrier
from surefoot.errors import InvalidProblem
from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import polynomial_of, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.linear_controllers import (
    UNSAFE,
    Floats,
    improve_by_random_search,
    rollout_cost,
    sample_starts,
)
from surefoot.shields.program import synthesis_evidence, synthesis_program
from surefoot.shields.recheck import OldRule, recheck_shield
from surefoot.shields.sketch_rules import (
    Combination,
    combination_from_polynomials,
    enumerate_sketch_rules,
    fit_combination,
    imitation_distance,
    read_sketch,
)
from surefoot.shields.synthesis import RuleSource, synthesise_rules
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Term
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.pendulum.problem import stays_upright

DUFFING = discretise(stays_safe("duffing"))
SYSTEM = read_control_system(DUFFING)
CUBIC = read_sketch("x, y, x^3", SYSTEM.variables, 5, "rule")
SAFE = np.array([[-16.0, -22.0, 1.0]])  # of x, y and x^3
STATES = np.random.default_rng(4).uniform(-2, 2, (50, 2))


def of(term: Term) -> Polynomial:
    count = len(SYSTEM.variables)
    return polynomial_of(
        term, {n: polynomial_from_variable(i, count) for i, n in enumerate(SYSTEM.variables)}, count, False
    )


def cubic(states: Floats) -> Floats:
    return fit_combination(CUBIC, SYSTEM.initial, STATES, STATES[:, :1]).weighing(SAFE).controls(states)


def test_a_sketch_is_a_list_of_monomials() -> None:
    found = read_sketch(" 1, x,y ,x*y^2, y*x*(x*y) ", ("x", "y"), 4, "rule")
    assert found == ((0, 0), (1, 0), (0, 1), (1, 2), (2, 2))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("x, z", "unknown name `z`"),
        ("x + y", "`x + y` is not a monomial"),
        ("2*x", "`2*x` is not a monomial"),
        ("x - x", "is not a monomial"),
        ("sin(x)", "is not a monomial"),
        ("1/x", "is not a monomial"),
        ("x^100000", "is not a monomial"),
        ("x*y^2", "has degree 3"),
        ("x*y, y*x", "the same monomial as `x*y`"),
        ("x,", "missing at a comma"),
        ("x >", "`x >`: "),
    ],
)
def test_what_is_no_sketch_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        read_sketch(text, ("x", "y"), 2, "--rule")
    assert wrong in str(error.value)
    assert str(error.value).startswith("--rule: ")
    assert error.value.fix


def test_regression_finds_a_combination_again() -> None:
    found = fit_combination(CUBIC, SYSTEM.initial, STATES, cubic(STATES))
    assert np.allclose(found.weights, SAFE)
    lesser = fit_combination(CUBIC, SYSTEM.initial, STATES, STATES[:, 1:] * 3)
    assert lesser.weights[0, 0] == lesser.weights[0, 2] == 0  # what is only rounding is left out


def test_a_rule_is_written_as_it_is_simulated() -> None:
    sketch = read_sketch("1, x, y^2, x^2*y", SYSTEM.variables, 5, "rule")
    rule = fit_combination(sketch, SYSTEM.initial, STATES, np.sin(STATES[:, :1] * STATES[:, 1:]) + 1)
    (term,) = rule.terms(SYSTEM)
    assert of(term).terms.keys() <= set(sketch)
    for state, simulated in zip(STATES[:10], rule.controls(STATES[:10]), strict=True):
        names = dict(zip(SYSTEM.variables, map(float, state), strict=True))
        assert abs(evaluate_term(term, names, DUFFING.environment.arithmetic) - simulated[0]) < 1e-4
    nothing = rule.weighing(np.zeros((1, 4)))
    assert of(nothing.terms(SYSTEM)[0]).terms == {}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regulators of one weight are enough here."""
    monkeypatch.setattr("surefoot.shields.linear_controllers.WEIGHTS", (1.0,))


@pytest.mark.usefixtures("few")
def test_candidates_take_back_what_is_not_linear() -> None:
    """Duffing's oscillator is pulled by -x^3; among the candidates are rules that push by it."""
    found = list(enumerate_sketch_rules(SYSTEM, SYSTEM.initial, None, CUBIC, Budget(60)))
    assert any(abs(c.weights[0, 2] - 1) < 1e-6 for c in found)
    assert (
        len(list(enumerate_sketch_rules(SYSTEM, SYSTEM.initial, None, CUBIC, Budget(0)))) == 1
    )  # no time for more
    assert rollout_cost(SYSTEM, found[0], SYSTEM.initial) <= rollout_cost(SYSTEM, found[-1], SYSTEM.initial)


def test_the_distance_of_equation_5() -> None:
    same = fit_combination(CUBIC, SYSTEM.initial, STATES, cubic(STATES))
    assert imitation_distance(SYSTEM, same, SYSTEM.initial, cubic) < 1e-6
    other = same.weighing(SAFE + 1)
    assert 1e-3 < imitation_distance(SYSTEM, other, SYSTEM.initial, cubic) < UNSAFE / 100
    pushed = replace(
        SYSTEM, initial=((Fraction(6), Fraction(7)), (Fraction(0), Fraction(0)))
    )  # unsafe at once
    assert imitation_distance(pushed, same, pushed.initial, cubic) >= UNSAFE / 1000
    assert imitation_distance(SYSTEM, same.weighing(-10 * SAFE), SYSTEM.initial, cubic) == float("inf")


def test_the_random_search_comes_closer_to_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.shields.linear_controllers.ROUNDS", 6)
    monkeypatch.setattr("surefoot.shields.sketch_rules.STEPS", 100)
    system = read_control_system(discretise(stays_upright()))
    sketch = read_sketch("eta, omega", system.variables, 5, "rule")
    wanted = np.array([[-26.0, -15.0]])
    start = Combination(sketch, wanted * [[1.3, 0.8]], np.ones(2))

    def price(rule: Combination) -> float:
        return imitation_distance(system, rule, system.initial, lambda s: np.clip(s @ wanted.T, -15, 15))

    found = improve_by_random_search(start, price, Budget(60, 3))
    assert price(found) < price(start)
    assert improve_by_random_search(start, price, Budget(60, 3)).weights.tolist() == found.weights.tolist()


def test_a_barrier_has_the_given_monomials_only() -> None:
    """Also where the box of states has another middle than 0, and monomials are sums in its units."""
    shape = read_sketch("1, x^2, x*y, y^2", SYSTEM.variables, 12, "invariant")
    rule = fit_combination(CUBIC, SYSTEM.initial, STATES, cubic(STATES)).terms(SYSTEM)
    where = scale_system(SYSTEM, rule, ((Fraction(-9, 2), Fraction(5)), (Fraction(-19, 4), Fraction(9, 2))))
    found = fit_barrier(where, SYSTEM.initial, shape, Fraction(999, 1000), [(False, False)], Budget(60))
    assert found is not None
    assert of(barrier_to_term(where, found)).terms.keys() == set(shape)


@pytest.mark.usefixtures("few")
def test_a_cubic_rule_is_certified_with_a_sketched_barrier() -> None:
    shape = read_sketch("1, x^2, x*y, y^2, x^4", SYSTEM.variables, 12, "invariant")
    found = synthesise_rules(SYSTEM, RuleSource(sketch=CUBIC), (shape,), Budget(60))
    assert not found.uncovered
    for branch in found.branches:
        assert of(branch.set.barrier).terms.keys() <= set(shape)
        assert of(branch.then[0]).terms.keys() <= set(CUBIC)
    assert any(of(branch.then[0]).degree == 3 for branch in found.branches)
    problem = replace(DUFFING, policy=synthesis_program(SYSTEM, found))
    assert judge_certificate(
        json.loads(json.dumps(build_barrier_certificate(problem, synthesis_evidence(found)).content))
    ).accepted


def test_an_old_rule_that_is_not_affine_is_improved_like_others() -> None:
    rule = fit_combination(CUBIC, SYSTEM.initial, STATES, cubic(STATES))
    again = combination_from_polynomials([of(term) for term in rule.terms(SYSTEM)], SYSTEM.initial)
    states = sample_starts(SYSTEM.initial, np.random.default_rng(0))
    assert np.allclose(again.controls(states), rule.controls(states))
    box = ((Fraction(-1), Fraction(1)),) * 2  # too small for the starts: the old set is of no use
    old = OldRule(rule.terms(SYSTEM), box, rule.terms(SYSTEM)[0])
    found = recheck_shield(SYSTEM, [old], None, (2,), Budget(60))
    assert found.stage == "sets"
    assert found.found.branches[0].then == old.then
