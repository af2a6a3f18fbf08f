"""The law of deadlines on a few rows of the table: processor time, so that a busy machine does not matter."""

from __future__ import annotations

from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest
from benchmarks.deadlines import ANSWERS, ROWS, Row, Timed, slowest_expectation, slowest_problem, timed
from benchmarks.late_models import MAKERS
from benchmarks.random_commands import draw_commands, list_subjects

from surefoot.cli import COMMANDS

SECONDS = 1.0
GRACE = 6.0  # seconds: generous, and still less than each of these took before they were given the clock
ASKED = (
    Row("planning-88", "check {} --property safe"),
    Row("planning-88", "check {} --property safe --engine predicates"),
    Row("planning-212", "check {} --property safe --engine bmc --solver native"),
    Row("grid-110", "check {} --property safe --engine explicit"),
    Row("grid-110", "shield {} --property safe"),
    Row("polynomial-6", "shield {} --degree 4"),
)


@pytest.mark.parametrize("row", ASKED, ids=lambda row: f"{row.model}: {row.arguments}")
def test_a_command_ends_at_its_deadline(row: Row, tmp_path: Path) -> None:
    assert row in ROWS
    found = timed(row, SECONDS, tmp_path, None)
    assert found.code in ANSWERS, found.said
    assert found.over < GRACE, found


def test_late_rows_are_seen() -> None:
    def row(wall: float, processor: float) -> Timed:
        return Timed("m", "check {}", 20.0, wall, processor, 3, "")

    assert not row(21.9, 21.9).late
    assert row(22.5, 22.5).late
    assert not row(30.0, 3.0).late  # the machine was busy: a tenth of a processor
    assert row(60.0, 6.0).late


def test_the_time_of_a_study_is_that_of_each_expectation() -> None:
    told = {
        "rows": [
            {"problem": "a", "engine": "bmc", "seconds": 3.0},
            {"problem": "b", "engine": "induction", "seconds": 9.0},
        ]
    }
    found = slowest_expectation(Row("study", "study compare toy --json"), 5.0, 12.0, 12.0, 0, told)
    assert found.wall == 9.0
    assert found.late
    assert "b (induction)" in found.said


def test_the_time_of_a_sweep_is_that_of_each_problem() -> None:
    told = {"rows": [{"answer": {"seconds": seconds, "words": "proved"}} for seconds in (3.0, 9.0, 1.0)]}
    found = slowest_problem(Row("m", "sweep {}"), 5.0, 20.0, 20.0, 0, told)
    assert found.wall == 9.0
    assert found.late
    assert not slowest_problem(Row("m", "sweep {}"), 8.0, 20.0, 20.0, 0, told).late


def test_every_command_with_a_limit_is_drawn_and_alike_for_a_seed() -> None:
    drawn = list(islice(draw_commands(7, None), 400))
    assert drawn == list(islice(draw_commands(7, None), 400)) != list(islice(draw_commands(8, None), 400))
    limited = {
        name
        for name, (file, _) in COMMANDS.items()
        if name != "study"  # which has rows of its own
        and any(
            o.name == "timeout" for o in getattr(import_module(f"surefoot.cli.commands.{file}"), name).params
        )
    }
    assert {one.arguments.split()[0] for one in drawn} == limited
    assert all(1 <= one.seconds <= 30 for one in drawn)
    made = {one.model for kind, several in list_subjects(None).items() for one in several
            if not kind.startswith("study")}  # fmt: skip
    assert made <= set(MAKERS)


def test_data_of_others_is_drawn_too(shared_data: Path) -> None:
    drawn = {one.model.partition("/")[0] for one in islice(draw_commands(7, shared_data), 200)}
    assert {"jani", "prism", "queries", "ainncs", "control"} <= drawn
    for several in list_subjects(shared_data).values():
        for one in several:
            files = [shared_data / part for part in one.model.split("|")]
            assert one.model in MAKERS or "." not in one.model or all(f.exists() for f in files), one
