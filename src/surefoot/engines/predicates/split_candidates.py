"""Candidates for one more predicate, to see what it would make of an abstraction.

The comparisons of the property and of guards, what a step needs so that one of these holds behind it, and
bounds that halve the range of a variable again and again (the predicate sets of Vinzent and Hoffmann 2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import floor
from typing import TypeAlias

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.separating_predicate import (
    scalar_bound,
    state_comparisons,
    weakest_precondition,
)
from surefoot.term.interval import Scalar
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.term.value_types import Bool, Int, Real

Candidate: TypeAlias = tuple[str, Term]  # where it comes from, and the condition over scalars
HALVINGS = 8
LONGEST = 120  # characters of a predicate that somebody reads


def enumerate_split_candidates(dynamics: Dynamics) -> Iterator[Candidate]:
    """One of each origin in turn."""
    bad = state_comparisons(dynamics, dynamics.bad_conditions)
    needed = (weakest_precondition(c, s.after) for c in bad for s in dynamics.steps)
    lists: list[Iterable[Candidate]] = [
        _tag_origin("property", bad),
        _tag_origin("guard", state_comparisons(dynamics, (s.guard for s in dynamics.steps))),
        _tag_origin("half", enumerate_halves(dynamics)),
        _tag_origin("step", state_comparisons(dynamics, needed)),
    ]
    for several in zip_longest(*lists):
        yield from (one for one in several if one is not None)


def _tag_origin(origin: str, terms: Iterable[Term]) -> Iterator[Candidate]:
    return ((origin, term) for term in terms if len(show_term(term)) <= LONGEST)


def enumerate_halves(dynamics: Dynamics) -> Iterator[Term]:
    """All variables at their middle, then at their quarters, and so on."""
    seen: set[Term] = set()
    for level in range(1, HALVINGS + 1):
        for name, kind in dynamics.layout.kinds.items():
            if name.startswith("@") or (isinstance(kind, Bool) and level > 1):
                continue
            for part in range(1, 2**level, 2):
                bound = lower_part_bound(name, kind, *_kind_ends(kind), Fraction(part, 2**level))
                if bound is not None and bound not in seen:
                    seen.add(bound)
                    yield bound


def _kind_ends(kind: Scalar) -> tuple[Fraction | int | None, Fraction | int | None]:
    return (kind.low, kind.high) if isinstance(kind, Int | Real) else (0, 1)


def lower_part_bound(
    name: str, kind: Scalar, low: Fraction | int | None, high: Fraction | int | None, share: Fraction
) -> Term | None:
    """`name` is in the lower part of this range; None if the range is one value, or has no ends."""
    if low is None or high is None or not low < high:
        return None
    where = low + (high - low) * share
    return scalar_bound(name, kind, min(floor(where), floor(high) - 1) if isinstance(kind, Int) else where)


def halve_widest_range(
    dynamics: Dynamics, ranges: Sequence[tuple[Fraction | int | None, Fraction | int | None]]
) -> Term | None:
    """The bound that halves these ranges of the scalars where they are the largest share of all values."""
    best: tuple[float, Term] | None = None
    for (name, kind), (low, high) in zip(dynamics.layout.kinds.items(), ranges, strict=True):
        bound = None if name.startswith("@") else lower_part_bound(name, kind, low, high, Fraction(1, 2))
        first, last = _kind_ends(kind)
        if bound is None or low is None or high is None or first is None or last is None:
            continue
        share = float((high - low) / Fraction(last - first))
        if best is None or share > best[0]:
            best = (share, bound)
    return None if best is None else best[1]
