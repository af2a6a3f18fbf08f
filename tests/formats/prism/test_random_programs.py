"""Random programs: states and values as by PRISM's manual (computed beside), and as Storm says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.formats.prism.ask_prism import ask_interval, count_states, read_text
from tests.formats.prism.random_programs import (
    RandomProgram,
    cumulative_values,
    enough_programs,
    print_expression,
    reach_values,
)

PEER = Path(__file__).parents[3] / ".venv-bench" / "bin" / "python"
MANY = 200
INFINITE = ("inf", "100000000000")  # how Storm writes it
NEAR = Fraction(1, 10**9)


def _optima(program: RandomProgram) -> dict[str, Callable[..., Any]]:
    return {"max": max, "min": min} if program.kind == "mdp" else {"": max}


def _is_within(value: Any, low: Fraction | None, high: Fraction | None, by: Fraction = NEAR) -> bool:
    return low is not None and high is not None and low - by <= value <= high + by


def _over_starts(question: str) -> str:
    return f'filter(max, {question}, "init")'


@pytest.mark.parametrize("part", range(4))
def test_states_and_values_as_by_the_manual(part: int) -> None:
    """A quarter of them each, so that they can run beside each other."""
    rewarding = 0
    for seed, program, expanded in enough_programs(MANY // 4, 1000 * part):
        model = read_text(program.text())
        assert count_states(model) == len(expanded.states), seed
        for word, best in _optima(program).items():
            low, high = ask_interval(model, _over_starts(f'P{word}=? [ F "goal" ]'))
            wanted = max(reach_values(expanded, best)[s] for s in expanded.starts)
            assert _is_within(wanted, low, high, Fraction(1, 10**6)), seed
            if program.kind != "ctmc":
                rewarding += 1
                low, high = ask_interval(model, _over_starts(f'R{{"cost"}}{word}=? [ C<=4 ]'))
                exactly = max(cumulative_values(expanded, best, 4)[s] for s in expanded.starts)
                assert _is_within(exactly, low, high), seed
    assert rewarding > 20


def test_precedences_are_those_of_the_manual() -> None:
    """The printer leaves out every bracket that PRISM does not need."""
    assert print_expression(("|", ("&", True, False), True)) == "true&false|true"
    assert print_expression(("&", True, ("|", False, True))) == "true&(false|true)"
    assert print_expression(("-", 1, ("-", 2, 3))) == "1-(2-3)"


def _storm_says(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("storm_says.py")
    command = [str(PEER), str(script)]
    ran = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(ran.stdout.split("\nANSWERS")[1])
    return found


@pytest.mark.parametrize("part", range(4))
def test_states_and_values_as_storm_says(part: int, tmp_path: Path) -> None:
    if (
        not PEER.exists()
        or subprocess.run([str(PEER), "-c", "import stormpy"], capture_output=True).returncode
    ):
        pytest.skip("needs stormpy in .venv-bench (make bench-explicit)")
    jobs, programs = [], []
    for seed, program, expanded in enough_programs(MANY // 4, 1000 * part):
        path = tmp_path / f"{seed}.prism"
        path.write_text(program.text(), encoding="utf-8")
        stuck = any(not program.choices(state) for state in expanded.states)
        questions = []
        for word in _optima(program):
            paths = ('F "goal"', 'G !"goal"', 'X "goal"', 'F "deadlock"')
            paths += ('F<=3 "goal"',) if program.kind != "ctmc" else ()
            questions += [f"P{word}=? [ {path} ]" for path in paths]
            if program.kind != "ctmc" and not stuck:  # Storm pays no rewards in states that it repairs
                questions += [f'R{{"cost"}}{word}=? [ {what} ]' for what in ('F "goal"', "C<=4")]
        questions = questions[:1] + questions[1 + seed % 3 :: 3]  # all kinds, of a third of the programs each
        jobs.append({"path": str(path), "questions": questions})
        programs.append((seed, len(expanded.states), read_text(program.text())))
    compared = 0
    for job, (seed, states, model), said in zip(jobs, programs, _storm_says(jobs), strict=True):
        if "error" in said:
            continue
        assert said["states"] == states, seed
        for question, values in zip(job["questions"], said["values"], strict=True):
            if isinstance(values, str):
                continue
            low, high = ask_interval(model, _over_starts(question))
            if any(value in INFINITE for value in values):
                assert low is None, (seed, question)
                continue
            largest = max(map(Fraction, values))
            assert _is_within(largest, low, high), (seed, question)
            compared += 1
    assert compared > MANY // 2
