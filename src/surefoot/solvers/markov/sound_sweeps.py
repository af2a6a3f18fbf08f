"""Bounds of large processes by value iteration from both sides, each of its steps rounded to the safe side.

Interval iteration (Haddad and Monmege 2018; Baier et al. 2017 for rewards) with Gauss-Seidel sweeps: values
only rise from a bound below and only fall from a bound above, so that every vector is inductive and counts
as it is. A reward has no greatest value to begin with: the expected number of steps h is followed until one
more step adds at most 1/2 where 2 is paid; then h >= 1.5 + P h, and the largest amount times h is inductive.

It takes memory and time in proportion to the edges, whatever the shape of the process, but as many sweeps as
runs linger. Where it stands still (end components of the greatest probability, runs that stay for ages)
policy iteration has to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov, Optimise
from surefoot.solvers.markov.depth_first import order_states
from surefoot.solvers.markov.sweep_kernel import Floats, SweepKernel, SweepRows

MANY = 100_000  # open states: below, policy iteration is as fast and more precise
BITS = 60  # of a value
DEPTH_FIRST = 4  # sweeps in which successors come first
AT_ONCE = 16  # sweeps between two looks at what they have brought
MOST_SWEEPS = 100_000
FEW = 500_000  # states: below, the answer is made finer than was asked for, in the same time again
FINER = Fraction(1, 10**7)
STILL = 0.97  # of the sum of all distances is left: it stands still
SHARE = 0.5  # of the time, where there is an end of it
LARGEST = 2.0**40  # of an expected number of steps


@dataclass(frozen=True, slots=True, eq=False)
class OpenProcess:
    """What is asked about the open states; elsewhere the value is known."""

    markov: Markov
    optimise: Optimise
    open: NDArray[np.bool_]
    known: NDArray[np.bool_]  # where the value is 1
    usable: NDArray[np.bool_]  # [choices]
    rewards: NDArray[np.int32] | None  # [outcomes]; none is below 0


@dataclass(frozen=True, slots=True, eq=False)
class GridBounds:
    """Inductive bounds of all states as integers over `scale`."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    scale: int


def bound_by_sweeps(
    asked: OpenProcess, width: Fraction, wanted: NDArray[np.int64], seconds_left: Callable[[], float]
) -> GridBounds | None:
    """Bounds that are narrow enough at the wanted states, or None."""
    if int(asked.open.sum()) < MANY:
        return None
    start = seconds_left()
    end = (1.0 - SHARE) * start if start < inf else -inf

    def is_late() -> bool:
        return seconds_left() <= end

    kernel = SweepKernel(_kernel_rows(asked), asked.optimise)
    low = asked.known.astype(np.float64)
    if asked.rewards is None:
        high, bits = (asked.known | asked.open).astype(np.float64), BITS
    else:
        above = _reward_above(asked, kernel, is_late)
        if above is None:
            return None
        high, bits = above
    grid = 2.0**bits
    slack = 4 * rounding_error(asked.markov)
    goal, before, first, narrow = FINER if asked.markov.states < FEW else Fraction(1), inf, 0, False
    for number in range(MOST_SWEEPS):
        if number == DEPTH_FIRST:  # there are cycles: from the last states that were found to the first
            kernel.use_order(np.flatnonzero(asked.open)[::-1].copy())
        backwards = number % 4 == 3 and number > DEPTH_FIRST
        kernel.sweep("raise_low", low, factor=1.0 - slack, grid=grid, backwards=backwards)
        kernel.sweep("lower_high", high, factor=1.0 + slack, grid=grid, backwards=backwards)
        if not narrow and _is_narrow(low, high, width, wanted):
            narrow, first = True, number
        if narrow and (number >= 2 * first + AT_ONCE or _is_narrow(low, high, width * goal, wanted)):
            break
        if number % AT_ONCE == AT_ONCE - 1:
            left = float((high - low).sum())
            if is_late() or left > STILL * before:
                break
            before = left
    return GridBounds(_to_grid(low, grid), _to_grid(high, grid), 1 << bits) if narrow else None


def rounding_error(markov: Markov) -> float:
    """By what factor a sum of a row may be off in floating point, in any order of summation."""
    longest = int(np.diff(markov.outcomes).max(initial=1))
    return (longest + 4) * 2.0**-53


def _kernel_rows(asked: OpenProcess) -> SweepRows:
    markov = asked.markov
    numbers = np.array([float(v) for v in markov.values])
    return SweepRows(
        np.ascontiguousarray(markov.choices),
        np.ascontiguousarray(markov.outcomes),
        np.ascontiguousarray(markov.targets),
        np.ascontiguousarray(markov.weights, dtype=np.int32),
        numbers,
        None if asked.rewards is None else np.ascontiguousarray(asked.rewards, dtype=np.int32),
        np.ascontiguousarray(asked.usable),
        order_states(markov, asked.open),
    )


def _reward_above(
    asked: OpenProcess, kernel: SweepKernel, is_late: Callable[[], bool]
) -> tuple[Floats, int] | None:
    """A bound above that is inductive, and for how many bits behind the point there is room."""
    assert asked.rewards is not None
    steps = np.zeros(asked.markov.states)
    for _ in range(MOST_SWEEPS):
        moved = kernel.sweep("count_steps", steps, factor=1.0, grid=1.0, backwards=False)
        if moved <= 0.5:
            break
        if is_late() or not moved < LARGEST:
            return None
    else:
        return None
    most = max((asked.markov.values[i] for i in np.unique(asked.rewards)), default=Fraction(0))
    above = steps * (float(most) * (1.0 + 2.0**-40))
    largest = float(above.max(initial=0.0))
    if not largest < LARGEST or not float(steps.max(initial=0.0)) < LARGEST:
        return None
    bits = BITS - max(0, int(largest).bit_length())
    return np.ceil(above * 2.0**bits) / 2.0**bits, bits


def _is_narrow(low: Floats, high: Floats, width: Fraction, wanted: NDArray[np.int64]) -> bool:
    return bool((high[wanted] - low[wanted] <= 0.999 * float(width) * low[wanted]).all())


def _to_grid(values: Floats, grid: float) -> NDArray[np.int64]:
    """Multiples of the grid as integers: the product has no rounding."""
    return (values * grid).astype(np.int64)
