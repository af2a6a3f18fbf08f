"""States in which some outcomes of chance are still open.

A **source** is an outcome that was drawn and that nobody has looked at: it says what several variables are
worth together, with a probability for each way. Sources are independent of each other and of everything else
in the state. The form is canonical: two states are equal exactly where they are the same distribution in the
same shape (docs/certificates.md, section 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

from surefoot.term.closures import Row

Column: TypeAlias = tuple[Any, ...]  # what the variables of a source are worth, in the order of their slots
Source: TypeAlias = tuple[tuple[int, ...], tuple[tuple[Column, Fraction], ...]]  # slots; columns, sorted


@dataclass(frozen=True, slots=True)
class Table:
    """What a variable is worth for each column of a source."""

    source: int
    values: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class ReducedState:
    """`row` has the default of a variable whose value is open; `sources` are sorted by their slots."""

    row: Row
    sources: tuple[Source, ...]
    open: dict[int, int] = field(init=False)  # slot -> number of its source

    def __post_init__(self) -> None:
        self.open = {slot: k for k, (slots, _) in enumerate(self.sources) for slot in slots}

    @property
    def key(self) -> tuple[Row, tuple[Source, ...]]:
        return self.row, self.sources

    def sources_of(self, slots: Iterable[int]) -> list[int]:
        return sorted({self.open[slot] for slot in slots if slot in self.open})

    def ways(self, sources: Sequence[int]) -> int:
        return prod(len(self.sources[k][1]) for k in sources)

    def table(self, slot: int) -> Table:
        k = self.open[slot]
        slots, columns = self.sources[k]
        place = slots.index(slot)
        return Table(k, tuple(column[place] for column, _ in columns))

    def with_columns(self, picks: Mapping[int, int]) -> Row:
        """The row with these columns of some sources."""
        row = list(self.row)
        for k, pick in picks.items():
            slots, columns = self.sources[k]
            for slot, value in zip(slots, columns[pick][0], strict=True):
                row[slot] = value
        return tuple(row)

    def resolve_source(self, k: int) -> list[tuple[Fraction, ReducedState]]:
        """One state for each column of a source."""
        rest = self.sources[:k] + self.sources[k + 1 :]
        return [
            (probability, ReducedState(self.with_columns({k: pick}), rest))
            for pick, (_, probability) in enumerate(self.sources[k][1])
        ]


def canonical_state(
    row: Sequence[Any],
    tables: Mapping[int, Table],
    probabilities: Mapping[int, Sequence[Fraction]],
    default: Row,
) -> ReducedState:
    """The state with these tables over sources of these probabilities.

    Equal columns become one, what is the same in all columns is a value, and a source of which nothing is
    left is forgotten.
    """
    of_source: dict[int, list[int]] = {}
    for slot in sorted(tables):
        of_source.setdefault(tables[slot].source, []).append(slot)
    whole, sources = list(row), []
    for k, slots in of_source.items():
        varying = []
        for slot in slots:
            values = tables[slot].values
            if all(value == values[0] for value in values):
                whole[slot] = values[0]
            else:
                whole[slot] = default[slot]
                varying.append(slot)
        if not varying:
            continue
        columns: dict[Column, Fraction] = {}
        each = zip(*(tables[slot].values for slot in varying), strict=True)
        for column, probability in zip(each, probabilities[k], strict=True):
            columns[column] = columns.get(column, Fraction(0)) + probability
        sources.append((tuple(varying), tuple(sorted(columns.items()))))
    return ReducedState(tuple(whole), tuple(sorted(sources)))
