"""What is asked about all starts together: one number, or which of them.

Of every start an interval is known that contains its value. Sums, least and greatest values are intervals as
well; of the starts with the best value those are listed that may have it, and a number of starts lies between
those that surely meet a threshold and those that may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from surefoot.problem.property import Threshold
from surefoot.verdict.threshold import keeps_threshold

End = Fraction | None  # None: infinite
Bounds = Sequence[tuple[End, End]]
TABLES = ("values", "argmin", "argmax")  # filters that are answered start by start


def fold_start_bounds(which: str, bounds: Bounds) -> tuple[End, End]:
    """A filter that makes one number of them."""
    fold: dict[str, Callable[[list[End]], End]] = {
        "min": _least_end,
        "max": _greatest_end,
        "sum": _sum_ends,
        "avg": _average_ends,
        "values": _sum_ends,  # of one
    }
    return fold[which]([b[0] for b in bounds]), fold[which]([b[1] for b in bounds])


def select_starts(which: str, bounds: Bounds) -> list[int]:
    """The positions of the starts that a filter of `TABLES` keeps."""
    if which == "values":
        return list(range(len(bounds)))
    if which == "argmax":
        best = _greatest_end([low for low, _ in bounds])
        return [i for i, (_, high) in enumerate(bounds) if _at_most(best, high)]
    best = _least_end([high for _, high in bounds])
    return [i for i, (low, _) in enumerate(bounds) if _at_most(low, best)]


def count_starts(threshold: Threshold, bounds: Bounds) -> tuple[Fraction, Fraction]:
    """How many starts meet a threshold: surely, and perhaps."""
    met = [[keeps_threshold(threshold, end) for end in both] for both in bounds]
    return Fraction(sum(map(all, met))), Fraction(sum(map(any, met)))


def _at_most(left: End, right: End) -> bool:
    return right is None or (left is not None and left <= right)


def _least_end(ends: list[End]) -> End:
    return min((e for e in ends if e is not None), default=None)


def _greatest_end(ends: list[End]) -> End:
    return None if None in ends else max(e for e in ends if e is not None)


def _sum_ends(ends: list[End]) -> End:
    return None if None in ends else sum((e for e in ends if e is not None), Fraction(0))


def _average_ends(ends: list[End]) -> End:
    total = _sum_ends(ends)
    return None if total is None else total / len(ends)
