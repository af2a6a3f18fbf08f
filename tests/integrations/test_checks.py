"""Checks while training, with a model that is a file and a logger that is a list."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.report.heatmap.tables import write_constant

from surefoot.cli import run_command_line
from surefoot.engines.statistical import Statistical
from surefoot.errors import InvalidProblem, MissingBackend
from surefoot.formats.problem_file import read_problem_file
from surefoot.formats.wiring import wiring_from_options
from surefoot.integrations.checks import Checks, CheckSettings, start_value_problem
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.report.heatmap.learning_curve import read_curve
from surefoot.term.term import TRUE
from surefoot.verdict.verdict import PerStart, Unknown

POND = Path(__file__).parents[2] / "docs" / "reference" / "pond.toml"


class Model:
    """Prefers one of two actions; saved in a format that is told by its content."""

    biases = (1.0, 0.0)

    def save(self, path: str) -> None:
        write_constant(Path(path), self.biases)


class Log:
    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def record(self, key: str, value: Any) -> None:
        self.said[key] = value


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    write_constant(tmp_path / "first.nnet", (0.0, 0.0))
    wiring = wiring_from_options("x, y", "east,north", "argmax-applicable")
    return read_problem_file(POND, property="drowns", policy=tmp_path / "first.nnet", wiring=wiring)


def test_a_training_is_checked_and_its_critical_starts_come_back(problem: Problem, tmp_path: Path) -> None:
    given: list[Any] = []
    folder = tmp_path / "checks"
    checks = Checks(
        CheckSettings(problem, every=100, threshold="<= 0.1", folder=folder, on_critical=given.append)
    )
    model, log = Model(), Log()
    assert not checks.due(99)
    assert checks.due(100)
    first = checks.check(model, 100, log)
    assert isinstance(first.verdict, PerStart)
    assert log.said["surefoot/critical"] == len(first.critical) == len(given[0]) == 21
    assert log.said["surefoot/greatest_low"] > 0.97
    assert log.said["surefoot/mean_low"] <= log.said["surefoot/mean_high"]
    assert log.said["surefoot/unknown"] == 0
    assert not checks.due(199)
    model.biases = (0.0, 1.0)
    second = checks.check(model, 200, log)
    assert second.mean is not None
    assert first.mean is not None
    assert second.mean.displayed_value() != first.mean.displayed_value()
    assert json.loads((folder / "critical-100.json").read_text())["threshold"]["value"] == "0.1"
    assert (folder / "heatmap-200.svg").read_text().startswith("<svg")
    curve = read_curve(folder / "checks.csv")
    assert [x for x, _ in curve.points] == [100.0, 200.0]
    assert curve.points[0][1] == pytest.approx(float(first.mean.displayed_value() or 0))


def test_the_folder_is_what_the_command_draws(problem: Problem, tmp_path: Path) -> None:
    folder = tmp_path / "checks"
    checks = Checks(CheckSettings(problem, every=100, folder=folder))
    for step in (100, 200):
        checks.check(Model(), step, Log())
    wired = ["--observe", "x, y", "--actions", "east,north", "--choose", "argmax-applicable"]
    files = ["--checkpoints", str(folder), "--curve", str(folder / "checks.csv"), "--json"]
    asked_for = ["heatmap", str(POND), "--property", "drowns", *wired, *files, str(tmp_path / "out.json")]
    code = run_command_line([*asked_for, "--quiet"])
    assert code == 0
    panels = json.loads((tmp_path / "out.json").read_text())["panels"]
    assert [p["title"] for p in panels] == ["step 100", "step 200"]


def test_without_an_answer_nothing_is_claimed(problem: Problem) -> None:
    log = Log()
    checks = Checks(CheckSettings(problem, threshold="<= 0.1", seconds=0.0))
    found = checks.check(Model(), 1, log)
    assert isinstance(found.verdict, Unknown)
    assert log.said == {"surefoot/unknown": 1, "surefoot/critical": 0}
    assert checks.curve().splitlines() == ["step,mean,low,high,critical"]


def test_a_function_may_build_the_problem(problem: Problem) -> None:
    seen: list[Any] = []

    def question(network: Any) -> Problem:
        seen.append(network)
        assert isinstance(problem.policy, NeuralPolicy)
        return replace(problem, policy=replace(problem.policy, network=network))

    found = Checks(CheckSettings(question)).check(Model(), 5, Log())
    assert len(seen) == 1
    assert found.least is not None
    assert found.least.low == Fraction(0)


class Normalizing(Model):
    """A model whose observations are normalised by statistics that nobody can read."""

    def get_vec_normalize_env(self) -> Any:
        return self

    norm_obs = True

    def save(self, path: str) -> None:
        if path.endswith(".pkl"):
            Path(path).write_text("{}")
        else:
            super().save(path)


def test_normalisation_is_never_left_out(problem: Problem) -> None:
    with pytest.raises(InvalidProblem):
        Checks(CheckSettings(problem)).check(Normalizing(), 1, Log())


def test_refused(problem: Problem) -> None:
    with pytest.raises(InvalidProblem, match="at least one step"):
        Checks(CheckSettings(problem, every=0))
    with pytest.raises(InvalidProblem, match="is no threshold"):
        Checks(CheckSettings(problem, threshold="0.1"))
    assert isinstance(problem.policy, NeuralPolicy)
    network = problem.policy.network
    with pytest.raises(InvalidProblem, match="no network"):
        start_value_problem(replace(problem, policy=None), network)
    with pytest.raises(InvalidProblem, match="a probability or an expected value"):
        start_value_problem(replace(problem, property=Never(TRUE)), network)


def test_without_the_library_it_says_what_to_install(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from surefoot.integrations.sb3 import check_callback

    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.callbacks", None)
    with pytest.raises(MissingBackend, match="surefoot\\[train\\]"):
        check_callback(problem)


def test_estimates_can_be_logged_too(problem: Problem) -> None:
    log = Log()
    engine = Statistical(eps=Fraction(1, 10))
    found = Checks(CheckSettings(problem, engine=engine, threshold="<= 0.1")).check(Model(), 1, log)
    assert found.mean is not None
    assert found.mean.counts["runs"] > 100
    assert log.said["surefoot/mean_low"] < log.said["surefoot/mean_high"] - 0.1
    assert any(not c.certain for c in found.critical)
