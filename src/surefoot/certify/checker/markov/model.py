"""Reading an environment: variables, components with their edges, and which of them move together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..number import BadCertificate, items, number, record, text
from .term import Function, Row, compiled, plain

Kind = tuple[Any, ...]  # ("boolean",), ("integer", low, high), ("real", low, high), ("array", length, kind)
_ENVIRONMENT = frozenset({"variables", "initial", "components", "synchronisations"})
_COMPONENT = frozenset({"name", "locations", "initial", "edges"})
_EDGE = frozenset({"source", "action", "guard", "chosen", "assuming", "outcomes"})
_OUTCOME = frozenset({"probability", "updates", "rewards", "target"})
LARGEST_ARRAY = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    index: int
    slot: int
    path: tuple[Function, ...]  # into an array
    value: Function


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    probability: Function
    constant: Fraction | None  # the probability, where it is always the same
    updates: tuple[Update, ...]
    rewards: tuple[tuple[str, Function], ...]
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    component: int
    number: int
    action: str | None
    guard: Function
    chosen: tuple[tuple[int, Kind], ...]  # slot and kind
    assuming: Function
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A row is a state (`width` entries: variables, then locations), then the values that are chosen."""

    width: int
    length: int
    slots: Mapping[str, int]  # of variables, of places (`@component`) and of chosen values
    kinds: tuple[Kind, ...]  # of variables
    places: tuple[int | None, ...]  # slot of the location of each component, None where it has only one
    names: tuple[str, ...]  # of components
    locations: tuple[tuple[str, ...], ...]
    first: tuple[tuple[int, ...], ...]  # initial locations
    initial: Any  # the condition as it was written
    edges: tuple[tuple[tuple[Edge, ...], ...], ...]  # by component and location
    together: tuple[tuple[tuple[str | None, ...], str | None], ...]


def read_model(data: object) -> Model:
    entry = record(data, _ENVIRONMENT, frozenset(), "environment")
    variables = [
        (text(v[0], "variable"), kind_of(v[1])) for v in map(_pair, items(entry["variables"], "variables"))
    ]
    slots = {name: i for i, (name, _) in enumerate(variables)}
    if len(slots) != len(variables):
        raise BadCertificate("a variable is declared twice")
    parts = [
        record(c, _COMPONENT, frozenset(), "component") for c in items(entry["components"], "components")
    ]
    locations = tuple(_texts(c["locations"], "locations") for c in parts)
    places: list[int | None] = []
    width = len(variables)
    names = tuple(text(c["name"], "component") for c in parts)
    if len(set(names)) != len(names):
        raise BadCertificate("two components have one name")
    for name, several in zip(names, locations, strict=True):
        places.append(width if len(several) > 1 else None)
        if len(several) > 1:
            if f"@{name}" in slots:
                raise BadCertificate(f"a variable has the name of a place: @{name[:40]}")
            slots[f"@{name}"] = width
            width += 1
    length = width
    for component in parts:
        for edge in items(component["edges"], "edges"):
            for choice in items(record(edge, _EDGE, frozenset(), "edge")["chosen"], "chosen"):
                name = text(_pair(choice)[0], "chosen value")
                if slots.get(name, width) < width:
                    raise BadCertificate(f"a chosen value has the name of a variable: {name[:40]}")
                if name not in slots:
                    slots[name] = length
                    length += 1
    edges = tuple(
        _edges(number, component, locations[number], slots, len(variables))
        for number, component in enumerate(parts)
    )
    first = tuple(
        tuple(_position(place, locations[i]) for place in _texts(c["initial"], "initial locations"))
        for i, c in enumerate(parts)
    )
    together = tuple(_vector(v, len(parts)) for v in items(entry["synchronisations"], "synchronisations"))
    kinds = tuple(kind for _, kind in variables)
    return Model(
        width, length, slots, kinds, tuple(places), names, locations, first, entry["initial"], edges, together
    )


def _pair(data: object) -> list[Any]:
    pair = items(data, "a pair")
    if len(pair) != 2:
        raise BadCertificate("a pair of another length than 2")
    return pair


def _texts(data: object, what: str) -> tuple[str, ...]:
    found = tuple(text(t, what) for t in items(data, what))
    if not found or len(set(found)) != len(found):
        raise BadCertificate(f"{what}: none, or one twice")
    return found


def _position(name: str, several: tuple[str, ...]) -> int:
    if name not in several:
        raise BadCertificate(f"an unknown location: {name[:40]}")
    return several.index(name)


def kind_of(data: object) -> Kind:
    if data == "boolean":
        return ("boolean",)
    parts = items(data, "kind")
    if len(parts) == 3 and parts[0] in ("integer", "real"):
        ends = [None if e is None else plain(number(e, "bound")) for e in parts[1:]]
        return (parts[0], *ends)
    if len(parts) == 3 and parts[0] == "array" and type(parts[1]) is int and 0 <= parts[1] <= LARGEST_ARRAY:
        return ("array", parts[1], kind_of(parts[2]))
    raise BadCertificate("a kind that is not covered")


def conforms(value: Any, kind: Kind) -> bool:
    if kind[0] == "boolean":
        return type(value) is bool
    if kind[0] == "array":
        return type(value) is tuple and len(value) == kind[1] and all(conforms(v, kind[2]) for v in value)
    if type(value) is not int and (kind[0] == "integer" or type(value) is not Fraction):
        return False
    return (kind[1] is None or kind[1] <= value) and (kind[2] is None or value <= kind[2])


def _edges(
    number_: int,
    component: Mapping[str, Any],
    locations: tuple[str, ...],
    slots: Mapping[str, int],
    variables: int,
) -> tuple[tuple[Edge, ...], ...]:
    found: list[list[Edge]] = [[] for _ in locations]
    for position, data in enumerate(component["edges"]):
        action = None if data["action"] is None else text(data["action"], "action")
        chosen = tuple((slots[c[0]], kind_of(c[1])) for c in data["chosen"])
        outcomes = tuple(
            _outcome(o, locations, slots, variables) for o in items(data["outcomes"], "outcomes")
        )
        guard, assuming = compiled(data["guard"], slots), compiled(data["assuming"], slots)
        edge = Edge(number_, position, action, guard, chosen, assuming, outcomes)
        found[_position(text(data["source"], "source"), locations)].append(edge)
    return tuple(map(tuple, found))


def _outcome(data: object, locations: tuple[str, ...], slots: Mapping[str, int], variables: int) -> Outcome:
    entry = record(data, _OUTCOME, frozenset(), "outcome")
    given = entry["probability"]
    fixed = number(given, "probability") if type(given) in (int, str) else None
    updates = [_update(u, slots, variables) for u in items(entry["updates"], "updates")]
    rewards = tuple(
        (text(r[0], "reward"), compiled(r[1], slots)) for r in map(_pair, items(entry["rewards"], "rewards"))
    )
    return Outcome(
        compiled(given, slots),
        fixed,
        tuple(sorted(updates, key=lambda u: u.index)),
        rewards,
        _position(text(entry["target"], "target"), locations),
    )


def _update(data: object, slots: Mapping[str, int], variables: int) -> Update:
    parts = items(data, "update")
    if len(parts) != 3 or type(parts[2]) is not int:
        raise BadCertificate("an update that is not [target, value, index]")
    path: list[Function] = []
    target = parts[0]
    while type(target) is list and len(target) == 3 and target[0] == "select":
        path.insert(0, compiled(target[2], slots))
        target = target[1]
    if type(target) is not list or len(target) != 2 or target[0] != "name":
        raise BadCertificate("the target of an update is not a variable")
    if (slot := slots.get(text(target[1], "a name"), variables)) >= variables:
        raise BadCertificate("the target of an update is not a variable")
    return Update(parts[2], slot, tuple(path), compiled(parts[1], slots))


def _vector(data: object, count: int) -> tuple[tuple[str | None, ...], str | None]:
    actions, result = _pair(data)
    found = tuple(None if a is None else text(a, "action") for a in items(actions, "actions"))
    if len(found) != count:
        raise BadCertificate("a synchronisation of another length than there are components")
    return found, None if result is None else text(result, "result")


def location_of(model: Model, component: int, row: Row) -> int:
    place = model.places[component]
    return 0 if place is None else int(row[place])
