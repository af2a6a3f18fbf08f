"""The open states of a process in depth-first postorder: successors come first where they can.

A sweep in this order has the last values of all successors but those that close a cycle, so that a process
without cycles is done after one.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov
from surefoot.work.machine.jit import cache_folder, compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction


class _Field(IntEnum):
    STATES = 0
    CHOICES = 1
    OUTCOMES = 2
    TARGETS = 3
    OPEN = 4
    NEXT = 5
    STACK = 6
    ORDER = 7


def order_states(markov: Markov, open_states: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Every open state once, after those of its successors that are not above it on the way to it."""
    machine = compile_llvm_ir(_kernel_text(), cache_folder(), 2)
    order = np.zeros(int(open_states.sum()), dtype=np.int64)
    columns = {
        _Field.CHOICES: np.ascontiguousarray(markov.choices),
        _Field.OUTCOMES: np.ascontiguousarray(markov.outcomes),
        _Field.TARGETS: np.ascontiguousarray(markov.targets),
        _Field.OPEN: np.ascontiguousarray(open_states),
        _Field.NEXT: np.full(markov.states, -1, dtype=np.int64),
        _Field.STACK: np.zeros(len(order) + 1, dtype=np.int64),
        _Field.ORDER: order,
    }
    table = np.zeros(len(_Field), dtype=np.int64)
    for field, column in columns.items():
        table[field] = column.ctypes.data
    table[_Field.STATES] = markov.states
    machine.function("order_states")(ctypes.c_void_p(table.ctypes.data))
    return order


def _kernel_text() -> str:
    f = IrFunction("order_states", "ptr %table")
    at: dict[_Field, str] = {
        field: f.value(f"inttoptr i64 {f.load('%table', field)} to ptr")
        for field in _Field
        if field is not _Field.STATES
    }
    depth, found = f.variable(), f.variable()
    with f.count("0", f.load("%table", _Field.STATES)) as root:
        with f.when(_is_fresh(f, at, root)):
            _visit(f, at, root, depth)
        with f.loop() as done:
            f.leave(f.compare("eq", f.get(depth), "0"), done)
            state = f.load(at[_Field.STACK], f.sub(f.get(depth), 1))
            outcome = f.load(at[_Field.NEXT], state)
            end = f.load(at[_Field.OUTCOMES], f.load(at[_Field.CHOICES], f.add(state, 1)))
            over = f.compare("sge", outcome, end)
            with f.when(over):
                f.set_variable(depth, f.sub(f.get(depth), 1))
                f.store(at[_Field.ORDER], f.get(found), state)
                f.set_variable(found, f.add(f.get(found), 1))
            with f.when(f.value(f"xor i1 {over}, true")):
                f.store(at[_Field.NEXT], state, f.add(outcome, 1))
                target = f.load(at[_Field.TARGETS], outcome)
                with f.when(_is_fresh(f, at, target)):
                    _visit(f, at, target, depth)
    f.do("ret i64 0")
    return f.text() + "\n"


def _is_fresh(f: IrFunction, at: dict[_Field, str], state: str) -> str:
    """An open state that was not visited."""
    inside = f.value(f"icmp ne i8 {f.load(at[_Field.OPEN], state, 'i8')}, 0")
    return f.value(f"and i1 {inside}, {f.compare('slt', f.load(at[_Field.NEXT], state), '0')}")


def _visit(f: IrFunction, at: dict[_Field, str], state: str, depth: str) -> None:
    f.store(at[_Field.NEXT], state, f.load(at[_Field.OUTCOMES], f.load(at[_Field.CHOICES], state)))
    f.store(at[_Field.STACK], f.get(depth), state)
    f.set_variable(depth, f.add(f.get(depth), 1))
