"""What can never come to be, by the graph of locations alone: runs need not be followed any further there.

From a location of a component others can be reached along its edges, whose conditions are ignored. What holds
for none of them is out of reach, whatever the variables do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from surefoot.problem.environment import Environment
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import location_name, location_parts
from surefoot.term.term import (
    TRUE,
    Apply,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
)

Reach: TypeAlias = Mapping[str, frozenset[str]]  # by location, those that can follow, itself included


def still_possible(condition: Term, environment: Environment) -> Term:
    """A condition on the present state that holds wherever the other one can hold now or later.

    `true` where nothing is known. It is about locations.
    """
    names = free_names(condition)
    reach = {name: found for name in names if (found := _location_reach(environment, name)) is not None}
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
    place = location_parts(name)
    assert place is not None
    good = {v for v in reach[name] if bool(evaluate_term(term, {name: v == place[1]})) is not negated}
    able = [value for value, later in reach[name].items() if later & good]
    if len(able) == len(reach[name]):
        return TRUE
    return disjunction_of(tuple(Var(location_name(place[0], value)) for value in able))


def _location_reach(environment: Environment, name: str) -> Reach | None:
    place = location_parts(name)
    component = next((c for c in environment.components if place and c.name == place[0]), None)
    if component is None:
        return None
    return _closure(component.locations, [(e.source, o.target) for e in component.edges for o in e.outcomes])


def _closure(values: Iterable[str], steps: Iterable[tuple[str, str]]) -> Reach:
    following: dict[str, set[str]] = {value: set() for value in values}
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
