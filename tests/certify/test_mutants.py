"""Mutated certificates, in small; `python -m benchmarks.mutants` runs thousands of them."""

import json
from pathlib import Path

import pytest
from benchmarks.mutation import files
from benchmarks.mutation.claims import read_claim
from benchmarks.mutation.producer import BUGS
from benchmarks.mutation.questions import question, rounded_question, touching_question
from benchmarks.mutation.truth import truth

from benchmarks import mutants


def test_no_mutant_that_claims_something_false_is_accepted() -> None:
    result = mutants.first_campaign(60, 15, seed=7)
    assert result["mutants"] == 60
    assert result["wrong"] == []
    assert result["crashed"] == []
    assert result["false"] >= 3
    assert result["rejected"] >= 20
    assert len(result["accepted"]) >= 5


def test_no_certificate_of_a_solver_with_a_planted_bug_is_accepted() -> None:
    result = mutants.second_campaign(20, seed=7)
    assert result["rejected"] == result["certificates"] == 20
    assert result["crashed"] == []
    assert len(result["bugs"]) >= 8
    assert set(result["bugs"]) <= set(BUGS)


def test_a_checker_that_accepts_everything_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def gullible(text: str, folder: Path) -> tuple[bool, str]:
        return True, ""

    monkeypatch.setattr(mutants, "accepted", gullible)
    first, second = mutants.first_campaign(30, 4, seed=7), mutants.second_campaign(5, seed=7)
    assert any(w["verdict"] == "false" for w in first["wrong"])
    assert len(second["wrong"]) == 5


@pytest.mark.parametrize("seed", range(20))
def test_truth_is_known(seed: int) -> None:
    """Claims made to be true or false are found to be so, without the checker."""
    for wanted in (True, False):
        claim, arithmetic = question(seed, wanted, 0.1)
        # What samples did not reach may be reached: then a claim meant to be true is false, by a witness.
        assert truth(read_claim(claim, arithmetic), seed)[0] in ((True, False) if wanted else (False,))
    for claim, arithmetic in (rounded_question(seed), touching_question(seed)):
        assert truth(read_claim(claim, arithmetic), seed)[0] is False


@pytest.mark.parametrize(
    ("arithmetic", "inputs"), [("real", "real"), ("float32", "float32"), ("float32", "real")]
)
def test_certificates_about_files_are_accepted(arithmetic: str, inputs: str, tmp_path: Path) -> None:
    files.write_question(tmp_path, 5, 0.3)
    certificate = files.certificate(tmp_path, arithmetic, inputs, 5)
    assert mutants.accepted(json.dumps(certificate), tmp_path) == (
        True,
        "every case is covered and every state is closed",
    )
    certificate["claim"]["inputs"] = "integer"
    assert not mutants.accepted(json.dumps(certificate), tmp_path)[0]
    del certificate["claim"]["inputs"]
    assert not mutants.accepted(json.dumps(certificate), tmp_path)[0]
