"""Violations in continuous time: a run inside enclosures, its certificate, and all that is told of it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.closed_loop_rows import write_closed_loop_row

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.engines.falsify.continuous import ContinuousLooking
from surefoot.engines.reach import validate_run
from surefoot.engines.reach.engine import Reach
from surefoot.formats.model_file import read_model
from surefoot.formats.result_json import annotated_result_to_json, result_from_json
from surefoot.interface.result import CheckResult
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.report.result_page import render_result_page
from surefoot.report.result_text import render
from surefoot.run import verify
from surefoot.search.find_witnesses import with_witnesses
from surefoot.search.stored_result import judge_stored_result, reload_source
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Proved, Reason, Result, Unknown, Verdict, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

SPRING = """
name = "spring"
initial = "0.9 <= x <= 1 and 0 <= v <= 0.1"
[variables]
x = "real [-50, 50]"
v = "real [-50, 50]"
[controls]
u = "[-1, 1]"
[flow]
period = 0.5
time = "continuous"
[flow.derivatives]
x = "v"
v = "-4*x - 0.4*v + u + wind"
[[edges]]
chosen = { wind = "real [-1/3, 1/3]" }
[policy.program]
branches = [{ controls = ["-1/10 * v"] }]
[properties]
left = "never x < -0.6 for 3 seconds"
"""


def asked_spring(folder: Path, text: str | None = None) -> tuple[Problem, Result]:
    path = folder / "spring.toml"
    path.write_text(SPRING if text is None else SPRING.replace("never x < -0.6 for 3 seconds", text))
    loaded = read_model(path)
    (problem,) = loaded.problems.values()
    return problem, verify(problem, None, Budget(60), inputs=loaded.inputs, source=loaded.source)


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Problem, Result]:
    return asked_spring(tmp_path_factory.mktemp("spring"))


def test_it_is_an_answer_with_a_certificate(violated: tuple[Problem, Result]) -> None:
    problem, result = violated
    verdict = result.verdict
    assert isinstance(verdict, Violated)
    assert result.certified
    assert verdict.certificate is not None
    assert verdict.certificate.kind == "reach-violation"
    assert isinstance(verdict.artifact, SuspectedRun)
    trace = verdict.trace
    assert len(trace.times) == len(trace.states) == len(trace.moves) + 1
    assert trace.times[0] == 0
    assert all(t == n * Fraction(1, 2) for n, t in enumerate(trace.times[:-1]))
    assert trace.states[0] == verdict.artifact.start
    assert trace.states[-1]["x"] < Fraction("-0.6")
    assert all(-Fraction(1, 3) <= move.chosen["wind"] <= Fraction(1, 3) for move in trace.moves)
    assert "continuous time" in str(replay(problem, trace))


def test_it_is_told_without_more_than_is_known(violated: tuple[Problem, Result]) -> None:
    problem, result = violated
    assert isinstance(result.verdict, Violated)
    text = render(problem, result)
    head, *lines = text.splitlines()
    assert head.startswith(f"violated at time {float(result.verdict.trace.times[-1]):g}: never x < -0.6")
    told = "  evidence  certificate of a run in continuous time, accepted by the independent checker"
    assert told in lines
    assert any("its start is exact, later states are close" in line for line in lines)
    assert "replayed" not in text
    assert "zero tolerance" not in text
    page = render_result_page([(problem, result)])
    assert "the certificate rests on enclosures" in page
    assert "replayed" not in page
    assert "phase plot: v over x" in page
    saved = CheckResult(problem, result)
    assert saved.violated
    assert saved.trace is not None
    assert saved.trace.times == result.verdict.trace.times
    assert saved.certificate is not None
    more = with_witnesses(problem, result, 3, Budget(10))
    assert len(more.witnesses) == 1
    assert "others of runs in continuous time are not looked for" in more.notes[-1]


def write_and_judge(
    problem: Problem, result: Result, change: Callable[[dict[str, Any]], object] = lambda _: None
) -> tuple[str, str]:
    data = json.loads(json.dumps(annotated_result_to_json(problem, result), allow_nan=False))
    change(data)
    return judge_stored_result(result_from_json(data), reload_source)


def test_a_stored_result_is_accepted(violated: tuple[Problem, Result]) -> None:
    word, why = write_and_judge(*violated)
    assert (word, why) == (
        "accepted",
        "the checker accepts that the run in continuous time violates the property",
    )


def _set_state(data: dict[str, Any]) -> None:
    data["verdict"]["trace"]["states"][1]["x"] = "0.25"
    data["verdict"]["trace"].pop("decisions", None)


def _set_time(data: dict[str, Any]) -> None:
    data["verdict"]["trace"]["times"][-1] = "2.9"


def _set_start(data: dict[str, Any]) -> None:
    data["verdict"]["trace"]["states"][0]["x"] = "0.95"
    data["verdict"]["trace"].pop("decisions", None)


def _set_wind(data: dict[str, Any]) -> None:
    data["verdict"]["trace"]["moves"][0]["chosen"]["wind"] = "0.01"


def _set_picture(data: dict[str, Any]) -> None:
    data["verdict"]["integrated"]["states"][0]["x"] = 0.5


def _drop_certificate(data: dict[str, Any]) -> None:
    del data["verdict"]["certificate"]


def _drop_times(data: dict[str, Any]) -> None:
    del data["verdict"]["trace"]["times"]


def _set_property(data: dict[str, Any]) -> None:
    data["verdict"]["certificate"]["content"]["claim"]["problem"]["property"]["until"] = "4"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set_state, "state 1 of the run is none that it comes through"),
        (_set_time, "other times than its certificate"),
        (_set_start, "starts elsewhere than its certificate"),
        (_set_wind, "chooses something else"),
        (_set_picture, "drawn through another state at time 0"),
        (_drop_certificate, "there is none"),
        (_drop_times, ""),
        (_set_property, "about another problem"),
    ],
)
def test_a_changed_result_is_rejected(
    change: Callable[[dict[str, Any]], None], words: str, violated: tuple[Problem, Result]
) -> None:
    word, why = write_and_judge(*violated, change)
    assert word == "rejected"
    assert words in why


@pytest.mark.parametrize(
    "change",
    [
        {"start": {"x": "1.001", "v": "0"}},
        {"start": {"x": "0.9"}},
        {"start": {"x": "0.9", "v": "0"}, "at": [0, 0]},
        {"at": [0, 0]},
        {"at": [1, 0]},
        {"at": [6, 1]},
        {"chosen": []},
        {"chosen": [["0.34"]] * 7},
        {"chosen": [["0.3"]] * 7},
        {"bits": 10},
    ],
)
def test_a_changed_certificate_is_refused(change: dict[str, Any], violated: tuple[Problem, Result]) -> None:
    assert isinstance(violated[1].verdict, Violated)
    assert violated[1].verdict.certificate is not None
    content = deepcopy(dict(violated[1].verdict.certificate.content))
    assert judge_certificate(content).accepted
    content["reach"] = {**content["reach"], **change}
    try:
        assert not judge_certificate(content).accepted
    except BadCertificate:
        return


ASKED = {
    "x < -0.1 at time 0.9": 0.9,  # the moment is no control time
    "never x > 0.5 from 0.4 to 0.45 seconds": 0.45,
    "within 0.7 seconds x < -0.4": 0.7,
    "within 3 seconds x > 2 after 1.2 seconds": 3,
    "never x < -0.6 before v > 2": 3,
}


@pytest.mark.parametrize("text", ASKED)
def test_moments_and_goals(text: str, tmp_path: Path) -> None:
    problem, result = asked_spring(tmp_path, text)
    assert isinstance(result.verdict, Violated), result.verdict
    assert result.certified
    assert result.verdict.trace.times[-1] <= ASKED[text] + 0.5
    assert write_and_judge(problem, result)[0] == "accepted"


def test_a_violation_at_the_start(tmp_path: Path) -> None:
    problem, result = asked_spring(tmp_path, "never x > 0.93")
    assert isinstance(result.verdict, Violated)
    assert result.verdict.trace.times == (0,)
    assert render(problem, result).startswith("violated at time 0: ")
    assert write_and_judge(problem, result)[0] == "accepted"


def test_a_run_that_leaves_its_range_is_no_answer(tmp_path: Path) -> None:
    """What happens beyond the range of a variable is not said by the problem."""
    path = tmp_path / "spring.toml"
    path.write_text(SPRING.replace('v = "real [-50, 50]"', 'v = "real [-1.5, 50]"'))
    (problem,) = read_model(path).problems.values()
    (tmp_path / "wide.toml").write_text(SPRING)
    (wide,) = read_model(tmp_path / "wide.toml").problems.values()
    verdict = Falsify().check(wide, Budget(20))
    assert isinstance(verdict, Unknown)
    assert isinstance(verdict.artifact, SuspectedRun)
    assert isinstance(validate_run.confirm_suspicion(wide, verdict.artifact), Violated)
    assert validate_run.confirm_suspicion(problem, verdict.artifact) == "a variable may leave its range"


def false_suspicion(problem: Problem) -> SuspectedRun:
    """A run that was seen, told to be one of another property."""
    other = replace(problem, property=parse_property("never x < -0.2 for 3 seconds"))
    verdict = Falsify().check(other, Budget(20))
    assert isinstance(verdict, Unknown)
    assert isinstance(verdict.artifact, SuspectedRun)
    return verdict.artifact


def test_a_wrong_suspicion_does_not_keep_a_proof_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spring.toml"
    path.write_text(SPRING.replace("never x < -0.6 for 3 seconds", "never x < -3 for 1 seconds"))
    (problem,) = read_model(path).problems.values()
    wrong = false_suspicion(problem)

    def look(self: ContinuousLooking, budget: Budget, rounds: int | None) -> Verdict:
        return Unknown(Reason.TIMEOUT, "something was seen; that is not proved", artifact=wrong)

    monkeypatch.setattr(ContinuousLooking, "_look", look)
    alone = verify(problem, Falsify(), Budget(5)).verdict
    assert isinstance(alone, Unknown)
    assert alone.artifact is wrong
    assert "its enclosure is nowhere wholly inside the bad states" in alone.detail
    assert isinstance(verify(problem, [Falsify(), Reach()], Budget(60)).verdict, Proved)


def test_what_the_checker_refuses_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "spring.toml"
    path.write_text(SPRING)
    (problem,) = read_model(path).problems.values()
    made = validate_run._run_to_json

    def forge(*given: Any) -> dict[str, Any]:
        return {**made(*given), "at": [1, 0]}

    monkeypatch.setattr(validate_run, "_run_to_json", forge)
    result = verify(problem, Falsify(), Budget(20))
    assert isinstance(result.verdict, Unknown)
    assert not result.certified
    assert "the checker does not accept the certificate of a violation" in result.verdict.detail


@pytest.mark.shared_data
@pytest.mark.usefixtures("shared_data")
def test_rows_of_the_competition(tmp_path: Path) -> None:
    """The whole command, in processor seconds; the first one fills the cache of compiled modules."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for name, most in (("single_pendulum_wide", 60.0), ("single_pendulum_wide", 5.0), ("airplane", 5.0)):
        path = write_closed_loop_row(name, tmp_path)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "surefoot", "check", str(path), "--json", str(tmp_path / "row.json")]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ended.returncode == 1, ended.stderr
        assert "accepted by the independent checker" in ended.stdout
        data = json.loads((tmp_path / "row.json").read_text("utf-8"))
        assert data["certified"]
        assert data["verdict"]["kind"] == "violated"
        assert data["verdict"]["certificate"]["kind"] == "reach-violation"
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        assert spent < most, (name, spent)
