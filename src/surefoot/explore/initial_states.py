"""Every start state of a finite environment, without a solver.

Variables that a conjunct of `initial` fixes take that value; the others are tried one after another in the
order of declaration, and each conjunct is looked at as soon as all its names have values. Where a conjunct is
a list of states, only values with which one of them begins are tried. What is found is looked at once more as
a whole, in the order written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.interpret.joint_steps import undefined_error
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.initial_values import fixed_alternatives, fixed_values
from surefoot.problem.semantics import has_value_type
from surefoot.term.closures import UNDEFINED_ERRORS, Closure, Row, compile_closure
from surefoot.term.term import free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType
from surefoot.work.budget import Budget

LARGEST_TRIES = 5_000_000
_OFTEN = 64  # tries after which the clock is looked at


class LateStarts(Unsupported):
    """Time was up before all start states were found."""


def initial_rows(
    environment: Environment, layout: RowLayout, limit: int = LARGEST_TRIES, budget: Budget | None = None
) -> list[Row]:
    """The start states in order; refuses where more than `limit` partial states would have to be tried.

    Raises `LateStarts` when the budget ends.
    """
    return list(iterate_initial_rows(environment, layout, limit, budget))


def iterate_initial_rows(
    environment: Environment, layout: RowLayout, limit: int = LARGEST_TRIES, budget: Budget | None = None
) -> Iterator[Row]:
    """The same one by one: who needs to know only whether there are many stops early."""
    clock = budget or Budget()
    fixed = fixed_values(environment)
    options: list[Any] = []
    for variable in environment.variables:
        is_fixed = variable.name in fixed
        options.append((fixed[variable.name],) if is_fixed else _kind_values(variable.name, variable.kind))
    for component, slot in zip(environment.components, layout.places, strict=True):
        if slot is not None:
            options.append([component.locations.index(place) for place in component.initial])
        elif component.locations[0] not in component.initial:
            raise InvalidProblem(f"component `{component.name}` has no initial location")
    checks = _conjunct_checks(environment, layout)
    starts = compile_closure(environment.initial, layout.slots, layout.kinds, environment.arithmetic)
    found = _enumerate_rows(options, checks, layout, limit, clock)
    fitting = (row for row in found if _row_conforms(layout, row, environment.arithmetic))
    return (row for row in fitting if _is_start(starts, layout, row))


def _is_start(starts: Closure, layout: RowLayout, row: Row) -> bool:
    try:
        return bool(starts(row))
    except UNDEFINED_ERRORS as error:
        raise undefined_error(error, "the start condition", layout, row) from None


def _row_conforms(layout: RowLayout, row: Row, arithmetic: Arithmetic) -> bool:
    return all(
        has_value_type(value, layout.kinds[n], arithmetic) for n, value in zip(layout.names, row, strict=True)
    )


def _may_hold(checks: list[Closure], row: Row) -> bool:
    try:
        return all(holds(row) for holds in checks)
    except UNDEFINED_ERRORS:
        return True  # an earlier conjunct, not yet looked at, may be false


def _kind_values(name: str, kind: ValueType) -> Any:
    match kind:
        case Bool():
            return (False, True)
        case Int(int() as low, int() as high):
            return range(low, high + 1)
        case Array(element, length):
            return _Arrays(_kind_values(name, element), length)
        case Int() | Real():
            raise Unsupported(
                f"`{name}` may start with infinitely many values", fix="fix its start value in `initial`"
            )


class _Arrays:
    """All tuples of a length, lazily."""

    def __init__(self, element: Any, length: int) -> None:
        self._element, self._length = element, length

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._from(self._length)

    def _from(self, length: int) -> Iterator[tuple[Any, ...]]:
        if not length:
            yield ()
            return
        for first in self._element:
            for rest in self._from(length - 1):
                yield (first, *rest)


def _conjunct_checks(environment: Environment, layout: RowLayout) -> list[list[Closure]]:
    """Per entry of the row, the conjuncts whose last name it is."""
    checks: list[list[Closure]] = [[] for _ in range(layout.width + 1)]
    slots = {v.name: layout.slots[v.name] for v in environment.variables}
    for part in split_conjunction(environment.initial):
        holds = compile_closure(part, slots, layout.kinds, environment.arithmetic)
        checks[1 + max((slots[name] for name in free_names(part)), default=-1)].append(holds)
    for names, values in fixed_alternatives(environment):
        for count in range(1, len(names) + 1):
            begun = frozenset(several[:count] for several in values)
            own = tuple(slots[n] for n in names[:count])
            checks[1 + max(own)].insert(0, _begins_like(own, begun))
    return checks


def _begins_like(slots: tuple[int, ...], begun: frozenset[tuple[Any, ...]]) -> Closure:
    """Whether what a row has in these slots is the beginning of some listed state."""
    return lambda row: tuple([row[slot] for slot in slots]) in begun


def _enumerate_rows(
    options: list[Any], checks: list[list[Closure]], layout: RowLayout, limit: int, clock: Budget
) -> Iterator[Row]:
    tried = 0
    if not _may_hold(checks[0], ()):
        return
    stack: list[tuple[Row, Iterator[Any]]] = [((), iter(options[0]))] if options else []
    if not options:
        yield ()
    while stack:
        row, values = stack[-1]
        for value in values:
            tried += 1
            if tried > limit:
                raise Unsupported(
                    f"more than {limit} candidates for start states", fix="say more in `initial`"
                )
            if tried % _OFTEN == 0 and clock.is_spent():
                raise LateStarts("the time ended before all start states were found")
            longer = (*row, value)
            if _may_hold(checks[len(longer)], longer):
                break
        else:
            stack.pop()
            continue
        if len(longer) == layout.width:
            yield longer
        else:
            stack.append((longer, iter(options[len(longer)])))
