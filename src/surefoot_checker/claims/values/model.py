"""Reading an environment: variables, components with their edges, and which of them move together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import BadCertificate, expect_list, expect_number, expect_object, expect_text
from .term import Kind, integer_if_whole, term_to_syntax
from .term_code import ExpressionCompiler, TermSyntax

_ENVIRONMENT = frozenset({"variables", "initial", "components", "synchronisations"})
_COMPONENT = frozenset({"name", "locations", "initial", "edges"})
_EDGE = frozenset({"source", "action", "guard", "chosen", "assuming", "outcomes"})
_OUTCOME = frozenset({"probability", "updates", "rewards", "target"})
LARGEST_ARRAY = 100_000
OURS = "\0"  # names that begin so stand for what conditions ask besides variables: no variable has one


@dataclass(frozen=True, slots=True, eq=False)
class ModelUpdate:
    index: int
    slot: int
    path: tuple[TermSyntax, ...]  # into an array
    value: TermSyntax


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutcome:
    probability: TermSyntax
    updates: tuple[ModelUpdate, ...]
    rewards: tuple[tuple[str, TermSyntax], ...]
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class ModelEdge:
    component: int
    number: int
    action: str | None
    guard: TermSyntax
    chosen: tuple[tuple[int, Kind], ...]  # slot and kind
    assuming: TermSyntax
    outcomes: tuple[ModelOutcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AutomataModel:
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
    edges: tuple[tuple[tuple[ModelEdge, ...], ...], ...]  # by component and location
    together: tuple[tuple[tuple[str | None, ...], str | None], ...]
    code: ExpressionCompiler  # of all its terms

    def sure(self) -> Mapping[int, Kind]:
        """The kinds of all entries of a state: nothing else is ever written."""
        return _entry_kinds(self.kinds, self.places, self.locations)


def _entry_kinds(
    kinds: Sequence[Kind], places: Sequence[int | None], locations: Sequence[tuple[str, ...]]
) -> Mapping[int, Kind]:
    found: dict[int, Kind] = dict(enumerate(kinds))
    for place, several in zip(places, locations, strict=True):
        if place is not None:
            found[place] = ("integer", 0, len(several) - 1)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """Where names stand, and the code that terms become part of."""

    slots: Mapping[str, int]
    kinds: Mapping[int, Kind]
    variables: int
    code: ExpressionCompiler

    def term(self, data: object) -> TermSyntax:
        return term_to_syntax(data, self.slots, self.kinds, self.code)


def read_automata_model(data: object) -> AutomataModel:
    entry = expect_object(data, _ENVIRONMENT, frozenset(), "environment")
    variables = [
        (expect_text(v[0], "variable"), _read_value_kind(v[1]))
        for v in map(_read_pair, expect_list(entry["variables"], "variables"))
    ]
    slots = {name: i for i, (name, _) in enumerate(variables)}
    if len(slots) != len(variables):
        raise BadCertificate("a variable is declared twice")
    if any(name.startswith(OURS) for name in slots):
        raise BadCertificate("the name of a variable begins with a zero byte")
    parts = [
        expect_object(c, _COMPONENT, frozenset(), "component")
        for c in expect_list(entry["components"], "components")
    ]
    locations = tuple(_read_distinct_texts(c["locations"], "locations") for c in parts)
    places: list[int | None] = []
    width = len(variables)
    names = tuple(expect_text(c["name"], "component") for c in parts)
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
        for edge in expect_list(component["edges"], "edges"):
            for choice in expect_list(expect_object(edge, _EDGE, frozenset(), "edge")["chosen"], "chosen"):
                name = expect_text(_read_pair(choice)[0], "chosen value")
                if slots.get(name, width) < width:
                    raise BadCertificate(f"a chosen value has the name of a variable: {name[:40]}")
                if name not in slots:
                    slots[name] = length
                    length += 1
    kinds = tuple(kind for _, kind in variables)
    scope = _Scope(slots, _entry_kinds(kinds, places, locations), len(variables), ExpressionCompiler())
    edges = tuple(
        _read_edges(number, component, locations[number], scope) for number, component in enumerate(parts)
    )
    first = tuple(
        tuple(
            _location_index(place, locations[i])
            for place in _read_distinct_texts(c["initial"], "initial locations")
        )
        for i, c in enumerate(parts)
    )
    together = tuple(
        _read_synchronisation(v, len(parts))
        for v in expect_list(entry["synchronisations"], "synchronisations")
    )
    return AutomataModel(
        width,
        length,
        slots,
        kinds,
        tuple(places),
        names,
        locations,
        first,
        entry["initial"],
        edges,
        together,
        scope.code,
    )


def _read_pair(data: object) -> list[Any]:
    pair = expect_list(data, "a pair")
    if len(pair) != 2:
        raise BadCertificate("a pair of another length than 2")
    return pair


def _read_distinct_texts(data: object, what: str) -> tuple[str, ...]:
    found = tuple(expect_text(t, what) for t in expect_list(data, what))
    if not found or len(set(found)) != len(found):
        raise BadCertificate(f"{what}: none, or one twice")
    return found


def _location_index(name: str, several: tuple[str, ...]) -> int:
    if name not in several:
        raise BadCertificate(f"an unknown location: {name[:40]}")
    return several.index(name)


def _read_value_kind(data: object) -> Kind:
    if data == "boolean":
        return ("boolean",)
    parts = expect_list(data, "kind")
    if len(parts) == 3 and parts[0] in ("integer", "real"):
        ends = [None if e is None else integer_if_whole(expect_number(e, "bound")) for e in parts[1:]]
        if parts[0] == "integer" and any(e is not None and type(e) is not int for e in ends):
            raise BadCertificate("an end of a range of whole numbers that is none")
        return (parts[0], *ends)
    if len(parts) == 3 and parts[0] == "array" and type(parts[1]) is int and 0 <= parts[1] <= LARGEST_ARRAY:
        return ("array", parts[1], _read_value_kind(parts[2]))
    raise BadCertificate("a kind that is not covered")


def value_conforms(value: Any, kind: Kind) -> bool:
    if kind[0] == "boolean":
        return type(value) is bool
    if kind[0] == "array":
        return (
            type(value) is tuple and len(value) == kind[1] and all(value_conforms(v, kind[2]) for v in value)
        )
    if type(value) is not int and (kind[0] == "integer" or type(value) is not Fraction):
        return False
    return (kind[1] is None or kind[1] <= value) and (kind[2] is None or value <= kind[2])


def _read_edges(
    number_: int, component: Mapping[str, Any], locations: tuple[str, ...], scope: _Scope
) -> tuple[tuple[ModelEdge, ...], ...]:
    found: list[list[ModelEdge]] = [[] for _ in locations]
    for position, data in enumerate(component["edges"]):
        action = None if data["action"] is None else expect_text(data["action"], "action")
        chosen = tuple((scope.slots[c[0]], _read_value_kind(c[1])) for c in data["chosen"])
        outcomes = tuple(
            _read_outcome(o, locations, scope) for o in expect_list(data["outcomes"], "outcomes")
        )
        guard, assuming = scope.term(data["guard"]), scope.term(data["assuming"])
        edge = ModelEdge(number_, position, action, guard, chosen, assuming, outcomes)
        found[_location_index(expect_text(data["source"], "source"), locations)].append(edge)
    return tuple(map(tuple, found))


def _read_outcome(data: object, locations: tuple[str, ...], scope: _Scope) -> ModelOutcome:
    entry = expect_object(data, _OUTCOME, frozenset(), "outcome")
    updates = [_read_update(u, scope) for u in expect_list(entry["updates"], "updates")]
    rewards = tuple(
        (expect_text(r[0], "reward"), scope.term(r[1]))
        for r in map(_read_pair, expect_list(entry["rewards"], "rewards"))
    )
    return ModelOutcome(
        scope.term(entry["probability"]),
        tuple(sorted(updates, key=lambda u: u.index)),
        rewards,
        _location_index(expect_text(entry["target"], "target"), locations),
    )


def _read_update(data: object, scope: _Scope) -> ModelUpdate:
    parts = expect_list(data, "update")
    if len(parts) != 3 or type(parts[2]) is not int:
        raise BadCertificate("an update that is not [target, value, index]")
    path: list[TermSyntax] = []
    target = parts[0]
    while type(target) is list and len(target) == 3 and target[0] == "select":
        path.insert(0, scope.term(target[2]))
        target = target[1]
    if type(target) is not list or len(target) != 2 or target[0] != "name":
        raise BadCertificate("the target of an update is not a variable")
    if (slot := scope.slots.get(expect_text(target[1], "a name"), scope.variables)) >= scope.variables:
        raise BadCertificate("the target of an update is not a variable")
    return ModelUpdate(parts[2], slot, tuple(path), scope.term(parts[1]))


def _read_synchronisation(data: object, count: int) -> tuple[tuple[str | None, ...], str | None]:
    actions, result = _read_pair(data)
    found = tuple(None if a is None else expect_text(a, "action") for a in expect_list(actions, "actions"))
    if len(found) != count:
        raise BadCertificate("a synchronisation of another length than there are components")
    if all(a is None for a in found):
        raise BadCertificate("a synchronisation in which no component takes part")
    return found, None if result is None else expect_text(result, "result")
