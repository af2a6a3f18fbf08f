"""The same verdict, witness and certificate for any number of workers."""

from __future__ import annotations

import json

import pytest
from tests.engines.reach.small_loops import check_reach_proof, timed_loop
from tests.solvers.native.divided import deal_early, query_above

from surefoot.engines.reach import search
from surefoot.engines.reach.engine import Reach
from surefoot.problem.problem import Problem
from surefoot.query.query import Answer, Sat, Undecided, Unsat
from surefoot.solvers.native.solver import decide_native_query
from surefoot.verdict.verdict import Proved, Verdict
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

WORKERS = (1, 2, 3)


def what_is_said(answer: Answer) -> object:
    proof = getattr(answer, "proof", None)
    words = None if proof is None else json.dumps([proof.claim, proof.arithmetic, proof.cases])
    match answer:
        case Sat(assignment):
            return sorted(assignment.items())
        case Undecided(why, _):
            return why, words
        case _:
            return words


@pytest.mark.parametrize(
    ("seed", "margin", "single"),
    [(1, 0.03, False), (2, 0.004, True), (3, 0.004, False), (6, 0.004, True), (6, -0.0003, True)],
)
def test_searches_over_boxes(seed: int, margin: float, single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    deal_early(monkeypatch)
    answers = [decide_native_query(query_above(seed, margin, single), workers=n) for n in WORKERS]
    assert len({type(answer) for answer in answers}) == 1
    assert what_is_said(answers[1]) == what_is_said(answers[0])
    assert what_is_said(answers[2]) == what_is_said(answers[0])
    if isinstance(answers[1], Unsat):
        proof = answers[1].proof
        assert proof is not None
        content = {"surefoot-certificate": 1, "claim": proof.claim, "arithmetic": proof.arithmetic}
        whole = json.loads(json.dumps({**content, "cases": list(proof.cases)}))
        assert judge_certificate(whole).accepted


def swinging_loop(limit: str) -> Problem:
    """A pendulum with friction from a box of starts, of which many cells are followed."""
    starts = {"x": (-0.5, 0.5), "y": (-0.5, 0.5)}
    return timed_loop(
        {"x": "y", "y": "0 - x - 0.1 * y - 0.2 * x^3"},
        starts,
        f"never x > {limit} for 2 seconds",
        period=0.25,
    )


def certificate_text(verdict: Verdict) -> str:
    assert isinstance(verdict, Proved), verdict
    return json.dumps(verdict.certificate.content)


def test_cells_of_closed_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATIENCE", 0.0)
    monkeypatch.setattr(search, "LEAST_PART", 2)
    problem = swinging_loop("0.7")
    found = [Reach(order=2, pieces=1, taylor=3).check(problem, Budget(100, workers=n)) for n in WORKERS]
    assert len({certificate_text(one) for one in found}) == 1
    assert certificate_text(found[0]).count('"split"') >= 3
    assert check_reach_proof(problem, found[1]).accepted
