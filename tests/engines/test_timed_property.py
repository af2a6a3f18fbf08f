"""Properties with seconds: no engine overlooks a limit, in steps, in continuous time or without any time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.engines import ENGINES
from surefoot.engines.protocol import Engine
from surefoot.engines.selection import engine_objection
from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem, in_time
from surefoot.problem.property_parser import parse_property
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.run import build_portfolio, verify
from surefoot.shields.finite.arena import bad_condition
from surefoot.verdict.verdict import Holds, Proved, Unknown, Violated
from surefoot.work.budget import Budget

PLANT = """
initial = "x = 0"
[variables]
x = "{kind}"
[controls]
u = "[0, 1]"
[flow]
step = 0.5
period = {period}
derivatives = {{ x = "2*u" }}
[[edges]]
[policy.program]
branches = [{{ controls = ["1"] }}]
[properties]
safe = "never x > 50"
"""
# In steps and in continuous time x = 2 * t.
TRUTHS = {
    "never x > 3.5 for 1 second": True,
    "never x > 3.5 for 2 seconds": False,
    "never x < 2.5 from 1.5 to 3 seconds": True,
    "never x < 2.5 from 1 to 3 seconds": False,
    "never x < 0.5 from 0.5 seconds": True,
    "never x > 4.5 from 0.5 seconds": False,
    "never x > 2.5 at time 1": True,
    "never x > 1.5 at time 1": False,
    "within 2 seconds x > 3.5": True,
    "within 2 seconds x > 4.5": False,
    "within 2 seconds x < 1.5 after 1 second": False,
    "2.5 < x < 3.5 at time 1.5": True,
    "x > 3.5 at time 1.5": False,
    "eventually x < 1.5 after 1 second": False,
    "never x > 2.5 before x > 1.5 for 3 seconds": True,
    "never x > 1.5 before x > 2.5 for 3 seconds": False,
    "never x > 2.5 before x > 1.5 from 1.5 to 3 seconds": True,
}


def plant(folder: Path, text: str, period: str = "1", kind: str = "real [0, 100]") -> Problem:
    (folder / "plant.toml").write_text(PLANT.format(period=period, kind=kind))
    return replace(read_problem_file(folder / "plant.toml"), property=parse_property(text))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("text", TRUTHS)
def test_no_engine_contradicts_the_steps(tmp_path: Path, name: str, text: str) -> None:
    problem = plant(tmp_path, text)
    try:
        verdict = verify(problem, name, Budget(2)).verdict
    except Unsupported:
        return
    allowed = (Proved, Holds, Unknown) if TRUTHS[text] else (Violated, Unknown)
    assert isinstance(verdict, allowed), verdict


@pytest.mark.parametrize("text", TRUTHS)
def test_together_they_decide_what_is_bounded(tmp_path: Path, text: str) -> None:
    if "from 0.5 seconds" in text or "eventually" in text:
        return
    verdict = verify(plant(tmp_path, text), ["falsify", "bmc"], Budget(20)).verdict
    decided = (Proved, Holds) if TRUTHS[text] else Violated
    assert isinstance(verdict, decided), verdict


@pytest.mark.parametrize("text", TRUTHS)
def test_in_continuous_time_nothing_is_answered_that_was_not_proved(tmp_path: Path, text: str) -> None:
    problem = in_time(plant(tmp_path, text), "continuous")
    for name in ENGINES:
        try:
            result = verify(problem, name, Budget(2))
        except Unsupported:
            continue
        verdict = result.verdict
        if name in ("reach", "falsify"):
            assert isinstance(verdict, (Proved, Unknown) if TRUTHS[text] else (Violated, Unknown)), verdict
            assert result.certified or isinstance(verdict, Unknown)
            continue
        assert isinstance(verdict, Unknown), (name, verdict)
        if TRUTHS[text]:
            assert verdict.artifact is None, (name, verdict)


def reason_against(engine: Engine, problem: Problem) -> str | None:
    try:
        return engine.objection(problem)
    except SurefootError as why:
        return str(why)


def test_engines_object_to_what_was_not_translated(tmp_path: Path) -> None:
    """Also where somebody hands the problem over as it is."""
    for text in TRUTHS:
        by_steps = plant(tmp_path, text)
        continuous = in_time(by_steps, "continuous")
        timeless = replace(by_steps, environment=replace(by_steps.environment, flow=None))
        for engine in build_portfolio():
            assert reason_against(engine, by_steps) is not None, engine
            assert reason_against(engine, timeless) is not None, engine
            if engine.name not in ("falsify", "reach"):
                assert engine_objection(engine, continuous) is not None, engine
            elif "eventually" not in text:
                assert engine_objection(engine, continuous) is None, engine


def test_other_readers_refuse_or_translate(tmp_path: Path) -> None:
    problem = plant(tmp_path, "never x > 3.5 for 1 second")
    with pytest.raises(Unsupported):
        bad_condition(problem)
    with pytest.raises(Unsupported):
        discretise(in_time(problem, "continuous"))
    plain = end_at_goal(discretise(plant(tmp_path, "never x > 2.5 before x > 1.5 for 3 seconds")))
    assert plain.property.steps == 6  # type: ignore[union-attr]


def test_the_limits_are_exact(tmp_path: Path) -> None:
    """A third of a second is no float."""
    problem = plant(tmp_path, "never x > 0 for 1/3 seconds")
    third = replace(problem.environment.flow, step=Fraction(1, 3), period=None)  # type: ignore[type-var]
    problem = replace(problem, environment=replace(problem.environment, flow=third))
    assert discretise(problem).property.steps == 1  # type: ignore[union-attr]
