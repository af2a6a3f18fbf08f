"""JUnit and SARIF: one entry for each property, and nothing that is not answered looks like a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Command

WALK = """
name = "walk"
initial = "x = 0"

[variables]
x = "int 0..4"

[[edges]]
action = "go"
guard = "x < 4"
outcomes = [
  { probability = "1/2", updates = { x = "x + 1" } },
  { probability = "1/2", updates = { x = "0" } },
]

[policy.program]
branches = [{ action = "go" }]

[properties]
"<hostile> & \\u001b[31m" = "never x = 3"
stays = "never x = 4 at the start"
likely = "P>=0.9 [ F x = 4 ]"
unlikely = "P<=0.1 [ F x = 4 ]"
value = "P=? [ F x = 4 ]"
premise = "never true and false"
"""


@pytest.fixture
def written(tmp_path: Path, command: Command) -> Callable[..., tuple[int, Path, Path]]:
    def ask(*arguments: object, model: str = WALK) -> tuple[int, Path, Path]:
        (tmp_path / "walk.toml").write_text(model)
        junit, sarif = tmp_path / "out.xml", tmp_path / "out.sarif"
        code, _, _ = command(
            "check", tmp_path / "walk.toml", "--quiet", "--junit", junit, "--sarif", sarif, *arguments
        )
        return code, junit, sarif

    return ask


def cases(path: Path) -> dict[str, Any]:
    suite = ElementTree.parse(path).getroot()[0]
    return {case.get("name", ""): case for case in suite}


def test_every_property_is_a_case_and_a_result(written: Callable[..., tuple[int, Path, Path]]) -> None:
    code, junit, sarif = written()
    assert code == 1
    found = cases(junit)
    assert list(found) == ["<hostile> & \\x1b[31m", "stays", "likely", "unlikely", "value", "premise"]
    kinds = {name: [part.tag for part in case] for name, case in found.items()}
    assert kinds["<hostile> & \\x1b[31m"] == ["failure"]
    assert kinds["likely"] == kinds["stays"] == kinds["value"] == ["system-out"]
    assert kinds["unlikely"] == ["failure"]
    assert kinds["premise"] == ["error"]  # vacuous is no pass
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "2", "1")
    assert "state" in (found["<hostile> & \\x1b[31m"][0].text or "")

    run = json.loads(sarif.read_text())["runs"][0]
    assert run["tool"]["driver"]["name"] == "surefoot"
    results = run["results"]
    assert [r["ruleId"] for r in results] == ["violated", "passed", "passed", "missed", "passed", "vacuous"]
    assert [r["kind"] for r in results] == ["fail", "pass", "pass", "fail", "informational", "notApplicable"]
    assert [r["level"] for r in results] == ["error", "none", "none", "error", "none", "none"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in results)
    lines = [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results]
    text = WALK.split("\n")
    assert all(text[line - 1].startswith(name) for line, name in zip(lines[1:], list(found)[1:], strict=True))
    flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["state"]["x"]["text"] for step in flow] == ["0", "1", "2", "3"]
    assert "\x1b" not in sarif.read_text() + junit.read_text()


def test_unknown_is_an_error_and_open(written: Callable[..., tuple[int, Path, Path]]) -> None:
    code, junit, sarif = written("--property", "never x = 5", "--engine", "bmc", "--depth", 2)
    assert code == 3
    (case,) = cases(junit).values()
    assert [part.tag for part in case] == ["error"]
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert (result["kind"], result["level"], result["ruleId"]) == ("open", "none", "unknown")


def test_a_report_must_have_its_ending(tmp_path: Path, command: Command) -> None:
    (tmp_path / "walk.toml").write_text(WALK)
    code, _, err = command("check", tmp_path / "walk.toml", "--junit", tmp_path / "out.json")
    assert code == 2
    assert "does not end in .xml" in err
    code, _, err = command("check", tmp_path / "walk.toml", "--sarif", tmp_path / "out.xml")
    assert code == 2
    assert "does not end in .sarif or .json" in err
