"""Intervals are checked in exact arithmetic: never too narrow, and hardly too wide."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from scipy.special import betaincinv

from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling import binomial
from surefoot.solvers.sampling.binomial import (
    clopper_pearson,
    log_factorial,
    lower_limit,
    mixture_interval,
    mixture_limit,
    tail_above,
)


def exact_tail(k: int, n: int, p: Fraction) -> Fraction:
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


def mixture_ratio(k: int, n: int, p: Fraction) -> Fraction:
    """The likelihood of the Beta(1/2, 1/2) mixture divided by that of p, exactly."""
    mixture = Fraction(comb(2 * k, k) * comb(2 * (n - k), n - k), 4**n * comb(n, k))
    return mixture / (p**k * (1 - p) ** (n - k))


@pytest.mark.parametrize("n", [0, 1, 2, 20, 63, 64, 65, 100, 300])
def test_factorials(n: int) -> None:
    with localcontext(prec=60):
        assert abs(log_factorial(n) - Decimal(factorial(n)).ln()) < Decimal("1e-24")


@pytest.mark.parametrize(("k", "n"), [(3, 10), (10, 10), (1, 50), (40, 60), (150, 200), (30, 400)])
def test_tails_are_upper_bounds(k: int, n: int) -> None:
    for share in (Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)):
        p = share * Fraction(k, n)
        exact = exact_tail(k, n, p)
        assert exact <= tail_above(k, n, p) <= exact * (1 + Fraction(1, 10**8))


def test_tails_that_need_no_sum() -> None:
    half = Fraction(1, 2)
    assert tail_above(0, 5, half) == tail_above(2, 5, half) == tail_above(3, 5, Fraction(1)) == 1
    assert tail_above(6, 5, half) == tail_above(1, 5, Fraction(0)) == 0
    assert 0 < tail_above(10**9, 10**9, half) < Fraction(1, 10**700)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 1000)])
def test_clopper_pearson_is_proved_and_sharp(n: int, alpha: Fraction) -> None:
    for k in range(n + 1):
        low, high = clopper_pearson(k, n, alpha)
        assert 0 <= low <= Fraction(k, n) <= high <= 1
        assert (low, k) == (0, 0) or exact_tail(k, n, low) <= alpha / 2
        assert (high, k) == (1, n) or exact_tail(n - k, n, 1 - high) <= alpha / 2
        if k:
            assert exact_tail(k, n, low * (1 + Fraction(1, 10**7))) > alpha / 2


@pytest.mark.parametrize(("k", "n"), [(50, 9701), (4850, 9701), (123, 10**6), (5 * 10**8, 10**9)])
def test_long_experiments_are_like_scipy(k: int, n: int) -> None:
    low, high = clopper_pearson(k, n, Fraction(1, 20))
    assert float(low) == pytest.approx(betaincinv(k, n - k + 1, 0.025), rel=1e-6)
    assert float(high) == pytest.approx(betaincinv(k + 1, n - k, 0.975), rel=1e-6)


@pytest.mark.parametrize("wrong", [0.5, 0.21, float("nan"), -1.0, 1e-30])
def test_a_wrong_answer_of_scipy_only_widens(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binomial, "betaincinv", lambda *_: wrong)
    low = lower_limit.__wrapped__(20, 100, Fraction(1, 40))
    assert exact_tail(20, 100, low) <= Fraction(1, 40)


def test_the_mixture_is_a_martingale() -> None:
    """Its mean after n runs is 1 whatever p is, and the next step keeps it."""
    for p in (Fraction(1, 7), Fraction(1, 2)):
        for n in (1, 5, 12):
            mean = sum(comb(n, k) * p**k * (1 - p) ** (n - k) * mixture_ratio(k, n, p) for k in range(n + 1))
            assert mean == 1
    p, k, n = Fraction(2, 9), 3, 8
    assert p * mixture_ratio(k + 1, n + 1, p) + (1 - p) * mixture_ratio(k, n + 1, p) == mixture_ratio(k, n, p)


@pytest.mark.parametrize("n", [1, 4, 30, 100])
def test_the_confidence_sequence_leaves_out_only_what_it_may(n: int) -> None:
    delta = Fraction(1, 20)
    for k in range(0, n + 1, max(1, n // 10)):
        low, high = mixture_interval(k, n, delta)
        assert 0 <= low <= Fraction(k, n) <= high <= 1
        if low > 0:
            assert mixture_ratio(k, n, low) >= 1 / delta
            assert mixture_ratio(k, n, low * (1 + Fraction(1, 10**6))) < 1 / delta


def test_the_confidence_sequence_never_lost_p_more_often() -> None:
    """P(p was ever left out within 90 runs), by going through all counts."""
    delta, n_most, p = Fraction(1, 5), 90, 0.3
    alive, lost = np.zeros(n_most + 2), 0.0
    alive[0] = 1.0
    for n in range(1, n_most + 1):
        alive[1:] = alive[1:] * (1 - p) + alive[:-1] * p
        alive[0] *= 1 - p
        if n % 3 == 0:
            limits = [mixture_limit(k, n, delta) for k in range(n + 1)]
            out = np.ones(len(alive), dtype=bool)
            out[[k for k in range(n + 1) if limits[k] <= p <= 1 - limits[n - k]]] = False
            lost += alive[out].sum()
            alive[out] = 0.0
    assert 0 < lost <= float(delta)


@pytest.mark.parametrize(("k", "n", "risk"), [(-1, 5, 1), (6, 5, 1), (1, 0, 1), (1, 5, 0), (1, 5, 20)])
def test_nonsense_is_refused(k: int, n: int, risk: int) -> None:
    with pytest.raises(InvalidProblem):
        lower_limit(k, n, Fraction(risk, 20))
