"""The law of deadlines on a few rows of the table: processor time, so that a busy machine does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.deadlines import ANSWERS, ROWS, Row, Timed, slowest_expectation, timed

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
