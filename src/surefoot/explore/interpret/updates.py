"""Updates as functions: from the row of a state to the next state, with the checks of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Environment, Update
from surefoot.problem.semantics import has_value_type
from surefoot.term.closures import Closure, Row, compile_closure
from surefoot.term.evaluate import Undefined
from surefoot.term.number import as_doubles, brief_number, check_bit_length
from surefoot.term.term import split_target
from surefoot.term.types import sort_of
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """`path` leads to an element of an array and is empty for a whole variable."""

    slot: int
    path: tuple[Closure, ...]
    value: Closure
    index: int
    fits: Callable[[Any], bool] | None  # of the written value, if the variable is written as a whole
    as_floats: bool


def compile_update(environment: Environment, layout: RowLayout, update: Update) -> CompiledUpdate:
    name, path = split_target(update.target)
    if name not in layout.slots or layout.slots[name] >= len(environment.variables):
        raise InvalidProblem(f"`{name}` is not a variable")
    arithmetic, kind = environment.arithmetic, layout.kinds[name]
    as_floats = arithmetic is Arithmetic.FLOAT64 and isinstance(_element_kind(kind), Real)
    return CompiledUpdate(
        layout.slots[name],
        tuple(compile_closure(t, layout.slots, layout.kinds, arithmetic) for t in path),
        compile_closure(update.value, layout.slots, layout.kinds, arithmetic),
        update.index,
        _fit_test(kind, sort_of(update.value, layout.kinds), arithmetic),
        as_floats,
    )


def _element_kind(kind: ValueType) -> ValueType:
    while isinstance(kind, Array):
        kind = kind.element
    return kind


def _fit_test(
    kind: ValueType, sort: type[int] | type[bool] | None, arithmetic: Arithmetic
) -> Callable[[Any], bool] | None:
    match kind:
        case Bool() if sort is bool:
            return None
        case Int(None, None) if sort is int:
            return _is_short
        case Int(int() as low, int() as high) if sort is int:
            return lambda value: low <= value <= high
        case _:
            return partial(has_value_type, kind=kind, arithmetic=arithmetic)


def _is_short(value: int) -> bool:
    """Anything is an integer without limits; only its length is."""
    return check_bit_length(value) is value


def has_simple_updates(writes: Sequence[CompiledUpdate]) -> bool:
    """Everything happens at once, and whole variables are written, each once."""
    return (
        len({w.index for w in writes}) <= 1
        and all(not w.path and not w.as_floats for w in writes)
        and len({w.slot for w in writes}) == len(writes)
    )


def apply_simple_updates(
    layout: RowLayout, row: Row, writes: Sequence[CompiledUpdate], places: Sequence[tuple[int, int]]
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


def apply_ordered_updates(
    layout: RowLayout, row: Row, writes: Sequence[CompiledUpdate], places: Sequence[tuple[int, int]]
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
            after[write.slot] = _replace_element(after[write.slot], path, value)
    for slot, as_floats in dict.fromkeys((w.slot, w.as_floats) for w in writes):
        arithmetic = Arithmetic.FLOAT64 if as_floats else Arithmetic.EXACT
        if not has_value_type(after[slot], layout.kinds[layout.names[slot]], arithmetic):
            raise Undefined(f"`{layout.names[slot]}` becomes {brief_number(after[slot])}, outside its kind")
    for slot, location in places:
        after[slot] = location
    return after


def _replace_element(old: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if not 0 <= path[0] < len(old):
        raise Undefined(f"index {brief_number(path[0])} is outside an array of {len(old)}")
    return (*old[: path[0]], _replace_element(old[path[0]], path[1:], value), *old[path[0] + 1 :])
