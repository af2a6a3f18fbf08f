"""Terms over columns, at first by numpy, in machine code as soon as that is worth compiling.

When that is depends on how many rows have been computed, not on the clock. Both have the same bits, but that
machine code rounds sines and cosines correctly even where the bits of the reference are not asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.simulate.batch.machine_columns import (
    JOINED,
    STORED,
    StageCode,
    split_into_stages,
    stage_metadata,
    write_stage,
)
from surefoot.simulate.batch.row_parts import run_row_parts
from surefoot.term.columns import (
    Column,
    ColumnTerms,
    ColumnValues,
    compile_columns,
    give_rows,
    rows_lost,
    select_columns,
)
from surefoot.term.term import Term
from surefoot.term.types import BOOL, ELEMENTARY, INT, Sort
from surefoot.term.value_types import Arithmetic, ValueType
from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir

# Seconds that compiling is thought to take: at least, by operation, and by pair of operations.
_COMPILING, _OPERATION, _PAIR = 0.02, 1e-3, 3e-6
# And those of numpy: by operation, and by row of one; of elementary functions, in its bits or exactly.
_CALL, _ROW, _ELEMENTARY_ROW, _EXACT_ROW = 5e-6, 2e-9, 2e-8, 1e-6
_MOST_OPERATIONS = 400  # in one piece: compiling cannot be interrupted
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class FastColumns:
    """As `ColumnTerms`, many of them in parts; `joined`: the rows that any term loses are one column."""

    def __init__(self, terms: ColumnTerms, *, joined: bool = False, threads: int = 1) -> None:
        self.terms, self.joined, self.threads = terms, joined, threads
        operations = [node.term.op for node in terms.nodes if node.term is not None]
        self._operations = len(operations)
        self._worth = _COMPILING + _OPERATION * len(operations) + _PAIR * len(operations) ** 2
        slow = sum(op in ELEMENTARY for op in operations)
        self._by_row = _ROW * len(operations) + (_EXACT_ROW if terms.exact else _ELEMENTARY_ROW) * slow
        self._machine: MachineColumns | None = None
        self._without_sines: MachineColumns | None = None  # for angles that are too large
        self._open = 0 < self._operations <= _MOST_OPERATIONS
        self._parts: list[FastColumns] = []
        if self._operations > _MOST_OPERATIONS and len(terms.places) > 1:
            middle = len(terms.places) // 2
            for some in (select_columns(terms, 0, middle), select_columns(terms, middle, len(terms.places))):
                self._parts.append(FastColumns(some, joined=joined, threads=threads))

    @property
    def exact(self) -> bool:
        """Has every row the bits of the reference?"""
        return self.terms.exact

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues:
        if self._parts:
            left, right = (part(names, count) for part in self._parts)
            lost = [left.lost[0] | right.lost[0]] if self.joined else left.lost + right.lost
            return ColumnValues(left.columns + right.columns, lost)
        if self._open:
            self._worth -= _CALL * self._operations + self._by_row * count
            if self._worth < 0:
                self.compile_now()
        if not self._operations:
            leaves = [self.terms.nodes[p].content for p in self.terms.places]
            columns = [give_rows(names[c] if isinstance(c, str) else c, count) for c in leaves]
            none = np.zeros(count, dtype=np.bool_)
            return ColumnValues(columns, [none] if self.joined else [none] * len(columns))
        if self._machine is not None and count:
            made = self._machine(names, count)
            if made is None:
                self._without_sines = self._without_sines or self._compile(sines=False)
                made = self._without_sines(names, count)
            assert made is not None
            return made
        found = self.terms(names, count)
        return ColumnValues(found.columns, [_join_rows(found.lost, count)]) if self.joined else found

    def compile_now(self) -> None:
        for part in self._parts:
            part.compile_now()
        if not self._open:
            return
        self._open = False
        self._machine = self._compile(sines=True)

    def _compile(self, *, sines: bool) -> MachineColumns:
        return MachineColumns(self.terms, joined=self.joined, sines=sines, threads=self.threads)


def compile_fast_columns(
    terms: Sequence[Term],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
    *,
    exact: bool,
    joined: bool = False,
    threads: int = 1,
) -> FastColumns:
    """`exact`: all bits are those of the reference; `joined`: one column of lost rows for all terms."""
    compiled = compile_columns(terms, kinds, arithmetic, exact=exact)
    return FastColumns(compiled, joined=joined, threads=threads)


class MachineColumns:
    """Stages of machine code and of numpy in turns; `sines`: these are machine code too."""

    def __init__(self, terms: ColumnTerms, *, joined: bool, sines: bool, threads: int) -> None:
        self._terms, self._joined, self._threads = terms, joined, threads
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
        self._blocks = {n: _written_blocks(code, terms) for n, code in self._codes.items()}
        self._last = max(stages, default=0)
        self._overflowing = {p for p in terms.places if stages[p] % 2 and terms.nodes[p].computed}
        text = "\n".join([*(code.text for code in self._codes.values()), stage_metadata()])
        self._machine: Machine = compile_llvm_ir(text, cache_folder(), level=2)
        self._functions = {n: _FUNCTION(self._machine.address(f"stage{n}")) for n in self._codes}

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues | None:
        """None if a sine is not known to be right."""
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
        for sort, several in self._blocks[code.number]:
            block = np.empty((len(several), count), dtype=_entry_type(sort))
            table.append(block.__array_interface__["data"][0])
            for (place, is_lost), column in zip(several, block, strict=True):
                (lost if is_lost else values)[place] = column
        addresses, function = (ctypes.c_int64 * len(table))(*table), self._functions[code.number]
        return run_row_parts(
            count, self._threads, lambda start, stop: function(addresses, start, stop, count)
        )


def _written_blocks(code: StageCode, terms: ColumnTerms) -> list[tuple[Sort, list[tuple[int, bool]]]]:
    """What is written, by the kind of its entries, in the order of their addresses."""
    found: dict[Sort, list[tuple[int, bool]]] = {sort: [] for sort in STORED}
    for place, is_lost in code.writes:
        found[BOOL if is_lost else terms.nodes[place].sort].append((place, is_lost))
    return list(found.items())


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
