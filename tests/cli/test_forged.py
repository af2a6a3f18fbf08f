"""`surefoot certify` believes nothing that a result file says beside its evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from surefoot_checker.check import judge_certificate

WALK = """
initial = "x <= 2 and not b"

[variables]
x = "int 0..4"
b = "bool"
a = "array 2 of int 0..1"

[[components]]
name = "walker"
locations = ["here", "there"]
initial = ["here", "there"]

[[components.edges]]
source = "here"
action = "go"
guard = "0 < x and x < 4"

[[components.edges.outcomes]]
probability = 0.25
updates = { x = "x + 1" }
[[components.edges.outcomes]]
probability = 0.75
updates = { x = "x - 1" }

[policy.program]
branches = [{ action = "go" }]

[properties]
each = "P=? [ F x = 4 ] over values of a[0] = 0 and a[1] = 1"
starts = "P=? [ F x = 4 ] over values"
whole = "P=? [ F x = 4 ]"
never = "never x = 4"
"""


def store(tmp_path: Path, command: Command, asked: str, code: int = 0) -> dict[str, Any]:
    (tmp_path / "walk.toml").write_text(WALK)
    result = tmp_path / "result.json"
    wanted = ("--property", asked, "--engine", "explicit", "--json", result)
    assert command("check", tmp_path / "walk.toml", *wanted)[0] == code
    assert command("certify", result)[0] == 0
    data: dict[str, Any] = json.loads(result.read_text())
    return data


def certify(tmp_path: Path, command: Command, data: object) -> int:
    (tmp_path / "forged.json").write_text(json.dumps(data))
    return command("certify", tmp_path / "forged.json")[0]


@pytest.mark.parametrize("asked", ["each", "starts"])
@pytest.mark.parametrize(
    ("name", "value"), [("x", "2"), ("x", "7"), ("b", True), ("a", ["1", "1"]), ("@walker", "1"), ("y", "0")]
)
def test_values_belong_to_their_starts(
    tmp_path: Path, command: Command, asked: str, name: str, value: object
) -> None:
    data = store(tmp_path, command, asked)
    start = data["verdict"]["table"][0]["start"]
    assert start == {"x": "0", "b": False, "a": ["0", "1" if asked == "each" else "0"], "@walker": "0"}
    start[name] = value
    assert certify(tmp_path, command, data) == 1


def test_values_of_two_starts_do_not_change_places(tmp_path: Path, command: Command) -> None:
    data = store(tmp_path, command, "starts")
    rows = data["verdict"]["table"]
    for row in rows[1:]:
        if row["verdict"]["low"] != rows[0]["verdict"]["low"]:
            rows[0]["start"], row["start"] = row["start"], rows[0]["start"]
            break
    assert certify(tmp_path, command, data) == 1


def test_the_checker_looks_at_the_starts_itself(tmp_path: Path, command: Command) -> None:
    data = store(tmp_path, command, "starts")
    content = data["verdict"]["certificate"]["content"]
    found = judge_certificate(content, base=tmp_path)
    assert found.accepted
    assert not any("which start" in line for line in found.not_certified)
    claim = content["claim"]
    assert claim["starts"][0] == [0, False, [0, 0], 0]
    for forged in ([0, 0, [0, 0], 0], [0, False, [0, 1], 0], [1, False, [0, 0], 0], [0, False, [0, 0]], []):
        changed = {**content, "claim": {**claim, "starts": [forged, *claim["starts"][1:]]}}
        assert not judge_certificate(changed, base=tmp_path).accepted
    unnamed = {**content, "claim": {k: v for k, v in claim.items() if k != "starts"}}
    found = judge_certificate(unnamed, base=tmp_path)
    assert found.accepted
    assert any("which start" in line for line in found.not_certified)
    data["verdict"]["certificate"]["content"] = unnamed
    assert certify(tmp_path, command, data) == 1


@pytest.mark.parametrize("forged", [["0.5", "0.5"], ["0.1", "0.2"], ["x", "y"], [], None, "0.1"])
def test_decimals_repeat_the_ends_of_the_interval(tmp_path: Path, command: Command, forged: object) -> None:
    data = store(tmp_path, command, "whole")
    data["verdict"]["decimal"] = forged
    assert certify(tmp_path, command, data) == 2
    data = store(tmp_path, command, "starts")
    data["verdict"]["table"][3]["verdict"]["decimal"] = forged
    assert certify(tmp_path, command, data) == 2


def test_decisions_in_a_trace_are_those_of_the_policy(tmp_path: Path, command: Command) -> None:
    data = store(tmp_path, command, "never", code=1)
    decisions = data["verdict"]["trace"]["decisions"]
    assert decisions[0]["actions"] == ["go"]
    for forged in (
        [{**decisions[0], "actions": ["stop"]}, *decisions[1:]],
        [{**decisions[0], "stalled": True}, *decisions[1:]],
        [None, *decisions[1:]],
        decisions[1:],
    ):
        data["verdict"]["trace"]["decisions"] = forged
        assert certify(tmp_path, command, data) == 1


def test_outputs_in_a_trace_are_those_of_the_network(toy: Path, command: Command) -> None:
    result = toy.with_name("result.json")
    assert command("check", toy, "--property", "below_ten", "--json", result)[0] == 1
    assert command("certify", result)[0] == 0
    data = json.loads(result.read_text())
    data["verdict"]["trace"]["decisions"][0]["outputs"][0] = {"float": "9.0", "hex": "0x1.2p+3"}
    assert certify(toy.parent, command, data) == 1
