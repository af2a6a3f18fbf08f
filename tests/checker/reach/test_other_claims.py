"""What problems of closed loops have, and no other claim gives a meaning to, is refused by all others."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.format_1 import translate_certificate
from surefoot_checker.kernel.strict_json import BadCertificate, Refused
from surefoot_checker.kernel.term import ELEMENTARY, evaluate, read_term

STORED = [
    json.loads(line) for line in (Path(__file__).parents[1] / "format_1.jsonl").read_text().splitlines()
]
KINDS = ("execution", "recurrence", "process", "graph", "barrier", "convergence")


def accepted_claim(kind: str) -> Any:
    """An old certificate of this kind, in the form of today."""
    for row in STORED:
        if row["certificate"]["claim"].get("kind") == kind and row["verdict"] == "accepted":
            return translate_certificate(row["certificate"])
    raise AssertionError(kind)


@pytest.mark.parametrize("word", sorted(ELEMENTARY))
@pytest.mark.parametrize("kind", KINDS)
def test_elementary_functions(kind: str, word: str) -> None:
    written = copy.deepcopy(accepted_claim(kind))
    assert judge_certificate(copy.deepcopy(written)).accepted
    problem = written["claim"]["problem"]
    problem["initial"] = ["and", problem["initial"], ["<=", [word, 1], 100]]
    with pytest.raises(BadCertificate, match=f"`{word}` stands in a claim of a kind that does not cover it"):
        judge_certificate(written)


@pytest.mark.parametrize("limit", [{"until": 5}, {"since": 1}, {"until": "5", "since": "1"}])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "process"])
def test_limits_in_seconds(kind: str, limit: Any) -> None:
    written = copy.deepcopy(accepted_claim(kind))
    written["claim"]["problem"]["property"].update(limit)
    with pytest.raises(BadCertificate, match="property"):
        judge_certificate(written)


def test_never_from_a_later_step_on() -> None:
    for row in STORED:
        data = row["certificate"]
        if row["verdict"] == "accepted" and data["claim"].get("kind") in ("execution", "graph", "barrier"):
            written = copy.deepcopy(translate_certificate(data))
            if written["claim"]["problem"]["property"]["kind"] == "never":
                written["claim"]["problem"]["property"]["after"] = 0
                with pytest.raises(BadCertificate, match="other bounds than its kind has"):
                    judge_certificate(written)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_ask_another_network(kind: str) -> None:
    written = copy.deepcopy(accepted_claim(kind))
    problem = written["claim"]["problem"]
    if problem["policy"] is None:
        empty: Any = {
            "rules": [],
            "network": None,
            "observe": [],
            "choose": "argmax",
            "actions": [],
            "owns": [],
        }
        problem["policy"] = empty
    sets = problem["policy"]["choose"] == "value"
    then = {
        "network": {"width": 0, "nodes": []},
        "observe": [],
        "choose": "value" if sets else "argmax",
        "actions": [],
    }
    problem["policy"]["rules"].append({"when": False, "then": then})
    with pytest.raises(BadCertificate, match="rule: not a"):
        judge_certificate(written)


def test_elementary_functions_have_no_exact_value() -> None:
    term = read_term(["sin", 0], elementary=True)
    with pytest.raises(Refused, match="no exact value"):
        evaluate(term, lambda atom: 0)
    with pytest.raises(BadCertificate):
        read_term(["sin", 0, 1], elementary=True)
