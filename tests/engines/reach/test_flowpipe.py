"""What is kept of the sets that are followed: it holds every run, is told honestly, and is read back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.engines.reach.followed_loops import BROKEN, SAFE, TIGHT, spring_problem, steps_problem

from surefoot.engines.reach import Reach
from surefoot.engines.reach.analysis import GivenOptions, analyse_problem, prepare_problem
from surefoot.engines.reach.flowpipe import MOST_NUMBERS, rank_search
from surefoot.engines.reach.search import begin_search
from surefoot.engines.reach.walk import Failure
from surefoot.errors import InvalidProblem
from surefoot.formats.result_json import annotated_result_to_json, result_from_json
from surefoot.problem.problem import Problem
from surefoot.report.flowpipe.pipe_scene import pipe_scene
from surefoot.report.flowpipe.simulated_runs import simulate_runs
from surefoot.report.result_text import render
from surefoot.run import verify
from surefoot.verdict.artifact import Flowpipe
from surefoot.verdict.verdict import Proved, Reason, Unknown
from surefoot.work.budget import Budget

NEAR = 1e-6  # what the simulation may be off


def followed(problem: Problem, seconds: float = 20) -> Flowpipe:
    found = analyse_problem(problem, GivenOptions(), Budget(seconds)).flowpipe
    assert found is not None
    return found


def assert_runs_inside(problem: Problem, pipe: Flowpipe) -> None:
    """Every simulated state lies in a box of its time, as long as it is known."""
    runs = simulate_runs(problem, max(p.end for p in pipe.pieces), 1)
    assert len(runs) == 12
    for run in runs:
        for time, state in zip(run.times, run.names, strict=True):
            here = [p for p in pipe.pieces if float(p.begin) - NEAR <= time <= float(p.end) + NEAR]
            assert any(
                all(p.low[i] - NEAR <= state[v] <= p.high[i] + NEAR for i, v in enumerate(pipe.variables))
                for p in here
            ), (time, state)


@pytest.mark.parametrize("asked", [SAFE, TIGHT])
def test_boxes_hold_runs_in_continuous_time(tmp_path: Path, asked: str) -> None:
    problem = spring_problem(tmp_path, asked)
    pipe = followed(problem)
    assert pipe.share == 1
    assert pipe.until is None
    assert pipe.cells[1] == 0
    assert all(box.state == "done" for box in pipe.starts)
    assert max(p.end for p in pipe.pieces) == 2
    assert_runs_inside(problem, pipe)


def test_boxes_are_narrow_in_time_where_nothing_says_how_long(tmp_path: Path) -> None:
    problem = spring_problem(tmp_path, "never x > 3 before x < 0")
    pipe = followed(problem)
    assert pipe.share == 1
    assert len(pipe.pieces) >= 8
    assert all(p.end - p.begin <= Fraction(1, 4) for p in pipe.pieces)
    assert_runs_inside(problem, pipe)


def test_boxes_hold_runs_in_steps(tmp_path: Path) -> None:
    problem = steps_problem(tmp_path, "never x > 1.3 for 20 steps")
    pipe = followed(problem)
    assert (pipe.unit, pipe.share) == ("step", 1)
    assert sorted({p.begin for p in pipe.pieces}) == list(range(21))
    assert_runs_inside(problem, pipe)


def test_boxes_are_tight(tmp_path: Path) -> None:
    """At the start they are little more than the starts, and sums are not those of the boxes."""
    pipe = followed(spring_problem(tmp_path))
    first = next(p for p in pipe.pieces if p.begin == 0)
    assert pipe.names == ("x", "v", "x + v")
    assert first.low[0] > 0.45
    assert first.high[0] < 1.05
    late = [p for p in pipe.pieces if p.begin >= 1]
    assert all(p.high[2] - p.low[2] < p.high[0] - p.low[0] + p.high[1] - p.low[1] for p in late)


def test_what_is_known_of_starts_that_are_open(tmp_path: Path) -> None:
    problem = spring_problem(tmp_path, BROKEN)
    found = analyse_problem(problem, GivenOptions(), Budget(4))
    pipe = found.flowpipe
    assert pipe is not None
    assert found.content is None
    assert found.reason is Reason.TIMEOUT
    assert pipe.until is not None
    assert 0.5 <= pipe.until < 2
    assert f"all of them up to time {float(pipe.until):.6g}" in found.words
    assert "of the starts are shown to keep it" in found.words
    assert pipe.share < 1
    opened = [box for box in pipe.starts if box.state == "open"]
    assert opened
    assert min(box.until for box in opened if box.until is not None) == pipe.until
    assert {box.why for box in opened} == {"it may be bad"}
    runs = simulate_runs(problem, pipe.until, 3)  # nothing that is told to be safe is not
    assert all(state["x"] >= 0.2 for run in runs for state in run.names)
    assert len(pipe.pieces) * 2 * len(pipe.names) <= MOST_NUMBERS


def test_a_bad_start_is_known_at_no_time(tmp_path: Path) -> None:
    """A single start that cannot be halved is no proof, and nothing is said of time 0."""
    problem = spring_problem(tmp_path, "never x > 0.9 for 1 seconds")
    found = analyse_problem(problem, GivenOptions(), Budget(2))
    assert found.content is None
    assert "up to" not in found.words
    steps = steps_problem(tmp_path, "never x > 0.9 for 3 steps")
    assert "up to" not in analyse_problem(steps, GivenOptions(), Budget(2)).words


def test_a_start_that_cannot_be_halved_stays_open(tmp_path: Path) -> None:
    text = tmp_path / "point.toml"
    from tests.engines.reach.followed_loops import SPRING

    from surefoot.formats.problem_file import read_problem_file

    text.write_text(
        SPRING.format(asked="never x < 0.9 for 2 seconds").replace(
            "0.5 <= x <= 1 and -0.25 <= v <= 0.25", "x = 1 and v = 0"
        )
    )
    found = analyse_problem(read_problem_file(text), GivenOptions(), Budget(5))
    assert found.content is None
    assert found.flowpipe is not None
    assert found.flowpipe.cells == (0, 1)
    assert found.words.startswith("0 % of the starts")


def test_results_are_written_and_read_back(tmp_path: Path) -> None:
    problem = spring_problem(tmp_path, TIGHT)
    result = verify(problem, Reach(), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    text = json.dumps(annotated_result_to_json(problem, result))
    stored = result_from_json(json.loads(text)).result.verdict
    assert isinstance(stored, Proved)
    assert stored.artifact == result.verdict.artifact
    assert "kept for pictures" in render(problem, result)
    broken = json.loads(text)
    broken["verdict"]["flowpipe"]["pieces"][0][2] = 10**6
    with pytest.raises(InvalidProblem, match=r"verdict\.flowpipe\.pieces\[0\]"):
        result_from_json(broken)


def test_time_is_kept_and_what_is_known_is_told(tmp_path: Path) -> None:
    problem = spring_problem(tmp_path, BROKEN)
    result = verify(problem, Reach(), Budget(5))
    assert result.seconds < 7
    assert isinstance(result.verdict, Unknown)
    assert isinstance(result.verdict.artifact, Flowpipe)
    assert pipe_scene(problem, result.verdict, 0) is not None
    told = annotated_result_to_json(problem, result)
    assert Fraction(told["verdict"]["flowpipe"]["share"]) == result.verdict.artifact.share


def test_what_knows_most_is_told(tmp_path: Path) -> None:
    """Of searches that have shown no start, the one that knows longest about all of them."""
    walk, search = prepare_problem(spring_problem(tmp_path, "never x < 0.9 for 2 seconds"))
    later = begin_search(walk, search.regions, None)
    for one, moment in ((search, Fraction(1, 4)), (later, Fraction(1, 2))):
        one.roots[0].failure = Failure(moment, "too wide")
    assert rank_search(later) > rank_search(search)
    later.roots[0].failure = None
    assert rank_search(later) < rank_search(search)
