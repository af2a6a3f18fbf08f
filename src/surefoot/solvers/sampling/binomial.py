"""Binomial tails and exact intervals with outward rounding.

What is rigorous here. Python's `decimal` rounds + * / ln and exp correctly; factorials are exact integers
below 64 and beyond that Stirling's series, which alternates, so that stopping after a term errs by less than
the next one (4e-32 at 64). With 40 digits the logarithm of a probability of up to 10^9 runs is therefore
known within 1e-24, and the probability within a relative 1e-20; tails add falling terms from there on in
doubles, whose rounding is bounded by their number, and bound the rest by a geometric series. All of it is
rounded away from the answer by one part in 10^9, which covers these errors many times.

scipy's `betaincinv` only guesses where a bound may be. A guess is used if the tail proves it, otherwise it is
moved outward until the tail does. So intervals are never too narrow, whatever scipy answers; a bad answer of
scipy's makes them wider.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from surefoot.errors import InvalidProblem

MOST_RUNS = 10**9
_DIGITS = Context(prec=40)
_SERIES = (  # B_2i / (2i (2i - 1)): 1/12, -1/360, …
    (1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400),
)  # fmt: skip
_SLACK = Fraction(1, 10**9)
_STEPS = 60  # doublings of an outward move; the last one is further than any probability


@lru_cache(1 << 14)
def log_factorial(n: int) -> Decimal:
    """ln n!, within 1e-24."""
    with localcontext(_DIGITS):
        if n < 64:
            product = 1
            for i in range(2, n + 1):
                product *= i
            return Decimal(product).ln()
        x = Decimal(n)
        total = (x + Decimal("0.5")) * x.ln() - x + (2 * _pi_digits()).ln() / 2
        for i, (a, b) in enumerate(_SERIES):
            total += Decimal(a) / (b * x ** (2 * i + 1))
        return total


@lru_cache(1)
def _pi_digits() -> Decimal:
    return Decimal("3.141592653589793238462643383279502884197169")


@lru_cache(1 << 12)
def log_fraction(value: Fraction) -> Decimal:
    """ln of a positive fraction, with 40 digits."""
    with localcontext(_DIGITS):
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def _log_probability(k: int, n: int, p: Fraction) -> Decimal:
    """ln of C(n, k) p^k (1 - p)^(n - k) for 0 < p < 1, within 1e-20."""
    with localcontext(_DIGITS):
        ways = log_factorial(n) - log_factorial(k) - log_factorial(n - k)
        return ways + k * log_fraction(p) + (n - k) * log_fraction(1 - p)


def tail_above(k: int, n: int, p: Fraction) -> Fraction:
    """At least P(X >= k) for X binomial with n runs and probability p; sharp where k > n p."""
    if k <= 0 or p >= 1:
        return Fraction(1)
    if k > n or p <= 0:
        return Fraction(0)
    if k <= n * p:
        return Fraction(1)
    with localcontext(_DIGITS):
        exponent = _log_probability(k, n, p)
        first = Fraction(exponent.exp()) if exponent > -2000 else Fraction(1, 10**800)
    odds = float(p / (1 - p))
    total, scale, i = 0.0, 1.0, k
    while True:
        index = np.arange(i, min(i + 4096, n + 1), dtype=float)
        ratios = (n - index) / (index + 1) * odds  # of each term to the one before: falling, 0 after n
        parts = scale * np.concatenate([[1.0], np.cumprod(ratios[:-1])])
        total += float(parts.sum())
        scale, last = float(parts[-1] * ratios[-1]), float(ratios[-1])
        i += len(index)
        if i > n or scale < 1e-16 * total:
            break
    rest = Fraction(scale) / (1 - Fraction(last)) if i <= n else Fraction(0)
    return min((Fraction(total) + rest) * first * (1 + _SLACK), Fraction(1))


def clopper_pearson(k: int, n: int, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """An interval that contains p with probability 1 - alpha at least, alpha / 2 for either side."""
    return lower_limit(k, n, alpha / 2), 1 - lower_limit(n - k, n, alpha / 2)


@lru_cache(1 << 12)
def lower_limit(k: int, n: int, risk: Fraction) -> Fraction:
    """A p at which k or more successes in n runs have at most this probability; nearly the largest one."""
    _check_arguments(k, n, risk)
    if k == 0:
        return Fraction(0)
    guess = float(betaincinv(k, n - k + 1, float(risk)))
    return _move_outward(guess, Fraction(k, n), lambda p: tail_above(k, n, p) <= risk)


def mixture_interval(k: int, n: int, delta: Fraction) -> tuple[Fraction, Fraction]:
    """A confidence sequence for p: with probability 1 - delta it contains p at every n at once.

    The likelihood ratio of the Beta(1/2, 1/2) mixture (Krichevsky and Trofimov) against p,
    B(k + 1/2, n - k + 1/2) / (pi p^k (1 - p)^(n - k)), is a martingale with mean 1 if p is true; by Ville's
    inequality it ever reaches 1 / delta with probability delta at most. The p where it has are left out.
    """
    return mixture_limit(k, n, delta), 1 - mixture_limit(n - k, n, delta)


@lru_cache(1 << 12)
def mixture_limit(k: int, n: int, delta: Fraction, ends: bool = False) -> Fraction:
    """A p below k / n where the mixture's likelihood ratio has reached 1 / delta; nearly the largest one.

    `ends`: half of the mixture is put on p = 0 and p = 1, a quarter each.
    """
    _check_arguments(k, n, delta)
    if k == 0:
        return Fraction(0)
    with localcontext(_DIGITS):
        # B(k + 1/2, m + 1/2) / pi = (2k)! (2m)! / (4^n k! m! n!) with m = n - k
        mixture = log_factorial(2 * k) + log_factorial(2 * (n - k)) - 2 * n * log_fraction(Fraction(2))
        mixture -= log_factorial(k) + log_factorial(n - k) + log_factorial(n)
        if ends:
            mixture -= log_fraction(Fraction(2))
            if k == n:  # all of this is possible with p = 1
                mixture = max(mixture, -2 * log_fraction(Fraction(2)))
        level = mixture + log_fraction(delta) - Decimal("1e-15")

    def left_out(p: Fraction) -> bool:
        with localcontext(_DIGITS):
            return p > 0 and k * log_fraction(p) + (n - k) * (log_fraction(1 - p) if k < n else 0) <= level

    low, high, target = 0.0, k / n, float(level)
    for _ in range(200):  # the likelihood grows up to k / n
        middle = (low + high) / 2
        if not low < middle < high:
            break
        value = k * np.log(middle) + (n - k) * np.log1p(-middle)
        low, high = (middle, high) if value <= target else (low, middle)
    return _move_outward(low, Fraction(k, n), left_out)


def _move_outward(guess: float, share: Fraction, proves: Callable[[Fraction], bool]) -> Fraction:
    """The guess, or something below it that proves what is asked; at worst 0."""
    if not 0 < guess < 1:
        guess = float(share)
    step = max(guess * 1e-15, 1e-18)
    for _ in range(_STEPS):
        p = Fraction(guess)
        if p <= 0:
            break
        if p <= share and proves(p):
            return p
        guess, step = guess - step, 4 * step
    return Fraction(0)


def _check_arguments(k: int, n: int, risk: Fraction) -> None:
    if not 0 <= k <= n or not 0 < n <= MOST_RUNS:
        raise InvalidProblem(f"{k} successes in {n} runs cannot be judged")
    if not 0 < risk < 1:
        raise InvalidProblem(f"a risk of {risk} is not between 0 and 1")
