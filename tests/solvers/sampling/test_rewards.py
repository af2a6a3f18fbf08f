"""Means and quantiles of rewards: coverage, efficiency, refusal."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.solvers.sampling import Betting, RewardProgress, RewardRange, Stop
from surefoot.solvers.sampling.dkw_inequality import dkw_band, dkw_mean, dkw_quantile, dkw_runs

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


def test_the_band() -> None:
    assert float(dkw_band(18445, DELTA)) == pytest.approx(0.01, rel=1e-4)
    assert dkw_runs(Fraction(1, 100), DELTA) == 18445
    assert dkw_band(100, DELTA) ** 2 * 200 >= Fraction(np.log(40))
    with pytest.raises(InvalidProblem):
        dkw_band(0, DELTA)


def test_means_and_quantiles_of_a_distribution() -> None:
    generator = np.random.default_rng(0)
    bounded = RewardRange(Fraction(0), Fraction(1))
    misses = 0
    for _ in range(200):
        values = generator.random(400) ** 2
        low, high = dkw_mean(values, DELTA, bounded)
        assert low is not None
        assert high is not None
        first, last = dkw_quantile(Fraction(9, 10), values, DELTA, bounded)
        assert first is not None
        assert last is not None
        misses += not (low <= Fraction(1, 3) <= high and first <= Fraction(81, 100) <= last)
    assert misses <= 10


def test_the_mean_by_hand() -> None:
    values, moved = [1.0, 2.0, 3.0, 4.0], dkw_band(4, Fraction(1, 2))
    share = float(moved)  # 0.416…: the highest value and two thirds of the next go to the bottom
    low, high = dkw_mean(values, Fraction(1, 2), RewardRange(Fraction(0), Fraction(10)))
    assert low is not None
    assert float(low) == pytest.approx((1 + 2 + 3 * ((1 - share) * 4 - 2)) / 4)
    assert high is not None
    assert float(high) == pytest.approx((4 + 3 + 2 * ((1 - share) * 4 - 2)) / 4 + 10 * share)


def test_an_open_range_leaves_an_end_open() -> None:
    values = np.arange(100.0)
    low, high = dkw_mean(values, DELTA, RewardRange(Fraction(0), None))
    assert low is not None
    assert 0 < low < 50
    assert high is None
    assert dkw_quantile(Fraction(99, 100), values, DELTA, RewardRange(None, None)) == (85, None)
    assert dkw_quantile(Fraction(1, 100), values, DELTA, RewardRange(None, None)) == (None, 14)
    assert dkw_mean([1.0], DELTA, UNIT) == (0, 1)


def test_cut_off_rewards_widen_the_answers() -> None:
    low, high = np.arange(100.0) / 100, np.arange(100.0) / 100 + np.where(np.arange(100) < 10, 0.9, 0.0)
    plain, wide = dkw_mean(low, DELTA, UNIT), dkw_mean(low, DELTA, UNIT, high)
    assert wide[0] == plain[0]
    assert wide[1] > plain[1]  # type: ignore[operator]
    with pytest.raises(InvalidProblem):
        dkw_mean([2.0], DELTA, UNIT)
    with pytest.raises(InvalidProblem):
        dkw_quantile(Fraction(0), low, DELTA, UNIT)
