"""Random finite systems: bmc, induction and the search through all states never contradict each other."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.laws.brute_force import truth
from tests.laws.contradictions import answer
from tests.laws.finite_systems import KINDS, problems

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.problem.validate import validate_problem

SYSTEMS = 60
ENGINES = (Bmc(depth=6), Induction(depth=4))
seen: Counter[tuple[str, str]] = Counter()


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_engines_agree_with_the_search_through_all_states(seed: int) -> None:
    """One property of each system; `benchmarks/finite_systems.py` asks all four of 300."""
    problem = problems(seed)[KINDS[seed % len(KINDS)]]
    validate_problem(problem)
    true = truth(problem)
    for engine in ENGINES:
        said = answer(problem, engine, 20, true)
        if said is not None:
            word, wrong = said
            assert wrong is None, f"{problem.name}, {engine.name}: {wrong}"
            seen[true, word] += 1


def test_the_engines_did_answer() -> None:
    """After the others: silence would not contradict anything either."""
    if sum(seen.values()) < SYSTEMS:
        pytest.skip("the systems above were not all looked at in this process")
    assert seen["violated", "violated"] > 4 * (seen["violated", "unknown"] + 1)
    assert seen["holds", "holds"] > seen["holds", "unknown"] + seen["holds", "holds in part"]
