"""Packed values of models with arrays of one element, or of none: true claims are accepted."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from zlib import compress

import pytest

from surefoot_checker.check import judge_certificate

NONE = 2**32 - 1


def vector(numbers: list[int], width: int) -> dict[str, Any]:
    data = compress(b"".join(n.to_bytes(width, "little") for n in numbers))
    return {"width": width, "data": b64encode(data).decode()}


def copying_claim(length: int, low: int = 1) -> dict[str, Any]:
    """`A` becomes `B` as a whole: in the end the first element of A, or x, is 1."""
    elements = ["array", length, ["integer", 0, 1]]
    variables = [["x", ["integer", 0, 1]], ["A", elements], ["B", elements]]
    first = ["=", ["select", ["name", "A"], 0], 1] if length else ["=", ["name", "x"], 1]
    starts: list[Any] = ["and", ["=", ["name", "x"], 0]]
    starts += [["=", ["select", ["name", n], 0], v] for n, v in (("A", 0), ("B", 1))] if length else []
    updates = [[["name", "A"], ["name", "B"], 0], [["name", "x"], 1, 0]]
    outcome = {"probability": 1, "updates": updates, "rewards": [], "target": "h"}
    edge = {
        "source": "h",
        "action": None,
        "guard": True,
        "chosen": [],
        "assuming": True,
        "outcomes": [outcome],
    }
    component = {"name": "m", "locations": ["h"], "initial": ["h"], "edges": [edge]}
    asked = {"kind": "probability", "optimise": "max", "operator": "F", "left": True, "right": first,
             "bounds": [], "over": "max", "starts": None}  # fmt: skip
    problem = {"name": "c", "variables": variables, "initial": starts, "components": [component],
               "synchronisations": [], "controls": [], "policy": None, "property": asked}  # fmt: skip
    states = 2 * 4**length
    goals = [bool(n & 2) if length else bool(n) for n in range(states)]
    reached = [goal or not length or bool(n & 1) for n, goal in enumerate(goals)]  # B is the last digit
    ranks = [0 if goal else 1 if there else NONE for goal, there in zip(goals, reached, strict=True)]
    values = {"states": states, "scale": "0x1", "state": vector([0] + [1] * (states - 1), 1),
              "low": vector(list(map(int, reached)), 1), "high": vector(list(map(int, reached)), 1),
              "rank": vector(ranks, 4)}  # fmt: skip
    claim = {"kind": "process", "problem": problem, "low": low, "high": 1}
    return {"surefoot-certificate": 2, "claim": claim, "arithmetic": "exact", "values": [values]}


@pytest.mark.parametrize("length", [0, 1])
def test_arrays_that_are_assigned_as_a_whole(length: int) -> None:
    found = judge_certificate(copying_claim(length))
    assert found.accepted, found.reason


@pytest.mark.parametrize("length", [0, 1])
def test_false_claims_about_them(length: int) -> None:
    content = copying_claim(length)
    content["claim"]["low"], content["claim"]["high"] = 0, "1/2"
    assert not judge_certificate(content).accepted
