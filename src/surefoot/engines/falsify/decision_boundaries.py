"""Starts between two others from which a policy decides differently, halved until they are neighbours.

Two runs with the same numbers make the same decisions up to some step. A run from the middle decides there as
one of them, and takes its place, or decides otherwise again: then the boundary to that decision is next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.evolution import join_starts, pick_starts, split_exact_columns
from surefoot.problem.environment import Environment
from surefoot.simulate.starts import StartSamples
from surefoot.simulate.starts.check_starts import check_rows, compile_start_condition
from surefoot.term.columns import Truths
from surefoot.term.reserved_names import location_key
from surefoot.term.value_types import Arithmetic

Decisions = NDArray[np.int64]  # by step and run; -1: none


@dataclass(frozen=True, slots=True)
class BoundaryPairs:
    """Starts on two sides, in pairs, and what is decided on the first side and on the second."""

    first: StartSamples
    second: StartSamples
    here: Decisions
    there: Decisions

    def open(self) -> Truths:
        """The pairs that decide differently somewhere, and are not next to each other."""
        apart = [
            (c != self.second.columns[n]).reshape(len(c), -1).any(axis=1)
            for n, c in self.first.columns.items()
        ]
        return np.asarray((self.here != self.there).any(axis=0) & np.logical_or.reduce(apart))

    def keep(self, rows: Truths) -> BoundaryPairs:
        some = np.flatnonzero(rows)
        return BoundaryPairs(
            pick_starts(self.first, some),
            pick_starts(self.second, some),
            self.here[:, some],
            self.there[:, some],
        )

    def narrow(self, middle: StartSamples, made: Decisions) -> BoundaryPairs:
        """With the middles in the place of those that decide alike, up to the first difference."""
        place = (self.here != self.there).argmax(axis=0)
        before = np.arange(len(self.here))[:, None] <= place
        alike = ((made == self.here) | ~before).all(axis=0)
        count = np.arange(len(alike))
        first = pick_starts(join_starts(middle, self.first), np.where(alike, count, len(alike) + count))
        second = pick_starts(join_starts(middle, self.second), np.where(alike, len(alike) + count, count))
        return replace(
            self,
            first=first,
            second=second,
            here=np.where(alike, made, self.here),
            there=np.where(alike, self.there, made),
        )


def middle_starts(environment: Environment, first: StartSamples, second: StartSamples) -> StartSamples:
    """Half way between two starts; the second one itself where that is no start, or not between them."""
    keys = {location_key(c.name) for c in environment.components}
    columns = {}
    for name, column in first.columns.items():
        moves = name not in keys and column.dtype.kind == "f"
        columns[name] = (column + second.columns[name]) / 2 if moves else second.columns[name]
    exact = split_exact_columns(second, columns)
    fine = check_rows(environment, compile_start_condition(environment), columns, exact, len(first))
    made = StartSamples(columns, "spread", first.how, 0, exact)
    count = np.arange(len(first))
    return pick_starts(join_starts(made, second), np.where(fine, count, len(first) + count))


def can_be_halved(environment: Environment) -> bool:
    """In exact arithmetic a start that was halved often has long fractions, and so has all that follows."""
    return environment.arithmetic is Arithmetic.FLOAT64
