"""Predicate abstraction, all states, bmc and induction never contradict each other on random networks."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.laws.automata_networks import automata_network, predicates
from tests.laws.brute_force import truth
from tests.laws.contradictions import answer
from tests.laws.finite_systems import problems

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.predicates import Predicates
from surefoot.problem.problem import Problem
from surefoot.problem.validate import validate_problem

NETWORKS = 9
seen: Counter[tuple[str, str]] = Counter()


def agrees(problem: Problem, seed: int) -> None:
    validate_problem(problem)
    true = truth(problem)
    given = predicates(seed, problem)
    for engine in (Predicates(), Predicates(given), Predicates(given, fixed=True)):
        said = answer(problem, engine, 20, true)
        if said is not None:
            word, wrong = said
            assert wrong is None, f"{problem.name}, {engine}: {wrong}"
            seen[true, word] += not engine.fixed


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_automata_networks(seed: int) -> None:
    """`benchmarks/predicates.py` asks 200 of them, and bmc and induction too."""
    agrees(automata_network(seed), seed)


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_finite_systems(seed: int) -> None:
    agrees(problems(seed)["never"], seed)


def test_the_other_engines_agree() -> None:
    for seed in (0, 8):
        problem = automata_network(seed)
        true = truth(problem)
        for engine in (Bmc(depth=4), Induction(depth=2)):
            said = answer(problem, engine, 10, true)
            assert said is None or said[1] is None


def test_the_engine_did_answer() -> None:
    """After the others: silence would not contradict anything either."""
    if sum(seen.values()) < NETWORKS:
        pytest.skip("the networks above were not all looked at in this process")
    assert not seen["holds", "unknown"]
    assert seen["violated", "violated"] > 8 * seen["violated", "unknown"]
