"""How often a boundary's answer k / n ± eps misses p: an upper bound for every p in [0, 1] at once.

The probability to stop at (n, k) is a number times p^k (1 - p)^(n - k). With p^ = k / n, its second
derivative in p is not negative where (n - 1) (p - p^)² >= p^ (1 - p^), and so it is convex on p <= p^ - eps
and on p >= p^ + eps if (n - 1) eps² >= p^ (1 - p^). This is checked for every place, in integers. Cut [0, 1]
at all p^ - eps and p^ + eps. Inside a cell the set of places that miss p does not change, so the probability
to miss is a sum of convex functions, and its greatest value is approached at an end of the cell. Two
evaluations per cell, one from either side, therefore prove the bound for the whole cell; there is no grid
with gaps. A rule that treats successes and failures alike needs the cells of [0, 1/2] only.

Rounding. All terms are positive and made by + * / of IEEE doubles: a term is W p^k q^(n - k) with W from
`lattice.py`, reached from its neighbour by one factor each for W, p and a power of q, and started by repeated
squaring. Counting: W 7 n, start 2 n, steps 3 n + 3 n / 2, p and q in place of the exact end of the cell and
of 1 - p 4 n, the sum n: less than 32 n factors of 1 + 2^-53, by which the result is enlarged. Numbers below
2^-990 are replaced by it. Places whose term is at most 2^-60 throughout a cell (it falls on either side of
p^, so one evaluation shows that) are not summed but counted, 2^-60 each.

Where the proof does not go through, the level of the rule is lowered until it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.solvers.sampling.boundary.lattice import StoppingPlaces, scaled_power, stopping_places
from surefoot.solvers.sampling.boundary.table import Boundary, Floats, Integers

_CELLS = 256  # ends of cells evaluated together
_FLOOR = 2.0**-990
_HUGE = 2.0**500  # a step by such a factor would lose what underflows: begin anew
_NEGLIGIBLE = 2.0**-60
_GAP = 32  # places that do not matter between two that do: more than these are left out
_TIE = 1e-9  # estimates nearer than this are compared exactly
_ATTEMPTS = 40  # levels of a rule


@dataclass(frozen=True, slots=True)
class MissBound:
    """P(|p^ - p| > eps) <= `bound` for every p; `at` ends the worst cell; or `why` there is no bound."""

    bound: float
    at: float = 0.0
    cells: int = 0
    why: str = ""


def bound_miss_probability(boundary: Boundary) -> MissBound:
    """Bound the probability of a wrong answer for all p."""
    if not boundary.is_ordered:
        return MissBound(1.0, why="its estimates are not in the order of its places")
    if not _is_convex(boundary):
        return MissBound(
            1.0, why="some place stops within a standard deviation: its term is not convex in a cell"
        )
    places = stopping_places(boundary)
    ends = _cell_ends(boundary, places)
    reach = _relevant_range(places)
    count = len(places.runs)
    worst, at = 0.0, 0.0
    for begin in range(0, len(ends.p), _CELLS):
        part = slice(begin, begin + _CELLS)
        p, q = ends.p[part], 1 - ends.p[part]
        low, lower = _relevant_terms(places, reach, p, q)
        high, upper = _relevant_terms(places, reach, q, p)  # the upper side is the lower one seen from 1 - p
        terms, index = np.concatenate([low, high]), np.concatenate([lower, 2 * count - 1 - upper])
        if 2 * (count - 1) == boundary.most:  # half of an even number of runs is on both sides: take it once
            terms, index = terms[index != count], index[index != count]
        for below, above in ((ends.below, ends.above), (ends.upto, ends.beyond)):
            missed = (index[:, None] < below[part]) | (index[:, None] >= above[part])
            sums = np.sum(terms, axis=0, where=missed)
            if not np.all(np.isfinite(sums)):
                return MissBound(1.0, why="a sum overflowed")
            if np.max(sums) > worst:
                worst, at = float(np.max(sums)), float(p[np.argmax(sums)])
    enlarged = worst * (1 + (32 * boundary.most + 1000) * 2.0**-52) + 4 * count * _NEGLIGIBLE
    return MissBound(enlarged if enlarged <= 1 else 1.0, at, len(ends.p))


@dataclass(frozen=True, slots=True)
class ProvedBoundary:
    """`miss` bounds the probability of a wrong answer for every p; `level` is what the rule was made with."""

    boundary: Boundary
    miss: float
    level: Fraction


def prove_boundary(
    make: Callable[[Fraction, Fraction], Boundary], eps: Fraction, delta: Fraction
) -> ProvedBoundary:
    """The boundary of a rule at level delta, or at the first lower one for which the proof goes through."""
    level = delta
    for _ in range(_ATTEMPTS):
        boundary = make(eps, level)
        found = bound_miss_probability(boundary)
        if not found.why and Fraction(found.bound) <= delta:
            return ProvedBoundary(boundary, found.bound, level)
        level *= Fraction(49, 50)
    raise Unsupported(
        f"no boundary for a precision of {float(eps):g} and a risk of {float(delta):g} could be proved"
    )


def _is_convex(boundary: Boundary) -> bool:
    """(n - 1) eps² >= p^ (1 - p^) at every place."""
    a, b = boundary.eps.numerator**2, boundary.eps.denominator**2
    return all((n - 1) * n * n * a >= j * (n - j) * b for j, n in enumerate(boundary.least))


@dataclass(frozen=True, slots=True, eq=False)
class _CellEnds:
    """Ends of cells in [0, 1/2], rounded, and which of the 2 J + 2 places in order miss p beside them.

    Just below the end the places before `below` and from `above` on, just above it those before `upto` and
    from `beyond` on.
    """

    p: Floats
    below: Integers
    upto: Integers
    above: Integers
    beyond: Integers


def _cell_ends(boundary: Boundary, places: StoppingPlaces) -> _CellEnds:
    count = len(places.runs)
    runs = np.concatenate([places.runs, places.runs[::-1]])
    wins = np.concatenate([np.arange(count), (places.runs - np.arange(count))[::-1]])
    share, eps = wins / runs, boundary.eps
    rank, next_rank = _estimate_ranks(wins, runs)
    far = _target_positions(share, wins, runs, share + 2 * float(eps), 2 * eps)
    near = _target_positions(share, wins, runs, share - 2 * float(eps), -2 * eps)
    ups = (_shift_estimates(wins, runs, eps), rank, next_rank, *far)
    downs = (_shift_estimates(wins, runs, -eps), *near, rank, next_rank)
    half = _around_half(share, wins, runs, eps)
    p, below, upto, above, beyond = (np.concatenate(column) for column in zip(ups, downs, half, strict=True))
    order = np.argsort(p, kind="stable")
    order = order[(p[order] > 0) & (p[order] <= 0.5)]
    return _CellEnds(p[order], below[order], upto[order], above[order], beyond[order])


def _shift_estimates(wins: Integers, runs: Integers, shift: Fraction) -> Floats:
    """Estimate + shift, correctly rounded as quotients of integers are."""
    a, b = shift.numerator, shift.denominator
    return np.array([(k * b + n * a) / (n * b) for k, n in zip(wins.tolist(), runs.tolist(), strict=True)])


def _estimate_ranks(wins: Integers, runs: Integers) -> tuple[Integers, Integers]:
    """For each place how many estimates are smaller than its own, and how many are not larger."""
    grows = [0] * len(wins)
    pairs = list(zip(wins.tolist(), runs.tolist(), strict=True))
    for i in range(1, len(pairs)):
        (j, m), (k, n) = pairs[i - 1], pairs[i]
        grows[i] = i if j * n < k * m else grows[i - 1]
    rank = np.array(grows)
    return rank, np.searchsorted(rank, rank, side="right")


def _target_positions(
    share: Floats, wins: Integers, runs: Integers, target: Floats, shift: Fraction
) -> tuple[Integers, Integers]:
    """How many estimates are below the target (own estimate + shift), and how many are not above it."""
    low = np.searchsorted(share, target - _TIE)
    high = np.searchsorted(share, target + _TIE)
    below, upto = low.copy(), high.copy()
    for i in np.nonzero(low < high)[0]:
        exact = Fraction(int(wins[i]), int(runs[i])) + shift
        close = [Fraction(int(wins[r]), int(runs[r])) for r in range(low[i], high[i])]
        below[i] = low[i] + sum(value < exact for value in close)
        upto[i] = low[i] + sum(value <= exact for value in close)
    return below, upto


def _around_half(
    share: Floats, wins: Integers, runs: Integers, eps: Fraction
) -> tuple[NDArray[np.generic], ...]:
    """1/2 as an end: the greatest p that matters."""
    exact = [Fraction(k, n) for k, n in zip(wins.tolist(), runs.tolist(), strict=True)]
    low, high = Fraction(1, 2) - eps, Fraction(1, 2) + eps
    counts = [sum(v < low for v in exact), sum(v <= low for v in exact)]
    counts += [sum(v < high for v in exact), sum(v <= high for v in exact)]
    return (np.array([0.5]), *(np.array([c]) for c in counts))


def _relevant_range(places: StoppingPlaces) -> tuple[Floats, Floats]:
    """Between which p the term of a place on the lower side may exceed the negligible."""
    j = np.arange(len(places.runs))
    share = j / places.runs
    spread = 45.0 / places.runs  # n (p - p^)² / (2 p (1 - p)) = 45 is far enough, up to checking
    high = np.minimum(share + spread + np.sqrt(spread**2 + 2 * spread * share * (1 - share)), 1.0)
    low = np.maximum(share - np.sqrt(2 * spread * share * (1 - share)), 0.0)
    rows = np.arange(len(j))
    with np.errstate(invalid="ignore"):
        high = np.where(_single_terms(places, rows, high, 1 - high) <= _NEGLIGIBLE / 2, high, 1.0)
        low = np.where(_single_terms(places, rows, low, 1 - low) <= _NEGLIGIBLE / 2, low, 0.0)
    return low, high


def _single_terms(places: StoppingPlaces, j: Integers, p: Floats, q: Floats) -> Floats:
    """Terms of single places, by repeated squaring."""
    first, scale = scaled_power(p, j)
    second, shift = scaled_power(q, places.runs[j] - j)
    exponent = places.exponent[j] + scale + shift
    mantissa = places.mantissa[j] * first * second
    return np.asarray(np.maximum(np.ldexp(mantissa, np.maximum(exponent, -990)), _FLOOR), dtype=float)


def _relevant_terms(
    places: StoppingPlaces, reach: tuple[Floats, Floats], p: Floats, q: Floats
) -> tuple[Floats, Integers]:
    """Terms (rows: places, columns: p) of the places on the lower side that may matter, and their numbers."""
    matters = np.nonzero((reach[1] >= p.min()) & (reach[0] <= p.max()))[0]
    if not len(matters):
        return np.empty((0, len(p))), matters
    parts = np.split(matters, np.nonzero(np.diff(matters) > _GAP)[0] + 1)
    chains = [_chain_terms(places, int(part[0]), int(part[-1]), p, q) for part in parts]
    return np.concatenate(chains), np.concatenate([np.arange(part[0], part[-1] + 1) for part in parts])


def _chain_terms(places: StoppingPlaces, first: int, last: int, p: Floats, q: Floats) -> Floats:
    """Terms of consecutive places, each from the one before."""
    rows = np.empty((last - first + 1, len(p)))
    rows[0] = _single_terms(places, np.full(len(p), first), p, q)
    with np.errstate(over="ignore"):
        ratio = np.ldexp(
            places.mantissa[first + 1 : last + 1] / places.mantissa[first:last],
            places.exponent[first + 1 : last + 1] - places.exponent[first:last],
        )
    failures = np.diff(places.runs[first : last + 1]) - 1  # -1: the same number of runs
    powers = {-1: 1 / q, 0: np.ones(len(q))}
    for row, (factor, more) in enumerate(zip(ratio.tolist(), failures.tolist(), strict=True), start=1):
        if more not in powers:
            mantissa, exponent = scaled_power(q, np.array([more]))
            powers[more] = np.ldexp(mantissa, exponent)
        if factor > _HUGE or powers[more].min() < 1 / _HUGE:
            rows[row] = _single_terms(places, np.full(len(p), first + row), p, q)
            continue
        np.multiply(rows[row - 1], factor * p, out=rows[row])
        rows[row] *= powers[more]
        if rows[row - 1].min() <= _FLOOR:  # not the neighbour's term but more: begin anew
            lost = rows[row - 1] <= _FLOOR
            rows[row, lost] = _single_terms(places, np.full(int(lost.sum()), first + row), p[lost], q[lost])
        np.maximum(rows[row], _FLOOR, out=rows[row])
    return rows
