"""Experiments by brute force: what a boundary does, step by step, in exact or in floating arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

import numpy as np

from surefoot.solvers.sampling.boundary.lattice import scaled_power, stopping_places
from surefoot.solvers.sampling.boundary.table import Boundary

Number = TypeVar("Number", Fraction, float)


def ends(boundary: Boundary, p: Number) -> dict[tuple[int, int], Number]:
    """The probability of every (runs, successes) with which an experiment ends."""
    alive: dict[int, Number] = {0: p / p if p else 1 - p}
    found: dict[tuple[int, int], Number] = {}
    for n in range(1, boundary.most + 1):
        after: dict[int, Number] = {}
        for k, weight in alive.items():
            after[k] = after.get(k, 0 * p) + weight * (1 - p)
            after[k + 1] = after.get(k + 1, 0 * p) + weight * p
        alive = {}
        for k, weight in after.items():
            rarer = min(k, n - k)
            if n >= boundary.least[rarer]:
                found[n, k] = weight
            else:
                alive[k] = weight
    assert not alive
    return found


def misses(boundary: Boundary, p: Fraction) -> Fraction:
    """P(|k / n - p| > eps), exactly."""
    return sum(
        (weight for (n, k), weight in ends(boundary, p).items() if abs(Fraction(k, n) - p) > boundary.eps),
        Fraction(0),
    )


def floating(boundary: Boundary, p: float) -> tuple[float, float]:
    """Miss probability (ties taken as hits) and mean number of runs, in floats, for long boundaries."""
    least = np.array(boundary.least)
    alive, miss, mean = np.zeros(boundary.most + 2), 0.0, 0.0
    alive[0] = 1.0
    low, high = 0, 0  # successes with a weight that matters
    for n in range(1, boundary.most + 1):
        part = alive[low : high + 2].copy()
        part[1:] = part[1:] * (1 - p) + alive[low : high + 1] * p
        part[0] *= 1 - p
        high = min(high + 1, n)
        part = part[: high - low + 1]
        k = np.arange(low, high + 1)
        stops = n >= least[np.minimum(k, n - k)]
        weight = part[stops]
        mean += n * weight.sum()
        miss += weight[np.abs(k[stops] / n - p) > float(boundary.eps) + 1e-12].sum()
        part[stops] = 0.0
        alive[low : high + 1] = part
        matters = np.nonzero(part > 1e-25)[0]
        if not len(matters):
            break
        alive[low : low + matters[0]] = 0.0
        alive[low + matters[-1] + 1 : high + 1] = 0.0
        low, high = low + int(matters[0]), low + int(matters[-1])
    return miss, mean


def expected_runs(boundary: Boundary, p: float) -> float:
    """The mean number of runs if p is the probability; for display, not rigorous."""
    places, total = stopping_places(boundary), 0.0
    for chance in (p, 1 - p):
        j = np.arange(len(places.runs))
        first, scale = scaled_power(np.array([chance]), j)
        second, shift = scaled_power(np.array([1 - chance]), places.runs - j)
        exponents = np.clip(places.exponent + scale + shift, -1000, 1000)
        chances = np.ldexp(places.mantissa * first * second, exponents)
        if 2 * (len(j) - 1) == boundary.most:
            chances[-1] /= 2  # half of the runs: on both sides
        total += float(np.sum(places.runs * chances))
    return total


def fixed_boundary(eps: Fraction, runs: int) -> Boundary:
    """Stop after so many runs, whatever they were."""
    return Boundary(eps, (runs,) * (runs // 2 + 1))
