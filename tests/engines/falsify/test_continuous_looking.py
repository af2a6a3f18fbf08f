"""Looking at differential equations: accurate, and a suspicion until enclosures show it."""

from __future__ import annotations

import json
from dataclasses import replace
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
from surefoot.problem.property_parser import parse_property
from surefoot.report.result_page import render_result_page
from surefoot.run import verify
from surefoot.simulate.batch.integrate import compile_flow
from surefoot.term.evaluate import evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Proved, Reason, Unknown, Violated
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
    verdict = Falsify().check(problem, Budget(seconds))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.INCOMPLETE
    assert isinstance(verdict.artifact, SuspectedRun), verdict
    assert verdict.detail.endswith("that is not proved")
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


TOUCHING = """
name = "touching"
initial = "x = 1 and v = -2"
[variables]
x = "real"
v = "real"
[controls]
u = "[-1, 1]"
[flow]
period = 0.5
time = "continuous"
[flow.derivatives]
x = "v"
v = "2 + u"
[[edges]]
[policy.program]
branches = [{ controls = ["0"] }]
[properties]
touched = "never x <= 0.000000000000001 for 1.2 seconds"
"""


@pytest.mark.parametrize("engine", [Falsify(runs=50), None])
def test_a_run_that_touches_a_bad_state_is_no_answer(tmp_path: Path, engine: Falsify | None) -> None:
    """x is (t - 1)^2: bad by less than the rounding of an enclosure."""
    (tmp_path / "touching.toml").write_text(TOUCHING)
    problem = read_problem_file(tmp_path / "touching.toml")
    result = verify(problem, engine, Budget(6))
    assert isinstance(result.verdict, Unknown)
    assert not result.certified
    assert (
        "that is not proved: its enclosure is nowhere wholly inside the bad states" in result.verdict.detail
    )
    data = annotated_result_to_json(problem, result)
    assert "trace" not in data["verdict"]
    assert data["verdict"]["kind"] == "unknown"
    seen = data["verdict"]["suspicion"]
    assert len(seen["times"]) == len(seen["states"])
    assert seen["states"][-1]["x"] <= 1e-15
    json.dumps(data, allow_nan=False)
    page = render_result_page([(problem, result)])
    assert "nothing is proved by it" in page
    assert 'class="open"' in page
    assert 'aria-label="x"' in page


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


TIMED = {
    "never x < -0.4 for 0.9 seconds": None,  # it comes to -0.4 after about 1.1 seconds
    "never x < -0.4 from 1 to 1.3 seconds": 1.3,
    "never x > 0.5 from 0.4 to 0.45 seconds": 0.45,  # two moments in the middle of a period
    "never x > 0.9 from 1 to 2 seconds": None,
    "never x > 0.5 at time 0.4": 0.4,
    "within 0.7 seconds x < -0.4": 0.7,
    "within 2 seconds x < -0.4": None,
    "x < -0.1 at time 1.2": None,
    "x < -0.1 at time 0.9": 0.9,
    "within 3 seconds x > 0.9 after 1.2 seconds": 3,
    "never x < -0.4 before x < 0.1 for 2 seconds": None,
    "never x < 0.1 before x < -0.4 for 2 seconds": 2,
    "never x < -0.4 before v > 0.2": 2,
    "never v < -1.5 before v < -1.3 from 1 second": None,  # the goal counts before the first moment too
}


@pytest.mark.parametrize("text", TIMED)
def test_moments(tmp_path: Path, text: str) -> None:
    """Against the solution of another integrator: what is violated is seen, not later than it is."""
    latest = TIMED[text]
    problem = replace(spring(tmp_path, "left"), property=parse_property(text))
    if latest is None:
        verdict = verify(problem, Falsify(runs=400), Budget(20)).verdict
        assert isinstance(verdict, Unknown)
        assert verdict.artifact is None, verdict
    else:
        assert suspected(problem).time <= latest + 1e-12


def test_a_period_of_its_own(tmp_path: Path) -> None:
    """The control period holds controls in continuous time; steps are no part of the meaning."""
    for line in ("step = 0.1\nperiod = 0.5", "period = 0.5"):
        text = SPRING.format(edge="").replace("step = 0.5", line)
        (tmp_path / "period.toml").write_text(text)
        problem = read_problem_file(tmp_path / "period.toml", property="left")
        assert suspected(problem).controls == suspected(spring(tmp_path, "left")).controls
    assert "every 1/2," in " ".join(verify(problem, Falsify(runs=1), Budget(5)).notes)


def test_a_disturbance_that_is_constant_is_a_variable_without_derivative(tmp_path: Path) -> None:
    text = SPRING.format(edge="").replace("[controls]", 'w = "real [-1, 1]"\n[controls]')
    text = text.replace("0.4*v + u", "0.4*v + u + 9*w").replace('<= 0.1"', '<= 0.1 and -1 <= w <= 1"')
    (tmp_path / "constant.toml").write_text(text)
    found = suspected(read_problem_file(tmp_path / "constant.toml", property="far"))
    assert len({state["w"] for state in found.states}) == 1
    assert abs(found.states[0]["w"]) > 0.5


@pytest.mark.parametrize(
    "rate",
    [
        *(
            "sin(x)",
            "cos(x)",
            "tan(x)",
            "exp(x)",
            "log(x + 2)",
            "sqrt(x + 2)",
            "abs(x)",
            "tanh(x)",
            "atan(x)",
        ),
        *("1 / (x + 2)", "x^3", "max(x, 0)", "ite(x > 0, 1, -1)", "sin(x) / (2 + cos(x)) + exp(-x)"),
    ],
)
def test_elementary_functions(tmp_path: Path, rate: str) -> None:
    """In derivatives and in properties, in both times; what is seen in time agrees with another solver."""
    text = f"""
initial = "x = 0.5"
[variables]
x = "real"
[flow]
period = 0.1
time = "TIME"
derivatives = {{{{ x = "{rate}" }}}}
[[edges]]
[policy.program]
branches = [{{{{ controls = [] }}}}]
[properties]
moves = "abs(x - 0.5) < 0.0001 at time 0.5"
bounded = "never {rate} > 1000 or sqrt(abs(x)) + sin(x) > 1000 for 0.5 seconds"
""".replace("{{", "{").replace("}}", "}")
    (tmp_path / "rate.toml").write_text(text.replace("TIME", "continuous"))
    found = suspected(read_problem_file(tmp_path / "rate.toml", property="moves"))

    def slope(_: float, x: np.ndarray) -> list[float]:
        return [float(evaluate_term(parse_term(rate), {"x": float(x[0])}, Arithmetic.FLOAT64))]

    wanted = solve_ivp(slope, (0, 0.5), [0.5], rtol=1e-10, atol=1e-12).y[0, -1]
    assert found.states[-1]["x"] == pytest.approx(wanted, abs=1e-7)
    calm = verify(read_problem_file(tmp_path / "rate.toml", property="bounded"), Falsify(runs=50), Budget(10))
    assert isinstance(calm.verdict, Unknown)
    assert calm.verdict.artifact is None
    (tmp_path / "rate.toml").write_text('arithmetic = "float64"' + text.replace("TIME", "steps"))
    by_steps = verify(read_problem_file(tmp_path / "rate.toml", property="moves"), Falsify(), Budget(10))
    assert isinstance(by_steps.verdict, Violated)


def test_a_bad_start_is_seen(tmp_path: Path) -> None:
    text = """
initial = "0 <= x <= 1"
[variables]
x = "real"
[controls]
u = "[-1, 1]"
[flow]
period = 0.1
time = "{time}"
derivatives = {{ x = "sin(x) + u" }}
[[edges]]
[policy.program]
branches = [{{ controls = ["0"] }}]
[properties]
start = "never x > 0.5"
"""
    (tmp_path / "start.toml").write_text(text.format(time="continuous"))
    assert suspected(read_problem_file(tmp_path / "start.toml")).time == 0
    (tmp_path / "start.toml").write_text(text.format(time="steps"))
    verdict = verify(read_problem_file(tmp_path / "start.toml"), None, Budget(20)).verdict
    assert isinstance(verdict, Violated)
    assert not verdict.trace.moves


def test_objections(tmp_path: Path) -> None:
    assert "not on what the policy does" in str(Falsify().objection(spring(tmp_path, "acting")))
    assert "Eventually without a last moment" in str(Falsify().objection(spring(tmp_path, "ends")))
    assert "has updates" in str(Falsify().objection(spring(tmp_path, "left", 'updates = { v = "0" }')))
    with pytest.raises(Unsupported, match="continuous time"):
        verify(spring(tmp_path, "left"), "bmc", Budget(5))


def test_the_page_draws_the_run_and_says_what_shows_it(tmp_path: Path) -> None:
    problem = spring(tmp_path, "left")
    text = render_result_page([(problem, verify(problem, Falsify(), Budget(20)))])
    assert 'aria-label="x"' in text
    assert 'aria-label="phase plot: v over x"' in text
    assert "the certificate rests on enclosures" in text
    assert "accepted by the independent checker" in text
    assert "zero tolerance" not in text
    assert 'class="bad"' in text


def test_a_question_about_the_first_moment_keeps_to_its_time(tmp_path: Path) -> None:
    """Runs of no length say nothing while they are made, and there is no end of them."""
    problem = replace(spring(tmp_path, "far"), property=parse_property("x > 0 at time 0"))
    verdict = Falsify().check(problem, Budget(0.5))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.TIMEOUT
