"""A slice of the large comparison on random small queries (`python -m benchmarks.fuzz`)."""

import json
from collections import Counter
from time import monotonic

import pytest
from benchmarks.fuzz import Finding, examined, model, sampling
from benchmarks.random_queries import KINDS, small

from surefoot.engines.bmc import verdict_from_proof
from surefoot.query.bounds import integer_variable_names
from surefoot.query.formula import negation_normal_form, sharpen_integer_atoms
from surefoot.query.lower import lower_query
from surefoot.query.query import Sat, Unsat
from surefoot.solvers.native.relu_splitting.query_search import ReluSplitting
from surefoot.solvers.native.solver import decide_native_query
from surefoot_checker.check import judge_certificate

pytest.importorskip("z3")
SEED, COUNT = 1, 34  # queries of each kind


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_contradicts_the_native_solver(kind: str) -> None:
    first = KINDS.index(kind)
    numbers = range(first, COUNT * len(KINDS), len(KINDS))
    found = {number: examined(small(SEED, number), number) for number in numbers}
    assert {number: f.wrong for number, f in found.items() if f.wrong} == {}
    answers = Counter(f.answer for f in found.values())
    assert min(answers["sat"], answers["unsat"]) >= COUNT // 5, answers  # both kinds of answer are tested


def test_wrong_answers_are_noticed() -> None:
    seen = Counter[str]()
    for number in range(60):
        case = small(SEED, number)
        answer = decide_native_query(case.query(), seconds=5.0)
        if isinstance(answer, Sat):
            found = Finding("unsat")
            sampling(case, number, Unsat(), found)
            seen["false unsat"] += bool(found.wrong)
            moved = {v.name: answer.assignment[v.name] + 1000 for v in case.free}
            assert list(model(case, case.query(), Sat({**answer.assignment, **moved})))
        elif isinstance(answer, Unsat) and case.kind == "whole":
            found = Finding("sat")
            sampling(case, number, Sat({}), found)
            seen["false sat"] += bool(found.wrong)
    assert seen["false unsat"] > 10
    assert seen["false sat"] > 0


def test_queries_depend_on_seed_and_number_alone() -> None:
    assert small(3, 8).clauses == small(3, 8).clauses
    assert small(3, 8).clauses != small(4, 8).clauses


@pytest.mark.parametrize("number", [185, 1427, 3020])
def test_neurons_that_touch_zero_have_proofs_that_the_checker_accepts(number: int) -> None:
    """Bounds of exactly 0 in the checker were tiny negative numbers in the search."""
    query = lower_query(small(0, number).query()).query
    formulas = [
        sharpen_integer_atoms(negation_normal_form(c), integer_variable_names(query.quantities))
        for c in query.constraints
    ]
    answer = ReluSplitting(query, formulas)(monotonic() + 20)
    assert isinstance(answer, Unsat)
    assert answer.proof is not None
    certificate = verdict_from_proof(answer.proof).certificate
    assert certificate is not None
    assert judge_certificate(json.loads(json.dumps(certificate.content))).accepted


@pytest.mark.parametrize("number", [24, 46, 445, 704, 777, 1649, 4325, 16257, 17323])
def test_refutations_that_had_no_proof(number: int) -> None:
    """Empty boxes, equalities in disjunctions, nothing free; slopes of clip; signs open by rounding only;
    boxes that shrink to points, an equality against a strict comparison, bounds of what is defined."""
    found = examined(small(0, number), number)
    assert found.answer == "unsat"
    assert not found.wrong
    assert "proof accepted (real)" in found.compared


@pytest.mark.parametrize(("seed", "number"), [(1611, 230), (5013, 140), (5005, 2327)])
def test_refutations_whose_proof_was_refused(seed: int, number: int) -> None:
    """The checker knew more than the search: a sign that was open there, a bound by a definition."""
    found = examined(small(seed, number), number)
    assert found.answer == "unsat"
    assert not found.wrong
    assert "proof accepted (real)" in found.compared


@pytest.mark.parametrize(("seed", "number"), [(31, 365), (31, 2543)])
def test_refutations_that_took_too_long_or_had_no_proof(seed: int, number: int) -> None:
    """Alternatives that contradict themselves at sight; atoms that oppose each other but for inputs."""
    found = examined(small(seed, number), number)
    assert found.answer == "unsat"
    assert not found.wrong
    assert "proof accepted (real)" in found.compared
