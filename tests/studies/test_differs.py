"""`reproduced` stands beside a claim of a paper only where it holds; what differs is data and says so."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from surefoot.cli import run_command_line
from surefoot_studies import STUDIES
from surefoot_studies.commands.figure import claim_to_json, render_claims
from surefoot_studies.comparison import load_study, read_expectations
from surefoot_studies.paper_figures import Claim, check_claim


def entries(*keys: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for study, module in STUDIES.items():
        text = files(module).joinpath("expected.toml").read_text("utf-8")
        data = tomllib.loads(text)
        found += [(study, entry) for key in keys for entry in data.get(key, [])]
    return found


def contradicts(entry: dict[str, Any]) -> bool:
    """Does the recorded verdict say the opposite of the first word that the paper is quoted with?"""
    said = re.match(r"(holds|violated|SAT|UNSAT|\d+ branch|the program)", entry["figure"])
    if said is None:
        return False
    wanted = "violated" if said[0] in ("violated", "SAT") else "proved"
    found = "proved" if entry["verdict"] == "holds" else entry["verdict"]
    return found != wanted


def test_no_recorded_verdict_contradicts_its_paper_unseen() -> None:
    wrong = [(s, e["problem"]) for s, e in entries("expect") if contradicts(e) and not e.get("differs")]
    assert wrong == []


def test_what_differs_says_how() -> None:
    marked = [(s, e) for s, e in entries("expect", "claim", "abstraction") if e.get("differs")]
    assert len(marked) == 45
    assert [(s, e) for s, e in marked if not e.get("note")] == []


@pytest.mark.parametrize(
    ("measure", "study"),
    [
        ("big: share of starts with crash probability above 0.5", "racetrack"),
        ("growth of abstract states after the first hundred random starts", "racetrack"),
        ("share where PA+Marabou is not slower than PA+BB(Marabou)", "racetrack"),
        ("rules", "control"),
    ],
)
def test_bounds_that_were_made_for_what_was_found_are_marked(measure: str, study: str) -> None:
    (entry,) = (e for s, e in entries("claim", "abstraction") if (s, e["measure"]) == (study, measure))
    assert entry["differs"]


def test_a_claim_in_words_and_data() -> None:
    kept = Claim("1", "speed", "a paper", "it is fast", at_least=1.0)
    other = Claim("1", "speed", "a paper", "it is fast", at_most=1.0, differs=True, note="slow here")
    checked = [
        check_claim(kept, 2.0),
        check_claim(other, 0.5),
        check_claim(kept, 0.5),
        check_claim(other, 2.0),
    ]
    assert [c.answer for c in checked] == [
        "reproduced",
        "differs (as recorded)",
        "not reproduced",
        "not reproduced",
    ]
    assert [line for line in render_claims(checked).split("\n") if "figure" in line] == [
        "reproduced     figure 1: speed",
        "differs (as recorded) figure 1: speed",
        "not reproduced figure 1: speed",
        "not reproduced figure 1: speed",
    ]
    facts = [claim_to_json(c) for c in checked]
    told = [(f["reproduced"], f["as_recorded"]) for f in facts]
    assert told == [(True, True), (False, True), (False, False), (False, False)]


def test_rows_of_a_study(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0: everything is as recorded. `reproduced` is false where the paper says otherwise."""
    text = files(STUDIES["toy"]).joinpath("expected.toml").read_text("utf-8")
    first = read_expectations(text, "toy")[0]
    changed = replace(first, figure="UNSAT", differs=True, note="SAT here")
    loaded = replace(load_study("toy"), expectations=(first, changed))
    monkeypatch.setattr("surefoot_studies.commands.options.load_study", lambda _: loaded)
    assert run_command_line(["study", "compare", "toy", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.split("\n") if line and line[0] != " "] == [
        "reproduced     always-positive (bmc)",
        "differs (as recorded) always-positive (bmc)",
    ]
    assert run_command_line(["study", "compare", "toy", "--quiet", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(r["reproduced"], r["as_recorded"], r["answer"]) for r in rows] == [
        (True, True, "reproduced"),
        (False, True, "differs (as recorded)"),
    ]
