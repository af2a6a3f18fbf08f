"""Terms over columns, at first by numpy, in machine code as soon as that is worth compiling.

When that is depends on how many rows have been computed, not on the clock. Both have the same bits, but for
sines and cosines: unless the reference's bits are asked for, machine code computes them in its own way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.simulate.batch.machine_columns import (
    JOINED,
    SINES,
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

_COMPILING, _COMPILING_OPERATION = (
    0.05,
    0.001,
)  # seconds that compiling is thought to take, and for each operation
_CALL, _ROW = 3e-6, 2e-9  # and those of an operation of numpy, and of each row of it
_MOST_OPERATIONS = 4_000
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class FastColumns:
    """As `ColumnTerms`; `joined`: the rows that any term loses are one column."""

    def __init__(self, terms: ColumnTerms, *, joined: bool = False, sines: bool = False) -> None:
        self.terms, self.joined = terms, joined
        self.sines = sines and any(node.term is not None and node.term.op in SINES for node in terms.nodes)
        self._operations = sum(node.arguments != () for node in terms.nodes)
        self._worth = _COMPILING + _COMPILING_OPERATION * self._operations
        self._machines: list[MachineColumns] = []
        self._open = 0 < self._operations <= _MOST_OPERATIONS

    @property
    def exact(self) -> bool:
        """Has every row the bits of the reference?"""
        return self.terms.exact and not self.sines

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues:
        if self._machines and count:
            for machine in self._machines:
                found = machine(names, count)
                if found is not None:
                    return found
        if self._open:
            self._worth -= self._operations * (_CALL + _ROW * count)
            if self._worth < 0:
                self.compile_now()
        found = self.terms(names, count)
        return ColumnValues(found.columns, [_join_rows(found.lost, count)]) if self.joined else found

    def compile_now(self) -> None:
        self._open = False
        self._machines = [MachineColumns(self.terms, joined=self.joined, sines=self.sines)]
        if self.sines:  # for angles that are too large
            self._machines.append(MachineColumns(self.terms, joined=self.joined, sines=False))


def compile_fast_columns(
    terms: Sequence[Term],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
    *,
    exact: bool,
    joined: bool = False,
) -> FastColumns:
    compiled = compile_columns(terms, kinds, arithmetic, exact=exact)
    return FastColumns(compiled, joined=joined, sines=not exact)


class MachineColumns:
    """Stages of machine code and of numpy in turns."""

    def __init__(self, terms: ColumnTerms, *, joined: bool, sines: bool) -> None:
        self._terms, self._joined = terms, joined
        stages = split_into_stages(terms, sines=sines)
        self._by_numpy: dict[int, list[int]] = {}
        wanted: dict[int, dict[int, bool]] = {}
        for place, node in enumerate(terms.nodes):
            if stages[place] % 2:
                self._by_numpy.setdefault(stages[place], []).append(place)
                for used in node.arguments:
                    if terms.nodes[used].arguments and stages[used] % 2 == 0:
                        wanted.setdefault(stages[used], {})[used] = True
        last = max((stages[p] for p in terms.places if stages[p] % 2 == 0), default=0)
        own = [p for p in terms.places if stages[p] % 2 == 0 and terms.nodes[p].arguments]
        for place in own:
            wanted.setdefault(last, {}).setdefault(place, not joined)
        self._codes = {
            n: write_stage(terms, stages, n, list(wanted[n].items()), own if joined and n == last else ())
            for n in sorted(wanted)
        }
        self._last = max(stages, default=0)
        self._overflowing = {p for p in terms.places if stages[p] % 2 and terms.nodes[p].computed}
        text = "\n".join([*(code.text for code in self._codes.values()), stage_metadata()])
        self._machine: Machine = compile_llvm_ir(text, cache_folder(), level=2)
        self._functions = {n: _FUNCTION(self._machine.address(f"stage{n}")) for n in self._codes}

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues | None:
        """None if an angle is too large."""
        nodes = self._terms.nodes
        values: dict[int, Any] = {}
        lost: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for number in range(self._last + 1):
                if number in self._codes and self._run(self._codes[number], names, count, values, lost):
                    return None
                for place in self._by_numpy.get(number, ()):
                    used = nodes[place].arguments
                    given = [_value_of(p, values, nodes, names) for p in used]
                    rule = nodes[place].content
                    values[place], lost[place] = rule(given, [lost.get(p, False) for p in used])
            columns = [give_rows(_value_of(p, values, nodes, names), count) for p in self._terms.places]
            rows = [
                rows_lost(lost.get(p, False), column) if p in self._overflowing else lost.get(p, False)
                for p, column in zip(self._terms.places, columns, strict=True)
            ]
        if self._joined:
            known = [give_rows(r, count) for r in [lost.get(JOINED, False), *rows] if r is not False]
            return ColumnValues(columns, [_join_rows(known, count)])
        none = np.broadcast_to(np.False_, count)
        return ColumnValues(columns, [none if r is False else give_rows(r, count) for r in rows])

    def _run(
        self,
        code: StageCode,
        names: Mapping[str, Column],
        count: int,
        values: dict[int, Any],
        lost: dict[int, Any],
    ) -> int:
        nodes = self._terms.nodes
        table: list[int] = []
        kept: list[Column] = []  # as long as the function runs
        for place, is_lost in code.reads:
            given = lost.get(place, False) if is_lost else _value_of(place, values, nodes, names)
            wanted = _entry_type(BOOL if is_lost else nodes[place].sort)
            if type(given) is not np.ndarray or given.dtype != wanted or given.shape != (count,):
                given = give_rows(given, count)
            if given.dtype != wanted or not given.flags.c_contiguous:
                given = np.ascontiguousarray(given, dtype=wanted)
            kept.append(given)
            table.append(given.__array_interface__["data"][0])
        for place, is_lost in code.writes:
            column = np.empty(count, dtype=_entry_type(BOOL if is_lost else nodes[place].sort))
            (lost if is_lost else values)[place] = column
            table.append(column.__array_interface__["data"][0])
        return int(self._functions[code.number]((ctypes.c_int64 * len(table))(*table), count))


def _value_of(place: int, values: dict[int, Any], nodes: Sequence[Any], names: Mapping[str, Column]) -> Any:
    if place in values:
        return values[place]
    content = nodes[place].content
    return names[content] if isinstance(content, str) else content


def _join_rows(rows: Sequence[Column], count: int) -> Column:
    if not rows:
        return np.zeros(count, dtype=np.bool_)
    return rows[0] if len(rows) == 1 else np.asarray(np.logical_or.reduce(rows))


def _entry_type(sort: Sort) -> np.dtype[Any]:
    return _BOOLS if sort is BOOL else _INTEGERS if sort is INT else _DOUBLES


_BOOLS, _INTEGERS, _DOUBLES = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
