"""One Gauss-Seidel sweep of the Bellman operator in machine code, for processes of millions of states.

A sweep goes through the open states in a given order, forwards or backwards, and writes each new value where
the next ones read it. `raise_low` and `lower_high` round to the safe side on a grid of powers of two, so that
what they leave is inductive: a lower value is never above one step of the values that are there at the end,
an upper one never below (Brázdil et al. 2014, with directed rounding). `count_steps` rounds to nearest.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction

Floats = NDArray[np.float64]
_INFINITY = {"max": "0xFFF0000000000000", "min": "0x7FF0000000000000"}  # what every choice is better than
_DECLARED = "declare double @llvm.floor.f64(double)\ndeclare double @llvm.ceil.f64(double)"


class _Field(IntEnum):
    """The table that a sweep reads: addresses, numbers, and doubles by their bits."""

    COUNT = 0
    BACKWARDS = 1
    ORDER = 2
    CHOICES = 3
    OUTCOMES = 4
    TARGETS = 5
    WEIGHTS = 6
    NUMBERS = 7
    AMOUNTS = 8
    USABLE = 9
    VALUES = 10
    FACTOR = 11
    GRID = 12
    GRAIN = 13
    MOVED = 14


@dataclass(frozen=True, slots=True, eq=False)
class SweepRows:
    """The rows of a process as the kernel reads them; `amounts` may be missing."""

    choices: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.int32]
    numbers: Floats
    amounts: NDArray[np.int32] | None
    usable: NDArray[np.bool_]
    order: NDArray[np.int64]  # the open states


class SweepKernel:
    """The compiled sweeps of one direction of optimisation."""

    def __init__(self, rows: SweepRows, optimise: str) -> None:
        self._machine: Machine = compile_llvm_ir(_kernel_text(), cache_folder(), 2)
        self._rows, self._optimise = rows, optimise
        self._table = np.zeros(len(_Field), dtype=np.int64)
        self._moved = np.zeros(1)
        given: dict[_Field, NDArray[Any]] = {
            _Field.ORDER: rows.order, _Field.CHOICES: rows.choices, _Field.OUTCOMES: rows.outcomes,
            _Field.TARGETS: rows.targets, _Field.WEIGHTS: rows.weights, _Field.NUMBERS: rows.numbers,
            _Field.USABLE: rows.usable, _Field.MOVED: self._moved,
        }  # fmt: skip
        if rows.amounts is not None:
            given[_Field.AMOUNTS] = rows.amounts
        for place, column in given.items():
            assert column.flags.c_contiguous
            self._table[place] = column.ctypes.data
        self._table[_Field.COUNT] = len(rows.order)
        self._kept: tuple[NDArray[Any], ...] = tuple(given.values())

    def use_order(self, order: NDArray[np.int64]) -> None:
        """From now on the open states are gone through like this."""
        self._table[_Field.ORDER], self._table[_Field.COUNT] = order.ctypes.data, len(order)
        self._kept = (*self._kept, order)

    def sweep(self, how: str, values: Floats, *, factor: float, grid: float, backwards: bool) -> float:
        """Go through all open states once; how far a value moved at most."""
        assert values.dtype == np.float64
        assert values.flags.c_contiguous
        table = self._table
        table[_Field.VALUES], table[_Field.BACKWARDS] = values.ctypes.data, int(backwards)
        for place, number in (_Field.FACTOR, factor), (_Field.GRID, grid), (_Field.GRAIN, 1.0 / grid):
            table[place] = np.float64(number).view(np.int64)
        self._machine.function(f"{how}_{self._optimise}")(ctypes.c_void_p(table.ctypes.data))
        return float(self._moved[0])


def _kernel_text() -> str:
    found = [_DECLARED]
    for how in ("raise_low", "lower_high", "count_steps"):
        for optimise in ("max", "min"):
            found.append(_sweep_function(how, optimise).text())
    return "\n".join([*found, ""])


def _sweep_function(how: str, optimise: str) -> IrFunction:
    f = IrFunction(f"{how}_{optimise}", "ptr %table")
    address = {field: f.value(f"inttoptr i64 {f.load('%table', field)} to ptr") for field in _ADDRESSES}
    factor, grid, grain = (
        f.value(f"bitcast i64 {f.load('%table', field)} to double")
        for field in (_Field.FACTOR, _Field.GRID, _Field.GRAIN)
    )
    count, backwards = f.load("%table", _Field.COUNT), f.load("%table", _Field.BACKWARDS)
    turned = f.compare("ne", backwards, "0")
    paid = f.compare("ne", f.load("%table", _Field.AMOUNTS), "0")
    moved = _double(f, "0.0")
    last = f.sub(count, 1)
    with f.count("0", count) as turn:
        place = f.value(f"select i1 {turned}, i64 {f.sub(last, turn)}, i64 {turn}")
        state = f.load(address[_Field.ORDER], place)
        best = _best_choice(f, address, state, optimise, paid, steps=how == "count_steps")
        old = f.load(address[_Field.VALUES], state, "double")
        new = f.value(f"fmul double {best}, {factor}")
        if how == "count_steps":
            far = f.value(f"fsub double {new}, {old}")
        else:
            toward, better = ("floor", "ogt") if how == "raise_low" else ("ceil", "olt")
            scaled = f.value(f"fmul double {new}, {grid}")
            whole = f.value(f"call double @llvm.{toward}.f64(double {scaled})")
            found = f.value(f"fmul double {whole}, {grain}")
            gained = f.value(f"fcmp {better} double {found}, {old}")
            new = f.value(f"select i1 {gained}, double {found}, double {old}")
            one, other = (new, old) if how == "raise_low" else (old, new)
            far = f.value(f"fsub double {one}, {other}")
        f.store(address[_Field.VALUES], state, new, "double")
        most = f.value(f"load double, ptr {moved}")
        further = f.value(f"fcmp ogt double {far}, {most}")
        f.do(f"store double {f.value(f'select i1 {further}, double {far}, double {most}')}, ptr {moved}")
    f.do(f"store double {f.value(f'load double, ptr {moved}')}, ptr {address[_Field.MOVED]}")
    f.do("ret i64 0")
    return f


_ADDRESSES = (
    _Field.ORDER, _Field.CHOICES, _Field.OUTCOMES, _Field.TARGETS, _Field.WEIGHTS, _Field.NUMBERS,
    _Field.AMOUNTS, _Field.USABLE, _Field.VALUES, _Field.MOVED,
)  # fmt: skip


def _double(f: IrFunction, start: str) -> str:
    """A local double; its place is that of an i64."""
    place = f.variable()
    f.do(f"store double {start}, ptr {place}")
    return place


def _best_choice(
    f: IrFunction, address: dict[_Field, str], state: str, optimise: str, paid: str, *, steps: bool
) -> str:
    """The best sum of a usable choice; `steps`: each choice pays 2, whatever its amounts are."""
    best = _double(f, _INFINITY[optimise])
    first = f.load(address[_Field.CHOICES], state)
    end = f.load(address[_Field.CHOICES], f.add(state, 1))
    with f.count(first, end) as choice:
        usable = f.value(f"icmp ne i8 {f.load(address[_Field.USABLE], choice, 'i8')}, 0")
        with f.when(usable):
            total = _double(f, "2.0" if steps else "0.0")
            begin = f.load(address[_Field.OUTCOMES], choice)
            stop = f.load(address[_Field.OUTCOMES], f.add(choice, 1))
            with f.count(begin, stop) as outcome:
                value = f.load(address[_Field.VALUES], f.load(address[_Field.TARGETS], outcome), "double")
                if not steps:
                    value = _with_amount(f, address, outcome, value, paid)
                share = _number(f, address, f.load(address[_Field.WEIGHTS], outcome, "i32"))
                part = f.value(f"fmul double {share}, {value}")
                so_far = f.value(f"load double, ptr {total}")
                f.do(f"store double {f.value(f'fadd double {so_far}, {part}')}, ptr {total}")
            found, known = f.value(f"load double, ptr {total}"), f.value(f"load double, ptr {best}")
            better = f.value(f"fcmp {'ogt' if optimise == 'max' else 'olt'} double {found}, {known}")
            f.do(f"store double {f.value(f'select i1 {better}, double {found}, double {known}')}, ptr {best}")
    return f.value(f"load double, ptr {best}")


def _number(f: IrFunction, address: dict[_Field, str], index: str) -> str:
    return f.load(address[_Field.NUMBERS], f.value(f"zext i32 {index} to i64"), "double")


def _with_amount(f: IrFunction, address: dict[_Field, str], outcome: str, value: str, paid: str) -> str:
    """The value and what the outcome pays, if anything is paid."""
    whole = _double(f, value)
    with f.when(paid):
        amount = _number(f, address, f.load(address[_Field.AMOUNTS], outcome, "i32"))
        f.do(f"store double {f.value(f'fadd double {value}, {amount}')}, ptr {whole}")
    return f.value(f"load double, ptr {whole}")
