"""What can never come to be, by the graph of locations alone: runs need not be followed any further there.

A slot is the location of a component, or a variable that all edges set to constants only (the program counter
of a model without locations). From one of its values the others can be reached along edges whose other
conditions are ignored, as far as a condition about the slot itself does not forbid the edge. A condition that
holds for none of the values that can be reached is out of reach, whatever the other variables do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from surefoot.problem.environment import Edge, Environment
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.reserved_names import location_name, location_parts
from surefoot.term.term import (
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    free_names,
    split_conjunction,
    split_target,
)
from surefoot.term.value_types import Bool, Int

_MOST_VALUES = 64  # of a slot
Reach: TypeAlias = Mapping[Any, frozenset[Any]]  # by value, the values that can follow, itself included


def still_possible(condition: Term, environment: Environment) -> Term:
    """A condition on the present state that holds wherever the other one can hold now or later.

    `true` where nothing is known. It is about locations and variables.
    """
    names = free_names(condition)
    reach = {name: found for name in names if (found := _value_reach(environment, name)) is not None}
    return _possible(condition, False, environment, reach) if reach else TRUE


def _possible(term: Term, negated: bool, environment: Environment, reach: Mapping[str, Reach]) -> Term:
    match term:
        case Apply(Op.NOT, (inner,)):
            return _possible(inner, not negated, environment, reach)
        case Apply(Op.AND | Op.OR as op, parts):
            found = tuple(_possible(part, negated, environment, reach) for part in parts)
            return conjunction_of(found) if (op is Op.AND) is not negated else disjunction_of(found)
    names = free_names(term)
    if len(names) != 1 or (name := next(iter(names))) not in reach:
        return TRUE
    try:
        good = {v for v in reach[name] if bool(_atom_value(term, name, v)) is not negated}
    except Undefined:
        return TRUE
    able = [value for value, later in reach[name].items() if later & good]
    if len(able) == len(reach[name]):
        return TRUE
    if (place := location_parts(name)) is not None:
        return disjunction_of(tuple(Var(location_name(place[0], value)) for value in able))
    return disjunction_of(tuple(equal(Var(name), Const(value)) for value in able))


def _atom_value(term: Term, name: str, value: Any) -> Any:
    parts = location_parts(name)
    return evaluate_term(term, {name: value if parts is None else value == parts[1]})


def _value_reach(environment: Environment, name: str) -> Reach | None:
    parts = location_parts(name)
    if parts is not None:
        component = next((c for c in environment.components if c.name == parts[0]), None)
        if component is None:
            return None
        steps = [(e.source, o.target) for e in component.edges for o in e.outcomes]
        return _closure(component.locations, steps)
    kind = next((v.kind for v in environment.variables if v.name == name), None)
    values: tuple[Any, ...]
    match kind:
        case Bool():
            values = (False, True)
        case Int(int(low), int(high)) if high - low < _MOST_VALUES:
            values = tuple(range(low, high + 1))
        case _:
            return None
    steps = []
    for edge in (e for c in environment.components for e in c.edges):
        targets = _constants_set(edge, name)
        if targets is None:
            return None
        steps += [(value, target) for value in values if _allows(edge, name, value) for target in targets]
    return _closure(values, steps)


def _constants_set(edge: Edge, name: str) -> set[Any] | None:
    """To which constants an edge sets a variable; None: also to something else, or somebody chooses it."""
    found = set()
    for update in (u for o in edge.outcomes for u in o.updates):
        if split_target(update.target)[0] != name:
            continue
        if not isinstance(update.value, Const) or not isinstance(update.target, Var):
            return None
        found.add(update.value.value)
    return found


def _allows(edge: Edge, name: str, value: Any) -> bool:
    for part in split_conjunction(edge.guard):
        if free_names(part) == {name}:
            try:
                if not evaluate_term(part, {name: value}):
                    return False
            except Undefined:
                return True
    return True


def _closure(values: Iterable[Any], steps: Iterable[tuple[Any, Any]]) -> Reach:
    following: dict[Any, set[Any]] = {value: set() for value in values}
    for source, target in steps:
        if source in following:
            following[source].add(target)
    found = {}
    for value in following:
        seen, waiting = {value}, [value]
        while waiting:
            for later in following.get(waiting.pop(), ()):
                if later not in seen:
                    seen.add(later)
                    waiting.append(later)
        found[value] = frozenset(seen)
    return found
