"""Values of terms over few scalars: computed once for all combinations of their values, then looked up.

What a guard, an update or a part of them says depends on one to three scalars as a rule. The same columns are
asked for in every wave of states; so a term is evaluated once over the few combinations that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from surefoot.engines.predicates.enumerative.columns import (
    Column,
    ColumnEvaluator,
    NarrowedColumns,
    RationalColumn,
    Rows,
    require_boolean,
    select_rows,
)
from surefoot.errors import Unsupported
from surefoot.term.term import Apply, Term, free_names
from surefoot.term.value_types import Bool

MOST = 4096  # combinations of values


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """A term in all combinations of values of these scalars, the last scalar running fastest."""

    term: Term  # kept, for it is known by its identity
    scalars: tuple[str, ...]
    values: Column


class Lookups:
    """Terms over scalars with these ranges."""

    def __init__(self, kinds: Mapping[str, object], ranges: Mapping[str, range]) -> None:
        self.kinds, self.ranges = kinds, ranges
        self.found: dict[int, Lookup | None] = {}
        self.kept: list[Term] = []  # an identity is that of a term which still exists

    def of(self, term: Term) -> Lookup | None:
        """None: the term is about too many scalars, or about something else as well."""
        if id(term) not in self.found:
            self.kept.append(term)
            self.found[id(term)] = self._tabulate_term(term)
        return self.found[id(term)]

    def _tabulate_term(self, term: Term) -> Lookup | None:
        mentioned = free_names(term)
        names = tuple(n for n in self.ranges if n in mentioned)
        spans = [self.ranges[n] for n in names]
        count = prod(map(len, spans))
        if not names or len(names) < len(mentioned) or count > MOST:
            return None
        places = np.unravel_index(np.arange(count), tuple(map(len, spans)))
        given = {
            n: scalar_column(self.kinds[n], place + span.start, span)
            for n, span, place in zip(names, spans, places, strict=True)
        }
        try:
            return Lookup(term, names, ColumnEvaluator(given, count).of(term))
        except Unsupported:  # perhaps only for values that do not occur together
            return None


class LookupEvaluator(ColumnEvaluator):
    """Columns of scalars, and perhaps of other quantities: terms over few scalars are looked up."""

    def __init__(self, given: Mapping[str, Column], size: int, lookups: Lookups) -> None:
        super().__init__(given, size)
        self.lookups = lookups
        self.places: dict[tuple[str, ...], Rows] = {}  # where combinations of values stand in lookups

    def narrow(self, rows: Rows) -> LookupEvaluator:
        some = LookupEvaluator(NarrowedColumns(self.given, rows), len(rows), self.lookups)
        some.wider = (self, rows)
        return some

    def of(self, term: Term) -> Column:
        found = self.lookups.of(term) if isinstance(term, Apply) else None
        return super().of(term) if found is None else select_rows(found.values, self._places(found.scalars))

    def _places(self, scalars: tuple[str, ...]) -> Rows:
        if scalars not in self.places:
            total = np.zeros(self.size, dtype=np.int64)
            for name in scalars:
                value, span = self.given[name], self.lookups.ranges[name]
                from_zero = (
                    value.values - span.start if isinstance(value, RationalColumn) else require_boolean(value)
                )
                total = total * len(span) + from_zero
            self.places[scalars] = total
        return self.places[scalars]


def scalar_column(kind: object, values: Rows, span: range) -> Column:
    """The values of a scalar; truth values are given as 0 and 1."""
    return values.astype(np.bool_) if isinstance(kind, Bool) else RationalColumn(values, span[0], span[-1])
