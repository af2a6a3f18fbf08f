"""A few kills of the campaign; `python -m benchmarks.kills` makes two hundred."""

from __future__ import annotations

from pathlib import Path

from benchmarks import kills


def test_killed_and_resumed_is_as_in_one_go() -> None:
    done, _, wrong = kills.campaign(5, 4)
    assert done >= 5
    assert wrong == []


def test_a_run_that_is_another_one_is_noticed(tmp_path: Path) -> None:
    """The comparison can fail: another seed gives other counts."""
    asked = kills.QUESTIONS[2]
    other = kills.finish(kills.command(asked, 7, 1, tmp_path, False), tmp_path)
    assert other.verdict != kills.uninterrupted(asked, 0).verdict
    assert not other.stalled
    assert other.size > 0
