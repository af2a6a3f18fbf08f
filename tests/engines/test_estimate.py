"""Boxes of disturbances from logs: they contain what they promise as often as they promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from surefoot.cli import run_command_line
from surefoot.shields.estimate import (
    LoggedSteps,
    certain_share,
    fit_linear_dynamics,
    needed_steps,
    tolerance_box,
)


@pytest.mark.parametrize(("count", "sides"), [(100, 2), (1000, 4), (300, 8), (50, 6)])
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_the_share_is_what_the_binomial_law_says(count: int, sides: int, confidence: float) -> None:
    share = certain_share(count, sides, confidence)
    assert stats.binom.cdf(sides - 1, count, 1 - share) <= 1 - confidence
    assert stats.binom.cdf(sides - 1, count, 1 - share - 1e-4) > 1 - confidence
    assert certain_share(needed_steps(share, sides, confidence), sides, confidence) >= share
    assert needed_steps(share, sides, confidence) <= count


def test_few_steps_promise_nothing() -> None:
    assert certain_share(3, 4, 0.9) == 0.0


@pytest.mark.parametrize("law", ["uniform", "heavy", "few values"])
def test_boxes_contain_the_share_as_often_as_is_said(law: str) -> None:
    """400 logs; the true content of each box is measured on a large sample."""
    generator, size, confidence = np.random.default_rng(0), 120, 0.9

    def draw(count: int) -> np.ndarray:
        if law == "uniform":
            return generator.uniform(-1, 1, (count, 2))
        if law == "heavy":
            return generator.standard_cauchy((count, 2)) * [1.0, 3.0]
        return generator.integers(0, 30, (count, 2)).astype(float)

    everything, missed = draw(20000), 0
    for _ in range(400):
        box = tolerance_box(draw(size), confidence)
        content = np.all((everything >= box.low) & (everything <= box.high), axis=1).mean()
        missed += content < box.share
    assert missed <= stats.binom.ppf(1 - 1e-6, 400, 1 - confidence)
    if law != "few values":
        assert missed > 0  # nor is it much too careful


def test_intervals_of_coefficients_contain_the_truth() -> None:
    generator, truth, missed = (
        np.random.default_rng(1),
        np.array([[0.9, 0.1, 0.5, 0.2], [-0.2, 0.8, 1.0, 0.0]]),
        0,
    )
    for _ in range(300):
        rows = np.column_stack([generator.normal(size=(60, 3)), np.ones(60)])
        steps = LoggedSteps(
            rows[:, :2],
            rows[:, 2:3],
            rows @ truth.T + generator.normal(0, 0.1, (60, 2)),
            np.zeros(60, dtype=np.int64),
        )
        found = fit_linear_dynamics(steps, 0.9)
        missed += bool(np.any(np.abs(found.matrix - truth) > found.within))
    assert missed <= stats.binom.ppf(1 - 1e-6, 300, 0.1)


def log(path: Path, steps: int, seed: int = 0) -> None:
    """Two runs of x' = 0.9 x + u + noise."""
    generator, rows = np.random.default_rng(seed), ["run,x,u"]
    for number in range(2):
        x = 1.0
        for _ in range(steps):
            u = float(generator.normal())
            rows.append(f"{number},{x!r},{u!r}")
            x = 0.9 * x + u + float(generator.uniform(-0.01, 0.01))
    path.write_text("\n".join(rows) + "\n")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "log.csv", 500)
    command = ["estimate", str(tmp_path / "log.csv"), "--variables", "x", "--controls", "u"]
    assert run_command_line([*command, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["steps of the box"] == 499  # one of two runs: no step leads from one to the next
    low, high = data["disturbances"]["x"]
    assert -0.012 < low < -0.009
    assert 0.009 < high < 0.012
    assert data["share"] == pytest.approx(certain_share(499, 2, 0.999))
    assert data["linear"]["matrix"][0][0] == pytest.approx(0.9, abs=1e-3)
    assert run_command_line([*command, "--share", "0.9999"]) == 3
    out = capsys.readouterr().out
    assert "not enough" in out
    assert "independent" in out


def test_with_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator, state = np.random.default_rng(0), np.array([0.5, 0.0])
    rows = ["x1,x2,u1"]
    for _ in range(200):
        u = -1.0 * state[0] + 0.5 * state[1]
        rows.append(f"{state[0]!r},{state[1]!r},{u!r}".replace("np.float64(", "").replace(")", ""))
        state = np.array([2 * state[0] - state[1] + 2 * u, state[0]]) + generator.uniform(-0.1, 0.1, 2)
    (tmp_path / "log.csv").write_text("\n".join(rows))
    assert (
        run_command_line(
            ["estimate", str(tmp_path / "log.csv"), "--problem", "control/satellite", "--json", "-"]
        )
        == 0
    )
    box = json.loads(capsys.readouterr().out)["disturbances"]
    assert all(-0.101 < low < -0.09 and 0.09 < high < 0.101 for low, high in box.values())


def test_what_is_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    for text in ("x\n1\nnan\n", "x\n1\n", "y\n1\n2\n", "", "x\n1\nx\n"):
        path.write_text(text)
        assert run_command_line(["estimate", str(path), "--variables", "x"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert run_command_line(["estimate", str(path)]) == 2
    assert "residuals of what?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x,u\n1,\xdc\n2,0\n", "not a table: 'utf-8' codec"),
        (b"\xdc\n1\n2\n", "not a table: 'utf-8' codec"),
        (b"x,u\n1,2\n1,2,3\n1,2\n", ":3: there are more values than the first line has columns, 2"),
        (b"x,u,x\n1,2,3\n1,2,3\n1,2,3\n", "two columns `x`; fix: rename one of them"),
        (b"x,u\n1,2\n1,2\n", "fewer than two steps"),
    ],
)
def test_what_is_wrong_with_a_table(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    assert run_command_line(["estimate", str(path), "--variables", "x", "--controls", "u"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_tables_of_spreadsheets_and_names_that_occur_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbfx,u\r\n" + b"1,0\r\n2,1\r\n" * 20)
    assert run_command_line(["estimate", str(path), "--variables", "x", "--controls", "u"]) == 0
    capsys.readouterr()
    assert run_command_line(["estimate", str(path), "--variables", "x,u", "--controls", "u"]) == 2
    assert "error: --controls: `u` is a variable too; fix: name it once" in capsys.readouterr().err
