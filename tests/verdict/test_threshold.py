"""A threshold is met, missed or undecided: in words, in JSON, in colour and as an exit code."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from surefoot.cli import run_command_line
from surefoot.engines.statistical import Statistical
from surefoot.problem.property import Threshold
from surefoot.verdict.threshold import compare_with_threshold, keeps_threshold, place_interval
from surefoot.verdict.verdict import Estimated, Reason

WALK = """
name = "walk"
initial = "n = 0"
[variables]
n = "int 0..3"
[[edges]]
action = "go"
guard = "n < 3"
[[edges.outcomes]]
probability = "1/2"
updates = { n = "n + 1" }
[[edges.outcomes]]
probability = "1/2"
updates = { n = "3" }
[policy.program]
branches = [ { action = "go" } ]
[properties]
met = "P<=0.9 [ F n = 2 ]"
missed = "P>=0.9 [ F n = 2 ]"
"on it" = "P>=1/4 [ F n = 2 ]"
reward = "E<=2 [ steps until n = 3 ]"
"reward missed" = "E>2 [ steps until n = 3 ]"
each = "P>=0.3 [ F n = 2 ] over values of n <= 2"
"all of them" = "P>0.1 [ F n = 2 ] over values of n <= 2"
count = "P>=0.9 [ F n = 2 ] over count of n <= 2"
value = "P=? [ F n = 2 ]"
best = "P>=0.9 [ F n = 2 ] over max of n <= 2"
never = "never n = 5"
bad = "never n = 2"
"""
RELATIONS = st.sampled_from(["<", "<=", ">", ">="])
NUMBERS = st.fractions(-3, 3, max_denominator=4)


@given(RELATIONS, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS, NUMBERS)
def test_what_is_said_is_so_for_every_value_between_the_ends(
    relation: Any, limit: Fraction, low: Fraction | None, high: Fraction | None, value: Fraction
) -> None:
    """None as the upper end: it may be infinite; as the lower one: it is."""
    threshold = Threshold(relation, limit)
    low, high = (None, None) if low is None else (low, high if high is None else max(low, high))
    between = [e for e in (low, high) if e is not None] + ([None] if high is None else [])
    between += [value] if low is not None and low <= value and (high is None or value <= high) else []
    kept = {keeps_threshold(threshold, v) for v in between}
    answer = place_interval(threshold, low, high)
    assert kept <= {"met": {True}, "missed": {False}, "undecided": {True, False}}[answer]
    assert answer != "undecided" or kept == {True, False}


def test_what_was_interrupted_is_undecided() -> None:
    half = Estimated(Fraction(0), Fraction(1, 4), Fraction(19, 20), {}, Reason.INTERRUPTED.value)
    assert compare_with_threshold(Threshold("<=", Fraction(1, 2)), half) == "undecided"


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    (tmp_path / "walk.toml").write_text(WALK, "utf-8")
    return tmp_path / "walk.toml"


@pytest.mark.parametrize(
    ("asked", "code", "answer", "colour"),
    [
        ("met", 0, "met", "good"),
        ("missed", 1, "missed", "bad"),
        ("on it", 3, "undecided", "open"),
        ("reward", 0, "met", "good"),
        ("reward missed", 1, "missed", "bad"),
        ("each", 1, "missed", "bad"),
        ("all of them", 0, "met", "good"),
        ("count", 0, None, "value"),
        ("value", 0, None, "value"),
        ("best", 0, "met", "good"),
        ("never", 0, None, "good"),
        ("bad", 1, None, "bad"),
    ],
)
def test_words_json_colour_and_code(
    asked: str, code: int, answer: str | None, colour: str, walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result, shown = walk.with_name("r.json"), walk.with_name("r.html")
    files = ["--json", str(result), "--report", str(shown), "--quiet"]
    assert run_command_line(["check", str(walk), "--property", asked, *files]) == code
    out = capsys.readouterr().out
    data = json.loads(result.read_text("utf-8"))
    assert data["verdict"].get("threshold") == answer
    if answer is not None:
        assert out.startswith(f"{answer} (")
        assert data["statement"][0].startswith(f"{answer.capitalize()}: ")
    assert f'<h2 class="{colour}">' in shown.read_text("utf-8")
    assert ("`over min` asks about every start" in out) == (asked == "best")
    if asked == "each":
        rows = data["verdict"]["table"]
        assert [row["verdict"]["threshold"] for row in rows] == ["missed", "met", "met"]
        assert "n = 0: between 0.249999999999 and 0.250000000001, missed" in out


def test_an_answer_that_was_changed_is_rejected(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = walk.with_name("r.json")
    for asked, path in (("missed", ("verdict",)), ("each", ("verdict", "table", 0, "verdict"))):
        run_command_line(["check", str(walk), "--property", asked, "--json", str(result), "--quiet"])
        assert run_command_line(["certify", str(result)]) == 0
        data = json.loads(result.read_text("utf-8"))
        part: Any = data
        for key in path:
            part = part[key]
        part["threshold"] = "met"
        result.write_text(json.dumps(data), "utf-8")
        capsys.readouterr()
        assert run_command_line(["certify", str(result)]) == 1
        assert "answers a threshold otherwise than its numbers do" in capsys.readouterr().out


def test_an_estimate_and_no_answer_at_all(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["check", str(walk), "--property", "missed", "--quiet"]
    assert run_command_line([*command, "--engine", "statistical"]) == 1
    assert capsys.readouterr().out.startswith("missed (estimated in [")
    assert run_command_line([*command, "--timeout", "1e-7"]) == 3
    assert capsys.readouterr().out.startswith("undecided (unknown (timeout)): ")


@pytest.mark.parametrize(
    ("asked", "options", "answer"),
    [
        ("met", {}, "met"),
        ("missed", {"method": "okamoto", "eps": "0.02"}, "missed"),
        ("on it", {"eps": "0.05"}, "undecided"),
        ("E<=2 [ steps until n = 3 ]", {"most": "3", "eps": "0.1"}, "met"),
        ("E>2 [ steps until n = 3 ]", {"most": "3", "eps": "0.1"}, "missed"),
        ("met", {"importance": "n", "trees": "300"}, "met"),
        ("P>0.1 [ F n = 2 ]", {"method": "okamoto", "eps": "1/20000", "timeout": "3"}, "met"),
        ("P<=0.1 [ F n = 2 ]", {"method": "okamoto", "eps": "1/20000", "timeout": "3"}, "missed"),
    ],
)
def test_estimates_in_words_json_and_python(
    asked: str, options: dict[str, str], answer: str, walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the time ends before the interval is as narrow as was asked for."""
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    stored = walk.with_name("r.json")
    question = ["check", str(walk), "--property", asked, "--engine", "statistical", "--workers", "1"]
    code = run_command_line([*question, *given, "--json", str(stored), "--quiet"])
    assert code == {"met": 0, "missed": 1, "undecided": 3}[answer]
    assert capsys.readouterr().out.startswith(f"{answer} (estimated in [")
    assert json.loads(stored.read_text("utf-8"))["verdict"]["threshold"] == answer
    seconds = float(options.pop("timeout", "60"))
    made: dict[str, Any] = {n: int(v) if n == "trees" else v for n, v in options.items()}
    for name in {"eps", "most"} & set(made):
        made[name] = Fraction(made[name])
    engine = Statistical(workers=1, **made)
    assert sf.check(walk, property=asked, engine=engine, timeout=seconds).threshold == answer
