"""Terms over columns, at first by numpy, in machine code as soon as that has been worth compiling.

Both have the same bits, so that nothing depends on when one takes over from the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from surefoot.simulate.batch.machine_columns import (
    JOINED,
    StageCode,
    split_into_stages,
    stage_metadata,
    write_stage,
)
from surefoot.term.columns import Column, ColumnTerms, ColumnValues, compile_columns, give_rows, rows_lost
from surefoot.term.term import Term
from surefoot.term.types import BOOL, INT, Sort
from surefoot.term.value_types import Arithmetic, ValueType
from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir

_COMPILING = 0.02  # seconds, and so many for each operation: an estimate of what compiling takes
_COMPILING_OPERATION = 0.0008
_MOST_OPERATIONS = 4_000
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class FastColumns:
    """As `ColumnTerms`; `joined`: the rows that any term loses are one column."""

    def __init__(self, terms: ColumnTerms, *, joined: bool = False) -> None:
        self.terms, self.joined = terms, joined
        operations = sum(node.arguments != () for node in terms.nodes)
        self._seconds = _COMPILING + _COMPILING_OPERATION * operations
        self._machine: MachineColumns | None = None
        self._open = 0 < operations <= _MOST_OPERATIONS

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues:
        if self._machine is not None and count:
            return self._machine(names, count)
        started = perf_counter()
        found = self.terms(names, count)
        if self.joined and found.lost:
            found = ColumnValues(found.columns, [np.logical_or.reduce(found.lost)])
        self._seconds -= perf_counter() - started
        if self._open and self._seconds < 0:
            self.compile_now()
        return found

    def compile_now(self) -> None:
        self._open = False
        self._machine = MachineColumns(self.terms, joined=self.joined)


def compile_fast_columns(
    terms: Sequence[Term],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
    *,
    exact: bool,
    joined: bool = False,
) -> FastColumns:
    return FastColumns(compile_columns(terms, kinds, arithmetic, exact=exact), joined=joined)


class MachineColumns:
    """Stages of machine code and of numpy in turns."""

    def __init__(self, terms: ColumnTerms, *, joined: bool) -> None:
        self._terms, self._joined = terms, joined
        stages = split_into_stages(terms)
        self._by_numpy: dict[int, list[int]] = {}
        wanted: dict[int, dict[int, bool]] = {}
        for place, node in enumerate(terms.nodes):
            if stages[place] % 2:
                self._by_numpy.setdefault(stages[place], []).append(place)
            for used in node.arguments:
                if terms.nodes[used].arguments and stages[used] != stages[place]:
                    wanted.setdefault(stages[used], {})[used] = True
        for place in terms.places:
            if terms.nodes[place].arguments:
                wanted.setdefault(stages[place], {}).setdefault(place, not joined)
        self._codes: dict[int, StageCode] = {}
        for number in range(0, max(stages, default=0) + 1, 2):
            own = [p for p in terms.places if stages[p] == number and terms.nodes[p].arguments]
            if number in wanted:
                self._codes[number] = write_stage(
                    terms, stages, number, list(wanted[number].items()), own if joined else ()
                )
        self._last = max(stages, default=0)
        self._overflowing = {p for p in terms.places if stages[p] % 2 and terms.nodes[p].computed}
        text = "\n".join([*(code.text for code in self._codes.values()), stage_metadata()])
        self._machine: Machine = compile_llvm_ir(text, cache_folder(), level=2)
        self._functions = {n: _FUNCTION(self._machine.address(f"stage{n}")) for n in self._codes}

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues:
        nodes = self._terms.nodes
        values: dict[int, Any] = {}
        lost: dict[int, Any] = {}
        together: list[Column] = []
        with np.errstate(all="ignore"):
            for number in range(self._last + 1):
                if number in self._codes:
                    self._run(self._codes[number], names, count, values, lost)
                    if JOINED in lost:
                        together.append(lost.pop(JOINED))
                for place in self._by_numpy.get(number, ()):
                    used = nodes[place].arguments
                    given = [_value_of(p, values, nodes, names) for p in used]
                    rule = nodes[place].content
                    values[place], lost[place] = rule(given, [lost.get(p, False) for p in used])
            columns = [give_rows(_value_of(p, values, nodes, names), count) for p in self._terms.places]
        rows: list[Any] = []
        for place, column in zip(self._terms.places, columns, strict=True):
            gone = lost.get(place, False)
            rows.append(rows_lost(gone, column) if place in self._overflowing else gone)
        if self._joined:
            rows = [*together, *(give_rows(r, count) for r in rows if r is not False)]
            return ColumnValues(columns, [_join_rows(rows, count)] if columns else [])
        none = np.broadcast_to(np.False_, count)
        return ColumnValues(columns, [none if r is False else give_rows(r, count) for r in rows])

    def _run(
        self,
        code: StageCode,
        names: Mapping[str, Column],
        count: int,
        values: dict[int, Any],
        lost: dict[int, Any],
    ) -> None:
        nodes = self._terms.nodes
        table: list[int] = []
        kept: list[Column] = []  # as long as the function runs
        for place, is_lost in code.reads:
            given = lost.get(place, False) if is_lost else _value_of(place, values, nodes, names)
            sort = BOOL if is_lost else nodes[place].sort
            column = give_rows(given, count)
            column = np.ascontiguousarray(column, dtype=_entry_type(sort))
            kept.append(column)
            table.append(column.ctypes.data)
        for place, is_lost in code.writes:
            column = np.empty(count, dtype=_entry_type(BOOL if is_lost else nodes[place].sort))
            (lost if is_lost else values)[place] = column
            table.append(column.ctypes.data)
        self._functions[code.number]((ctypes.c_int64 * len(table))(*table), count)


def _value_of(place: int, values: dict[int, Any], nodes: Sequence[Any], names: Mapping[str, Column]) -> Any:
    if place in values:
        return values[place]
    content = nodes[place].content
    return names[content] if isinstance(content, str) else content


def _join_rows(rows: Sequence[Column], count: int) -> Column:
    if not rows:
        return np.zeros(count, dtype=np.bool_)
    return rows[0] if len(rows) == 1 else np.asarray(np.logical_or.reduce(rows))


def _entry_type(sort: Sort) -> type[np.generic]:
    return np.bool_ if sort is BOOL else np.int64 if sort is INT else np.float64
