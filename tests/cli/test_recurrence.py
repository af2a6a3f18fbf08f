"""`surefoot check` and `surefoot certify` on a property that a run violates without ever returning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

MODEL = """
name = "cooling"
initial = "heat = 1"
[variables]
heat = "real [0, 1]"
[[edges]]
action = "cool"
chosen = { left = "real [0, 1]" }
assuming = "left < heat or heat = 0"
updates = { heat = "left" }
[policy.program]
branches = [{ action = "cool" }]
[properties]
cold = "eventually heat = 0"
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cooling.toml").write_text(MODEL, encoding="utf-8")
    return Path("cooling.toml")


def test_the_answer_its_evidence_and_what_is_refused(model: Path, command: Command) -> None:
    code, out, _ = command(
        "check", model, "--json", "r.json", "--certificate", "c.json", "--report", "r.html"
    )
    assert code == 1
    assert "where     the set is heat > 0" in out
    assert "leads into the set again" in out
    assert "for ever without a good state" in Path("r.html").read_text(encoding="utf-8")
    data = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert data["verdict"]["kind"] == "violated"
    assert data["certified"] is True
    assert data["verdict"]["trace"]["recurrence"][0]["chosen"] == {"left": "heat / 2"}
    assert data["verdict"]["certificate"]["kind"] == "recurrence"
    code, out, _ = command("certify", "r.json")
    assert code == 0
    assert "the checker accepts that the run can stay in its recurrence set" in out
    assert command("certify", "c.json")[0] == 0
    for change in DAMAGE:
        damaged = json.loads(json.dumps(data))
        change(damaged)
        Path("damaged.json").write_text(json.dumps(damaged), encoding="utf-8")
        code, out, err = command("certify", "damaged.json")
        assert code in (1, 2), out + err
        assert "rejected" in out or err.startswith("error:")


def _region(data: dict[str, Any]) -> dict[str, Any]:
    found = data["verdict"]["trace"]["recurrence"][0]
    assert isinstance(found, dict)
    return found


DAMAGE: list[Callable[[dict[str, Any]], object]] = [
    lambda d: d["verdict"].pop("certificate"),
    lambda d: d["verdict"]["trace"].pop("recurrence"),
    lambda d: d["verdict"]["trace"].update(loop=0),
    lambda d: d["verdict"]["trace"]["states"][0].update(heat="1/2"),
    lambda d: _region(d).update(set="heat >= 0"),
    lambda d: _region(d).update(set="heat"),
    lambda d: _region(d).update(set="cold > 0"),
    lambda d: _region(d).update(set="heat >"),
    lambda d: _region(d)["chosen"].update(left="heat / 3"),
    lambda d: _region(d)["chosen"].update(left="cold"),
    lambda d: _region(d)["chosen"].clear(),
    lambda d: _region(d).update(edges=[[0, 1]]),
    lambda d: d["verdict"]["certificate"]["content"]["claim"]["problem"].update(name="other"),
    lambda d: d["verdict"]["certificate"]["content"].update(obligations=[]),
]


def test_a_changed_model_is_another_problem(model: Path, command: Command) -> None:
    assert command("check", model, "--engine", "recurrence", "--json", "r.json")[0] == 1
    data = json.loads(Path("r.json").read_text(encoding="utf-8"))
    model.write_text(MODEL.replace("left < heat or", "left + 1/100 < heat or"), encoding="utf-8")
    code, out, _ = command("certify", "r.json")
    assert code == 1
    assert "is not the file" in out
    code, _, _ = command("check", model, "--engine", "recurrence", "--json", "other.json")
    assert code == 3  # then it is cold after a hundred steps, or the assumption cannot be kept
    other = json.loads(Path("other.json").read_text(encoding="utf-8"))
    assert other["verdict"]["kind"] == "unknown"
    Path("mixed.json").write_text(json.dumps(data | {"inputs": other["inputs"]}), encoding="utf-8")
    code, out, _ = command("certify", "mixed.json")
    assert code == 1
    assert "rejected" in out
