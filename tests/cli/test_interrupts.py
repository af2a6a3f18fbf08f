"""^C while a command is at work: 130, soon, with what is known marked as a part, and nobody left behind.

`python -m benchmarks.interrupts` does the same with every command.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.interrupts import CASES, Outcome, interrupt

SOON = 2.0  # seconds of the processor; another second for what is counted of children that were killed
NAMED = {case.name: case for case in CASES}


def interrupted(
    name: str, folder: Path, number: str = "INT", said: str = "interrupted", first: float = 3.0
) -> Outcome:
    """The law, at whatever moment: later until there was something to tell, earlier where all was told."""
    after, earliest, latest = first, 0.0, float("inf")
    for _ in range(7):
        found = interrupt(NAMED[name], after, folder, number)
        if found.early:
            latest = after
        else:
            assert found.flaws == (), (found.out, found.err)
            assert found.used < SOON + 1.0
            if said in found.out + found.err:
                return found
            earliest = after
        after = 2 * after if latest == float("inf") else (earliest + latest) / 2
    raise AssertionError((found.code, found.out, found.err))


def test_a_heat_map_is_marked_and_no_threshold_judged(tmp_path: Path) -> None:
    found = interrupted("heatmap, statistical", tmp_path, said="is drawn from a part of the work")
    mark = "interrupted after 0 of 1 maps"
    assert mark in found.out
    notes = json.loads((tmp_path / "out.json").read_text())["notes"]
    assert any(note.startswith(mark) and "no threshold is judged" in note for note in notes)
    for page in ("out.html", "out.svg"):
        assert mark in (tmp_path / page).read_text()


def test_maps_that_were_not_begun_are_counted(tmp_path: Path) -> None:
    assert "interrupted after 0 of 2 maps" in interrupted("heatmap, several", tmp_path, said="of 2 maps").out


def test_half_a_comparison_judges_nothing(tmp_path: Path) -> None:
    found = interrupted("study control, compare", tmp_path, said="nothing is judged")
    assert "\nnot run " in f"\n{found.out}"


def test_half_a_comparison_as_json(tmp_path: Path) -> None:
    found = interrupted("study control, compare json", tmp_path, said="nothing is judged")
    told = json.loads(found.out)
    assert "expectations; nothing is judged" in told["interrupted"]
    assert told["not run"]
    assert all(row["reproduced"] is None for row in told["rows"])


@pytest.mark.parametrize(
    "name",
    [
        "check, several properties",
        "check, statistical, 2 workers",
        "check, bmc milp",
        "study racetrack, figure json",
        "study control, table 1",
        "study aurora, checkpoints json",
        "training racetrack",
    ],
)
def test_other_commands(name: str, tmp_path: Path) -> None:
    interrupted(name, tmp_path)


def test_a_supervisor_ends_it_alike(tmp_path: Path) -> None:
    found = interrupted("check, statistical, 2 workers", tmp_path, "TERM", "stopped   interrupted", 6.0)
    assert found.code == 143


def test_the_second_time_ends_at_once(tmp_path: Path) -> None:
    found = interrupt(NAMED["study control, compare"], 3.0, tmp_path, twice=True)
    assert (found.code, found.flaws) == (130, ())
