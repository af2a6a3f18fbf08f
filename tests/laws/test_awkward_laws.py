"""Random systems full of awkward things: nothing false is proved, whatever is done to a certificate."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from benchmarks.mutation.execution_aids import abused
from benchmarks.mutation.execution_falsehoods import false_mutants
from benchmarks.mutation.execution_truth import is_false
from benchmarks.mutation.executions import campaign, is_accepted
from benchmarks.old_format import to_format_1
from tests.laws.awkward_systems import awkward
from tests.laws.brute_force import truth
from tests.laws.contradictions import contradiction, word

from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_run_certificate
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.errors import Unsupported
from surefoot.problem.validate import validate_problem
from surefoot.run import verify
from surefoot.verdict.verdict import Certificate, ProofArgument
from surefoot.work.budget import Budget

SYSTEMS = 24
ENGINES = (Bmc(depth=5), Induction(depth=4))
CERTIFIED = (5, 33)  # systems whose property has a certificate
seen: Counter[tuple[str, str]] = Counter()


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_answers_agree_with_the_search_through_all_states(seed: int) -> None:
    problem = awkward(seed)
    validate_problem(problem)
    try:
        true = truth(problem, limit=300)
    except Unsupported:  # a real number takes infinitely many values
        return
    result = verify(problem, ENGINES, Budget(10))
    wrong = contradiction(problem, result, true)
    assert wrong is None, f"seed {seed}: {wrong}"
    seen[true, word(result)] += 1


def test_something_was_proved() -> None:
    if sum(seen.values()) < SYSTEMS // 2:
        pytest.skip("the systems above were not all looked at in this process")
    assert seen["holds", "proved"] > 1
    assert seen["violated", "violated"] > 5


@pytest.mark.parametrize("seed", CERTIFIED)
def test_no_damaged_certificate_shows_a_falsehood(seed: int) -> None:
    """`python -m benchmarks.mutation.executions` makes every change to many more."""
    counted: Counter[tuple[str, str, str]] = Counter()
    assert campaign(seed, 25, counted, anew=False) == []
    assert counted["base, plain", "as it is", "true, accepted"] >= 1
    assert counted["mutants", "distinct", "false"] > 3
    assert sum(n for (_, _, outcome), n in counted.items() if outcome.endswith("rejected")) > 0


def test_no_aid_hides_a_violation() -> None:
    """What a false claim needs is assumed, freed or made different, and everything else is proved."""
    problem = awkward(5)
    made = prove_run_certificate(
        problem, run_problem_to_json(problem), ProofArgument("induction", 1, 1), Budget(20)
    )
    assert isinstance(made, Certificate)
    kinds = set()
    for _, mutant in islice(false_mutants(to_format_1(made.content)), 1):
        assert is_false(mutant["claim"]["problem"])
        for attempt in abused(problem, mutant):
            kinds |= attempt["claim"]["argument"].keys()
            assert not is_accepted(attempt)
    assert kinds >= {"assuming", "different", "free"}
