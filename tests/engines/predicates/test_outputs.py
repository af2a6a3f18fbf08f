"""Conditions about what the network says: against a search through all states, by table and by questions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from tests.engines.predicates.wide_systems import FIRST, tanks
from tests.laws.automata_networks import automata_network
from tests.laws.brute_force import truth

from surefoot.certify.replay import replay
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.symbolic import beyond_rounding, refinement
from surefoot.network.evaluate import network_batch_outputs
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import Const, Term, Var, equal, ite
from surefoot.verdict.verdict import Holds, Proved, Reason, Unknown, Violated
from surefoot.work.budget import Budget

first, second = (Var(network_output_name(i)) for i in range(2))


def about_outputs(seed: int) -> Problem:
    draw = Random(seed)

    def number() -> Const:
        return Const(Fraction(draw.randint(-30, 30), 10))

    bad: tuple[Term, ...] = (
        first > number(),
        ~(second <= number()) | Var("b"),
        ~(first <= second),
        (Var("x") <= 1) & (second > number()),
        ite(Var("b"), first > number(), second < number()),
        ~equal(first, number()) & (first <= number()),
        equal(first > number(), Var("b")),
        ~equal(Var("b"), second <= number()),
    )
    return replace(automata_network(seed), property=Never(draw.choice(bad)))


@pytest.mark.parametrize("means", ["table", "cells"])
@pytest.mark.parametrize("seed", range(100, 112))
def test_refinement_tells_the_truth_about_outputs(seed: int, means: str) -> None:
    problem = about_outputs(seed)
    verdict = Predicates(means=means).check(problem, Budget(60))  # type: ignore[arg-type]
    match verdict:
        case Violated(trace):
            assert truth(problem) == "violated"
            assert replay(problem, trace) is None
        case Holds():
            assert truth(problem) == "holds"
        case _:
            assert isinstance(verdict, Unknown)
            assert truth(problem) == "unclear"


def test_what_holds_of_outputs_is_certified() -> None:
    result = verify(about_outputs(113), Predicates(means="cells"), Budget(60))
    assert isinstance(result.verdict, Proved)


def test_a_product_of_outputs_is_refused() -> None:
    problem = replace(automata_network(0), property=Never(first * second > 1))
    assert Predicates(means="cells").objection(problem) is not None
    assert isinstance(Predicates(means="table").check(problem, Budget(60)), Unknown)


@pytest.mark.parametrize("means", ["table", "cells"])
def test_a_truth_within_rounding_may_be_either(means: str) -> None:
    """The threshold is the output of a state: the comparison and its opposite count as possible."""
    problem = automata_network(100)
    for threshold in _outputs(problem):
        for bad in (equal(first > threshold, Var("b")), ~equal(first > threshold, Var("b"))):
            asked = replace(problem, property=Never(bad))
            verdict = Predicates(means=means).check(asked, Budget(60))  # type: ignore[arg-type]
            if isinstance(verdict, Holds):
                assert truth(asked) == "holds"
            if isinstance(verdict, Violated):
                assert truth(asked) == "violated"


@pytest.mark.parametrize("seed", [6, 19, 23, 46, 57])
def test_a_violation_behind_states_that_are_bad_within_rounding_is_found(seed: int) -> None:
    """The threshold is the output of a state, so that states come first that are bad in some evaluation."""
    problem = automata_network(seed)
    for threshold in dict.fromkeys(_outputs(problem)):
        for bad in (first > threshold, (first >= threshold) & (Var("x") >= 1)):
            asked = replace(problem, property=Never(bad))
            verdict = Predicates(means="table").check(asked, Budget(60))
            assert isinstance(verdict, Violated) == (truth(asked) == "violated")
            if isinstance(verdict, Violated):
                assert replay(asked, verdict.trace) is None


@pytest.mark.parametrize("seed", [19, 46])
def test_it_is_found_by_questions_without_random_runs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "falsify_by_simulation", lambda *_: None)
    problem = automata_network(seed)
    for threshold in dict.fromkeys(_outputs(problem)):
        asked = replace(problem, property=Never(first > threshold))
        verdict = Predicates(means="cells").check(asked, Budget(60))
        assert isinstance(verdict, Violated) == (truth(asked) == "violated")


def test_among_very_many_states_it_is_found_beyond_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The starts with the largest output are bad within rounding; the tank is too full three steps later."""
    monkeypatch.setattr(refinement, "falsify_by_simulation", lambda *_: None)
    monkeypatch.setattr(beyond_rounding, "MOST_STATES", 30)
    problem = tanks((FIRST > 420) | (first >= _above(1500)), eager=True)
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Violated)
    assert replay(problem, verdict.trace) is None
    doubtful = tanks((FIRST > 1500) | (first >= _above(400)))
    verdict = Predicates().check(doubtful, Budget(60))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.NUMERICS
    assert "nor was a run that does not depend on rounding found" in verdict.detail


def _above(value: float) -> Const:
    """The next float32 number."""
    return Const(Fraction(float(np.nextafter(np.float32(value), np.float32(np.inf)))))


def _outputs(problem: Problem) -> list[Const]:
    """What the network says in some states, as exact numbers."""
    assert isinstance(problem.policy, NeuralPolicy)
    inputs = list(product(range(3), repeat=len(problem.policy.observe)))[:9]
    values = network_batch_outputs(problem.policy.network, np.array(inputs, dtype=np.float32))
    return [Const(Fraction(float(row[0]))) for row in values]


def test_numbers_that_depend_on_truths_about_outputs_are_refused() -> None:
    bad = ite(first > 1, Const(1), Const(0)) <= 0
    verdict = Predicates().objection(replace(automata_network(100), property=Never(bad)))
    assert verdict is not None
    assert "outputs" in verdict
