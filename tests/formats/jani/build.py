"""Small JANI models, written in Python."""

import json
from pathlib import Path
from typing import Any


def op(operator: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": operator, "left": left, "right": right}


def unary(operator: str, exp: Any) -> dict[str, Any]:
    return {"op": operator, "exp": exp}


def bounded(low: Any, high: Any, base: str = "int") -> dict[str, Any]:
    return {"kind": "bounded", "base": base, "lower-bound": low, "upper-bound": high}


def variable(name: str, kind: Any, initial: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({} if initial is None else {"initial-value": initial}), **more}


def assign(ref: Any, value: Any, index: int | None = None) -> dict[str, Any]:
    return {"ref": ref, "value": value, **({} if index is None else {"index": index})}


def goes(target: str = "here", *assignments: Any, probability: Any = None) -> dict[str, Any]:
    more = {} if probability is None else {"probability": {"exp": probability}}
    return {"location": target, "assignments": list(assignments), **more}


def edge(
    *destinations: Any, source: str = "here", action: Any = None, guard: Any = None, **more: Any
) -> dict:
    made: dict[str, Any] = {"location": source, "destinations": list(destinations), **more}
    made |= {} if action is None else {"action": action}
    return made | ({} if guard is None else {"guard": {"exp": guard}})


def automaton(name: str, *edges: Any, locations: Any = ("here",), **more: Any) -> dict[str, Any]:
    places = [place if isinstance(place, dict) else {"name": place} for place in locations]
    more.setdefault("initial-locations", [places[0]["name"]])
    return {"name": name, "locations": places, "edges": list(edges), **more}


X = variable("x", bounded(0, 5), 0)
COUNT = edge(goes("here", assign("x", op("+", "x", 1))), guard=op("<", "x", 5))


def model(*automata: Any, **more: Any) -> dict[str, Any]:
    """By default `x` counts from 0 to 5; keyword `syncs` and `elements` describe the composition."""
    automata = automata or (automaton("main", COUNT),)
    elements = more.pop("elements", [{"automaton": a["name"]} for a in automata])
    system: dict[str, Any] = {"elements": elements}
    if "syncs" in more:
        system["syncs"] = [
            {"synchronise": list(parts), **({} if result is None else {"result": result})}
            for parts, result in more.pop("syncs")
        ]
    return {
        "jani-version": 1,
        "name": "small",
        "type": "mdp",
        "actions": [{"name": name} for name in more.pop("actions", ())],
        "variables": more.pop("variables", [X]),
        "automata": list(automata),
        "system": system,
        **more,
    }


def asks(values: Any, fun: str = "max", **more: Any) -> dict[str, Any]:
    """The default model with one property."""
    expression = {"op": "filter", "fun": fun, "values": values, "states": {"op": "initial"}}
    return model(properties=[{"name": "question", "expression": expression}], **more)


def write(folder: Path, content: Any, name: str = "model.jani") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
