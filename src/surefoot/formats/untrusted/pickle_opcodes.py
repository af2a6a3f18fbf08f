"""Follow a pickle opcode by opcode and build inert records: no import, no call, no unpickler.

A real unpickler looks a name up and calls it. Here a name is a `Symbol`, a call a `Record` that remembers the
symbol and its arguments, and a name that the caller does not expect ends the reading with an error.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem

MOST_BYTES = 64 << 20
MOST_OPCODES = 300_000

Value: TypeAlias = Any  # None, bool, int, float, str, bytes, tuple, list, dict, Symbol, Record or Persistent


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that the pickle mentions; it is never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class PickleRecord:
    """What the pickle wanted to build: by which symbol, from what, with which state and entries."""

    symbol: Symbol
    arguments: tuple[Value, ...]
    state: Value = None
    items: dict[Value, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Persistent:
    """A reference to something kept outside the pickle (torch: a storage)."""

    reference: Value


@dataclass(slots=True)
class _Machine:
    permits: Callable[[str], bool]
    where: str
    stack: list[Value] = field(default_factory=list)
    below: list[list[Value]] = field(default_factory=list)  # the stacks under each open mark
    memo: dict[int, Value] = field(default_factory=dict)


def read_pickle(data: bytes, *, permits: Callable[[str], bool], where: str) -> Value:
    """The value a pickle describes; a symbol that `permits("module.name")` denies is refused by name."""
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"the pickle has {len(data)} bytes, more than {MOST_BYTES}", where=where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # odd escapes in old strings
            return _interpret_opcodes(data, _Machine(permits, where))
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as problem:
        raise InvalidProblem("the pickle is damaged or cut short", where=where) from problem


def _interpret_opcodes(data: bytes, machine: _Machine) -> Value:
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if number >= MOST_OPCODES:
            raise InvalidProblem(f"the pickle has more than {MOST_OPCODES} opcodes", where=machine.where)
        if opcode.name == "STOP":
            return machine.stack.pop()
        if opcode.name not in _STEPS:
            what = f"pickle opcode {opcode.name}: refused, nothing was executed"
            raise InvalidProblem(what, where=machine.where, fix=_FIX)
        _STEPS[opcode.name](machine, argument)
    raise ValueError("no STOP")


_FIX = "use a file from a source you trust, or export the policy to ONNX"


def _permitted_symbol(machine: _Machine, module: str, name: str) -> Symbol:
    symbol = Symbol(module, name)
    if not machine.permits(str(symbol)):
        shown = str(symbol)[:120].encode("ascii", "backslashreplace").decode().replace("\n", "\\n")
        raise InvalidProblem(f"`{shown}`: refused, nothing was executed", where=machine.where, fix=_FIX)
    return symbol


def _push_value(machine: _Machine, argument: Value) -> None:
    machine.stack.append(argument)


def _skip_opcode(machine: _Machine, argument: Value) -> None:
    pass


def _push_constant(value: Value) -> Callable[[_Machine, Value], None]:
    return lambda machine, _: machine.stack.append(value)


def _open_mark(machine: _Machine, _: Value) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _since_mark(machine: _Machine) -> list[Value]:
    since = machine.stack
    machine.stack = machine.below.pop()
    return since


def _tuple_of(size: int) -> Callable[[_Machine, Value], None]:
    def step(machine: _Machine, _: Value) -> None:
        if len(machine.stack) < size:
            raise IndexError
        start = len(machine.stack) - size
        machine.stack[start:] = [tuple(machine.stack[start:])]

    return step


def _pairs_into(machine: _Machine, flat: list[Value]) -> None:
    target = machine.stack[-1]
    entries = target.items if isinstance(target, PickleRecord) else target
    if not isinstance(entries, dict) or len(flat) % 2:
        raise TypeError
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        # Nothing nested: the hash of tuples that share their parts can take exponential time.
        if not (key is None or isinstance(key, str | int | float | bytes)):
            raise TypeError
        entries[key] = value


def _set_item(machine: _Machine, _: Value) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _pairs_into(machine, [key, value])


def _build_dictionary(machine: _Machine, _: Value) -> None:
    flat = _since_mark(machine)
    machine.stack.append({})
    _pairs_into(machine, flat)


def _append_values(machine: _Machine, values: list[Value]) -> None:
    if not isinstance(machine.stack[-1], list):
        raise TypeError
    machine.stack[-1].extend(values)


def _push_global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(_permitted_symbol(machine, module, name))


def _stack_global(machine: _Machine, _: Value) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError
    machine.stack.append(_permitted_symbol(machine, module, name))


def _push_instance(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    symbol = _permitted_symbol(machine, module, name)
    machine.stack.append(PickleRecord(symbol, tuple(_since_mark(machine))))


def _record_call(machine: _Machine, _: Value) -> None:
    arguments, symbol = machine.stack.pop(), machine.stack.pop()
    if not isinstance(symbol, Symbol) or not isinstance(arguments, tuple):
        raise TypeError
    machine.stack.append(PickleRecord(symbol, arguments))


def _set_state(machine: _Machine, _: Value) -> None:
    state, target = machine.stack.pop(), machine.stack[-1]
    if not isinstance(target, PickleRecord):
        raise TypeError
    target.state = state


def _push_persistent(machine: _Machine, _: Value) -> None:
    machine.stack.append(Persistent(machine.stack.pop()))


def _store_memo(machine: _Machine, argument: int) -> None:
    machine.memo[argument] = machine.stack[-1]


def _load_memo(machine: _Machine, argument: int) -> None:
    machine.stack.append(machine.memo[argument])


_CONSTANTS = (
    "BININT BININT1 BININT2 LONG1 LONG4 INT LONG BINFLOAT FLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8"
    " UNICODE BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 STRING BINSTRING SHORT_BINSTRING"
)
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    **dict.fromkeys(_CONSTANTS.split(), _push_value),
    **dict.fromkeys(("PROTO", "FRAME"), _skip_opcode),
    "NONE": _push_constant(None),
    "NEWTRUE": _push_constant(True),
    "NEWFALSE": _push_constant(False),
    "EMPTY_TUPLE": _push_constant(()),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "MARK": _open_mark,
    "TUPLE": lambda machine, _: _push_value(machine, tuple(_since_mark(machine))),
    "LIST": lambda machine, _: _push_value(machine, _since_mark(machine)),
    "DICT": _build_dictionary,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "SETITEM": _set_item,
    "SETITEMS": lambda machine, _: _pairs_into(machine, _since_mark(machine)),
    "APPEND": lambda machine, _: _append_values(machine, [machine.stack.pop()]),
    "APPENDS": lambda machine, _: _append_values(machine, _since_mark(machine)),
    "GLOBAL": _push_global,
    "STACK_GLOBAL": _stack_global,
    "INST": _push_instance,
    "REDUCE": _record_call,
    "NEWOBJ": _record_call,
    "BUILD": _set_state,
    "BINPERSID": _push_persistent,
    "PUT": _store_memo,
    "BINPUT": _store_memo,
    "LONG_BINPUT": _store_memo,
    "MEMOIZE": lambda machine, _: _store_memo(machine, len(machine.memo)),
    "GET": _load_memo,
    "BINGET": _load_memo,
    "LONG_BINGET": _load_memo,
}
