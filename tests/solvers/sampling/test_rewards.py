"""Means of rewards: coverage, efficiency, refusal."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.solvers.sampling.empirical_bernstein import Betting, RewardProgress, RewardRange
from surefoot.solvers.sampling.plan import Stop

DELTA = Fraction(1, 20)
UNIT = RewardRange(Fraction(0), Fraction(1))


def test_betting_covers_and_adapts_to_the_variance() -> None:
    generator = np.random.default_rng(4)
    plan = Betting(UNIT, Fraction(1, 20), DELTA)
    runs = {}
    for name, draw, truth in (
        ("coin", lambda n: generator.integers(0, 2, n), 0.5),
        ("rare", lambda n: generator.random(n) < 0.02, 0.02),
        ("narrow", lambda n: 0.7 + 0.02 * generator.random(n), 0.71),
    ):
        misses, counts = 0, []
        for _ in range(200):
            progress = plan.consume(RewardProgress(), draw(3000))
            assert progress.stop is Stop.PRECISE
            known = plan.interval(progress)
            assert known.high - known.low <= Fraction(1, 10)
            misses += not known.low <= truth <= known.high
            counts.append(progress.runs)
        assert misses <= 10
        runs[name] = np.mean(counts)
    assert runs["coin"] < 1.3 * 2 * np.log(40) * 0.25 / 0.05**2
    assert runs["rare"] < runs["coin"] / 3
    assert runs["narrow"] < runs["coin"] / 5


def test_rewards_in_their_own_unit() -> None:
    plan = Betting(RewardRange(Fraction(-10), Fraction(30)), Fraction(2), DELTA)
    plain = Betting(UNIT, Fraction(1, 20), DELTA)
    values = np.random.default_rng(1).random(3000)
    progress, same = plan.consume(RewardProgress(), values * 40 - 10), plain.consume(RewardProgress(), values)
    assert progress.runs == same.runs
    assert float(plan.interval(progress).low) == pytest.approx(float(plain.interval(same).low) * 40 - 10)
    assert plan.interval(RewardProgress()) == plan.interval(RewardProgress())
    assert plan.interval(RewardProgress()).high == 30


def test_a_range_far_from_zero_is_no_trouble() -> None:
    far = RewardRange(10**9 + Fraction(1, 3), 10**9 + Fraction(4, 3))
    plan = Betting(far, Fraction(1, 20), DELTA)
    progress = plan.consume(
        RewardProgress(), 10**9 + 0.5 + np.random.default_rng(0).integers(0, 2, 4000) * 0.5
    )
    assert progress.stop is Stop.PRECISE
    assert plan.interval(progress).low < 10**9 + Fraction(3, 4) < plan.interval(progress).high


def test_rewards_of_runs_that_were_cut_off() -> None:
    plan = Betting(UNIT, Fraction(1, 20), DELTA)
    generator = np.random.default_rng(2)
    values = generator.random(6000)
    cut = generator.random(6000) < 0.02
    progress = plan.consume(RewardProgress(), np.where(cut, 0, values), np.where(cut, 1, values))
    assert progress.stop is Stop.PRECISE
    known = plan.interval(progress)
    assert known.low <= Fraction(1, 2) <= known.high
    assert progress.undecided > 0
    cut = generator.random(6000) < 0.5
    progress = plan.consume(RewardProgress(), np.where(cut, 0, values), np.where(cut, 1, values))
    assert progress.stop is Stop.TRUNCATION
    assert plan.interval(progress).high - plan.interval(progress).low > Fraction(1, 10)
    assert plan.consume(progress, values) == progress


def test_no_range_no_guarantee() -> None:
    for within, side in (
        (RewardRange(None, Fraction(1)), "lower"),
        (RewardRange(Fraction(0), None), "upper"),
    ):
        with pytest.raises(Unsupported, match=f"no known {side} bound"):
            Betting(within, Fraction(1), DELTA)
    with pytest.raises(Unsupported, match="empty"):
        Betting(RewardRange(Fraction(1), Fraction(1)), Fraction(1), DELTA)
    plan = Betting(UNIT, Fraction(1, 20), DELTA)
    for values in ([0.5, 1.5], [-0.1], [float("nan")], [[0.5]]):
        with pytest.raises(InvalidProblem):
            plan.consume(RewardProgress(), values)
    with pytest.raises(InvalidProblem):
        plan.consume(RewardProgress(), [0.5], [0.4])
