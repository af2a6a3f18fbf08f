"""`surefoot check --witnesses N`: a table, a list of traces, and `certify` that replays each of them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.search.test_witnesses import WALK


def test_witnesses_are_told_written_and_certified(tmp_path: Path, command: Command) -> None:
    model, stored = tmp_path / "walk.toml", tmp_path / "result.json"
    model.write_text(WALK)
    asked = ("check", model, "--property", "near", "--witnesses", "4", "--json", stored, "--quiet")
    code, out, _ = command(*asked)
    assert code == 1
    assert "  witnesses 4, each replayed" in out
    data = json.loads(stored.read_text())
    assert len(data["witnesses"]) == 4
    assert data["witnesses"][0] == data["verdict"]["trace"]
    assert all(set(run) == set(data["verdict"]["trace"]) for run in data["witnesses"])
    said = "accepted: walk/near: the trace and all 4 witnesses replay exactly\n"
    assert command("certify", stored)[:2] == (0, said)


def test_a_forged_witness_is_rejected(tmp_path: Path, command: Command) -> None:
    model, stored = tmp_path / "walk.toml", tmp_path / "result.json"
    model.write_text(WALK)
    command("check", model, "--property", "near", "--witnesses", "3", "--json", stored, "--quiet")
    data = json.loads(stored.read_text())
    states = data["witnesses"][2]["states"]
    states[1]["x"] = states[0]["x"]
    stored.write_text(json.dumps(data))
    code, out, _ = command("certify", stored)
    assert code == 1
    assert "witness 3 does not replay" in out


def test_a_witness_that_stands_there_twice_is_rejected(tmp_path: Path, command: Command) -> None:
    model, stored = tmp_path / "walk.toml", tmp_path / "result.json"
    model.write_text(WALK)
    command("check", model, "--property", "near", "--witnesses", "3", "--json", stored, "--quiet")
    data = json.loads(stored.read_text())
    data["witnesses"][2] = data["witnesses"][1]
    stored.write_text(json.dumps(data))
    assert command("certify", stored)[0] == 1


def test_no_witnesses_unless_asked(tmp_path: Path, command: Command) -> None:
    model, stored = tmp_path / "walk.toml", tmp_path / "result.json"
    model.write_text(WALK)
    _, out, _ = command("check", model, "--property", "near", "--json", stored, "--quiet")
    assert "  witnesses " not in out
    assert "witnesses" not in json.loads(stored.read_text())


def test_pictures_of_a_violation(tmp_path: Path, command: Command) -> None:
    model, svg, png = (tmp_path / name for name in ("walk.toml", "walk.svg", "walk.png"))
    model.write_text(WALK)
    code, _, error = command("check", model, "--property", "near", "--svg", svg, "--png", png)
    assert code == 1
    assert "written: " in error
    assert 'aria-label="violation of walk/near"' in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    code, _, error = command("check", model, "--svg", svg)
    assert code == 2
    assert "a picture is about one property" in error


def test_what_cannot_be_drawn_is_told(tmp_path: Path, command: Command) -> None:
    model, svg = tmp_path / "walk.toml", tmp_path / "walk.svg"
    model.write_text(WALK)
    asked = ("check", model, "--property", "far", "--engine", "falsify", "--runs", "10", "--svg", svg)
    code, _, error = command(*asked)
    assert code == 3
    assert "there is no violation that could be drawn" in error
    assert not svg.exists()


def test_at_least_one(tmp_path: Path, command: Command) -> None:
    model = tmp_path / "walk.toml"
    model.write_text(WALK)
    code, _, error = command("check", model, "--witnesses", "0")
    assert code == 2
    assert "--witnesses" in error
