"""Certificates of format 1, written before there was another: every one has the verdict that it had then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.kernel.format_1 import translate_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

STORED = [json.loads(line) for line in (Path(__file__).parent / "format_1.jsonl").read_text().splitlines()]
KINDS = {"execution", "recurrence", "process", "graph", "barrier", "convergence"}


def judge(data: dict[str, Any]) -> CheckerVerdict:
    try:
        return judge_certificate(data)
    except BadCertificate as error:
        return CheckerVerdict(False, str(error))


@pytest.mark.parametrize("row", STORED, ids=lambda row: row["name"])
def test_old_certificates_keep_their_verdict(row: dict[str, Any]) -> None:
    found = judge(row["certificate"])
    assert found.accepted is (row["verdict"] == "accepted"), found.reason
    if found.accepted:
        said = (found.claim, found.arithmetic, list(found.not_certified))
        assert said == (row["claim"], row["arithmetic"], row["not certified"])


@pytest.mark.parametrize("row", STORED, ids=lambda row: row["name"])
def test_a_translation_is_a_certificate_of_format_2(row: dict[str, Any]) -> None:
    if row["verdict"] == "accepted":
        written = json.loads(json.dumps(translate_certificate(row["certificate"])))
        assert written["surefoot-certificate"] == 2
        assert judge(written) == judge(row["certificate"])
        assert not judge({**written, "surefoot-certificate": 1}).accepted  # it is not one of format 1


def test_every_kind_of_claim_about_a_problem_is_stored_accepted_and_refused() -> None:
    found = {(row["certificate"]["claim"].get("kind"), row["verdict"]) for row in STORED}
    assert found >= {(kind, verdict) for kind in KINDS for verdict in ("accepted", "refused")}
