"""Experiments that are broken off: their intervals are right however that is decided."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from surefoot.engines.statistical.sobel_wald import SobelWaldProgress, SobelWaldTest
from surefoot.solvers.sampling.binomial import mixture_limit
from surefoot.solvers.sampling.interruptible import SPARE, Interruptible, plan_share
from surefoot.solvers.sampling.methods import METHODS, choose_interruptible_plan
from surefoot.solvers.sampling.plan import Progress, Stop

DELTA = Fraction(1, 20)


@pytest.mark.parametrize("method", METHODS)
def test_157_of_157(method: str) -> None:
    plan = choose_interruptible_plan(method, Fraction(1, 100), DELTA)
    progress = plan.consume(Progress(), np.ones(157, dtype=np.uint8))
    assert progress.stop is None
    known = plan.interval(progress)
    assert known.low > Fraction(95, 100) or method == "mixture"
    assert known.low > Fraction(94, 100)
    assert (known.high, known.confidence) == (1, 1 - DELTA)
    none = plan.interval(plan.consume(Progress(), np.zeros(157, dtype=np.uint8)))
    assert (none.low, none.high) == (1 - known.high, 1 - known.low)


def test_before_a_side_of_a_threshold_is_known() -> None:
    test = Interruptible(SobelWaldTest(Fraction(97, 100), Fraction(1, 1000), plan_share(DELTA)), DELTA)
    progress = test.consume(SobelWaldProgress(), np.ones(157, dtype=np.uint8))
    assert progress.stop is None
    assert test.interval(progress).low > Fraction(95, 100)
    begun = test.interval(SobelWaldProgress())
    assert (begun.low, begun.high) == (0, 1)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.93])
def test_no_way_to_break_off_is_bad_enough(p: float) -> None:
    """The probability that the sequence is ever wrong within 100 runs, by going through all of them."""
    risk, truth = DELTA * SPARE * 8, Fraction(p)
    alive, wrong = np.array([1.0]), 0.0  # by the number of successes: not wrong so far
    for n in range(1, 101):
        alive = np.append(alive * (1 - p), 0) + np.append(0, alive * p)
        for k in np.flatnonzero(alive):
            low = mixture_limit(int(k), n, risk, ends=True)
            high = 1 - mixture_limit(n - int(k), n, risk, ends=True)
            if not low <= truth <= high:
                wrong += alive[k]
                alive[k] = 0
    assert wrong <= float(risk) * (1 + 1e-9)
    assert wrong > 0  # some way is


def test_runs_that_were_cut_off_only_widen_it() -> None:
    rng = Random(1)
    plan = choose_interruptible_plan("clopper-pearson", Fraction(1, 50), DELTA)
    for _ in range(30):
        chance = rng.random()
        true = np.array([rng.random() < chance for _ in range(rng.randrange(1, 150))], dtype=np.uint8)
        seen = np.where([rng.random() < 0.05 for _ in true], 2, true)
        before, after = (plan.interval(plan.consume(Progress(), o)) for o in (true, seen))
        assert after.low <= before.low <= before.high <= after.high


def test_a_plan_that_ends_keeps_its_own_interval() -> None:
    plan = choose_interruptible_plan("clopper-pearson", Fraction(1, 20), DELTA)
    progress = plan.consume(Progress(), np.zeros(1000, dtype=np.uint8))
    assert progress.stop is Stop.PRECISE
    assert plan.interval(progress).high == Fraction(1, 20)


def test_too_many_runs_that_were_cut_off() -> None:
    plan = choose_interruptible_plan("clopper-pearson", Fraction(1, 100), DELTA)
    progress = plan.consume(Progress(), np.tile(np.array([2, 1, 1, 1], dtype=np.uint8), 400))
    assert progress.stop is Stop.TRUNCATION
    known = plan.interval(progress)
    assert Fraction(2, 3) < known.low < Fraction(3, 4)
    assert known.high == 1
