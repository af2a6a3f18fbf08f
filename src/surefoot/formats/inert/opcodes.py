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
class Record:
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
            return _followed(data, _Machine(permits, where))
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as problem:
        raise InvalidProblem("the pickle is damaged or cut short", where=where) from problem


def _followed(data: bytes, machine: _Machine) -> Value:
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if number >= MOST_OPCODES:
            raise InvalidProblem(f"the pickle has more than {MOST_OPCODES} opcodes", where=machine.where)
        if opcode.name == "STOP":
            return _pop(machine)
        if opcode.name not in _STEPS:
            what = f"pickle opcode {opcode.name}: refused, nothing was executed"
            raise InvalidProblem(what, where=machine.where, fix=_FIX)
        _STEPS[opcode.name](machine, argument)
    raise ValueError("no STOP")


_FIX = "use a file from a source you trust, or export the policy to ONNX"


def _symbol(machine: _Machine, module: str, name: str) -> Symbol:
    symbol = Symbol(module, name)
    if not machine.permits(str(symbol)):
        shown = str(symbol)[:120].encode("ascii", "backslashreplace").decode().replace("\n", "\\n")
        raise InvalidProblem(f"`{shown}`: refused, nothing was executed", where=machine.where, fix=_FIX)
    return symbol


def _pop(machine: _Machine) -> Value:
    return machine.stack.pop()


def _push(machine: _Machine, argument: Value) -> None:
    machine.stack.append(argument)


def _nothing(machine: _Machine, argument: Value) -> None:
    pass


def _pushing(value: Value) -> Callable[[_Machine, Value], None]:
    return lambda machine, _: machine.stack.append(value)


def _mark(machine: _Machine, _: Value) -> None:
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
    entries = target.items if isinstance(target, Record) else target
    if not isinstance(entries, dict) or len(flat) % 2:
        raise TypeError
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        # Nothing nested: the hash of tuples that share their parts can take exponential time.
        if not (key is None or isinstance(key, str | int | float | bytes)):
            raise TypeError
        entries[key] = value


def _set_item(machine: _Machine, _: Value) -> None:
    value, key = _pop(machine), _pop(machine)
    _pairs_into(machine, [key, value])


def _dictionary(machine: _Machine, _: Value) -> None:
    flat = _since_mark(machine)
    machine.stack.append({})
    _pairs_into(machine, flat)


def _append(machine: _Machine, values: list[Value]) -> None:
    if not isinstance(machine.stack[-1], list):
        raise TypeError
    machine.stack[-1].extend(values)


def _global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(_symbol(machine, module, name))


def _stack_global(machine: _Machine, _: Value) -> None:
    name, module = _pop(machine), _pop(machine)
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError
    machine.stack.append(_symbol(machine, module, name))


def _instance(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    symbol = _symbol(machine, module, name)
    machine.stack.append(Record(symbol, tuple(_since_mark(machine))))


def _call(machine: _Machine, _: Value) -> None:
    arguments, symbol = _pop(machine), _pop(machine)
    if not isinstance(symbol, Symbol) or not isinstance(arguments, tuple):
        raise TypeError
    machine.stack.append(Record(symbol, arguments))


def _build(machine: _Machine, _: Value) -> None:
    state, target = _pop(machine), machine.stack[-1]
    if not isinstance(target, Record):
        raise TypeError
    target.state = state


def _persistent(machine: _Machine, _: Value) -> None:
    machine.stack.append(Persistent(_pop(machine)))


def _put(machine: _Machine, argument: int) -> None:
    machine.memo[argument] = machine.stack[-1]


def _get(machine: _Machine, argument: int) -> None:
    machine.stack.append(machine.memo[argument])


_CONSTANTS = (
    "BININT BININT1 BININT2 LONG1 LONG4 INT LONG BINFLOAT FLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8"
    " UNICODE BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 STRING BINSTRING SHORT_BINSTRING"
)
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    **dict.fromkeys(_CONSTANTS.split(), _push),
    **dict.fromkeys(("PROTO", "FRAME"), _nothing),
    "NONE": _pushing(None),
    "NEWTRUE": _pushing(True),
    "NEWFALSE": _pushing(False),
    "EMPTY_TUPLE": _pushing(()),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "MARK": _mark,
    "TUPLE": lambda machine, _: _push(machine, tuple(_since_mark(machine))),
    "LIST": lambda machine, _: _push(machine, _since_mark(machine)),
    "DICT": _dictionary,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "SETITEM": _set_item,
    "SETITEMS": lambda machine, _: _pairs_into(machine, _since_mark(machine)),
    "APPEND": lambda machine, _: _append(machine, [_pop(machine)]),
    "APPENDS": lambda machine, _: _append(machine, _since_mark(machine)),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "INST": _instance,
    "REDUCE": _call,
    "NEWOBJ": _call,
    "BUILD": _build,
    "BINPERSID": _persistent,
    "PUT": _put,
    "BINPUT": _put,
    "LONG_BINPUT": _put,
    "MEMOIZE": lambda machine, _: _put(machine, len(machine.memo)),
    "GET": _get,
    "BINGET": _get,
    "LONG_BINGET": _get,
}
