"""Terms over states in which outcomes are open: a value, a table over one source, or what has to be resolved.

Conditions are looked at part by part, so that one part that is false decides a conjunction whatever is open
in the others (short-circuit evaluation of partially known states).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from surefoot.explore.delayed.reduced_state import ReducedState, Table
from surefoot.explore.row_layout import RowLayout
from surefoot.term.closures import UNDEFINED_ERRORS, Closure, compile_closure
from surefoot.term.term import Apply, Op, Term, free_names
from surefoot.term.types import ELEMENTARY
from surefoot.term.value_types import Arithmetic

MOST_WAYS = 64  # combinations of columns of several sources that are tried
CONNECTIVES = frozenset({Op.AND, Op.OR, Op.NOT, Op.IMPLIES, Op.ITE})
_PARTIAL = frozenset({Op.DIV, Op.MOD, Op.POW, Op.SELECT}) | ELEMENTARY  # may have no value


@dataclass(frozen=True, slots=True)
class Open:
    """The value depends on this source, in a way that cannot be a table."""

    source: int
    undefined: bool = False  # somewhere it has no value


@dataclass(frozen=True, slots=True, eq=False)
class LazyTerm:
    closure: Closure
    slots: frozenset[int]
    op: Op | None  # a connective, whose parts are looked at by themselves
    parts: tuple[LazyTerm, ...]
    partial: bool  # somewhere in it is an operator that may have no value


def compile_lazy_term(term: Term, layout: RowLayout) -> LazyTerm:
    """The term and its parts, as far down as there are connectives."""
    closure = compile_closure(term, layout.slots, layout.kinds, Arithmetic.EXACT)
    slots = frozenset(layout.slots[name] for name in free_names(term))
    if isinstance(term, Apply) and term.op in CONNECTIVES:
        parts = tuple(compile_lazy_term(part, layout) for part in term.args)
        return LazyTerm(closure, slots, term.op, parts, any(part.partial for part in parts))
    return LazyTerm(closure, slots, None, (), _has_partial_operator(term))


def _has_partial_operator(term: Term) -> bool:
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Apply):
            if part.op in _PARTIAL:
                return True
            stack.extend(part.args)
    return False


def evaluate_lazily(term: LazyTerm, state: ReducedState) -> Any:
    """A value, a `Table`, or `Open`."""
    if state.open.keys().isdisjoint(term.slots):
        return term.closure(state.row)
    sources = state.sources_of(term.slots)
    if len(sources) == 1 or state.ways(sources) <= MOST_WAYS:
        picks = product(*(range(len(state.sources[k][1])) for k in sources))
        rows = (state.with_columns(dict(zip(sources, pick, strict=True))) for pick in picks)
        try:
            values = tuple([term.closure(row) for row in rows])
        except UNDEFINED_ERRORS:
            return Open(sources[0], undefined=True)
        if all(value == values[0] for value in values):
            return values[0]
        if len(sources) == 1:
            return Table(sources[0], values)
    if term.op is None:
        return Open(sources[0])
    return _LAZILY[term.op](term.parts, state)


def _source_of(found: Any) -> Open | None:
    if isinstance(found, Table):
        return Open(found.source)
    return found if isinstance(found, Open) else None


def _decide_parts(parts: Sequence[LazyTerm], state: ReducedState, *, deciding: bool) -> Any:
    """`deciding`: the value of one part that is the value of the whole; else the first open part counts."""
    first: Open | None = None
    for part in parts:
        found = evaluate_lazily(part, state)
        waits = _source_of(found)
        if waits is not None:
            first = first or waits
            if waits.undefined:
                return Open(first.source, undefined=True)
        elif bool(found) is deciding:
            return deciding
    return not deciding if first is None else first


def _decide_negation(parts: Sequence[LazyTerm], state: ReducedState) -> Any:
    found = evaluate_lazily(parts[0], state)
    return _source_of(found) or not found


def _decide_implication(parts: Sequence[LazyTerm], state: ReducedState) -> Any:
    premise = evaluate_lazily(parts[0], state)
    waits = _source_of(premise)
    if waits is None:
        return _truth(evaluate_lazily(parts[1], state)) if premise else True
    if waits.undefined:
        return waits
    found = evaluate_lazily(parts[1], state)
    if (more := _source_of(found)) is not None:
        return Open(waits.source, undefined=more.undefined)
    return True if found else waits


def _truth(found: Any) -> Any:
    return _source_of(found) or bool(found)


def _decide_choice(parts: Sequence[LazyTerm], state: ReducedState) -> Any:
    condition = evaluate_lazily(parts[0], state)
    waits = _source_of(condition)
    return waits or evaluate_lazily(parts[1] if condition else parts[2], state)


_LAZILY: Mapping[Op, Callable[[Sequence[LazyTerm], ReducedState], Any]] = {
    Op.AND: lambda parts, state: _decide_parts(parts, state, deciding=False),
    Op.OR: lambda parts, state: _decide_parts(parts, state, deciding=True),
    Op.NOT: _decide_negation,
    Op.IMPLIES: _decide_implication,
    Op.ITE: _decide_choice,
}
