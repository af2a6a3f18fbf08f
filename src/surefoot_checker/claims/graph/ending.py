"""Runs that end where a goal is reached: no edge is enabled there, and what is said about acting is false."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...kernel.strict_json import BadCertificate, expect_list, expect_object, expect_text

_ENVIRONMENT = frozenset({"variables", "initial", "components", "synchronisations"})
_COMPONENT = frozenset({"name", "locations", "initial", "edges"})
_EDGE = frozenset({"source", "action", "guard", "chosen", "assuming", "outcomes"})


def end_runs(environment: object, asked: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Environment and property, as they are written, for runs that end where `before` holds."""
    entry = expect_object(environment, _ENVIRONMENT, frozenset(), "environment")
    parts = [
        expect_object(c, _COMPONENT, frozenset(), "component")
        for c in expect_list(entry["components"], "parts")
    ]
    places = {expect_text(c["name"], "component"): expect_list(c["locations"], "locations") for c in parts}
    going = ["not", _locations_to_numbers(asked["before"], places)]
    components = [
        {**part, "edges": [_strengthen_guard(edge, going) for edge in expect_list(part["edges"], "edges")]}
        for part in parts
    ]
    condition = _restrict_to_running(asked["condition"], ["not", asked["before"]])
    return {**entry, "components": components}, {**asked, "condition": condition}


def _strengthen_guard(data: object, going: list[Any]) -> dict[str, Any]:
    edge = expect_object(data, _EDGE, frozenset(), "edge")
    return {**edge, "guard": ["and", going, edge["guard"]]}


def _locations_to_numbers(part: Any, places: Mapping[str, list[Any]]) -> Any:
    """A condition on states as a guard has it: by numbers of locations, and not about what is picked."""
    if type(part) is not list or not part or part[0] == "name":
        return part
    if part[0] in ("deadlocked", "stalled", "chosen"):
        raise BadCertificate("property: where runs end does not depend on what is picked")
    if part[0] != "at":
        return [part[0], *(_locations_to_numbers(inner, places) for inner in part[1:])]
    known = places.get(part[1], []) if len(part) == 3 and type(part[1]) is str else []
    if len(part) != 3 or part[2] not in known:
        raise BadCertificate("a condition mentions an unknown component or location")
    return ["=", ["name", f"@{part[1]}"], known.index(part[2])] if len(known) > 1 else True


def _restrict_to_running(part: Any, going: list[Any]) -> Any:
    if type(part) is not list or not part or part[0] in ("name", "at"):
        return part
    if part[0] in ("deadlocked", "stalled", "chosen"):
        return ["and", going, part]
    return [part[0], *(_restrict_to_running(inner, going) for inner in part[1:])]
