"""The frozen set: verdicts that change are seen, answers that change are seen, and so is a slower row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from benchmarks.forgery.graphs import forge_graphs
from benchmarks.frozen.__main__ import main
from benchmarks.frozen.beside import Beside
from benchmarks.frozen.commands import count_proof, facts_of, fill_words
from benchmarks.frozen.comparison import differing_facts, differing_verdict, slower_rows, tree_checker
from benchmarks.frozen.damage import damage
from benchmarks.frozen.judge import judge_files, read_verdict
from benchmarks.frozen.rows import find_rows
from benchmarks.frozen.stored import Made, Store, kind_of, write_entries

ROOT = Path(__file__).parents[2]


def write_store(folder: Path) -> None:
    """True and false claims, and texts that are no certificates."""
    draw = Random(3)
    forged = [found for _ in range(4) for found in forge_graphs(draw)]
    store = Store(folder / "certificates")
    store.folder.mkdir()
    for rule, certificate, true in forged:
        store.add(Made("forgery", rule, json.dumps(certificate), true))
    store.add(Made("text", "cut off", json.dumps(forged[0][1])[:-9]))
    names = [entry.name for entry in store.entries]
    verdicts = dict(judge_files(tree_checker(), store.folder, names, 60.0))
    for entry in store.entries:
        assert entry.true in (None, verdicts[entry.name]["verdict"] == "accepted")
    write_entries(folder / "verdicts.json", store.entries, verdicts)


def test_verdicts_that_change_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_store(tmp_path)
    assert main(["compare", str(tmp_path), "--certificates"]) == 0
    file = tmp_path / "verdicts.json"
    data = json.loads(file.read_text())
    kinds = {row["verdict"] for row in data["certificates"]}
    assert kinds == {"accepted", "refused"}
    assert data["certificates"][-1]["kind"] == "unreadable"
    row = next(row for row in data["certificates"] if row["verdict"] == "accepted")
    row["claim"] = "something else"
    data["certificates"][-1]["verdict"] = "accepted"
    file.write_text(json.dumps(data))
    capsys.readouterr()
    assert main(["compare", str(tmp_path), "--certificates"]) == 1
    said = capsys.readouterr().out
    assert "`claim` was 'something else'" in said
    assert "then accepted, now refused" in said
    assert "2 differences" in said


def test_another_checker_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path)
    said = {"accepted": True, "claim": "", "arithmetic": "", "not_certified": []}
    (tmp_path / "lax_checker.py").write_text(f"import json\nprint(json.dumps({said}))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert main(["compare", str(tmp_path), "--certificates", "--checker", "lax_checker"]) == 1
    with pytest.raises(SystemExit, match="No module named"):
        main(["compare", str(tmp_path), "--certificates", "--checker", "no_such_checker"])


def test_exit_code_and_words_must_agree() -> None:
    assert read_verdict(1, '{"accepted": false, "reason": "no"}')["verdict"] == "refused"
    assert read_verdict(2, '{"accepted": false, "error": "no"}')["verdict"] == "refused"
    assert read_verdict(0, '{"accepted": false, "reason": "no"}')["verdict"] == "crashed"
    assert read_verdict(1, '{"accepted": true, "reason": "no"}')["verdict"] == "crashed"
    assert read_verdict(0, "Traceback")["verdict"] == "crashed"


def test_why_something_is_refused_may_change() -> None:
    row: dict[str, Any] = {
        "name": "0",
        "kind": "k",
        "source": "s",
        "rule": "r",
        "verdict": "refused",
        "reason": "a",
    }
    assert not differing_verdict(row, {"verdict": "refused", "reason": "b"})
    assert differing_verdict(row, {"verdict": "crashed", "reason": "b"})


def test_answers_that_change_are_seen() -> None:
    row = {"facts": {"kind": "proved", "splits": 9, "runs": 4}, "varies": ["runs"]}
    assert not differing_facts("row", row, {"kind": "proved", "splits": 9, "runs": 5})
    assert differing_facts("row", row, {"kind": "proved", "splits": 10, "runs": 4})
    assert differing_facts("row", row, {"kind": "proved", "runs": 4})
    assert differing_facts("row", row, {"kind": "proved", "splits": 9, "runs": 4, "steps": 1})


def test_slower_rows_are_seen() -> None:
    assert not slower_rows({"a": (10.0, 10.4), "b": (0.1, 0.2)}, 1.0)
    assert slower_rows({"a": (10.0, 10.6)}, 1.0) == ["all rows together: 1.060 times as long as then"]
    assert len(slower_rows({"a": (10.0, 9.0), "b": (0.6, 0.9)}, 1.0)) == 1
    assert not slower_rows({"a": (0.1, 0.2)}, 1.0)
    assert slower_rows({}, 1.0)


def test_another_tree_is_asked_row_by_row(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"there is no `\.venv`"):
        Beside(tmp_path, tmp_path, None)
    command = [sys.executable, "-m", "benchmarks.frozen", "serve", str(tmp_path)]
    asked = "".join(
        json.dumps({"name": name, "once": True}) + "\n"
        for name in ("no such row", "check racetrack/goal-probability --engine explicit")
    )
    done = subprocess.run(command, cwd=ROOT, input=asked, check=True, capture_output=True, text=True)
    nothing, seconds = map(json.loads, done.stdout.splitlines())
    assert nothing is None
    assert 0 < seconds < 60


def test_damage_changes_something() -> None:
    _, certificate, _ = next(iter(forge_graphs(Random(3))))
    draw = Random(0)
    texts = [damage(certificate, draw)[1] for _ in range(200)]
    assert sum(text != json.dumps(certificate) for text in texts) > 150
    assert {kind_of(text).split(",")[0] for text in texts} >= {"graph", "unreadable"}


def test_facts_of_an_answer() -> None:
    steps = [["split", 0, 0, 1], ["drop", [0], {}], ["split", 0, 0, 2], ["point", [0]], ["drop", [0], {}]]
    proof = {"surefoot-certificate": 1, "claim": {"kind": ["split"]}, "cases": [{"steps": steps}]}
    data = {"certified": True, "verdict": {"kind": "proved", "certificate": {"content": proof}}}
    found = facts_of(0, data)
    assert found == {
        "exit": 0,
        "certified": True,
        "kind": "proved",
        "splits": 2,
        "closed": 3,
        "certificates": 1,
    }
    assert count_proof({}) == {}
    assert fill_words("check {} --property 'a b'", "m", Path(), {"m": lambda _: ("x", "y")}) == [
        *("check", "x", "y", "--property", "a b")
    ]


def test_a_row_is_measured(tmp_path: Path) -> None:
    names = [row.name for row in find_rows(None)]
    assert len(names) == len(set(names))
    words = ["make", str(tmp_path), "--rows", "--only", "check pendulum/within-90-degrees --engine barrier"]
    command = [sys.executable, "-m", "benchmarks.frozen", *words]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["facts"]["kind"] for row in rows] == ["proved"] * len(rows)
    assert all(0 < row["seconds"] < 60 for row in rows)
