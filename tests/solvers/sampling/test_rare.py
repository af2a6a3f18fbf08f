"""Bounds for tiny means: right as often as stated, by exact enumeration; and close where that is possible."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.plan import Stop
from surefoot.solvers.sampling.rare_events import RareEventPlan, RareProgress

RUNS = 14


@pytest.mark.parametrize("value", [1.0, 0.5, 2.0**-30])
def test_coverage_by_enumeration(value: float) -> None:
    plan = RareEventPlan(Fraction(1, 5), RUNS)
    known = []
    for k in range(RUNS + 1):
        values = [value] * k + [0.0] * (RUNS - k)
        known.append(plan.interval(plan.consume(RareProgress(), values, values)))
    for p in [Fraction(i, 60) for i in range(61)]:
        mean = p * Fraction(value)
        missed = sum(
            comb(RUNS, k) * p**k * (1 - p) ** (RUNS - k)
            for k in range(RUNS + 1)
            if not known[k].low <= mean <= known[k].high
        )
        assert missed <= Fraction(1, 5)


def test_coverage_of_three_values_by_enumeration() -> None:
    plan, values = RareEventPlan(Fraction(1, 2), 4), (0.0, 2.0**-10, 1.0)
    shares = (Fraction(9, 10), Fraction(9, 100), Fraction(1, 100))
    mean = sum(s * Fraction(v) for s, v in zip(shares, values, strict=True))
    missed = Fraction(0)
    for picks in product(range(3), repeat=4):
        seen = [values[i] for i in picks]
        known = plan.interval(plan.consume(RareProgress(), seen, seen))
        if not known.low <= mean <= known.high:
            missed += np.prod([shares[i] for i in picks])
    assert missed <= Fraction(1, 2)


def test_the_lower_bound_follows_small_values_down() -> None:
    rng = np.random.default_rng(1)
    for scale in (1.0, 1e-7, 1e-12):
        seen = np.where(rng.random(4000) < 0.05, scale, 0.0)
        plan = RareEventPlan(Fraction(1, 20), 4000)
        done = plan.consume(RareProgress(), seen, seen)
        known = plan.interval(done)
        mean = done.mean()
        assert done.stop is Stop.PLANNED
        assert mean is not None
        assert 0.7 * mean < known.low < mean < known.high
        assert known.high < 2e-3 + 1.5 * mean  # ln(40) / 4000, and what the stakes cost


def test_batches_do_not_matter_and_intervals_of_values_widen() -> None:
    rng, plan = np.random.default_rng(2), RareEventPlan(Fraction(1, 20), 500)
    seen = np.round(rng.random(500) ** 8, 3)
    whole = plan.consume(RareProgress(), seen, seen)
    parts = RareProgress()
    for begin in range(0, 600, 37):
        parts = plan.consume(parts, seen[begin : begin + 37], seen[begin : begin + 37])
    assert plan.interval(parts) == plan.interval(whole)
    assert plan.ahead(parts) == 0
    wide = plan.consume(RareProgress(), seen * 0.9, seen)
    assert plan.interval(wide).low < plan.interval(whole).low
    assert plan.interval(wide).high == plan.interval(whole).high
    assert wide.mean() is None


def test_no_values_say_nothing() -> None:
    plan = RareEventPlan(Fraction(1, 20), 5)
    known = plan.interval(RareProgress())
    assert (known.low, known.high) == (0, 1)
    with pytest.raises(InvalidProblem, match="between 0 and 1"):
        plan.consume(RareProgress(), [1.5], [1.5])
