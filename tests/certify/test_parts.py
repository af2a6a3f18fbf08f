"""Certificates by parts: sets of states that no run leaves, against the truth about changed problems."""

from __future__ import annotations

import copy
from functools import cache
from random import Random
from typing import Any

import pytest
from benchmarks.mutation.execution_falsehoods import false_mutants
from benchmarks.mutation.execution_mutations import obligation_mutants, problem_mutants
from benchmarks.mutation.executions import is_accepted, truth
from benchmarks.mutation.parts import by_parts, liars, other_sets
from tests.engines.predicates.wide_systems import FIRST, SECOND, tanks
from tests.laws.automata_networks import automata_network, predicates

from surefoot.engines.predicates import Predicates
from surefoot_checker.check import judge_certificate

Content = dict[str, Any]
SEEDS = (1, 20)


def test_it_is_accepted_and_says_so() -> None:
    content = by_parts(tanks(FIRST + SECOND > 1200), Predicates())
    assert content is not None
    assert is_accepted(content)
    for change in (
        {"kind": "open"},
        {"steps": 2},
        {"good": 1},
        {"inside": ["name", "nobody"]},
        {"inside": 7},
    ):
        changed = copy.deepcopy(content)
        changed["claim"]["argument"].update(change)
        assert not is_accepted(changed), change
    live = copy.deepcopy(content)
    live["claim"]["problem"]["property"]["kind"] = "recurs"
    assert not is_accepted(live)


@cache
def proved(seed: int) -> Content:
    problem = automata_network(seed)
    whole = by_parts(problem, Predicates(predicates(seed, problem), means="cells"))
    assert whole is not None
    return whole


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_false_is_accepted(seed: int) -> None:
    problem, whole = automata_network(seed), copy.deepcopy(proved(seed))
    assert truth(whole) == "true"
    assert is_accepted(whole)
    mutants = [m for _, m in false_mutants(whole, seed)]
    mutants += [m for n, (_, m) in enumerate(problem_mutants(whole)) if n % 20 == seed % 20]
    false = [m for m in mutants if truth(m) == "false"]
    assert len(false) >= 5
    for number, mutant in enumerate(false):
        assert not any(map(is_accepted, liars(problem, whole, mutant, anew=number % 9 == 0)))


def test_proofs_that_are_damaged_show_nothing_else() -> None:
    whole = copy.deepcopy(proved(SEEDS[0]))
    some = [m for n, (_, m) in enumerate(obligation_mutants(whole)) if n % 40 == 0]
    sets = [m for _, m in other_sets(whole, Random(0))]
    assert not all(map(is_accepted, sets))
    for mutant in some + sets:
        assert truth(mutant) == "true" or not is_accepted(mutant)
    shorter = copy.deepcopy(whole)
    shorter["obligations"].pop()
    assert not is_accepted(shorter)


def small(variables: list[Any], inside: Any) -> Content:
    """A problem with a bad start, and a certificate by parts without a single query."""
    edge = {
        "action": None,
        "guard": True,
        "chosen": [["c", 0, 1, "integer"]],
        "assuming": True,
        "outcomes": [[]],
    }
    policy = {"rules": [], "network": None, "observe": [], "choose": "argmax", "actions": [], "owns": []}
    bad = {"kind": "never", "condition": ["<", 50, ["name", variables[0][0]]]}
    problem = {"name": "p", "variables": variables, "initial": True, "controls": [], "edges": [edge]}
    argument = {"kind": "parts", "steps": 1, "inside": inside}
    claim = {
        "kind": "execution",
        "problem": problem | {"policy": policy, "property": bad},
        "argument": argument,
    }
    return {"surefoot-certificate": 1, "claim": claim, "arithmetic": "real", "obligations": []}


@pytest.mark.parametrize(
    ("most", "name", "accepted"), [(50, "x", True), (51, "x", False), (100, "chosen[0]", False)]
)
def test_names_that_clash_exclude_nothing(most: int, name: str, accepted: bool) -> None:
    """The name of what an edge chooses is `chosen[0]` in queries: its range is not that of a variable."""
    assert is_accepted(small([[name, 0, most, "integer"]], True)) is accepted


def test_conditions_of_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    either = ["or", ["<", ["name", "x"], ["name", "y"]], ["<", ["name", "y"], ["name", "x"]]]
    inside = ["and", *[either] * 60, ["or", False, False]]
    monkeypatch.setattr("surefoot_checker.claims.runs.invariant_parts.MOST_LOOKED", 1000)
    said = judge_certificate(small([["x", 0, 9, "real"], ["y", 0, 9, "real"]], inside))
    assert not said.accepted
    assert "false at sight" in said.reason
