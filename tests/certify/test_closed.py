"""Certificates of closed sets of states: accepted as they are made, rejected when one is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.engines.predicates.wide_systems import FIRST, SECOND, tanks

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.inductive_invariant import holds_by_invariant
from surefoot.run import verify
from surefoot.term.evaluate import evaluate_term
from surefoot.verdict.artifact import AbstractGraph, AbstractState
from surefoot.verdict.verdict import AbstractInvariant, Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate, Refused


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """That two tanks never hold more than 1200 together, 8 * 10^12 states."""
    result = verify(tanks(FIRST + SECOND > 1200), Predicates(strategy="refinement"), Budget(120))
    assert isinstance(result.verdict, Proved), result.notes
    assert result.certified
    return dict(result.verdict.certificate.content)


def accepted(content: dict[str, Any]) -> bool:
    try:
        return judge_certificate(content).accepted
    except (Refused, BadCertificate):
        return False


def lemma(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["claim"]["argument"]["assuming"]
    return found


def test_it_is_accepted(content: dict[str, Any]) -> None:
    assert lemma(content)["argument"] == {"kind": "closed", "steps": 1}
    assert accepted(content)


def wider_start(content: dict[str, Any]) -> None:
    content["claim"]["problem"]["initial"] = True


def another_limit(content: dict[str, Any]) -> None:
    content["claim"]["problem"]["property"]["condition"] = [
        "<",
        1000,
        ["+", ["name", "first"], ["name", "second"]],
    ]


def weaker_lemma(content: dict[str, Any]) -> None:
    lemma(content)["never"] = ["<", 1900, ["+", ["name", "first"], ["name", "second"]]]


def stronger_lemma(content: dict[str, Any]) -> None:
    lemma(content)["never"] = ["<", 600, ["+", ["name", "first"], ["name", "second"]]]


def no_lemma(content: dict[str, Any]) -> None:
    lemma(content)["never"] = False


def everything_excluded(content: dict[str, Any]) -> None:
    lemma(content)["never"] = True


def other_steps(content: dict[str, Any]) -> None:
    lemma(content)["argument"]["steps"] = 2


def with_different_states(content: dict[str, Any]) -> None:
    lemma(content)["argument"]["different"] = [[0, 1]]


def with_good_states(content: dict[str, Any]) -> None:
    lemma(content)["argument"]["good"] = 1


def unknown_kind(content: dict[str, Any]) -> None:
    lemma(content)["argument"]["kind"] = "open"


def for_liveness(content: dict[str, Any]) -> None:
    content["claim"]["argument"] = {"kind": "closed", "steps": 1}
    content["claim"]["problem"]["property"]["kind"] = "recurs"


def without_the_last_obligation(content: dict[str, Any]) -> None:
    content["obligations"].pop()


def without_the_step(content: dict[str, Any]) -> None:
    content["obligations"] = [
        o for o in content["obligations"] if o["obligation"] != "assumed/step/violation"
    ]


def empty_step(content: dict[str, Any]) -> None:
    next(o for o in content["obligations"] if o["obligation"] == "assumed/step/violation")["cases"] = []


def another_step(content: dict[str, Any]) -> None:
    for edge in content["claim"]["problem"]["components"][0]["edges"]:
        if edge["action"] == "wait":
            edge["outcomes"][0]["updates"] = [[["name", n], 1999, 0] for n in ("first", "second")]


DAMAGES: list[Callable[[dict[str, Any]], None]] = [
    wider_start,
    another_limit,
    weaker_lemma,
    stronger_lemma,
    no_lemma,
    everything_excluded,
    other_steps,
    with_different_states,
    with_good_states,
    unknown_kind,
    for_liveness,
    without_the_last_obligation,
    without_the_step,
    empty_step,
    another_step,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_a_damaged_one_is_rejected(content: dict[str, Any], damage: Callable[[dict[str, Any]], None]) -> None:
    changed = copy.deepcopy(content)
    damage(changed)
    assert changed != content
    assert not accepted(changed)


def test_the_condition_of_many_abstract_states() -> None:
    """A hundred, told apart by bounds of one variable, are one condition; beside a table fewer are tried."""
    problem = tanks(FIRST + SECOND > 1200)
    model = build_dynamics(problem)
    bounds = tuple(10 * k >= FIRST for k in range(1, 100))
    rows = [tuple(k >= place for k in range(99)) for place in range(99)]
    states = tuple(AbstractState((), row, False, False, 0, None) for row in rows)
    graph = AbstractGraph(bounds, states, (), "cells", True)
    whole = holds_by_invariant(model, graph, "").argument
    assert whole is not None
    assert whole.invariant is not None
    for level in (0, 5, 10, 500, 990, 991, 2000):
        state = {"first": level, "second": 0, "heat": 0, "clock": 0}
        assert evaluate_term(whole.invariant, state) is (level <= 990)
    beside = holds_by_invariant(model, graph, "", AbstractInvariant(bounds, (), ())).argument
    assert beside is not None
    assert beside.invariant is None
