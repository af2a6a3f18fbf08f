"""Random words of many runs, each reading its own stream: those of `work/philox.py`, used as `draw.py` says.

Every run has the words that it has alone, in the same order, and each word becomes the same outcome or value
as there, bit for bit: thresholds are compared as integers, values are rounded once.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice
from surefoot.simulate.batch.model import Rows
from surefoot.term.columns import Column, Truths
from surefoot.term.value_types import Bool, Int, Real
from surefoot.work.philox import draw_below, philox_block_rows, uniform_doubles

_STANDARD = NormalDist()
_SPLITTER = 2.0**27 + 1  # Veltkamp: halves of a double
_ERROR = 2.0**-98  # relative, of what is left of a sum of two doubles and a product, with room
_TINY, _HUGE = 1e-200, 1e200  # beyond them the exact number is computed


class RunWords:
    """The streams of the runs that are under way; rows are places among them."""

    def __init__(self, seed: int, place: int) -> None:
        self._seed, self._place = seed, place
        self._runs = np.zeros(0, dtype=np.uint64)
        self._used = np.zeros(0, dtype=np.int64)
        self._blocks = np.zeros((0, 4), dtype=np.uint64)

    def begin(self, runs: NDArray[np.uint64]) -> None:
        """These runs follow those that are there."""
        self._runs = np.concatenate([self._runs, runs])
        self._used = np.concatenate([self._used, np.zeros(len(runs), dtype=np.int64)])
        self._blocks = np.concatenate([self._blocks, np.zeros((len(runs), 4), dtype=np.uint64)])

    def keep(self, rows: Rows) -> None:
        self._runs, self._used, self._blocks = self._runs[rows], self._used[rows], self._blocks[rows]

    def take(self, rows: Rows) -> NDArray[np.uint64]:
        """The next word of each of these rows."""
        used = self._used[rows]
        fresh = rows[used & 3 == 0]
        if len(fresh):
            blocks = (self._used[fresh] >> 2).astype(np.uint64) + np.uint64(1)
            self._blocks[fresh] = philox_block_rows(self._seed, self._runs[fresh], blocks, self._place)
        self._used[rows] = used + 1
        return np.asarray(self._blocks[rows, used & 3])

    def below(self, rows: Rows, bound: int) -> Rows:
        """An unbiased choice among `bound` numbers."""
        found = np.zeros(len(rows), dtype=np.int64)
        waiting = np.arange(len(rows))
        while len(waiting):
            numbers, counts = draw_below(self.take(rows[waiting]), bound)
            found[waiting[counts]] = numbers[counts].astype(np.int64)
            waiting = waiting[~counts]
        return found

    def shares(self, rows: Rows) -> NDArray[np.float64]:
        """Numbers in [0, 1) with 53 bits."""
        return uniform_doubles(self.take(rows))

    def outcomes(self, rows: Rows, limits: tuple[int, ...]) -> Rows:
        """By thresholds that are the same in every row."""
        certain = bisect_right([limit >= 1 << 64 for limit in limits], False)
        some = np.array(limits[:certain], dtype=np.uint64)
        return np.searchsorted(some, self.take(rows), side="right")

    def outcomes_by_shares(self, rows: Rows, parts: Column) -> tuple[Rows, Truths]:
        """By probabilities, one row of `parts` for each outcome, which are divided by their exact sum.

        True where the word is so close to a threshold that the rounding of sums matters.
        """
        sums = np.cumsum(parts, axis=0)
        with np.errstate(all="ignore"):
            limits = sums[:-1] / sums[-1]
        drawn = self.shares(rows)
        near = np.abs(limits - drawn).min(axis=0) <= (len(parts) + 16) * 2.0**-50
        return (limits <= drawn).sum(axis=0), near

    def value(self, rows: Rows, choice: Choice) -> Column:
        """By the law of a choice."""
        if choice.law is None:
            raise Unsupported(f"`{choice.name}` has no sampling law")
        match choice.kind, choice.law.name, choice.law.parameters:
            case Bool(), "uniform", _:
                return np.asarray(self.below(rows, 2) == 1)
            case Int(), "integer", (low, high):
                return int(low) + self.below(rows, int(high) - int(low) + 1)
            case Real(), "uniform", (low, high):
                return round_line(Fraction(low), Fraction(high) - Fraction(low), self.shares(rows))
            case Real(), "normal", (mean, deviation):
                shares = (2 * (self.take(rows) >> np.uint64(11)) + np.uint64(1)) / 2.0**54
                capped = np.minimum(shares, 1 - 2.0**-53)
                standard = np.array([_STANDARD.inv_cdf(share) for share in capped.tolist()])
                return round_line(Fraction(mean), Fraction(deviation), standard)
            case _:
                raise Unsupported(f"the law {choice.law} does not fit the choice `{choice.name}`")


def round_line(start: Fraction, factor: Fraction, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """`start + factor * x` for each x, rounded once to the nearest double.

    Computed with twice the digits; where that leaves a doubt about the last place, in fractions.
    """
    first, slope = float(start), float(factor)
    if not factor:
        return np.full(len(column), first)
    with np.errstate(all="ignore"):
        product, product_rest = _multiply_exactly(slope, column)
        total, total_rest = _add_exactly(np.float64(first), product)
        small = product_rest + (float(factor - Fraction(slope)) * column + float(start - Fraction(first)))
        found, left = _add_exactly(total, total_rest + small)
        gap = np.abs(np.nextafter(found, np.where(left < 0, -np.inf, np.inf)) - found) / 2
        doubt = np.abs(np.abs(left) - gap) <= _ERROR * (abs(first) + np.abs(product))
        doubt |= ~((np.abs(found) > _TINY) & (np.abs(found) < _HUGE) & (np.abs(product) < _HUGE))
        doubt |= (np.abs(product) < _TINY) & (column != 0)
    for row in np.flatnonzero(doubt):
        try:
            found[row] = float(start + factor * Fraction(float(column[row])))
        except OverflowError:
            found[row] = np.nan
    return found


def _add_exactly(
    left: NDArray[np.float64] | np.float64, right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A sum and what rounding took from it (Knuth)."""
    total = left + right
    virtual = total - left
    return np.asarray(total), np.asarray((left - (total - virtual)) + (right - virtual))


def _multiply_exactly(
    left: float, right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A product and what rounding took from it (Dekker)."""
    product = left * right
    scaled = _SPLITTER * left
    high = scaled - (scaled - left)
    low = left - high
    parts = _SPLITTER * right
    top = parts - (parts - right)
    bottom = right - top
    return product, ((high * top - product) + high * bottom + low * top) + low * bottom
