"""Problems that have no meaning, or in which a run would neither go on nor end: nothing is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

X = ["name", "x"]
AT_SIGHT: dict[str, Any] = {"atoms": [], "sets": [], "steps": []}
NOTHING: dict[str, Any] = {
    "rules": [],
    "network": None,
    "observe": [],
    "choose": "argmax",
    "actions": [],
    "owns": ["go"],
}


def claim(problem: dict[str, Any], kind: str, argument: dict[str, Any]) -> dict[str, Any]:
    asked = {"kind": kind, "condition": ["=", X, 1]}
    whole = {"name": "p", "variables": [["x", 0, 1, "integer"]], "initial": ["=", X, 0], "controls": []}
    return {"kind": "execution", "problem": {**whole, **problem, "property": asked}, "argument": argument}


def edge(action: str | None, *outcomes: list[Any]) -> dict[str, Any]:
    return {"action": action, "guard": True, "chosen": [], "assuming": True, "outcomes": list(outcomes)}


def accepted(claimed: dict[str, Any], *names: tuple[str, int]) -> bool:
    shown = [{"obligation": name, "steps": steps, "cases": [AT_SIGHT]} for name, steps in names]
    content = {"surefoot-certificate": 1, "claim": claimed, "arithmetic": "real", "obligations": shown}
    return judge_certificate(content).accepted


def test_an_edge_has_an_outcome() -> None:
    """Without one no run is longer, and none ends: it would seem that all of them are good some time."""
    argument = {"kind": "unrolled", "steps": 1}
    names = [("violation", 0), ("escape", 0), ("longer", 1)]
    stays = {"edges": [edge(None, [])], "policy": NOTHING}
    assert not accepted(claim(stays, "eventually", argument), *names)
    with pytest.raises(BadCertificate, match="without outcomes"):
        accepted(claim({"edges": [edge(None)], "policy": NOTHING}, "eventually", argument), *names)


def test_a_network_has_an_output() -> None:
    """Without one it would pick nothing, so that no step of the policy is ever made."""
    argument = {"kind": "parts", "steps": 1, "inside": ["=", X, 0]}
    edges = [edge("go", [["x", 1]])]
    assert accepted(claim({"edges": edges, "policy": NOTHING}, "never", argument))
    silent = {**NOTHING, "network": {"width": 0, "nodes": []}}
    with pytest.raises(BadCertificate, match="without outputs"):
        accepted(claim({"edges": edges, "policy": silent}, "never", argument))


@pytest.mark.parametrize("name", ["deadlocked", "stalled", "chosen(go)", "output[0]", "free"])
def test_variables_have_other_names_than_what_conditions_ask_besides(name: str) -> None:
    """Every state of this system is a deadlock, whatever a variable of that name is."""
    problem = {
        "variables": [[name, None, None, "boolean"]],
        "initial": ["not", ["name", name]],
        "edges": [],
        "policy": NOTHING,
    }
    argument = {"kind": "parts", "steps": 1, "inside": ["not", ["name", name]]}
    claimed = claim(problem, "never", argument)
    claimed["problem"]["property"]["condition"] = ["name", name]
    if name == "free":
        assert accepted(claimed)
        return
    with pytest.raises(BadCertificate, match="have a meaning for"):
        accepted(claimed)
