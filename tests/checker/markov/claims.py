"""Claims about finite systems written by hand, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

Json = dict[str, Any]
X = ["name", "x"]


def edge(
    updates: Sequence[Sequence[Any]] = (),
    guard: Any = True,
    *,
    action: str | None = None,
    chosen: Sequence[Any] = (),
    rewards: Sequence[Any] = (),
) -> Json:
    """A step with one outcome; an update is a name and a term."""
    written = [[["name", name], value, 0] for name, value in updates]
    outcome = {"probability": 1, "updates": written, "rewards": list(rewards), "target": "here"}
    return {
        "source": "here",
        "action": action,
        "guard": guard,
        "chosen": list(chosen),
        "assuming": True,
        "outcomes": [outcome],
    }


def environment(
    variables: Sequence[Any], initial: Any, *edges: Sequence[Json], together: Sequence[Any] = ()
) -> Json:
    """One component for each list of edges."""
    components = [
        {"name": f"c{n}", "locations": ["here"], "initial": ["here"], "edges": list(several)}
        for n, several in enumerate(edges)
    ]
    return {
        "variables": list(variables),
        "initial": initial,
        "components": components,
        "synchronisations": list(together),
    }


def never(world: Json, condition: Any) -> Json:
    """No run comes to such a state."""
    asked = {"kind": "never", "condition": condition, "steps": None, "after": 0}
    problem = {"name": "p", "environment": world, "policy": None, "property": asked}
    claim = {"kind": "graph", "problem": problem}
    return {"surefoot-certificate": 1, "claim": claim, "arithmetic": "exact"}


def greatest(world: Json, goal: Any, value: int, values: Any, **asked: Any) -> Json:
    """The greatest probability of coming to the goal is this number."""
    wanted = {
        "kind": "probability",
        "optimise": "max",
        "operator": "F",
        "left": True,
        "right": goal,
        "bounds": [],
        "over": "max",
        "starts": None,
        **asked,
    }
    problem = {"name": "p", "environment": world, "policy": None, "property": wanted}
    claim = {"kind": "process", "problem": problem, "low": value, "high": value}
    return {"surefoot-certificate": 1, "claim": claim, "arithmetic": "exact", "values": [values]}


def values(*numbers: int) -> Json:
    """The value of every state, in order."""
    places = list(numbers)
    table = [hex(n) for n in range(max(numbers) + 1)]
    return {"states": len(places), "scale": "0x1", "numbers": table, "low": places, "high": places}


def is_accepted(certificate: Json) -> bool:
    try:
        return judge_certificate(certificate).accepted
    except BadCertificate:
        return False
