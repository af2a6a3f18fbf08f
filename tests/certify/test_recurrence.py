"""Certificates of runs that never return: accepted as made, rejected when they say anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from tests.engines.never_returning import VIOLATED

from surefoot.certify.replay import replay, replay_stem
from surefoot.engines.recurrence import Recurrence
from surefoot.formats.result_json import annotated_result_to_json, result_from_json
from surefoot.run import verify
from surefoot.verdict.verdict import Result, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

Json = dict[str, Any]


@cache
def result(name: str) -> Result:
    return verify(VIOLATED[name], Recurrence(), Budget(60))


def content(name: str) -> Json:
    verdict = result(name).verdict
    assert isinstance(verdict, Violated)
    assert verdict.certificate is not None
    found = json.loads(json.dumps(verdict.certificate.content))
    assert isinstance(found, dict)
    return found


def rejected(data: Json) -> str:
    """Why the checker does not accept; it must not."""
    try:
        verdict = judge_certificate(data)
    except BadCertificate as error:
        return str(error)
    assert not verdict.accepted
    return verdict.reason


def set_to(*path: str | int, value: object) -> Callable[[Json], None]:
    def change(data: Json) -> None:
        place: Any = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


X = ["name", "x"]
EDGE = ("components", 0, "edges", 0)
PROBLEM, REGION = ("claim", "problem"), ("claim", "regions", 0)
FALSE_OF_HALVES = {
    "another start": set_to("claim", "start", "x", value="1/2"),
    "a start out of range": set_to("claim", "start", "x", value=2),
    "no start": set_to("claim", "start", value={}),
    "a start with another name": set_to("claim", "start", value={"x": 1, "y": 1}),
    "a good set": set_to(*REGION, "set", value=["<=", 0, X]),
    "all states": set_to(*REGION, "set", value=True),
    "a set that is left": set_to(*REGION, "set", value=["<", "1/2", X]),
    "a set without the start": set_to(*REGION, "set", value=["and", ["<", 0, X], ["<", X, 1]]),
    "a set that is no condition": set_to(*REGION, "set", value=X),
    "a set of something else": set_to(*REGION, "set", value=["<", 0, ["name", "y"]]),
    "no set": set_to("claim", "regions", value=[]),
    "no such edge": set_to(*REGION, "edge", value=1),
    "no such outcome": set_to(*REGION, "outcome", value=1),
    "a pick that there is not": set_to(*REGION, "chosen", value=[["new", 0]]),
    "a move out of the set": set_to("claim", "moves", value=[{"edge": 1, "outcome": 0, "chosen": []}]),
    "never": set_to(*PROBLEM, "property", "kind", value="never"),
    "a good start": set_to(*PROBLEM, "property", "condition", value=["<=", "1/2", X]),
    "another update": set_to(*PROBLEM, *EDGE, "outcomes", 0, "updates", 0, 1, value=["-", X, "1/2"]),
    "an update out of range": set_to(*PROBLEM, *EDGE, "outcomes", 0, "updates", 0, 1, value=["*", 2, X]),
    "a guard": set_to(*PROBLEM, *EDGE, "guard", value=["<", "1/8", X]),
    "an assumption": set_to(*PROBLEM, *EDGE, "assuming", value=["<", "1/8", X]),
    "another rule": set_to(*PROBLEM, "policy", "rules", 0, "when", value=["<", "1/8", X]),
    "a whole number": set_to(*PROBLEM, "variables", 0, value=["x", ["integer", 0, 1]]),
    "a float32 number": set_to(*PROBLEM, "variables", 0, value=["x", ["float32", 0, 1]]),
    "real numbers": set_to("arithmetic", value="real"),
    "fewer obligations": set_to("obligations", value=[]),
    "a claim about all runs": set_to("claim", "kind", value="execution"),
}


@pytest.mark.parametrize("name", FALSE_OF_HALVES)
def test_what_is_not_so_is_rejected(name: str) -> None:
    data = content("halves")
    assert judge_certificate(data).accepted
    FALSE_OF_HALVES[name](data)
    assert rejected(data)


FALSE_OF_PICKED = {
    "the same again": set_to(*REGION, "chosen", 0, 1, value=X),
    "out of its range": set_to(*REGION, "chosen", 0, 1, value=["+", X, "1/2"]),
    "less": set_to(*REGION, "chosen", 0, 1, value=["/", X, 2]),
    "nothing": set_to(*REGION, "chosen", value=[]),
    "of itself": set_to(*REGION, "chosen", 0, 1, value=["name", "new"]),
    "a truth value": set_to(*REGION, "chosen", 0, 1, value=True),
    "with the end": set_to(*REGION, "set", value=True),
}


@pytest.mark.parametrize("name", FALSE_OF_PICKED)
def test_a_pick_that_does_not_lead_back_is_rejected(name: str) -> None:
    data = content("picked")
    assert judge_certificate(data).accepted
    FALSE_OF_PICKED[name](data)
    assert rejected(data)


def test_every_step_of_the_stem_counts() -> None:
    data = content("good at first")
    assert judge_certificate(data).accepted
    moves = data["claim"]["moves"]
    assert len(moves) > 5
    for shorter in (moves[:-1], moves[:3], []):
        assert "not in region 0" in rejected(data | {"claim": data["claim"] | {"moves": shorter}})
    eventually = deepcopy(data)
    eventually["claim"]["problem"]["property"]["kind"] = "eventually"
    assert "state 0 is good" in rejected(eventually)


def test_the_policy_must_pick_the_step_for_sure() -> None:
    data = content("two sets")
    assert judge_certificate(data).accepted
    swapped = deepcopy(data)
    for region in swapped["claim"]["regions"]:
        region["edge"] = 1 - region["edge"]
    assert rejected(swapped)
    tied = deepcopy(data)  # with the point 1/2, where both outputs are equal
    for region in tied["claim"]["regions"]:
        region["set"] = ["and", region["set"], True]
    tied["claim"]["regions"][0]["set"] = ["<=", "1/2", X]
    assert rejected(tied)


def test_what_the_checker_says_about_it() -> None:
    verdict = judge_certificate(content("good at first"))
    assert "some run of the problem `controlled` violates its property: recurs, 11 steps" in verdict.claim
    assert any("another float32 evaluation" in what for what in verdict.not_certified)
    assert "some run" in judge_certificate(content("halves")).claim
    assert "every order" not in judge_certificate(content("halves")).claim


@pytest.mark.parametrize("name", ["halves", "window", "two sets", "locations"])
def test_results_can_be_read_back(name: str) -> None:
    problem, found = VIOLATED[name], result(name)
    stored = result_from_json(json.loads(json.dumps(annotated_result_to_json(problem, found))))
    assert isinstance(found.verdict, Violated)
    assert isinstance(stored.result.verdict, Violated)
    assert stored.result.verdict.trace == found.verdict.trace
    assert replay_stem(problem, stored.result.verdict.trace) is None
    assert replay(problem, stored.result.verdict.trace) is not None  # alone it is no evidence
