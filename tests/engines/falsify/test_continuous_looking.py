"""Looking at differential equations: accurate, and never more than a suspicion."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from surefoot.engines.barrier import Barrier
from surefoot.engines.falsify import Falsify
from surefoot.errors import Unsupported
from surefoot.formats.problem_file import read_problem_file
from surefoot.formats.result_json import annotated_result_to_json
from surefoot.problem.problem import Problem
from surefoot.report.result_page import render_result_page
from surefoot.run import verify
from surefoot.simulate.batch.integrate import compile_flow
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Proved, Reason, Unknown
from surefoot.work.budget import Budget

SPRING = """
name = "spring"
initial = "0.9 <= x <= 1 and 0 <= v <= 0.1"
[variables]
x = "real"
v = "real"
[controls]
u = "[-1, 1]"
[flow]
step = 0.5
time = "continuous"
[flow.derivatives]
x = "v"
v = "-4*x - 0.4*v + u"
[[edges]]
{edge}
[policy.program]
branches = [{{ controls = ["-1/10 * v"] }}]
[properties]
left = "never x < -0.4"
far = "never x < -3 or x > 3"
short = "never x < -0.4 for 2 steps"
comes = "within 4 x < -0.4"
stays = "within 4 x > 0.9 after 4"
acting = "never u > 0.9"
ends = "eventually x < 0"
"""


def spring(folder: Path, name: str, edge: str = "") -> Problem:
    (folder / "spring.toml").write_text(SPRING.format(edge=edge))
    return read_problem_file(folder / "spring.toml", property=name)


def suspected(problem: Problem, seconds: float = 20) -> SuspectedRun:
    verdict = verify(problem, Falsify(), Budget(seconds)).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.INCOMPLETE
    assert isinstance(verdict.artifact, SuspectedRun), verdict
    return verdict.artifact


def test_steps_are_of_order_five(tmp_path: Path) -> None:
    flow = compile_flow(spring(tmp_path, "left").environment)
    matrix = np.array([[0.0, 1.0], [-4.0, -0.4]])
    start = np.array([0.95, 0.05])
    exact = expm(0.5 * matrix) @ start
    errors = []
    for pieces in (2, 4, 8):
        known = {"x": start[:1], "v": start[1:], "u": np.zeros(1)}
        *_, (after, lost) = flow.advance(known, 0.5, pieces, 1)
        assert not lost[0]
        errors.append(max(abs(after["x"][0] - exact[0]), abs(after["v"][0] - exact[1])))
    assert errors[2] < 1e-7
    assert errors[0] / errors[1] > 20  # 32 in the limit
    assert errors[1] / errors[2] > 20


def test_a_suspicion_is_a_run_of_the_equation(tmp_path: Path) -> None:
    """The same run by another integrator, with the controls that it tells, period by period."""
    found = suspected(spring(tmp_path, "left"))
    times = np.array(found.times)
    state = np.array([found.states[0]["x"], found.states[0]["v"]])
    assert 0.9 <= state[0] <= 1
    for number, held in enumerate(found.controls):
        assert held["u"] == pytest.approx(-0.1 * state[1], abs=1e-9)
        until = min(0.5 * (number + 1), found.time)
        inside = [t for t in times if 0.5 * number < t <= until + 1e-12]
        solved = solve_ivp(
            lambda _, y, u=held["u"]: [y[1], -4 * y[0] - 0.4 * y[1] + u],
            (0.5 * number, until + 1e-12),
            state,
            t_eval=inside,
            method="DOP853",
            rtol=1e-11,
            atol=1e-12,
        )
        for t, x in zip(solved.t, solved.y[0], strict=True):
            assert found.states[int(np.searchsorted(times, t))]["x"] == pytest.approx(x, abs=1e-7)
        state = solved.y[:, -1]
    assert found.states[-1]["x"] < -0.4
    assert all(s["x"] >= -0.4 for s in found.states[:-1])
    assert found.error < 1e-6


def test_it_is_never_an_answer(tmp_path: Path) -> None:
    problem = spring(tmp_path, "left")
    result = verify(problem, None, Budget(20))  # with all engines
    assert isinstance(result.verdict, Unknown)
    assert not result.certified
    assert result.verdict.detail.endswith("that is not proved")
    data = annotated_result_to_json(problem, result)
    assert "trace" not in data["verdict"]
    assert data["verdict"]["kind"] == "unknown"
    seen = data["verdict"]["suspicion"]
    assert len(seen["times"]) == len(seen["states"])
    assert seen["states"][-1]["x"] < -0.4
    json.dumps(data, allow_nan=False)


def test_a_proof_comes_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "often.toml").write_text(SPRING.format(edge="").replace("step = 0.5", "step = 0.05"))
    problem = read_problem_file(tmp_path / "often.toml", property="far")
    assert isinstance(verify(problem, [Falsify(), Barrier()], Budget(60)).verdict, Proved)


def test_between_two_times_of_control_it_is_looked_at_too(tmp_path: Path) -> None:
    """The spring is below -0.4 for less than a period after 1.2, and not yet at 1."""
    found = suspected(spring(tmp_path, "left"))
    assert 1.0 < found.time < 1.5
    assert found.time not in (1.0, 1.5)


def test_a_bound_of_steps_is_a_bound_of_time(tmp_path: Path) -> None:
    verdict = verify(spring(tmp_path, "short"), Falsify(runs=500), Budget(20)).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.artifact is None
    assert "integrated numerically up to time 1 violated it" in verdict.detail


def test_goals_in_time(tmp_path: Path) -> None:
    verdict = verify(spring(tmp_path, "comes"), Falsify(runs=300), Budget(20)).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.artifact is None
    assert suspected(spring(tmp_path, "stays")).time == pytest.approx(2.0)


def test_disturbances_are_chosen(tmp_path: Path) -> None:
    """Without wind the spring stays below 1.05; a wind of up to 20 blows it away."""
    windy = (SPRING.format(edge='chosen = { wind = "real [-20, 20]" }')).replace("*v + u", "*v + u + wind")
    (tmp_path / "windy.toml").write_text(windy)
    found = suspected(read_problem_file(tmp_path / "windy.toml", property="far"))
    assert abs(found.states[-1]["x"]) > 3


def test_objections(tmp_path: Path) -> None:
    assert "not on what the policy does" in str(Falsify().objection(spring(tmp_path, "acting")))
    assert "Never or Within" in str(Falsify().objection(spring(tmp_path, "ends")))
    assert "has updates" in str(Falsify().objection(spring(tmp_path, "left", 'updates = { v = "0" }')))
    with pytest.raises(Unsupported, match="continuous time"):
        verify(spring(tmp_path, "left"), "bmc", Budget(5))


def test_the_page_draws_what_was_seen_and_says_that_it_is_no_proof(tmp_path: Path) -> None:
    problem = spring(tmp_path, "left")
    text = render_result_page([(problem, verify(problem, Falsify(), Budget(20)))])
    assert 'aria-label="x"' in text
    assert 'aria-label="phase plot: v over x"' in text
    assert "nothing is proved by it" in text
    assert 'class="open"' in text
