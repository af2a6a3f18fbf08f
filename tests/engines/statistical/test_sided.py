"""Which side of a threshold: batches do not matter, and wrong answers are as rare as stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.engines.statistical.sobel_wald import SobelWaldProgress, SobelWaldTest
from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.plan import Stop

PLAN = SobelWaldTest(Fraction(1, 5), Fraction(1, 20), Fraction(1, 10))


def outcomes(
    seed: int, p: float, cut_off: float = 0.0, runs: int = 8_000
) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    throws = np.random.default_rng(seed).random(runs)
    return np.where(throws < p, 1, np.where(throws < p + cut_off, 2, 0)).astype(np.uint8)


@pytest.mark.parametrize(("p", "cut_off"), [(0.1, 0.0), (0.2, 0.0), (0.24, 0.02), (0.4, 0.0), (0.1, 0.3)])
def test_batches_do_not_matter(p: float, cut_off: float) -> None:
    for seed in range(5):
        whole = PLAN.consume(SobelWaldProgress(), outcomes(seed, p, cut_off))
        assert whole.stop is not None
        rng, parts, at = np.random.default_rng(seed + 99), SobelWaldProgress(), 0
        while parts.stop is None:
            size = int(rng.integers(1, 400))
            assert PLAN.ahead(parts) > 0
            parts = PLAN.consume(parts, outcomes(seed, p, cut_off)[at : at + size])
            at += size
        assert parts == whole
        assert PLAN.ahead(whole) == 0


def test_what_is_surely_needed_is_needed() -> None:
    for seed in range(20):
        progress, values = SobelWaldProgress(), outcomes(seed, 0.3)
        while progress.stop is None:
            sure = PLAN.ahead(progress)
            progress = PLAN.consume(progress, values[progress.runs : progress.runs + sure - 1])
            assert progress.stop is None
            progress = PLAN.consume(progress, values[progress.runs : progress.runs + 1])


@pytest.mark.parametrize("p", [0.15, 0.19, 0.2, 0.21, 0.25])
def test_wrong_answers_are_rare(p: float) -> None:
    experiments, wrong, undecided = 200, 0, 0
    for seed in range(experiments):
        found = PLAN.consume(SobelWaldProgress(), outcomes(seed, p))
        known = PLAN.interval(found)
        wrong += not known.low <= Fraction(p).limit_denominator(100) <= known.high
        undecided += found.stop is not Stop.DECIDED
    allowed = experiments * 0.1
    assert wrong <= allowed + 3 * (allowed * 0.9) ** 0.5
    if p in (0.15, 0.25):  # at the ends of the region an answer is given with the same confidence
        assert undecided <= allowed + 3 * (allowed * 0.9) ** 0.5


def test_runs_that_were_cut_off_end_it() -> None:
    found = PLAN.consume(SobelWaldProgress(), outcomes(1, 0.1, 0.5))
    assert found.stop is Stop.TRUNCATION
    assert found.runs == 1000
    assert PLAN.interval(found).low <= Fraction(1, 10)
    sure = PLAN.consume(SobelWaldProgress(), outcomes(1, 0.5, 0.3))
    assert sure.stop is Stop.DECIDED  # it is above, whatever became of them


def test_a_region_beyond_zero_or_one_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="not within 0 and 1"):
        SobelWaldTest(Fraction(1, 100), Fraction(1, 100), Fraction(1, 20))
