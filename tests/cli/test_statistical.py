"""`surefoot check --engine statistical`: answers, exit codes, interrupts, folders."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot.formats.result_json import result_from_json
from surefoot.verdict.verdict import Estimated

WALK = """
name = "walk"
initial = "x = 1"
[variables]
x = "int 0..4"
[[edges]]
action = "go"
guard = "0 < x and x < 4"
[[edges.outcomes]]
probability = "1/3"
updates = { x = "x + 1" }
[[edges.outcomes]]
probability = "2/3"
updates = { x = "x - 1" }
[policy.program]
branches = [ { action = "go" } ]
[properties]
up = "P=? [ F x = 4 ]"
"""
FIRST, SECOND = 'updates = { x = "x + 1" }\n', '[[edges]]\naction = "down"\nguard = "0 < x and x < 4"\n'
COARSE = ("--engine", "statistical", "--eps", "0.05", "--workers", "1", "--quiet")


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.toml"
    path.write_text(WALK)
    return path


def test_an_estimate_in_text_and_json(walk: Path, command: Command) -> None:
    stored = walk.with_name("r.json")
    code, out, _ = command("check", walk, *COARSE, "--json", stored)
    assert code == 0
    assert out.startswith("estimated in [")
    assert "with confidence 0.95: P=? [ F (x = 4) ]" in out
    assert "  stopped   precise enough" in out
    found = result_from_json(json.loads(stored.read_text())).result.verdict
    assert isinstance(found, Estimated)
    assert found.stop == "precise enough"
    assert f"{found.counts['runs']} runs" in out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("P<=0.3 [ F x = 4 ]", 0),
        ("P<0.3 [ F x = 4 ]", 0),
        ("P>=0.3 [ F x = 4 ]", 1),
        ("P>0.01 [ F x = 4 ]", 0),
        ("P<=1/15 [ F x = 4 ]", 3),
    ],
)
def test_thresholds_decide_the_exit_code(text: str, code: int, walk: Path, command: Command) -> None:
    assert command("check", walk, *COARSE, "--property", text, "--delta", "0.001")[0] == code


def test_a_timeout_leaves_an_interval(walk: Path, command: Command) -> None:
    code, out, _ = command("check", walk, *COARSE, "--timeout", "4", "--eps", "0.0001", "--method", "okamoto")
    assert code == 3
    assert out.startswith("estimated in [")
    assert "stopped   timeout" in out


def test_starts_in_a_table(walk: Path, command: Command) -> None:
    walk.write_text(WALK.replace('initial = "x = 1"', 'initial = "true"'))
    code, out, _ = command("check", walk, *COARSE, "--property", "P=? [ F x = 4 ] over values")
    assert code == 0
    assert out.startswith("5 starts")
    assert "stopped   5 starts: precise enough" in out


def test_the_random_policy(walk: Path, command: Command) -> None:
    two = WALK.replace('[policy.program]\nbranches = [ { action = "go" } ]\n', "").replace("P=?", "Pmax=?")
    walk.write_text(
        two.replace('"go"', '"up"').replace('"2/3"', "1").replace('"1/3"', "1").replace(FIRST, FIRST + SECOND)
    )
    code, out, err = command("check", walk, *COARSE, "--uniform", "--delta", "0.001")
    assert code == 0, err
    assert ": P=? [ F (x = 4) ]" in out
    low, high = (float(end) for end in out[out.index("[") + 1 : out.index("]")].split(","))
    assert low <= 0.25 <= high  # up or down, each as likely
    code, _, err = command("check", walk, *COARSE)
    assert code == 2
    assert "several transitions are possible in the state x = 1" in err


def test_wrong_use_is_one_line(walk: Path, command: Command) -> None:
    for more, message in (
        (("--method", "wald"), "'wald' is not one of"),
        (("--resume",), "--resume: it has no effect without --run-directory"),
        (("--workers", "0"), "'--workers': 0 is not in the range x>=1"),
        (("--eps", "0.7"), "fix: 0 < eps < 1/2"),
        (("--seed", "-1"), "not a 64-bit number"),
        (("--property", "E=? [ steps until x = 4 ]"), "no known upper bound"),
        (("--importance", "z"), "--eps: it has no effect on splitting"),
    ):
        code, out, err = command("check", walk, *COARSE, *more)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert message in err


def test_an_interrupt_writes_what_is_known(walk: Path) -> None:
    folder, stored = walk.with_name("runs"), walk.with_name("r.json")
    command = [
        sys.executable,
        "-m",
        "surefoot",
        "check",
        str(walk),
        "--engine",
        "statistical",
        "--workers",
        "1",
    ]
    more = ["--eps", "0.0002", "--method", "okamoto", "--run-directory", str(folder), "--json", str(stored)]
    process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    since = time.monotonic()
    while time.monotonic() - since < 60 and not (
        folder.exists() and any(f.stat().st_size > 9000 for f in folder.iterdir())
    ):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "stopped   interrupted" in out
    found = result_from_json(json.loads(stored.read_text())).result.verdict
    assert isinstance(found, Estimated)
    assert 1000 < found.counts["runs"] < 40_000_000
