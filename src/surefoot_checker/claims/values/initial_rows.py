"""Every initial state: variables that a conjunct fixes take that value, the others are tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ...kernel.strict_json import Refused
from ...kernel.term import Kind, Term, evaluate, term_names
from .model import AutomataModel, value_conforms
from .term import Function, Row, compile_row_function

MOST_TRIES = 6_000_000
MOST_STARTS = 5_000_000
FEW = 100_000  # values of one variable that are looked at by themselves
MANY = 50  # alternatives of a start condition that are looked at one by one


def enumerate_initial_rows(model: AutomataModel) -> list[Row]:
    """All of them, in no particular order; refused where too many candidates would have to be looked at."""
    variables = {name: slot for name, slot in model.slots.items() if slot < len(model.kinds)}
    whole = compile_row_function(model.problem.initial, variables)
    places = [c.initial for c in model.problem.components if len(c.locations) > 1]
    found: dict[Row, None] = {}
    for parts in _initial_cases(model.problem.initial):
        for values in _enumerate_candidates(model, parts, variables):
            if values not in found and _is_start(values, model, whole):
                found[values] = None
    return [(*values, *where) for values in found for where in product(*places)]


def _is_start(values: Row, model: AutomataModel, whole: Function) -> bool:
    if not all(value_conforms(v, k) for v, k in zip(values, model.kinds, strict=True)):
        return False
    said = whole(values)
    if type(said) is not bool:
        raise Refused("the initial condition is no truth value")
    return said


def _initial_cases(initial: Any) -> list[list[Any]]:
    """Conjuncts; where one of them has many alternatives, as a list of states has, for each of these."""
    parts = _split_conjuncts(initial)
    for place, part in enumerate(parts):
        if type(part) is tuple and part[0] == "or" and len(part) > MANY:
            rest = parts[:place] + parts[place + 1 :]
            return [[*rest, *_split_conjuncts(alternative)] for alternative in part[1:]]
    return [parts]


def _enumerate_candidates(model: AutomataModel, parts: list[Any], variables: dict[str, int]) -> Iterator[Row]:
    """Values of all variables, among them those that satisfy all of these conditions."""
    fixed: dict[int, Any] = {}
    for part in parts:
        if (known := _read_equation(part, variables)) is not None:
            slot, value = known
            if (type(value) is bool) is not (model.kinds[slot][0] == "boolean"):
                raise Refused(
                    "the initial condition takes a number for a truth value, or a truth value for one"
                )
            fixed.setdefault(slot, value)
    last: list[list[Function]] = [[] for _ in range(len(model.kinds) + 1)]
    together: set[int] = set()  # variables of conditions about several
    alone: dict[int, list[Function]] = {}
    for part in parts:
        used = {variables[n] for n in term_names(part)}
        last[max(used, default=-1) + 1].append(compile_row_function(part, variables))
        if len(used) == 1:
            (name,) = term_names(part)
            alone.setdefault(variables[name], []).append(compile_row_function(part, {name: 0}))
        together |= used if len(used) > 1 else set()
    free = [s for s in range(len(model.kinds)) if s not in fixed and s not in together]
    if not _are_few([_count_values(model.kinds[s], alone.get(s, [])) for s in free]):
        raise Refused(f"more than {MOST_STARTS} initial states")
    return _search_rows(model, fixed, last)


def _are_few(counts: list[int]) -> bool:
    """So many values each of several variables that nothing else is said about."""
    total = 1
    for count in counts:
        total *= count
        if total > MOST_STARTS and 0 not in counts:
            return False
    return True


def _count_values(kind: Kind, alone: list[Function]) -> int:
    """At least how many values a variable may have by itself."""
    if kind[0] != "integer" or kind[1] is None or kind[2] is None:
        return 1
    values = range(int(kind[1]), int(kind[2]) + 1)
    if not alone:
        return max(0, int(kind[2]) - int(kind[1]) + 1)
    return sum(_may_hold(alone, (v,)) for v in values) if int(kind[2]) - int(kind[1]) < FEW else 1


def _search_rows(model: AutomataModel, fixed: dict[int, Any], last: list[list[Function]]) -> Iterator[Row]:
    tries = 0
    if not _may_hold(last[0], ()):
        return
    stack: list[Iterator[Row]] = [iter([()])]
    while stack:
        for row in stack[-1]:
            tries += 1
            if tries > MOST_TRIES:
                raise Refused("too many candidates for initial states")
            if not _may_hold(last[len(row)], row):
                continue
            if len(row) == len(model.kinds):
                yield row
                continue
            stack.append(_extend_row(row, fixed, model.kinds[len(row)]))
            break
        else:
            stack.pop()


def _extend_row(row: Row, fixed: dict[int, Any], kind: Kind) -> Iterator[Row]:
    values = (fixed[len(row)],) if len(row) in fixed else _kind_values(kind)
    return ((*row, value) for value in values)


def _kind_values(kind: Kind) -> Any:
    if kind[0] == "boolean":
        return (False, True)
    if kind[0] == "integer" and kind[1] is not None and kind[2] is not None:
        return range(int(kind[1]), int(kind[2]) + 1)
    if kind[0] == "array":
        return product(*[_kind_values(kind[2])] * kind[1]) if kind[1] <= 64 else _refuse_infinite()
    return _refuse_infinite()


def _refuse_infinite() -> Any:
    raise Refused("a variable may start with infinitely many values, or with too many to be tried")


def _may_hold(checks: list[Function], row: Row) -> bool:
    try:
        return all(check(row) for check in checks)
    except (Refused, TypeError):
        return True  # a conjunct before it may be false, then nothing is wrong


def _split_conjuncts(term: Term) -> list[Term]:
    if type(term) is tuple and term[0] == "and":
        return [part for argument in term[1:] for part in _split_conjuncts(argument)]
    return [] if term is True else [term]


def _read_equation(part: Term, variables: dict[str, int]) -> tuple[int, Any] | None:
    if type(part) is not tuple:
        return None
    if part[0] == "name":
        return variables[part[1]], True
    if part[0] == "not" and type(part[1]) is tuple and part[1][0] == "name":
        return variables[part[1][1]], False
    if part[0] == "=":
        for left, right in ((part[1], part[2]), (part[2], part[1])):
            if type(left) is tuple and left[0] == "name" and not term_names(right):
                return variables[left[1]], evaluate(right, lambda atom: None)
    return None
