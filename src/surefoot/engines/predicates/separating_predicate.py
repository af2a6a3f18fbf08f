"""New predicates: a condition that tells states which matter from states that only seem to.

A spurious abstract path ends in a dead end: the states that can really be reached along it cannot go on, and
those of the same abstract state that could go on are not reached. A predicate that separates the two removes
the path. Candidates are the comparisons in guards, in the property and in weakest preconditions, and bounds
of single variables; of these the one is taken that separates most (the largest difference of the shares).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.enumerative.columns import Column, ColumnEvaluator, RationalColumn
from surefoot.errors import Unsupported
from surefoot.reductions.expand import expand_scalar
from surefoot.term.interval import Scalar
from surefoot.term.term import Apply, Op, Term, Var, free_names
from surefoot.term.value_types import Bool

Rows = NDArray[np.int64]  # one row of scalars per state
PREFERENCE = 0.02  # a comparison of the model wins over a bound that separates only so much better


def best_separating_predicate(
    dynamics: Dynamics, first: Rows, second: Rows, terms: Sequence[Term]
) -> Term | None:
    """The best predicate between two sets of states; None if nothing tells any of them apart.

    `terms`: whose comparisons are candidates.
    """
    found = [(_candidate_share(dynamics, first, second, c), c) for c in state_comparisons(dynamics, terms)]
    share, best = max(found, key=lambda f: f[0], default=(0.0, None))
    bound_share, bound = _best_bound(dynamics, first, second)
    return bound if share == 0.0 or bound_share > share + PREFERENCE else best


def _candidate_share(dynamics: Dynamics, first: Rows, second: Rows, candidate: Term) -> float:
    """The difference between the shares of the two sets that satisfy the candidate."""
    try:
        shares = [_columns_from_rows(dynamics, rows).condition(candidate).mean() for rows in (first, second)]
    except Unsupported:
        return 0.0
    return abs(float(shares[0] - shares[1]))


def _best_bound(dynamics: Dynamics, first: Rows, second: Rows) -> tuple[float, Term | None]:
    """`variable <= value` with the largest difference between the two distributions, and that difference."""
    best: tuple[float, Term | None] = (-1.0, None)
    for place, (name, kind) in enumerate(dynamics.layout.kinds.items()):
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
        if share > best[0]:
            above = np.concatenate([here[here > value], there[there > value]]).min()
            best = (share, scalar_bound(name, kind, (value + int(above)) // 2))
    return best


def scalar_bound(name: str, kind: Scalar, value: Fraction | int) -> Term:
    """The scalar is at most this value; a truth value is its own predicate."""
    return Var(name) if isinstance(kind, Bool) else Var(name) <= value


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


def state_comparisons(dynamics: Dynamics, terms: Iterable[Term]) -> list[Term]:
    """Their comparisons that speak of the state alone, each once; a name of a number is no condition."""
    kinds = dynamics.layout.kinds
    parts = (part for term in terms for part in enumerate_comparisons(term))
    varying = (p for p in parts if free_names(p) and free_names(p) <= kinds.keys())
    return list(
        dict.fromkeys(p for p in varying if not isinstance(p, Var) or isinstance(kinds[p.name], Bool))
    )
