"""What `surefoot inspect gym:NAME` says: what the model is, and how exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.formats.gymnasium.gym_model import GymModel
from surefoot.formats.gymnasium.gym_name import split_gym_name
from surefoot.formats.gymnasium.registry import build_gym_model, find_gym_kind
from surefoot.problem.environment import Choice
from surefoot.problem.property_printer import show_property
from surefoot.term.printer import show_term


def describe_gym_model(text: str, constants: Mapping[str, str]) -> dict[str, Any]:
    """Spaces, starts, ends, arguments and properties of a library environment, as text."""
    model = build_gym_model(text, constants)
    name, _ = split_gym_name(text)
    environment = model.environment
    return {
        "kind": "model of a Gymnasium environment; the library itself is not needed",
        "name": _called(model),
        "variables": [variable.name for variable in environment.variables],
        "starts": show_term(environment.initial),
        "observes": _observations(model),
        **_actions(model),
        "arithmetic": environment.arithmetic.value,
        "terminates": "never" if model.terminates is None else show_term(model.terminates),
        "time limit": "none" if model.limit is None else f"{model.limit} steps",
        "arguments": ", ".join(f"{k}={a.default}" for k, a in find_gym_kind(name).arguments.items()),
        "properties": {key: show_property(asked) for key, asked in model.properties.items()}
        | {key: f"the same as `{other}`" for key, other in model.aliases.items()},
        "exactness": list(model.facts),
    }


def _called(model: GymModel) -> str:
    """The name, with the arguments that are not the library's defaults."""
    name = model.environment.name
    return next((note for note in model.environment.notes if note.startswith(f"{name} with ")), name)


def _observations(model: GymModel) -> list[str]:
    """What a network reads; one-hot encodings are not listed value by value."""
    if not model.numbers:
        return [show_term(term) for term in model.observe]
    shown = ", ".join(show_term(term) for term in model.numbers)
    return [f"{shown} (as a library shows it)", f"or {len(model.observe)} numbers: one-hot"]


def _actions(model: GymModel) -> dict[str, Any]:
    chosen: dict[str, Choice] = {
        c.name: c for part in model.environment.components for edge in part.edges for c in edge.chosen
    }
    found: dict[str, Any] = {}
    if model.actions:
        found["actions"] = ", ".join(f"{number}: {label}" for number, label in enumerate(model.actions))
    else:
        found["controls"] = [f"{c.name} in [{c.low}, {c.high}]" for c in model.environment.controls]
    if chosen:
        found["chosen by the environment"] = list(chosen)
    return found
