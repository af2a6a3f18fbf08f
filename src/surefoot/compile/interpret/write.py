"""Updates as functions: from the row of a state to the next state, with the checks of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from surefoot.compile.closure import Closure, closure, sort_of
from surefoot.compile.layout import Layout, Row
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Arithmetic, Array, Bool, Environment, Int, Kind, Real, Update
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.problem.number import as_doubles, bounded, brief_number
from surefoot.problem.semantics import conforms
from surefoot.problem.term import Apply, Op, Term, Var


@dataclass(frozen=True, slots=True)
class Write:
    """`path` leads to an element of an array and is empty for a whole variable."""

    slot: int
    path: tuple[Closure, ...]
    value: Closure
    index: int
    fits: Callable[[Any], bool] | None  # of the written value, if the variable is written as a whole
    as_floats: bool


def write_of(environment: Environment, layout: Layout, update: Update) -> Write:
    name, path = _place(update.target)
    if name not in layout.slots or layout.slots[name] >= len(environment.variables):
        raise InvalidProblem(f"`{name}` is not a variable")
    arithmetic, kind = environment.arithmetic, layout.kinds[name]
    as_floats = arithmetic is Arithmetic.FLOAT64 and isinstance(_element(kind), Real)
    return Write(
        layout.slots[name],
        tuple(closure(t, layout.slots, layout.kinds, arithmetic) for t in path),
        closure(update.value, layout.slots, layout.kinds, arithmetic),
        update.index,
        _fits(kind, sort_of(update.value, layout.kinds), arithmetic),
        as_floats,
    )


def _place(target: Term) -> tuple[str, tuple[Term, ...]]:
    match target:
        case Var(name):
            return name, ()
        case Apply(Op.SELECT, (array, index)):
            name, path = _place(array)
            return name, (*path, index)
        case _:
            raise InvalidProblem("an update's target must be a variable or an array element")


def _element(kind: Kind) -> Kind:
    while isinstance(kind, Array):
        kind = kind.element
    return kind


def _fits(
    kind: Kind, sort: type[int] | type[bool] | None, arithmetic: Arithmetic
) -> Callable[[Any], bool] | None:
    match kind:
        case Bool() if sort is bool:
            return None
        case Int(None, None) if sort is int:
            return _is_short
        case Int(int() as low, int() as high) if sort is int:
            return lambda value: low <= value <= high
        case _:
            return partial(conforms, kind=kind, arithmetic=arithmetic)


def _is_short(value: int) -> bool:
    """Anything is an integer without limits; only its length is."""
    return bounded(value) is value


def is_simple(writes: Sequence[Write]) -> bool:
    """Everything happens at once, and whole variables are written, each once."""
    return (
        len({w.index for w in writes}) <= 1
        and all(not w.path and not w.as_floats for w in writes)
        and len({w.slot for w in writes}) == len(writes)
    )


def next_simple(
    layout: Layout, row: Row, writes: Sequence[Write], places: Sequence[tuple[int, int]]
) -> list[Any]:
    after = list(row[: layout.width])
    for write in writes:
        value = write.value(row)
        if write.fits is not None and not write.fits(value):
            raise Undefined(f"`{layout.names[write.slot]}` becomes {brief_number(value)}, outside its kind")
        after[write.slot] = value
    for slot, location in places:
        after[slot] = location
    return after


def next_general(
    layout: Layout, row: Row, writes: Sequence[Write], places: Sequence[tuple[int, int]]
) -> list[Any]:
    """Writes are sorted by index; those of one index read what all lower ones have left."""
    after, rest = list(row[: layout.width]), row[layout.width :]
    for index in dict.fromkeys(w.index for w in writes):
        before = (*after, *rest)
        written: set[tuple[int, tuple[Any, ...]]] = set()
        for write in (w for w in writes if w.index == index):
            value = write.value(before)
            path = tuple(step(before) for step in write.path)
            if (write.slot, path) in written:
                raise Undefined(f"`{layout.names[write.slot]}` is written twice in one step")
            written.add((write.slot, path))
            value = as_doubles(value) if write.as_floats else value
            after[write.slot] = _placed(after[write.slot], path, value)
    for slot, as_floats in dict.fromkeys((w.slot, w.as_floats) for w in writes):
        arithmetic = Arithmetic.FLOAT64 if as_floats else Arithmetic.EXACT
        if not conforms(after[slot], layout.kinds[layout.names[slot]], arithmetic):
            raise Undefined(f"`{layout.names[slot]}` becomes {brief_number(after[slot])}, outside its kind")
    for slot, location in places:
        after[slot] = location
    return after


def _placed(old: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if not 0 <= path[0] < len(old):
        raise Undefined(f"index {brief_number(path[0])} is outside an array of {len(old)}")
    return (*old[: path[0]], _placed(old[path[0]], path[1:], value), *old[path[0] + 1 :])
