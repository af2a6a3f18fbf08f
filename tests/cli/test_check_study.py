"""`surefoot check` on problems of studies: the trace is looked for in the study's simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surefoot.cli import run_command_line

VIOLATED = ["check", "aurora/safety-excellent/aurora-48", "--quiet"]


def test_a_trace_is_looked_for_in_the_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "result.json"
    assert run_command_line([*VIOLATED, "--json", str(target)]) == 1
    assert "note      in the simulator real: a run that breaks the property" in capsys.readouterr().out
    notes = json.loads(target.read_text("utf-8"))["notes"]
    assert any(n.startswith("the environment is an over-approximation") for n in notes)
    assert notes[-1].startswith("in the simulator real")
    assert run_command_line(["certify", str(target)]) == 0


def test_a_proof_has_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["check", "aurora/safety-excellent-near/aurora-48", "--quiet"]) == 0
    assert "in the simulator" not in capsys.readouterr().out


def test_what_only_a_file_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([*VIOLATED, "--property", "never output[0] < 0"]) == 2
    assert "--property: a problem of a study does not take it" in capsys.readouterr().err
