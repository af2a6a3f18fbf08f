"""Exact numbers that occur again and again, each stored once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


class NumberTable:
    """A growing table of distinct numbers; `index` finds or adds one."""

    def __init__(self, known: Iterable[Fraction] = ()) -> None:
        self._index: dict[Fraction | int | float, int] = {}
        self._values: list[Fraction] = []
        for value in known:
            self.index(value)

    def index(self, value: Fraction | int | float) -> int:
        """Equal numbers are equal keys, whatever their type."""
        found = self._index.get(value)
        if found is None:
            found = self._index[value] = len(self._values)
            self._values.append(Fraction(value))
        return found

    def value(self, index: int) -> Fraction:
        return self._values[index]

    def values(self) -> tuple[Fraction, ...]:
        return tuple(self._values)
