"""Seconds and control periods by steps: against a run that is made here, state by state, in fractions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from surefoot.certify.replay import replay
from surefoot.cli import run_command_line
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.fault_analysis.last_decision import find_fault_beside
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.meaning.initial_values import fixed_values
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Timed, Within
from surefoot.problem.property_parser import parse_property
from surefoot.problem.property_printer import show_property
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Term
from surefoot.verdict.verdict import Holds, Proved, Trace, Violated
from surefoot.work.budget import Budget

STEP = Fraction(1, 10)
PLANT = """
initial = "x = 1 and v = 0 and substep = 0"
[variables]
x = "real [-50, 50]"
v = "real [-50, 50]"
substep = "int 0..0"
[controls]
u = "[-1, 1]"
[flow]
step = 0.1
period = 0.3
derivatives = { x = "v", v = "u - x" }
[[edges]]
[policy.program]
branches = [{ controls = ["-2*x - v"] }]
[properties]
safe = "never x > 5"
"""
SWITCH = """
initial = "x = 1"
[variables]
x = "real [-50, 50]"
[flow]
step = 0.1
period = 0.3
derivatives = { x = "1" }
[[edges]]
action = "up"
updates = { x = "x + 0.3" }
[[edges]]
action = "down"
updates = { x = "x - 0.2" }
[policy.program]
branches = [{ when = "x < 1.5", action = "up" }, { action = "down" }]
[properties]
safe = "never x > 50 for 9 steps"
"""


def plant(folder: Path, text: str = PLANT) -> Problem:
    (folder / "plant.toml").write_text(text)
    return read_problem_file(folder / "plant.toml", property="safe")


def reference_run(length: int) -> list[dict[str, Fraction]]:
    """The only run of the plant: Euler's steps, the control of every third one."""
    x, v, u = Fraction(1), Fraction(0), Fraction(0)
    states = [{"x": x, "v": v}]
    for number in range(length):
        if number % 3 == 0:
            u = max(Fraction(-1), min(Fraction(1), -2 * x - v))
        x, v = x + STEP * v, v + STEP * (u - x)
        states.append({"x": x, "v": v})
    return states


def executed_run(problem: Problem, length: int) -> Trace:
    """The only run of a problem as it is executed."""
    start = fixed_values(problem.environment)
    made = simulate_run(problem, start, length, Random(0))
    return Trace(tuple(made.states), tuple(made.moves))


def holds(condition: Term, state: Mapping[str, Any]) -> bool:
    return bool(evaluate_term(condition, state))


def timed_truth(asked: Timed, states: Sequence[Mapping[str, Any]]) -> bool:
    """By its definition."""
    counted = [
        k
        for k in range(len(states))
        if asked.since <= k * STEP and (asked.until is None or k * STEP <= asked.until)
    ]
    match asked.asked:
        case Never(bad):
            return not any(holds(bad, states[k]) for k in counted)
        case Eventually(good):
            return any(holds(good, states[k]) for k in counted)
        case NeverBefore(bad, goal):
            return not any(
                holds(bad, states[k]) and not any(holds(goal, s) for s in states[:k]) for k in counted
            )


def plain_truth(asked: Property, states: Sequence[Mapping[str, Any]]) -> bool:
    """Of what the reduction makes of it."""
    match asked:
        case Never(bad, steps):
            return not any(holds(bad, s) for s in states[: None if steps is None else steps + 1])
        case NeverBefore(bad, goal, steps):
            ends = next((k for k, s in enumerate(states) if holds(goal, s)), len(states))
            return plain_truth(Never(bad, steps), states[: ends + 1])
        case Within(good, steps, after):
            return any(holds(good, s) for s in states[after : steps + 1])
        case Eventually(good):
            return any(holds(good, s) for s in states)
    raise AssertionError(asked)


def random_property(random: Random) -> Timed:
    def condition() -> str:
        return f"{random.choice('xv')} {random.choice('<>')} {random.randint(-12, 12)}/10"

    moments = sorted(Fraction(random.randint(0, 40), 20) for _ in range(2))
    shape = random.choice(["never", "before", "eventually"])
    asked = {
        "never": f"never {condition()}",
        "before": f"never {condition()} before {condition()}",
        "eventually": f"eventually {condition()}",
    }[shape]
    plain = parse_property(asked)
    assert isinstance(plain, Never | NeverBefore | Eventually)
    since = random.choice([Fraction(0), moments[0]])
    return Timed(plain, random.choice([None, moments[1]]) if since else moments[1], since)


def test_the_policy_is_asked_every_period(tmp_path: Path) -> None:
    problem = plant(tmp_path)
    executed = discretise(problem)
    assert executed.environment.flow is None
    states = executed_run(executed, 40).states
    assert [{"x": s["x"], "v": s["v"]} for s in states] == reference_run(40)
    assert [s["substep.1"] for s in states[:5]] == [0, 1, 2, 0, 1]  # `substep` is a name of the file
    assert states[2]["held_u"] == -1
    one = replace(problem.environment.flow, period=None)  # type: ignore[type-var]
    plain = discretise(replace(problem, environment=replace(problem.environment, flow=one)))
    assert [v.name for v in plain.environment.variables] == ["x", "v", "substep"]


def test_limits_in_seconds_are_limits_of_steps(tmp_path: Path) -> None:
    problem, random = plant(tmp_path), Random(5)
    seen, states = set(), reference_run(60)
    for _ in range(150):
        asked = random_property(random)
        one = replace(problem, property=asked)
        if asked.until is not None and not any(asked.since <= k * STEP <= asked.until for k in range(60)):
            with pytest.raises(InvalidProblem, match="no step is from time"):
                discretise(one)
            continue
        executed = discretise(one)
        run = executed_run(executed, 60)
        truth = timed_truth(asked, states)
        assert plain_truth(executed.property, run.states) == truth, show_property(asked)
        seen.add((type(asked.asked), truth))
    assert len(seen) == 6


def test_what_is_violated_replays(tmp_path: Path) -> None:
    problem, random, violated = plant(tmp_path), Random(6), 0
    states = reference_run(60)
    for _ in range(25):
        asked = random_property(random)
        one = replace(problem, property=asked)
        if asked.until is None or timed_truth(asked, states):
            continue
        try:
            result = verify(one, "falsify", Budget(20))
        except InvalidProblem:  # no step is at such a time
            continue
        assert isinstance(result.verdict, Violated), show_property(asked)
        assert result.certified
        assert replay(discretise(one), result.verdict.trace) is None
        violated += 1
        fault = find_fault_beside(one, result.verdict.trace, Budget(5), 1.0)
        assert fault is not None
        assert "held for several steps" in fault.unknown
    assert violated > 5


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("never x > 5 for 0.5 seconds", "holds"),
        ("never x < 0.5 from 0.2 to 0.3 seconds", "holds"),
        ("within 0.5 seconds x < 0.99", "holds"),
        ("x < 0.5 at time 0.2", "violated"),
        ("never x < 0.99 for 0.5 seconds", "violated"),
    ],
)
def test_bounded_model_checking_sees_the_same_problem(tmp_path: Path, text: str, truth: str) -> None:
    verdict = verify(replace(plant(tmp_path), property=parse_property(text)), "bmc", Budget(60)).verdict
    assert isinstance(verdict, Violated) == (truth == "violated"), verdict
    if truth == "holds":
        assert isinstance(verdict, Proved | Holds), verdict


def test_actions_are_held_too(tmp_path: Path) -> None:
    problem = plant(tmp_path, SWITCH)
    states = executed_run(discretise(problem), 12).states
    x, found = Fraction(1), [Fraction(1)]
    for number in range(12):
        if number % 3 == 0:
            rises = x < Fraction(3, 2)
        x += Fraction(3, 10) if rises else Fraction(-2, 10)
        found.append(x)
    assert [s["x"] for s in states] == found
    assert {s["held_action"] for s in states} == {0, 1}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("period = 0.3", "period = 0.25", "the control period 0.25 is no whole multiple of the step 0.1"),
        ("period = 0.3", "period = 0.05", "no whole multiple"),
        ("period = 0.3", "period = -0.3", "is not positive"),
        ("step = 0.1\nperiod = 0.3", "", "the flow has no `step`"),
        ('"never x > 5"', '"x > 5 at time 0.05"', "no step is from time 0.05 to time 0.05: a step takes 0.1"),
        ('"never x > 5"', '"never x > 5 from 2 to 1 seconds"', "no moment from time 2 to time 1"),
        ('"never x > 5"', '"never x > 5 for -1 seconds"', "a time is not negative"),
    ],
)
def test_what_cannot_be_said_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in PLANT
    with pytest.raises(InvalidProblem) as caught:
        plant(tmp_path, PLANT.replace(old, new))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_seconds_need_a_length_of_a_step(tmp_path: Path) -> None:
    text = PLANT[: PLANT.index("[flow]")] + PLANT[PLANT.index("[[edges]]") :]
    with pytest.raises(InvalidProblem, match="no step of this problem has a length"):
        plant(tmp_path, text.replace("never x > 5", "never x > 5 for 5 seconds"))


def test_what_cannot_be_held_is_refused(tmp_path: Path) -> None:
    environment = SWITCH.replace('action = "down"\nupdates', "updates")
    for problem in (
        plant(tmp_path, environment.replace(', { action = "down" }', "")),
        replace(plant(tmp_path), policy=None),
    ):
        with pytest.raises(Unsupported, match="control period of several steps"):
            discretise(problem)


LINE = """
initial = "0 <= x <= 1"
[variables]
x = "real [-50, 50]"
[controls]
u = { limits = "[-9, 9]", clipped = false }
[flow]
step = 0.1
period = 0.2
derivatives = { x = "u" }
[[edges]]
[policy.program]
branches = [{ controls = ["-x"] }]
[properties]
safe = "never x > 0.95 from 0.1 to 0.2 seconds"
"""


def test_a_proof_is_about_the_problem_with_its_period(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    stored = tmp_path / "result.json"
    command = ["check", str(tmp_path / "line.toml"), "--engine", "bmc", "--json", str(stored)]
    assert run_command_line(command) == 0
    data = json.loads(stored.read_text())
    assert data["verdict"]["kind"] == "proved"
    assert data["property"] == "never x > 0.95 from 0.1 to 0.2 seconds"
    assert run_command_line(["certify", str(stored)]) == 0


def test_a_violation_is_stored_and_replayed_with_its_period(tmp_path: Path) -> None:
    text = LINE.replace("x > 0.95", "x > 0.75")
    (tmp_path / "line.toml").write_text(text)
    stored = tmp_path / "result.json"
    assert run_command_line(["check", str(tmp_path / "line.toml"), "--json", str(stored)]) == 1
    assert run_command_line(["certify", str(stored)]) == 0
    verdict = verify(plant(tmp_path, text.replace("0.1 to 0.2", "0.2 to 0.2")), "falsify", Budget(20)).verdict
    assert isinstance(verdict, Violated)
    other = plant(tmp_path, text.replace("period = 0.2", "period = 0.1").replace("0.1 to 0.2", "0.2 to 0.2"))
    assert replay(discretise(other), verdict.trace) is not None
