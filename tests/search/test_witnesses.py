"""Several violating runs: each replays, they differ, the first is the shortest; fewer are told as fewer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.examples import EXAMPLES, Example

from surefoot.certify.replay import replay
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.search.find_witnesses import spread_order, with_witnesses
from surefoot.verdict.verdict import Result, Trace, Violated
from surefoot.work.budget import Budget

WALK = """
name = "walk"
arithmetic = "float64"
initial = "-1 <= x <= 1 and -1 <= y <= 1"
[variables]
x = "real"
y = "real"
[[edges]]
chosen = { a = "real [-0.2, 0.2]", b = "real [-0.2, 0.2]" }
updates = { x = "x + a", y = "y + b" }
[properties]
near = "never x > 1.5 or y < -1.5"
far = "never x > 1e9"
"""


def walk(folder: Path, name: str) -> Problem:
    (folder / "walk.toml").write_text(WALK)
    return read_problem_file(folder / "walk.toml", property=name)


def ask(problem: Problem, count: int, engine: str | None = None) -> Result:
    return with_witnesses(problem, verify(problem, engine, Budget(30)), count, Budget(30))


def key(run: Trace) -> object:
    return tuple(tuple(sorted(state.items())) for state in run.states), run.loop


def test_witnesses_replay_differ_and_begin_with_the_shortest(tmp_path: Path) -> None:
    problem = walk(tmp_path, "near")
    result = ask(problem, 6)
    assert isinstance(result.verdict, Violated)
    assert len(result.witnesses) == 6
    assert result.witnesses[0] == result.verdict.trace
    executed = discretise(problem)
    assert [replay(executed, run) for run in result.witnesses] == [None] * 6
    assert len({key(run) for run in result.witnesses}) == 6
    assert len(result.witnesses[0].moves) == min(len(run.moves) for run in result.witnesses)
    assert not any("asked for" in note for note in result.notes)


def test_witnesses_are_spread_over_the_starts(tmp_path: Path) -> None:
    result = ask(walk(tmp_path, "near"), 6)
    starts = np.array([[float(run.states[0]["x"]), float(run.states[0]["y"])] for run in result.witnesses])
    assert (np.ptp(starts, axis=0) > 0.8).all()


def test_without_asking_there_are_none(tmp_path: Path) -> None:
    assert verify(walk(tmp_path, "near"), "falsify", Budget(30)).witnesses == ()


def test_an_answer_that_is_no_violation_stays_as_it_is(tmp_path: Path) -> None:
    problem = walk(tmp_path, "far")
    found = verify(problem, "falsify", Budget(1))
    assert with_witnesses(problem, found, 3, Budget(5)) is found


def test_one_start_and_one_run_give_one_witness(tmp_path: Path) -> None:
    (tmp_path / "count.toml").write_text(
        'initial = "n = 0"\n[variables]\nn = "int 0..9"\n[[edges]]\nguard = "n < 9"\n'
        'updates = { n = "n + 1" }\n[properties]\nlow = "never n >= 5"\n'
    )
    result = ask(read_problem_file(tmp_path / "count.toml", property="low"), 3, "explicit")
    assert len(result.witnesses) == 1
    assert len(result.witnesses[0].moves) == 5
    assert any(note.startswith("1 of 3 witnesses that were asked for") for note in result.notes)


def test_a_longer_trace_gives_way_to_a_shorter_run(tmp_path: Path) -> None:
    problem = walk(tmp_path, "near")
    found = verify(problem, "falsify", Budget(30))
    assert isinstance(found.verdict, Violated)
    runs = ask(problem, 8).witnesses
    longest = max(runs, key=lambda run: len(run.moves))
    result = with_witnesses(problem, replace(found, verdict=Violated(longest)), 8, Budget(30))
    assert isinstance(result.verdict, Violated)
    assert result.verdict.trace == result.witnesses[0]
    assert len(result.verdict.trace.moves) < len(longest.moves)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.holds], ids=lambda e: e.name)
def test_every_small_example(example: Example) -> None:
    """All kinds of properties: whatever is reported replays, and nothing is there twice."""
    problem = example.problem
    found = verify(problem, None, Budget(10))
    if not isinstance(found.verdict, Violated):
        return
    result = with_witnesses(problem, found, 3, Budget(1))
    runs = result.witnesses
    assert runs
    assert len({key(run) for run in runs}) == len(runs)
    if not found.verdict.trace.recurrence:
        assert [replay(discretise(problem), run) for run in runs] == [None] * len(runs)


def test_points_far_from_each_other_come_first() -> None:
    points = np.array([[0.0], [0.1], [0.2], [5.0], [9.9], [10.0]])
    assert list(spread_order(points, points[:1], 3)) == [5, 3, 2]
