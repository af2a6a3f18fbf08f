"""A state as 64-bit words: each whole number takes the bits that its bounds need, and no number is split.

In machine code a state is unpacked into one i64 per number: variables (arrays element by element), locations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.row_layout import RowLayout
from surefoot.problem.semantics import State
from surefoot.term.closures import Row
from surefoot.term.value_types import Array, Bool, Int, ValueType

LARGEST = 2**62  # bounds beyond it are left to exact integers
_FEW = 16  # states are unpacked one by one sooner than by so many columns or more


class CompileObjection(Exception):
    """Why this problem is not compiled, in a sentence."""


@dataclass(frozen=True, slots=True)
class PackedSlot:
    """One number of an unpacked state, and where it is in the packed one."""

    low: int
    high: int
    word: int
    shift: int

    @property
    def bits(self) -> int:
        return (self.high - self.low).bit_length()


@dataclass(frozen=True, slots=True)
class Packing:
    layout: RowLayout
    slots: tuple[PackedSlot, ...]
    first: tuple[int, ...]  # per entry of a row, its first slot
    words: int


def packing_of(layout: RowLayout) -> Packing:
    slots: list[PackedSlot] = []
    first: list[int] = []
    word = shift = 0
    for name in layout.names:
        first.append(len(slots))
        for low, high in _number_bounds(name, layout.kinds[name]):
            bits = (high - low).bit_length()
            if shift + bits > 64:
                word, shift = word + 1, 0
            slots.append(PackedSlot(low, high, word, shift))
            shift += bits
    return Packing(layout, tuple(slots), tuple(first), word + 1)


def _number_bounds(name: str, kind: ValueType) -> list[tuple[int, int]]:
    match kind:
        case Bool():
            return [(0, 1)]
        case Int(int() as low, int() as high):
            if low > high or low < -LARGEST or high > LARGEST:
                raise CompileObjection(f"the bounds of `{name}` do not fit into 64 bits")
            return [(low, high)]
        case Array(element, length):
            return _number_bounds(name, element) * length
        case _:
            raise CompileObjection(f"`{name}` is not a bounded integer")


def kind_size(kind: ValueType) -> int:
    """How many numbers a value of this kind has."""
    return kind.length * kind_size(kind.element) if isinstance(kind, Array) else 1


def pack_rows(packing: Packing, rows: Sequence[Row]) -> NDArray[np.uint64]:
    packed = np.zeros((len(rows), packing.words), dtype=np.uint64)
    for i, row in enumerate(rows):
        words = [0] * packing.words
        for slot, number in zip(packing.slots, _flatten_value(row), strict=True):
            words[slot.word] |= (int(number) - slot.low) << slot.shift
        packed[i] = words
    return packed


def _flatten_value(value: Any) -> list[Any]:
    return (
        [number for part in value for number in _flatten_value(part)] if isinstance(value, tuple) else [value]
    )


@dataclass(frozen=True, slots=True, eq=False)
class PackedStates:
    packing: Packing
    words: NDArray[np.uint64]  # [states, words]

    @property
    def names(self) -> tuple[str, ...]:
        return self.packing.layout.names

    def __len__(self) -> int:
        return len(self.words)

    def row(self, number: int) -> Row:
        words = [int(w) for w in self.words[number]]
        numbers = [((words[s.word] >> s.shift) & ((1 << s.bits) - 1)) + s.low for s in self.packing.slots]
        layout = self.packing.layout
        return tuple(
            _rebuild_value(layout.kinds[name], numbers, first)
            for name, first in zip(layout.names, self.packing.first, strict=True)
        )

    def rows(self, wanted: frozenset[str] | None = None) -> list[Row]:
        """`wanted`: nobody looks at other variables, and None stands for their values."""
        if len(self) <= _FEW and (wanted is None or len(wanted) > _FEW):
            return [self.row(number) for number in range(len(self))]
        nothing = [None] * len(self)
        columns = [
            self.column(name).tolist() if wanted is None or name in wanted else nothing for name in self.names
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * len(self)

    def valuation(self, number: int) -> State:
        return self.packing.layout.state(self.row(number))

    def numbers(self, slot: PackedSlot) -> NDArray[np.int64]:
        """One slot of all states."""
        if slot.bits == 0:
            return np.full(len(self.words), slot.low, dtype=np.int64)
        shifted = self.words[:, slot.word] >> np.uint64(slot.shift)
        if slot.bits < 64:
            shifted = shifted & np.uint64((1 << slot.bits) - 1)
        return shifted.astype(np.int64) + slot.low

    def column(self, name: str) -> NDArray[Any]:
        layout = self.packing.layout
        entry, kind = layout.slots[name], layout.kinds[name]
        first = self.packing.first[entry]
        if isinstance(kind, Array):
            parts = np.stack([self.numbers(s) for s in self.packing.slots[first : first + kind_size(kind)]])
            column = np.empty(len(self.words), dtype=object)
            column[:] = [_rebuild_value(kind, numbers, 0) for numbers in parts.T.tolist()]
            return column
        numbers = self.numbers(self.packing.slots[first])
        return numbers.astype(np.bool_) if isinstance(kind, Bool) else numbers


def _rebuild_value(kind: ValueType, numbers: Sequence[int], first: int) -> Any:
    match kind:
        case Array(element, length):
            return tuple(
                _rebuild_value(element, numbers, first + i * kind_size(element)) for i in range(length)
            )
        case Bool():
            return bool(numbers[first])
        case _:
            return numbers[first]
