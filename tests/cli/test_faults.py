"""`surefoot faults`: what is printed and written, exit codes, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

COUNTER = """
name = "counter"
initial = "x <= 3"
[variables]
x = "int 0..9"
y = "int 0..9"
[[edges]]
action = "up"
guard = "x < 9"
updates = { x = "x + 1" }
[[edges]]
action = "reset"
updates = { x = "0" }
[policy.program]
branches = [{ when = "x < 7", action = "up" }, { action = "reset" }]
[properties]
low = "never x = 5"
fine = "never x = 9"
chance = "P=? [ F x = 5 ]"
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    (tmp_path / "counter.toml").write_text(COUNTER)
    return tmp_path / "counter.toml"


def test_decisions_are_printed_and_written(command: Command, counter: Path) -> None:
    folder = counter.parent
    files = {
        o: str(folder / f"out.{e}") for o, e in (("--json", "json"), ("--report", "html"), ("--svg", "svg"))
    }
    written = [part for pair in files.items() for part in pair]
    code, out, _ = command(
        "faults", counter, "--property", "low", "--runs", 7, "--export", folder / "out.csv", *written
    )
    assert code == 1
    assert out.startswith("faults of 7 violating runs: never x = 5\n")
    assert "chosen `up`; instead `reset` (exact)" in out
    data = json.loads((folder / "out.json").read_text())
    assert sum(d["runs"] for d in data["decisions"]) == data["runs"] == 7
    assert all(d["state"]["x"] == "4" and d["saved"] == {"kind": "exact"} for d in data["decisions"])
    assert (folder / "out.csv").read_text().startswith("x,y,bad,good,claim,runs\n4,")
    assert "Where the faults lie" in (folder / "out.html").read_text()
    assert (folder / "out.svg").read_text().startswith("<svg")


def test_without_a_violating_run_the_engines_answer(command: Command, counter: Path) -> None:
    code, out, _ = command("faults", counter, "--property", "fine", "--timeout", 20)
    assert code == 0
    assert "faults of 0 violating runs" in out
    assert "proved: never x = 9" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--property", "chance"), "faults are those of runs that violate Never"),
        ((), "the model has several properties"),
        (("--property", "low", "--no-policy"), "nobody decides"),
        (("--property", "low", "--export", "a.xlsx"), "does not end in .csv or .jsonl or .npz"),
        (("--property", "low", "--shield", "counter.toml"), "the sets of a shield are about real controls"),
    ],
)
def test_what_has_no_faults_is_refused(
    command: Command, counter: Path, arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(counter.parent)
    code, _, err = command("faults", counter.name, *arguments)
    assert code == 2
    assert words in err
    assert err.startswith("error: ")


def test_a_violated_result_tells_its_fault_everywhere(command: Command, counter: Path) -> None:
    folder = counter.parent
    report, stored = folder / "r.html", folder / "r.json"
    code, out, _ = command("check", counter, "--property", "low", "--report", report, "--json", stored)
    assert code == 1
    assert "the last decision that could have been different was in state 1: x = 4" in out
    assert "instead   `reset` (exact)" in out
    fault = json.loads(stored.read_text())["fault"]
    assert fault["decision"]["safe"] == [{"action": "reset"}]
    assert fault["lost"] is None
    assert "<h3>The last decision that could have been different</h3>" in report.read_text()
    assert command("certify", stored)[0] == 0


LEAK = """
name = "leak"
arithmetic = "float64"
initial = "-0.1 <= x <= 0.1 and -0.1 <= v <= 0.1"
[variables]
x = "real"
v = "real"
[controls]
u = "[-1, 1]"
[[edges]]
updates = { x = "x + 0.1 * v", v = "v + 0.1 * u" }
[policy.program]
branches = [{ controls = ["1"] }]
[properties]
safe = "never x > 1 or x < -1 or v > 1 or v < -1"
"""


def test_the_sets_of_a_shield_are_certain(command: Command, tmp_path: Path) -> None:
    model, shield, out = tmp_path / "leak.toml", tmp_path / "shield.json", tmp_path / "out.json"
    model.write_text(LEAK)
    assert command("shield", model, "--certificate", shield, "--quiet")[0] == 0
    code, text, _ = command("faults", model, "--shield", shield, "--runs", 3, "--json", out, "--quiet")
    assert code == 1
    assert "by shield: the state is in its proved set" in text
    for decision in json.loads(out.read_text())["decisions"]:
        assert decision["saved"] == {"kind": "by shield"}
        assert decision["chosen"] == [{"controls": {"u": {"float": "1.0", "hex": "0x1.0000000000000p+0"}}}]
        assert float.fromhex(decision["safe"][0]["controls"]["u"]["hex"]) < 0
