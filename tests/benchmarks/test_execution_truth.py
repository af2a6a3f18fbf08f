"""The truth about runs, from the canonical problem alone, where no rule of a program applies."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.mutation.execution_truth import is_false

X = ["name", "x"]


@pytest.mark.parametrize(("when", "stalls"), [(True, False), (["=", X, 0], True), (False, True)])
def test_a_policy_that_picks_nothing_stalls(when: Any, stalls: bool) -> None:
    step = {
        "action": "go",
        "guard": True,
        "chosen": [],
        "assuming": True,
        "outcomes": [[["x", ["min", 1, ["+", X, 1]]]]],
    }
    policy = {
        "rules": [{"when": when, "then": "go"}],
        "network": None,
        "observe": [],
        "choose": "argmax",
        "actions": [],
        "owns": ["go"],
    }
    problem = {
        "variables": [["x", 0, 1, "integer"]],
        "initial": ["=", X, 0],
        "controls": [],
        "edges": [step],
        "policy": policy,
        "property": {"kind": "never", "condition": ["name", "stalled"]},
    }
    assert is_false(problem) is stalls
