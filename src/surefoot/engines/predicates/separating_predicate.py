"""New predicates: a condition that tells states which matter from states that only seem to.

A spurious abstract path ends in a dead end: the states that can really be reached along it cannot go on, and
those of the same abstract state that could go on are not reached. A predicate that separates the two removes
the path. Candidates are the comparisons in guards, in the property and in weakest preconditions, and bounds
of single variables; of these the one is taken that separates most (the largest difference of the shares).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import Dynamics, scalar_terms
from surefoot.engines.predicates.enumerative.columns import Column, ColumnEvaluator, RationalColumn
from surefoot.errors import Unsupported
from surefoot.reductions.expand import expand_scalar
from surefoot.term.term import Apply, Op, Term, Var, free_names
from surefoot.term.value_types import Bool

Rows = NDArray[np.int64]  # one row of scalars per state
PREFERENCE = 0.02  # a comparison of the model wins over a bound that separates only so much better


@dataclass(frozen=True, slots=True)
class SeparatingPredicate:
    """A predicate, over the names of the model and over scalars, and how much it separates."""

    shown: Term
    condition: Term
    share: float


def best_separating_predicate(
    dynamics: Dynamics, first: Rows, second: Rows, candidates: Sequence[Term]
) -> SeparatingPredicate | None:
    """The best predicate between two sets of states; None if no candidate tells any of them apart."""
    found = [s for c in candidates if (s := _of_candidate(dynamics, first, second, c)) is not None]
    best = max(found, key=lambda s: s.share, default=None)
    bound = _best_bound(dynamics, first, second)
    if best is None or (bound is not None and bound.share > best.share + PREFERENCE):
        return bound
    return best


def _of_candidate(
    dynamics: Dynamics, first: Rows, second: Rows, candidate: Term
) -> SeparatingPredicate | None:
    try:
        shares = [_columns_from_rows(dynamics, rows).condition(candidate).mean() for rows in (first, second)]
    except Unsupported:
        return None
    share = abs(float(shares[0] - shares[1]))
    if share == 0.0:
        return None
    return SeparatingPredicate(expand_scalar(candidate, scalar_terms(dynamics.layout)), candidate, share)


def _best_bound(dynamics: Dynamics, first: Rows, second: Rows) -> SeparatingPredicate | None:
    """`variable <= value` with the largest difference between the two distributions."""
    best: tuple[float, str, int] | None = None
    for place, name in enumerate(dynamics.scalars):
        here, there = np.sort(first[:, place]), np.sort(second[:, place])
        values = np.unique(np.concatenate([here, there]))[:-1]
        if not values.size:
            continue
        shares = np.abs(
            np.searchsorted(here, values, "right") / len(here)
            - np.searchsorted(there, values, "right") / len(there)
        )
        place_of_best = int(shares.argmax())
        share, value = float(shares[place_of_best]), int(values[place_of_best])
        if best is None or share > best[0]:
            above = np.concatenate([here[here > value], there[there > value]]).min()
            best = (share, name, (value + int(above)) // 2)
    if best is None:
        return None
    share, name, value = best
    kind, term = dynamics.layout.kinds[name], scalar_terms(dynamics.layout)[name]
    if isinstance(kind, Bool):
        return SeparatingPredicate(term, Var(name), share)
    return SeparatingPredicate(term <= value, Var(name) <= value, share)


def _columns_from_rows(dynamics: Dynamics, rows: Rows) -> ColumnEvaluator:
    given: dict[str, Column] = {}
    for (name, kind), column in zip(dynamics.layout.kinds.items(), rows.T, strict=True):
        boolean = isinstance(kind, Bool)
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        given[name] = column.astype(np.bool_) if boolean else RationalColumn(column, low, high)
    return ColumnEvaluator(given, len(rows))


def enumerate_comparisons(term: Term) -> Iterator[Term]:
    """The comparisons and truth values of which a condition is made."""
    match term:
        case Apply(Op.AND | Op.OR | Op.NOT | Op.IMPLIES, args):
            for part in args:
                yield from enumerate_comparisons(part)
        case Apply(Op.ITE, (test, *_)):
            yield from enumerate_comparisons(test)
        case Apply(Op.LT | Op.LE | Op.EQ, _) | Var():
            yield term


def weakest_precondition(condition: Term, after: Mapping[str, Term]) -> Term:
    """The weakest precondition: what must hold before an update so that the condition holds after it."""
    return expand_scalar(condition, after)


def filter_state_conditions(dynamics: Dynamics, terms: Sequence[Term]) -> list[Term]:
    """Those that speak of the state alone, each once; a name of a number is no condition."""
    kinds = dynamics.layout.kinds
    varying = (t for t in terms if free_names(t) and free_names(t) <= kinds.keys())
    return list(
        dict.fromkeys(t for t in varying if not isinstance(t, Var) or isinstance(kinds[t.name], Bool))
    )
