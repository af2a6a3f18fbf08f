"""The coverage campaign, small: intervals are right as often as stated, the control is not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from benchmarks.coverage import accepted, allowed, chains, main, measured

from surefoot.engines.statistical import Statistical


def test_chains_are_covered_and_the_control_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--experiments", "120", "--first-seed", "20000"]) == 0
    shown = capsys.readouterr().out
    assert "too many misses: none" in shown
    assert len(chains()) == 13


def test_a_wrong_value_is_noticed() -> None:
    problem, value = chains()["p = 0.1"]
    wrong = value + Fraction(1, 10)
    row = measured(
        "wrong", problem, (wrong, wrong), Statistical(eps=Fraction(1, 20), max_steps=100), range(50)
    )
    assert row.missed > allowed(50, Fraction(1, 20))
    assert not accepted(row.missed, 50, Fraction(1, 20))
    assert accepted(3, 50, Fraction(1, 20))
