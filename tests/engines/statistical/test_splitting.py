"""Rare events by splitting: unbiased whatever the levels, and right bounds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.engines.statistical.chains import X, chance, mix, system

from surefoot.engines.statistical import Statistical
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Edge
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.verdict.verdict import Estimated
from surefoot.work.budget import Budget

SPLIT = Statistical(importance="x", factor=4, trees=1000, workers=1)


def climb(top: int, text: str = "P=? [ F x = {} ]") -> Problem:
    """Up with 1/5: from 1 the top is reached with probability 3 / (4^top - 1)."""
    edge = Edge(
        action="go",
        guard=(X > 0) & (top > X),
        outcomes=chance((Fraction(1, 5), X + 1), (Fraction(4, 5), X - 1)),
    )
    return system((edge,), text.format(top), top=top)


def estimate(problem: Problem, engine: Statistical, seed: int = 0) -> Estimated:
    assert engine.objection(problem) is None
    found = engine.check(problem, Budget(100, seed))
    assert isinstance(found, Estimated)
    return found


def test_a_probability_of_one_in_five_million() -> None:
    value = Fraction(3, 4**12 - 1)
    found = estimate(climb(12), SPLIT)
    assert found.complete
    assert found.mean is not None
    assert value / 2 < found.low < value < found.high
    assert abs(found.mean - value) < value / 2
    assert found.high < Fraction(1, 100)


@pytest.mark.parametrize(
    ("importance", "factor"), [("x", 2), ("2 * x", 2), ("0", 4), ("-x", 3), ("x / 2", 5)]
)
def test_any_levels_are_unbiased(importance: str, factor: int) -> None:
    value = Fraction(3, 4**3 - 1)
    missed, means = 0, []
    for seed in range(10):
        found = estimate(climb(3), replace(SPLIT, importance=importance, factor=factor, trees=400), seed)
        missed += not found.low <= value <= found.high
        assert found.mean is not None
        means.append(found.mean)
    assert missed <= 3
    assert abs(sum(means) / 10 - value) < value / 4


def test_runs_that_are_cut_off_widen_it() -> None:
    slow = mix(Fraction(1, 4), Fraction(1, 4), leaving=Fraction(1, 10**9))
    found = estimate(slow, replace(SPLIT, factor=2, max_steps=20, trees=1000))
    assert found.mean is None
    assert found.counts["undecided"] > 0
    assert found.low <= Fraction(1, 4)
    assert found.high >= Fraction(1, 2)


def test_the_opposite() -> None:
    found = estimate(climb(4, "P=? [ G x < {} ]"), SPLIT)
    value = 1 - Fraction(3, 4**4 - 1)
    assert found.low <= value <= found.high
    assert found.mean is not None
    assert abs(found.mean - value) < Fraction(1, 100)


def test_workers_and_folders(tmp_path: Path) -> None:
    small = replace(SPLIT, trees=300)
    expected = estimate(climb(5), small)
    assert estimate(climb(5), replace(small, workers=2)) == expected
    recorded = replace(small, run_directory=str(tmp_path), resume=True)
    assert estimate(climb(5), recorded) == expected
    assert estimate(climb(5), recorded) == expected
    assert estimate(climb(5), small, seed=1) != expected


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.engines.statistical.splitting._MOST_BRANCHES", 500)
    with pytest.raises(InvalidProblem, match="split into 1"):
        replace(SPLIT, factor=1).check(climb(3), Budget(10))
    with pytest.raises(Unsupported, match="branches"):
        replace(SPLIT, factor=64).check(climb(12), Budget(60))
    rewards = replace(climb(3), property=parse_property("E=? [ steps for 3 steps ]"))
    assert "not rewards" in str(SPLIT.objection(rewards))
