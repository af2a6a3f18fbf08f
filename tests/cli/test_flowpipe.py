"""`surefoot check --engine reach`: pictures, a run directory, and what ^C leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from tests.cli.conftest import Command
from tests.engines.reach.followed_loops import BROKEN, SAFE, TIGHT, spring_problem


def test_pictures_are_written_and_the_result_is_certified_again(tmp_path: Path, command: Command) -> None:
    spring_problem(tmp_path, SAFE)
    model, files = tmp_path / "spring.toml", {s: tmp_path / f"r.{s}" for s in ("json", "svg", "png", "html")}
    asked = ("check", model, "--engine", "reach", "--json", files["json"], "--svg", files["svg"])
    code, out, _ = command(*asked, "--png", files["png"], "--report", files["html"], "--quiet")
    assert code == 0
    assert "certificate of 1 cell, accepted" in out
    assert "1 cell of starts followed to the end" in out
    assert ">x over time</text>" in files["svg"].read_text()
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert '<section class="flowpipe">' in files["html"].read_text()
    code, out, _ = command("certify", files["json"])
    assert (code, out.split(":")[0]) == (0, "accepted")
    data = json.loads(files["json"].read_text())
    data["verdict"]["certificate"]["content"]["claim"]["problem"]["initial"] = True
    files["json"].write_text(json.dumps(data))
    assert command("certify", files["json"])[0] == 1


def test_axes_are_chosen(tmp_path: Path, command: Command) -> None:
    spring_problem(tmp_path, SAFE)
    model, drawn = tmp_path / "spring.toml", tmp_path / "r.svg"
    code, _, _ = command("check", model, "--engine", "reach", "--svg", drawn, "--axes", "x, v", "--quiet")
    assert code == 0
    assert ">v over x</text>" in drawn.read_text()
    code, _, error = command("check", model, "--engine", "reach", "--axes", "x,v")
    assert code == 2
    assert "error: --axes: it has no effect without --svg or --png" in error


def test_a_run_directory_goes_on(tmp_path: Path, command: Command) -> None:
    spring_problem(tmp_path, TIGHT)
    model, folder = tmp_path / "spring.toml", tmp_path / "run"
    asked = ("check", model, "--run-directory", folder)  # only `reach` has it and takes the property
    assert command(*asked, "--quiet")[0] == 0
    code, _, error = command(*asked)
    assert code == 2
    assert "has results of this question already; fix: go on with --resume" in error
    code, out, _ = command(*asked, "--resume", "--quiet")
    assert code == 0
    assert "accepted by the independent checker" in out
    model.write_text(model.read_text().replace("sin(x)", "x"))
    code, _, error = command(*asked, "--resume")
    assert code == 2
    assert error.count("\n") == 1
    assert "has the cells of another problem; fix: choose another folder" in error


def test_an_interrupt_tells_what_is_known_and_leaves_a_folder(tmp_path: Path) -> None:
    spring_problem(tmp_path, BROKEN)
    options = ["--engine", "reach", "--timeout", "100", "--run-directory", "run", "--json", "r.json"]
    words = [sys.executable, "-m", "surefoot", "check", "spring.toml", *options]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started, cells = monotonic(), tmp_path / "run"
    while monotonic() - started < 60 and sum(f.stat().st_size for f in cells.glob("*.results")) < 20_000:
        sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "unknown (interrupted)" in out
    assert "of the starts are shown to keep it" in out
    verdict = json.loads((tmp_path / "r.json").read_text())["verdict"]
    assert verdict["flowpipe"]["pieces"]
    again = subprocess.run(
        [*words, "--resume", "--timeout", "5"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "by the run directory, not followed again" in again.stdout
