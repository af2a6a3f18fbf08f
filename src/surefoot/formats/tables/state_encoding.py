"""States of a table as values of integer variables, and the cell of the constant arrays that belongs to each.

A state is a number, a text or another hashable value, or a tuple, named tuple or dataclass of these, also
nested; each entry becomes a variable. Truth values are 0 and 1. Other entries are numbered in the order in
which they are met, and a text that is a name stands for its number in questions: `signal = red`.

The arrays have a cell for each combination of values if few of these are no state, so that the cell is
computed from the variables; otherwise a variable of its own says the cell, which is the number of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from math import prod
from numbers import Integral
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.tables.transition_table import State, show_state
from surefoot.problem.environment import Variable
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Int

CELL = "state"  # the variable of plain numbers, and of cells that are no combination of values
_MOST_CELLS_PER_STATE = 8
_SOME_CELLS = 256


@dataclass(frozen=True, slots=True)
class StateEncoding:
    """How the states of a table are written as values of variables."""

    variables: tuple[Variable, ...]
    cells: tuple[int, ...]  # of each state
    cell: Term  # over the variables
    size: int  # of the arrays
    entries: tuple[tuple[int, ...], ...]  # of each state: the values of the variables
    names: tuple[tuple[str, Term], ...]  # texts that stand for a number

    def cell_name(self) -> str | None:
        """The variable that alone says the cell."""
        return self.cell.name if isinstance(self.cell, Var) else None

    def columns(self) -> list[list[int]]:
        """For each variable its value by cell; where no state is, the lowest that it can have."""
        found = [[_low(v)] * self.size for v in self.variables]
        for cell, values in zip(self.cells, self.entries, strict=True):
            for column, value in zip(found, values, strict=True):
                column[cell] = value
        return found


def encode_states(
    states: Sequence[State],
    names: Sequence[str] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> StateEncoding:
    """The encoding of these states; `names`: of the variables, `ranges`: what values they may have."""
    shapes = {_shape_of(state) for state in states}
    nested = len(shapes) == 1 and isinstance(states[0], tuple) | _is_record(states[0])
    parts = [tuple(_flatten_state(s)) for s in states] if nested else [(s,) for s in states]
    called = _variable_names(states[0], nested, names, len(parts[0]))
    coder = _ValueCoder()
    columns = [coder.code_column(column) for column in zip(*parts, strict=True)] if parts[0] else []
    limits = {
        name: _widen((min(column), max(column)), (ranges or {}).get(name))
        for name, column in zip(called, columns, strict=True)
    }
    variables = tuple(Variable(name, Int(*limits[name])) for name in called)
    entries = tuple(zip(*columns, strict=True)) if columns else ((),) * len(states)
    names_of_values = coder.definitions(called)
    lengths = [high - low + 1 for low, high in limits.values()]
    if columns and prod(lengths) <= _MOST_CELLS_PER_STATE * len(states) + _SOME_CELLS:
        strides = [prod(lengths[i + 1 :]) for i in range(len(lengths))]
        lows = [low for low, _ in limits.values()]
        cells = tuple(sum((v - w) * s for v, w, s in zip(e, lows, strides, strict=True)) for e in entries)
        cell = _cell_term(called, lows, strides)
        return StateEncoding(variables, cells, cell, prod(lengths), entries, names_of_values)
    numbers = range(len(states))
    if CELL in called:  # a plain number, or something else, that is spread too widely
        called = tuple("value" if name == CELL else name for name in called)
        variables = tuple(Variable(n, v.kind) for n, v in zip(called, variables, strict=True))
    own = Variable(CELL, Int(0, len(states) - 1))
    entries = tuple((n, *e) for n, e in zip(numbers, entries, strict=True))
    return StateEncoding((own, *variables), tuple(numbers), Var(CELL), len(states), entries, names_of_values)


def _low(variable: Variable) -> int:
    kind = variable.kind
    assert isinstance(kind, Int)
    assert kind.low is not None
    return kind.low


def _widen(found: tuple[int, int], wish: tuple[int, int] | None) -> tuple[int, int]:
    return found if wish is None else (min(found[0], wish[0]), max(found[1], wish[1]))


def _cell_term(called: Sequence[str], lows: Sequence[int], strides: Sequence[int]) -> Term:
    total: Term | None = None
    for name, low, stride in zip(called, lows, strides, strict=True):
        part: Term = Var(name) if low == 0 else Var(name) - low
        part = part if stride == 1 else part * stride
        total = part if total is None else total + part
    assert total is not None
    return total


def _is_record(state: Any) -> bool:
    return is_dataclass(state) and not isinstance(state, type)


def _entries_of(state: Any) -> tuple[Any, ...] | None:
    """The entries of a tuple or dataclass; None: it is a single value."""
    if isinstance(state, tuple):
        return state
    if _is_record(state):
        return tuple(getattr(state, field.name) for field in fields(state))
    return None


def _shape_of(state: Any) -> Any:
    entries = _entries_of(state)
    return None if entries is None else (type(state), *map(_shape_of, entries))


def _flatten_state(state: Any) -> Iterator[Any]:
    entries = _entries_of(state)
    if entries is None:
        yield state
        return
    for entry in entries:
        yield from _flatten_state(entry)


def _path_names(state: Any, path: str) -> Iterator[str]:
    """`row`, `x0`, `cab_row`, `x0_1`: where an entry stands."""
    entries = _entries_of(state)
    if entries is None:
        yield path
        return
    own = getattr(state, "_fields", None) or tuple(
        [field.name for field in fields(state)] if _is_record(state) else []
    )
    for number, entry in enumerate(entries):
        name = own[number] if own else str(number) if path else f"x{number}"
        yield from _path_names(entry, f"{path}_{name}" if path else name)


def _variable_names(example: State, nested: bool, given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(_path_names(example, "")) if nested else (CELL,)
    if len(given) != count:
        what = f"{len(given)} names for the {count} entries of a state such as {show_state(example)}"
        raise InvalidProblem(what, fix="give one name for each entry", where="variables")
    if len(set(given)) != len(given):
        raise InvalidProblem("a name is given twice", fix="choose another one", where="variables")
    return tuple(given)


class _ValueCoder:
    """Whole numbers for what is none, the same wherever it occurs."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def code_column(self, column: Sequence[Any]) -> list[int]:
        if all(isinstance(value, Integral | bool) or _is_numpy_bool(value) for value in column):
            return [int(value) for value in column]
        return [self.numbers.setdefault(_code_key(v), len(self.numbers)) for v in column]

    def definitions(self, taken: Sequence[str]) -> tuple[tuple[str, Term], ...]:
        """Names of values; a text that is no name, or is a variable, has none."""
        meant: dict[str, list[int]] = {}
        for (_, value), number in self.numbers.items():
            name = value.name if isinstance(value, Enum) else value
            if isinstance(name, str) and is_plain_name(name) and name not in taken:
                meant.setdefault(name, []).append(number)
        return tuple((name, Const(own[0])) for name, own in meant.items() if len(own) == 1)


def is_plain_name(text: str) -> bool:
    """Can a question use it as a name?"""
    return text.isidentifier() and text.isascii()


def _code_key(value: Any) -> tuple[type, Any]:
    return type(value), value  # 1 and True and 1.0 are equal, and not the same state


def _is_numpy_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy"
