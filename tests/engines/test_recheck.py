"""Old shields in changed systems: what can be kept is proved anew, and nothing is believed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.cli import run_command_line
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.shields.recheck import OldRule, read_old_rules, recheck_shield
from surefoot.term.parser import parse_term
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.control.plants import CHANGED
from surefoot_studies.control.problem import plant_environment, stays_safe


def pendulum(push: str) -> Problem:
    plant = replace(CHANGED["pendulum-continuous"], rates=("omega", f"10*eta + {push}*u1"))
    return Problem("pendulum", plant_environment("pendulum", plant), None, Never(parse_term(plant.unsafe)))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "shield.json"
    made = make_certified_shield(stays_safe("pendulum-continuous"), (2,), Budget(60))
    path.write_text(json.dumps(made.certificate))
    return path


def test_the_changes_of_the_paper_keep_the_old_sets(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pendulum-heavier", "pendulum-longer"):
        code = run_command_line(
            ["shield", f"control/{name}", "--recheck", str(old), "--quiet", "--json", "-"]
        )
        data = json.loads(capsys.readouterr().out)
        assert code == 0
        assert data["rechecked"]["stage"] == "kept"
        assert data["rechecked"]["sufficed"]
        assert judge_certificate(data["certificate"]).accepted


def test_a_stronger_motor_needs_new_sets(old: Path) -> None:
    problem = pendulum("2")
    made = make_certified_shield(problem, (2,), Budget(60), read_old_rules(old, problem))
    assert made.accepted
    assert made.rechecked is not None
    assert made.rechecked.stage == "sets"
    assert list(made.rechecked.seconds) == ["kept", "level", "sets"]


def test_a_smaller_set_may_be_enough() -> None:
    """A set of which only its outer part is unsafe."""
    problem = discretise(stays_safe("satellite"))
    rule = (parse_term("-x1 + 0.5*x2"),)
    domain = ((Fraction(-2), Fraction(2)),) * 2
    wide = OldRule(rule, domain, parse_term("x1^2 + 0.95*x2^2 - 2.2"))
    found = recheck_shield(read_control_system(problem), [wide], None, (2,), Budget(60))
    assert found.stage == "level"
    assert not found.found.uncovered


def test_what_an_old_file_says_is_not_believed() -> None:
    problem = discretise(pendulum("0"))
    everything = OldRule((parse_term("0"),), ((Fraction(-9), Fraction(9)),) * 2, parse_term("eta*0 - 1"))
    found = recheck_shield(read_control_system(problem), [everything], None, (2,), Budget(1))
    assert found.found.uncovered


def test_what_is_wrong_is_one_line(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.json").write_text("{}")
    (tmp_path / "odd.json").write_text('{"surefoot-certificate": 1, "claim": {"system": {"rules": [3]}}}')
    for model, file in (
        ("control/pendulum-heavier", tmp_path / "no.json"),
        ("control/pendulum-heavier", tmp_path / "odd.json"),
        ("control/pendulum-heavier", tmp_path / "missing.json"),
        ("control/cartpole", old),
    ):
        assert run_command_line(["shield", model, "--recheck", str(file)]) == 2
        seen = capsys.readouterr()
        assert seen.out == ""
        assert seen.err.count("\n") == 1
