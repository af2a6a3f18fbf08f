"""`--time continuous` and `time = "continuous"`: what is asked, what is told, what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
SPRING = """
arithmetic = "float64"
initial = "-0.5 <= x <= 0.5 and -0.5 <= v <= 0.5"

[variables]
x = "real"
v = "real"

[controls]
u = "[-4, 4]"

[flow]
step = 0.05
derivatives = { x = "v", v = "u - x" }
time = "continuous"

[[edges]]

[policy.program]
branches = [{ controls = ["-2 * v"] }]

[properties]
calm = "never x > 2 or x < -2 or v > 2 or v < -2"
"""


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    path = tmp_path / "spring.toml"
    path.write_text(SPRING)
    return path


def test_a_file_may_be_about_continuous_time(command: Command, spring: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    code, out, _ = command("check", spring, "--engine", "barrier", "--json", result)
    assert code == 0
    assert "time is continuous" in out
    assert "differential equation in real numbers" in out
    code, out, _ = command("certify", result)
    assert code == 0
    assert "every 1/20 units of continuous time" in out


def test_the_time_is_part_of_a_result(command: Command, spring: Path, tmp_path: Path) -> None:
    """A proof about steps is none about the flow: the words of a result cannot be exchanged."""
    result = tmp_path / "result.json"
    options = ("--engine", "barrier", "--time", "steps", "--json", result, "--quiet")
    assert command("check", spring, *options)[0] == 0
    data = json.loads(result.read_text())
    assert data["source"]["time"] == "steps"
    assert command("certify", result)[0] == 0
    data["source"]["time"] = "continuous"
    result.write_text(json.dumps(data))
    assert command("certify", result)[0] != 0


def test_other_engines_do_not_answer(command: Command, spring: Path) -> None:
    code, _, error = command("check", spring, "--engine", "bmc")
    assert code == 2
    assert "continuous time" in error
    assert "barrier" in command("engines", spring)[1]
    code, _, error = command("starts", spring)
    assert code == 2
    assert "continuous time" in error
    assert error.count("\n") == 1


def test_a_shield_of_a_differential_equation(
    command: Command, spring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.report.region.sample_runs.STEPS", 20)
    page, data = tmp_path / "page.html", tmp_path / "all.json"
    code, out, _ = command("shield", spring, "--degree", "2", "--report", page, "--json", data)
    assert code == 0
    assert "at these times and between them" in out
    assert page.exists()
    assert json.loads(data.read_text())["time"] == "continuous"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("control/satellite", "--time", "continuous"), "no differential equation"),
        (
            ("control/duffing", "--flow-method", "taylor"),
            "a method without a time; fix: add --time steps or --time",
        ),
        (("control/duffing", "--time", "continuous", "--runs", "5"), "continuous time"),
        (("control/duffing", "--time", "continuous", "--flow-method", "rk4"), "unknown method `rk4`"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Command, options: tuple[str, ...], said: str) -> None:
    code, out, error = command("shield", *options)
    assert code == 2
    assert out == ""
    assert said in error
    assert error.count("\n") == 1


def test_a_certificate_that_takes_too_long_is_not_certified(
    command: Command, spring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a result, and a word for what is not known of it."""
    result = tmp_path / "result.json"
    assert command("check", spring, "--engine", "barrier", "--time", "steps", "--json", result)[0] == 0
    monkeypatch.setattr("surefoot.search.stored_result.judge_with_workers", lambda *_, **__: time.sleep(60))
    code, out, _ = command("certify", result, "--timeout", "0.1")
    assert code == 3
    assert out == "not certified: spring/calm: the time ended before it was checked (1 of 1 left)\n"
    two = tmp_path / "two.json"
    wrong = json.loads(result.read_text())
    wrong["inputs"] = dict.fromkeys(wrong["inputs"], "0" * 64)
    two.write_text(json.dumps({"results": [wrong, json.loads(result.read_text())]}))
    code, out, _ = command("certify", two, "--timeout", "1")
    assert code == 1  # the first one is refuted, whatever becomes of the second
    assert out.startswith("rejected: ")


def test_a_run_inside_enclosures_is_an_answer(command: Command, spring: Path, tmp_path: Path) -> None:
    stored, page, proof = tmp_path / "run.json", tmp_path / "run.html", tmp_path / "proof.json"
    picture = tmp_path / "run.svg"
    asked = ("check", spring, "--property", "never x > 0.6", "--timeout", "60", "--quiet")
    files = ("--json", stored, "--report", page, "--certificate", proof, "--svg", picture)
    code, out, _ = command(*asked, *files)
    assert code == 1
    assert out.startswith("violated at time ")
    assert "certificate of a run in continuous time, accepted by the independent checker" in out
    data = json.loads(stored.read_text())
    assert data["verdict"]["kind"] == "violated"
    assert data["verdict"]["integrated"]["states"][-1]["x"] > 0.6
    assert "suspicion" not in data["verdict"]
    assert "the certificate rests on enclosures" in page.read_text()
    assert "<svg" in picture.read_text()
    for path in (stored, proof):
        code, out, _ = command("certify", path)
        assert code == 0, out
        assert out.startswith("accepted: ")


def test_what_was_seen_is_told_and_is_no_answer(command: Command, spring: Path, tmp_path: Path) -> None:
    """Nobody can follow the run: what was seen stays a suspicion."""
    stored, page = tmp_path / "seen.json", tmp_path / "seen.html"
    asked = ("check", spring, "--property", "never x > 0.6", "--timeout", "20", "--quiet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefoot.engines.reach.validate_run.confirm_suspicion", lambda *_: "not today")
        code, out, _ = command(*asked, "--json", stored, "--report", page, "--engine", "falsify")
    assert code == 3
    assert out.startswith("unknown (timeout): never x > 0.6")
    assert "; that is not proved: not today" in out
    data = json.loads(stored.read_text())
    assert data["verdict"]["kind"] == "unknown"
    assert data["verdict"]["suspicion"]["states"][-1]["x"] > 0.6
    assert "nothing is proved by it" in page.read_text()
    code, out, _ = command("certify", stored)
    assert code == 3
    assert "carries no evidence" in out
