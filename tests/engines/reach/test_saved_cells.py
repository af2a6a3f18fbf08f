"""A run directory: an ended search goes on, and nothing in it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.engines.reach.followed_loops import SAFE, SPRING, TIGHT, spring_problem

from surefoot.engines.reach import Reach
from surefoot.engines.reach import search as search_module
from surefoot.engines.reach.analysis import GivenOptions, SearchOutcome, analyse_problem
from surefoot.engines.reach.invariant_search import ClosedRegion
from surefoot.engines.reach.saved_cells import SavedCells
from surefoot.errors import InvalidProblem
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.verdict.verdict import Proved, Reason, Unknown
from surefoot.work.budget import Budget
from surefoot.work.run_directory import RunDirectory


def ended_early(
    problem: Problem, folder: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> SearchOutcome:
    """A search that is interrupted while it follows some batch."""
    follow, left = search_module.follow_batch, [batches]

    def interrupted(*given: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return follow(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(search_module, "follow_batch", interrupted)
        return analyse_problem(problem, GivenOptions(), Budget(60), folder)


def test_an_interrupted_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, folder = spring_problem(tmp_path, TIGHT), tmp_path / "run"
    whole = analyse_problem(problem, GivenOptions(), Budget(60))
    first = ended_early(problem, folder, monkeypatch, 4)
    assert first.content is None
    assert first.reason is Reason.INTERRUPTED
    assert first.flowpipe is not None
    assert 0 < first.flowpipe.share < 1
    with pytest.raises(InvalidProblem, match="has results of this question already"):
        analyse_problem(problem, GivenOptions(), Budget(60), folder)
    told: list[str] = []
    again = analyse_problem(problem, GivenOptions(), Budget(60, 0, told.append), folder, resume=True)
    assert "gone on with" in told[0]
    assert "by the run directory, not followed again" in again.words
    assert again.content == whole.content


def test_what_goes_on_is_certified_like_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, folder = spring_problem(tmp_path, TIGHT), tmp_path / "run"
    ended_early(problem, folder, monkeypatch, 4)
    result = verify(problem, Reach(run_directory=str(folder), resume=True), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.certified


def test_what_is_made_up_is_refused_by_the_checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that nobody has followed, said to be done: there is no proof."""
    from surefoot.engines.reach import saved_cells

    problem, folder = spring_problem(tmp_path, "never x < 0.2 for 2 seconds"), tmp_path / "run"
    ended_early(problem, folder, monkeypatch, 2)
    saved = saved_cells.SavedCells(folder, problem, GivenOptions(), True)
    with saved:
        saved._append(saved_cells.BEGIN, {"order": 10, "taylor": 4, "pieces": 1, "attempt": 1})
        saved._append(saved_cells.CELLS, [[0, 1, "done", ["run", 8, ["done"]]]])
    result = verify(problem, Reach(run_directory=str(folder), resume=True), Budget(60))
    assert not result.certified
    assert isinstance(result.verdict, Unknown)
    assert "the checker rejects the certificate" in result.verdict.detail


@pytest.mark.parametrize(
    "entry",
    [
        [0, 1, "done"],
        [0, 2, "outside"],
        [7, 1, "outside"],
        [0, 1, "failed", 5, "0", "why"],
        [0, 1, "failed", 0, "1/0", "why"],
        "text",
        [0, 1, "other"],
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: object) -> None:
    from surefoot.engines.reach import saved_cells

    problem, folder = spring_problem(tmp_path, TIGHT), tmp_path / "run"
    saved = saved_cells.SavedCells(folder, problem, GivenOptions(), False)
    with saved:
        saved._append(saved_cells.BEGIN, {"order": 10, "taylor": 4, "pieces": 1, "attempt": 0})
        saved._append(saved_cells.CELLS, [entry])
    with pytest.raises(InvalidProblem, match="has no cells of this question"):
        analyse_problem(problem, GivenOptions(), Budget(60), folder, resume=True)


def test_the_folder_of_another_problem_is_refused(tmp_path: Path) -> None:
    problem, folder = spring_problem(tmp_path, SAFE), tmp_path / "run"
    analyse_problem(problem, GivenOptions(), Budget(60), folder)
    other = tmp_path / "other.toml"
    other.write_text((tmp_path / "spring.toml").read_text().replace("sin(x)", "x"))
    with pytest.raises(InvalidProblem, match="has the cells of another problem"):
        analyse_problem(read_problem_file(other), GivenOptions(), Budget(60), folder, resume=True)
    second = spring_problem(tmp_path, "never x > 5 for 2 seconds")  # of the same problem: has its own file
    assert analyse_problem(second, GivenOptions(), Budget(60), folder, resume=True).content is not None
    assert len(list(folder.glob("*.results"))) == 2


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from surefoot.work.run_directory import NotRecorded

    problem = spring_problem(tmp_path, TIGHT)

    def append(self: RunDirectory, *_: object) -> None:
        raise NotRecorded("no room", fix="make some")

    monkeypatch.setattr(RunDirectory, "append", append)
    found = analyse_problem(problem, GivenOptions(), Budget(60), tmp_path / "run")
    assert found.content is None
    assert found.words.startswith("no room")


def test_a_closed_box_is_recalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found once, goes into the certificate as it was recorded, and is no part of the starts."""
    from surefoot.engines.reach import invariant_search

    text = SPRING.format(asked="never x > 2").replace("- 0.5 * v - x^3 / 8", "0 - v")
    (tmp_path / "spring.toml").write_text(text.replace("0.5 <= x <= 1 and", "0.9 <= x <= 1 and"))
    problem, folder = read_problem_file(tmp_path / "spring.toml"), tmp_path / "run"
    saved, noted = SavedCells.note_closed, list[int]()

    def note_closed(self: SavedCells, closed: Sequence[ClosedRegion]) -> None:
        saved(self, closed)
        noted.append(len(closed))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SavedCells, "note_closed", note_closed)
        first = analyse_problem(problem, GivenOptions(), Budget(60), folder)
    assert noted == [1]
    assert first.reason is Reason.INTERRUPTED
    assert first.flowpipe is not None
    assert first.flowpipe.share == 0

    def search_again(*_: object) -> None:
        raise AssertionError("the box is known")

    monkeypatch.setattr(invariant_search.InvariantSearch, "go_on", search_again)
    result = verify(problem, Reach(run_directory=str(folder), resume=True), Budget(60))
    assert result.certified
    assert isinstance(result.verdict, Proved)
    assert result.verdict.certificate is not None
    assert [r["start"] for r in result.verdict.certificate.content["reach"]["regions"]] == [True, False]
