"""Ranks towards a goal in machine code, by sweeps over all states: for processes of millions of edges.

Turning all arrows round takes several times the memory of the process. Here every state without a rank looks
at its own choices, in the order of their numbers and against it in turn, until a sweep finds nothing new. The
ranks are not distances, but each is above that of some outcome, which is what ranks are for.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov
from surefoot.work.machine.jit import cache_folder, compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction

MOST_SWEEPS = 2_000
Flags = NDArray[np.bool_]
Ranks = NDArray[np.int64]


class _Field(IntEnum):
    COUNT = 0
    BACKWARDS = 1
    CHOICES = 2
    OUTCOMES = 3
    TARGETS = 4
    THROUGH = 5
    ALLOWED = 6
    RANK = 7
    STEP = 8


def sweep_ranks(
    markov: Markov, goal: Flags, through: Flags, allowed: Flags | None, *, must: bool
) -> tuple[Ranks, Ranks] | None:
    """Ranks, -1 for none, and a choice that lowers each; `must`: every allowed choice may lower it.

    None: after very many sweeps something new is still found.
    """
    machine = compile_llvm_ir(_kernel_text(), cache_folder(), 2)
    sweep = machine.function("must_reach" if must else "can_reach")
    rank, step = np.full(markov.states, -1, dtype=np.int64), np.full(markov.states, -1, dtype=np.int64)
    rank[goal] = 0
    if allowed is None:
        allowed = np.ones(len(markov.outcomes) - 1, dtype=np.bool_)
    columns = {
        _Field.CHOICES: np.ascontiguousarray(markov.choices),
        _Field.OUTCOMES: np.ascontiguousarray(markov.outcomes),
        _Field.TARGETS: np.ascontiguousarray(markov.targets),
        _Field.THROUGH: np.ascontiguousarray(through),
        _Field.ALLOWED: np.ascontiguousarray(allowed),
        _Field.RANK: rank,
        _Field.STEP: step,
    }
    table = np.zeros(len(_Field), dtype=np.int64)
    for field, column in columns.items():
        table[field] = column.ctypes.data
    table[_Field.COUNT] = markov.states
    for number in range(MOST_SWEEPS):
        table[_Field.BACKWARDS] = number % 2 == 0
        if not sweep(ctypes.c_void_p(table.ctypes.data)):
            return rank, step
    return None


def _kernel_text() -> str:
    return "\n".join([_sweep_function(must=False).text(), _sweep_function(must=True).text(), ""])


def _sweep_function(*, must: bool) -> IrFunction:
    """How many states get a rank in one sweep."""
    f = IrFunction("must_reach" if must else "can_reach", "ptr %table")
    fields = [field for field in _Field if _Field.CHOICES <= field <= _Field.STEP]
    at = {field: f.value(f"inttoptr i64 {f.load('%table', field)} to ptr") for field in fields}
    count = f.load("%table", _Field.COUNT)
    turned = f.compare("ne", f.load("%table", _Field.BACKWARDS), "0")
    found, last = f.variable(), f.sub(count, 1)
    with f.count("0", count) as turn:
        state = f.value(f"select i1 {turned}, i64 {f.sub(last, turn)}, i64 {turn}")
        unranked = f.compare("slt", f.load(at[_Field.RANK], state), "0")
        inside = f.value(f"icmp ne i8 {f.load(at[_Field.THROUGH], state, 'i8')}, 0")
        with f.when(f.value(f"and i1 {unranked}, {inside}")):
            rank, choice = _rank_of_state(f, at, state, must=must)
            with f.when(f.compare("sge", rank, "0")):
                f.store(at[_Field.RANK], state, f.add(rank, 1))
                f.store(at[_Field.STEP], state, choice)
                f.set_variable(found, f.add(f.get(found), 1))
    f.do(f"ret i64 {f.get(found)}")
    return f


def _rank_of_state(f: IrFunction, at: dict[_Field, str], state: str, *, must: bool) -> tuple[str, str]:
    """The least rank of an outcome, and its choice; with `must` the largest of these over all choices."""
    best, chosen, failed = f.variable("-1"), f.variable("-1"), f.variable()
    first, end = f.load(at[_Field.CHOICES], state), f.load(at[_Field.CHOICES], f.add(state, 1))
    with f.count(first, end) as choice:
        usable = f.value(f"icmp ne i8 {f.load(at[_Field.ALLOWED], choice, 'i8')}, 0")
        with f.when(usable):
            least = f.variable("-1")
            begin, stop = f.load(at[_Field.OUTCOMES], choice), f.load(at[_Field.OUTCOMES], f.add(choice, 1))
            with f.count(begin, stop) as outcome:
                rank = f.load(at[_Field.RANK], f.load(at[_Field.TARGETS], outcome))
                known = f.compare("sge", rank, "0")
                with f.when(f.value(f"and i1 {known}, {_is_better(f, rank, f.get(least), more=False)}")):
                    f.set_variable(least, rank)
            own = f.get(least)
            nothing = f.compare("slt", own, "0")
            if must:
                with f.when(nothing):
                    f.set_variable(failed, "1")
            known = f.value(f"xor i1 {nothing}, true")
            with f.when(f.value(f"and i1 {known}, {_is_better(f, own, f.get(best), more=must)}")):
                f.set_variable(best, own)
                f.set_variable(chosen, choice)
    open_choice = f.compare("ne", f.get(failed), "0")
    rank = f.value(f"select i1 {open_choice}, i64 -1, i64 {f.get(best)}")
    return rank, f.get(chosen)


def _is_better(f: IrFunction, rank: str, known: str, *, more: bool) -> str:
    """Is it smaller (or larger) than what is known, or is nothing known?"""
    nothing = f.compare("slt", known, "0")
    return f.value(f"or i1 {nothing}, {f.compare('sgt' if more else 'slt', rank, known)}")
