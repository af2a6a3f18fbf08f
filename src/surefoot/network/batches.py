"""Records of arrays with one row for each member of a batch: some of its members, several batches as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np


class BatchRecord:
    """A dataclass of arrays, records, tuples, lists and tables of arrays; other parts are of no member."""

    __slots__ = ()

    def pick(self, index: Any) -> Self:
        """The same of some members: a mask, positions or a slice."""
        kind: Any = type(self)
        found: Self = kind(**{n: _pick_part(getattr(self, n), index) for n in _field_names(kind)})
        return found

    def keep(self, index: Any) -> None:
        """The same in place, part by part, so that memory is free for the next one: if nothing is frozen."""
        kind: Any = type(self)
        for name in _field_names(kind):
            part = getattr(self, name)
            if isinstance(part, BatchRecord):
                part.keep(index)
            else:
                setattr(self, name, _pick_part(part, index))


@lru_cache(maxsize=64)
def _field_names(record: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record))


def _pick_part(part: Any, index: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part[index]
    if isinstance(part, BatchRecord):
        return part.pick(index)
    if isinstance(part, dict):
        return {key: _pick_part(value, index) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return type(part)([_pick_part(value, index) for value in part])
    return part


B = TypeVar("B", bound=BatchRecord)


def join_batches(several: Sequence[B]) -> B:
    """Several batches as one; of tables what all of them have."""
    found: B = _join_parts(several)
    return found


def _join_parts(several: Sequence[Any]) -> Any:
    first = several[0]
    if len(several) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(several)
    if isinstance(first, BatchRecord):
        kind: Any = type(first)
        return kind(**{n: _join_parts([getattr(part, n) for part in several]) for n in _field_names(kind)})
    if isinstance(first, dict):
        common = [key for key in first if all(key in part for part in several)]
        return {key: _join_parts([part[key] for part in several]) for key in common}
    if isinstance(first, list | tuple):
        return type(first)([_join_parts(parts) for parts in zip(*several, strict=True)])
    return first


class _SizedBatch(Protocol):
    def __len__(self) -> int: ...

    def pick(self, index: Any) -> Self: ...


S = TypeVar("S", bound=_SizedBatch)


class BatchStack(Generic[S]):
    """Open members of a search, the last pushed first."""

    def __init__(self, *batches: S) -> None:
        self._parts: list[S] = []
        self._count = 0
        for batch in batches:
            self.push(batch)

    def __len__(self) -> int:
        return self._count

    def push(self, batch: S) -> None:
        if len(batch):
            self._parts.append(batch)
            self._count += len(batch)

    def pop(self, most: int) -> S:
        """Up to that many members; there must be one."""
        taken: list[S] = []
        while self._parts and most > 0:
            last = self._parts.pop()
            if len(last) > most:
                self._parts.append(last.pick(slice(0, len(last) - most)))
                last = last.pick(slice(len(last) - most, len(last)))
            taken.append(last)
            most -= len(last)
            self._count -= len(last)
        found: S = _join_parts(taken[::-1])
        return found
