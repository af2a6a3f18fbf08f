"""Exact arithmetic on rows: probabilities over one denominator, vectors of Python integers.

A vector stands for its entries divided by a common scale. Sums of rows are exact, so an inequality that is
seen here holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov

IntegerVector = NDArray[np.object_]  # of Python integers


@dataclass(frozen=True, slots=True, eq=False)
class IntegerWeights:
    """The numbers of a process as integers: probability = weights / unit, reward = amounts / grain."""

    unit: int
    weights: IntegerVector  # [outcomes]
    grain: int
    amounts: IntegerVector | None  # [outcomes]

    @property
    def signed(self) -> bool:
        """Is an amount below 0?"""
        return self.amounts is not None and bool((self.amounts < 0).any())


def integer_weights(markov: Markov, rewards: NDArray[np.int32] | None = None) -> IntegerWeights:
    used = np.unique(markov.weights)
    unit = lcm(*(markov.values[i].denominator for i in used)) if len(used) else 1
    weights = _scale_entries(markov, markov.weights, unit)
    if rewards is None:
        return IntegerWeights(unit, weights, 1, None)
    grain = lcm(*(markov.values[i].denominator for i in np.unique(rewards))) if len(rewards) else 1
    return IntegerWeights(unit, weights, grain, _scale_entries(markov, rewards, grain))


def _scale_entries(markov: Markov, indices: NDArray[np.int32], unit: int) -> IntegerVector:
    table = np.empty(len(markov.values), dtype=np.object_)
    for i in np.unique(indices):
        value = markov.values[i] * unit
        table[i] = value.numerator
    return table[indices]


def sum_rows(entries: NDArray[Any], pointer: NDArray[np.int64]) -> NDArray[Any]:
    """Sums of slices; of an empty one it is 0."""
    sums = np.zeros(len(pointer) - 1, dtype=entries.dtype)
    filled = pointer[:-1] < pointer[1:]
    if filled.any():
        sums[filled] = np.add.reduceat(entries, pointer[:-1][filled])
    return sums


def integer_zeros(count: int) -> IntegerVector:
    return np.zeros(count, dtype=np.object_)


def round_to_integers(values: NDArray[np.float64], scale: int) -> IntegerVector:
    """The nearest integers to values * scale, for numbers that are finite."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    return cast(
        IntegerVector, _shift_integers(whole.astype(np.object_), exponent.astype(np.object_) - 53, scale)
    )


def _shift_integer(whole: int, exponent: int, scale: int) -> int:
    product = whole * scale
    return product << exponent if exponent >= 0 else (product + (1 << (-exponent - 1))) >> -exponent


_shift_integers = np.frompyfunc(_shift_integer, 3, 1)


def divide_to_floats(entries: IntegerVector, divisor: int) -> NDArray[np.float64]:
    """The entries divided by a number, each rounded to the nearest float."""
    return np.array([_divide_integers(int(e), divisor) for e in entries], dtype=np.float64)


def _divide_integers(numerator: int, divisor: int) -> float:
    try:
        return numerator / divisor
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")
