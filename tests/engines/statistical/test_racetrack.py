"""Published Racetrack policies: estimates contain what is computed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.coverage import accepted, measured, racetrack

from surefoot.engines.statistical import Statistical

pytestmark = pytest.mark.shared_data


def test_intervals_contain_the_computed_value(shared_data: Path) -> None:
    problems = racetrack(shared_data / "jani" / "racetrack-policies", (999, 10999))
    engine = Statistical(eps=Fraction(1, 20))
    for name, (problem, value) in problems.items():
        row = measured(name, problem, value, engine, range(500, 540))
        assert accepted(row.missed, row.experiments, engine.delta)
