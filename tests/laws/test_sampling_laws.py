"""Laws of plans: batches and unknown outcomes do not change what is right."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.solvers.sampling.walk import ends

from surefoot.solvers.sampling.boundary.coverage import bound_miss_probability
from surefoot.solvers.sampling.boundary.table import Boundary
from surefoot.solvers.sampling.empirical_bernstein import Betting, RewardProgress, RewardRange
from surefoot.solvers.sampling.methods import choose_plan
from surefoot.solvers.sampling.plan import Progress, SamplingPlan
from surefoot.solvers.sampling.sequential_ratio_test import SequentialRatioTest

EPS, DELTA = Fraction(1, 8), Fraction(1, 10)
NAMES = ("clopper-pearson", "clopper-pearson-fixed", "okamoto", "chen", "mixture", "spending")
PLANS: list[SamplingPlan] = [choose_plan(name, EPS, DELTA) for name in NAMES]
PLANS.append(SequentialRatioTest(Fraction(1, 3), EPS, DELTA))
OWN_ORDER = PLANS[:4]  # the interval itself can only rise, not only the ends at each look

outcomes = some.integers(0, 2**32).map(
    lambda seed: np.random.default_rng(seed).choice(
        3, size=400, p=[(0.89, 0.1, 0.01), (0.5, 0.49, 0.01), (0.3, 0.7, 0.0), (0.5, 0.3, 0.2)][seed % 4]
    )
)
cuts = some.lists(some.integers(0, 400), max_size=8).map(lambda found: [0, *sorted(found), 400])


@settings(max_examples=60, deadline=None)
@given(some.sampled_from(PLANS), outcomes, cuts)
def test_splitting_batches_changes_nothing(plan: SamplingPlan, row: np.ndarray, cut: list[int]) -> None:
    whole = plan.consume(Progress(), row)
    progress = Progress()
    for begin, end in pairwise(cut):
        progress = plan.consume(progress, row[begin:end])
    assert progress == whole
    assert plan.interval(progress) == plan.interval(whole)


@settings(max_examples=60, deadline=None)
@given(some.sampled_from(OWN_ORDER), outcomes, some.integers(0, 2**32))
def test_undecided_runs_contain_whatever_they_would_have_been(
    plan: SamplingPlan, row: np.ndarray, seed: int
) -> None:
    known = plan.interval(plan.consume(Progress(), row))
    coins = np.random.default_rng(seed).random(len(row)) < (seed % 5) / 4
    resolved = plan.consume(Progress(), np.where(row == 2, coins, row))
    assert resolved.stop is not None
    inner = plan.interval(resolved)
    assert known.low <= inner.low <= inner.high <= known.high


@settings(max_examples=60, deadline=None)
@given(some.sampled_from(OWN_ORDER), outcomes, some.integers(0, 400))
def test_breaking_off_contains_what_would_have_come(plan: SamplingPlan, row: np.ndarray, end: int) -> None:
    early, late = plan.consume(Progress(), row[:end]), plan.consume(Progress(), row)
    assert early.runs == min(end, late.runs)
    assert plan.interval(early).low <= plan.interval(late).low
    assert plan.interval(early).high >= plan.interval(late).high


@settings(max_examples=40, deadline=None)
@given(some.sampled_from(PLANS), outcomes)
def test_success_and_failure_are_treated_alike(plan: SamplingPlan, row: np.ndarray) -> None:
    if isinstance(plan, SequentialRatioTest):
        return
    progress = plan.consume(Progress(), row)
    mirrored = plan.consume(Progress(), np.where(row == 2, 2, 1 - row))
    assert (mirrored.runs, mirrored.successes, mirrored.stop) == (
        progress.runs,
        progress.failures,
        progress.stop,
    )
    assert plan.interval(mirrored).low == 1 - plan.interval(progress).high


@settings(max_examples=40, deadline=None)
@given(some.integers(0, 2**32), cuts)
def test_splitting_rewards_changes_nothing(seed: int, cut: list[int]) -> None:
    generator = np.random.default_rng(seed)
    low = generator.random(400)
    high = np.minimum(1.0, low + np.where(generator.random(400) < 0.1, 0.3, 0.0))
    plan = Betting(RewardRange(Fraction(0), Fraction(1)), EPS, DELTA)
    progress = RewardProgress()
    for begin, end in pairwise(cut):
        progress = plan.consume(progress, low[begin:end], high[begin:end])
    assert progress == plan.consume(RewardProgress(), low, high)


@some.composite
def boundaries(draw: some.DrawFn) -> Boundary:
    """Tables that no method would make."""
    most = draw(some.integers(3, 16))
    least = sorted(draw(some.lists(some.integers(1, most), min_size=most // 2, max_size=most // 2)))
    rising = [*(max(2 * j + 2, n) for j, n in enumerate(least)), most]
    return Boundary(Fraction(draw(some.integers(2, 9)), 20), tuple(rising))


@settings(max_examples=60, deadline=None)
@given(boundaries())
def test_the_proved_bound_is_the_greatest_miss_of_all(boundary: Boundary) -> None:
    found = bound_miss_probability(boundary)
    if found.why:
        return
    eps, half = boundary.eps, Fraction(1, 2)
    ways = {(n, k): weight * 2**n for (n, k), weight in ends(boundary, half).items()}
    greatest = Fraction(0)
    for p in {Fraction(k, n) + side for n, k in ways for side in (eps, -eps)} | {half}:
        if 0 < p <= half:
            term = {(n, k): number * p**k * (1 - p) ** (n - k) for (n, k), number in ways.items()}
            off = {(n, k): Fraction(k, n) - p for n, k in ways}
            just_below = sum(term[at] for at in ways if off[at] < -eps or off[at] >= eps)
            just_above = sum(term[at] for at in ways if off[at] <= -eps or off[at] > eps)
            greatest = max(greatest, just_below, just_above)
    assert greatest <= Fraction(found.bound) <= greatest + Fraction(1, 10**11)
