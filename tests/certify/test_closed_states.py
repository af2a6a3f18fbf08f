"""Certificates of closed sets of abstract states that the checker goes through state by state."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engines.predicates.end_cells import SMALL, race, slow_driver
from tests.laws.automata_networks import automata_network, predicates
from tests.laws.brute_force import truth

from surefoot.certify.values.claim import build_graph_certificate, matches_graph_claim
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.enumerative import boxes
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.term.term import Term, Var, disjunction_of, equal
from surefoot.term.value_types import Array, Int
from surefoot.verdict.verdict import Certificate, Holds, Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

ALONG = [(0, 1, 0, 0), (0, 1, 1, 0)]


def accepted(content: dict[str, Any]) -> bool:
    try:
        return judge_certificate(content).accepted
    except BadCertificate:
        return False


def with_states(problem: Problem, engine: Predicates) -> dict[str, Any] | None:
    """The certificate of what the engine holds, as it is read from a file."""
    verdict = engine.check(problem, Budget(60))
    if not isinstance(verdict, Holds) or verdict.argument is None or verdict.argument.states is None:
        return None
    found = build_graph_certificate(problem, {}, verdict.argument.states)
    assert isinstance(found, Certificate)
    read: dict[str, Any] = json.loads(json.dumps(found.content))
    return read


@pytest.fixture(scope="module")
def driving() -> dict[str, Any]:
    """A race on a map that is an array, read at the position of the car."""
    result = verify(race(SMALL, ALONG, slow_driver(), speed=1), Predicates(), Budget(60))
    assert isinstance(result.verdict, Proved), result.notes
    assert result.certified
    content: dict[str, Any] = json.loads(json.dumps(result.verdict.certificate.content))
    return content


def test_a_map_read_at_a_variable_index_is_proved(driving: dict[str, Any]) -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=1)
    assert "closed" in driving
    assert matches_graph_claim(driving, problem, {})
    changed = copy.deepcopy(driving)
    changed["claim"]["problem"]["initial"] = True
    assert not matches_graph_claim(changed, problem, {})


@pytest.mark.parametrize("seed", range(12))
def test_what_holds_of_random_networks_is_accepted(seed: int) -> None:
    problem = automata_network(seed)
    for engine in (Predicates(), Predicates(predicates(seed, problem), fixed=True)):
        content = with_states(problem, engine)
        if content is not None:
            assert truth(problem) == "holds"
            assert accepted(content)


@pytest.mark.parametrize("seed", [0, 3, 7, 12])
def test_boxes_cover_the_set_and_nothing_twice(seed: int) -> None:
    draw = np.random.default_rng(seed)
    inside = draw.random((5, 7, 4)) < draw.choice([0.05, 0.4, 0.9])
    seen = np.zeros(inside.shape, dtype=np.int64)
    for box in boxes.boxes_of(inside):
        seen[tuple(slice(a, b + 1) for a, b in box)] += 1
    assert seen.max() == 1
    assert (seen[inside] == 1).all()


def closed(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["closed"]
    return found


def without_a_state(content: dict[str, Any]) -> None:
    closed(content)["states"].pop()


def without_a_box(content: dict[str, Any]) -> None:
    closed(content)["boxes"].pop()


def nothing(content: dict[str, Any]) -> None:
    closed(content)["states"] = []


def everything(content: dict[str, Any]) -> None:
    closed(content)["predicates"] = []
    closed(content)["states"] = [[[place], ""] for place in range(3)]
    closed(content)["boxes"] = [[[0, 5], [0, 3], [-1, 1], [-1, 1], [0, 2]]]


def everything_but_what_is_bad(content: dict[str, Any]) -> None:
    everything(content)
    del closed(content)["states"][1]


def wider_start(content: dict[str, Any]) -> None:
    content["claim"]["problem"]["initial"] = True


def other_predicates(content: dict[str, Any]) -> None:
    closed(content)["predicates"].reverse()


def a_predicate_about_the_policy(content: dict[str, Any]) -> None:
    closed(content)["predicates"][0] = ["stalled"]


def no_bits(content: dict[str, Any]) -> None:
    closed(content)["states"][0][1] = ""


def no_place(content: dict[str, Any]) -> None:
    closed(content)["states"][0][0] = []


def a_short_box(content: dict[str, Any]) -> None:
    closed(content)["boxes"][0].pop()


def a_long_box(content: dict[str, Any]) -> None:
    closed(content)["boxes"][0].append([0, 0])


def a_huge_box(content: dict[str, Any]) -> None:
    everything_but_what_is_bad(content)
    closed(content)["boxes"] *= 8000


def liveness(content: dict[str, Any]) -> None:
    content["claim"]["problem"]["property"]["kind"] = "recurs"


def unknown_key(content: dict[str, Any]) -> None:
    closed(content)["trusted"] = True


DAMAGES: list[Callable[[dict[str, Any]], None]] = [
    without_a_state,
    without_a_box,
    nothing,
    everything,
    everything_but_what_is_bad,
    wider_start,
    other_predicates,
    a_predicate_about_the_policy,
    no_bits,
    no_place,
    a_short_box,
    a_long_box,
    a_huge_box,
    liveness,
    unknown_key,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_a_damaged_one_is_rejected(driving: dict[str, Any], damage: Callable[[dict[str, Any]], None]) -> None:
    assert accepted(driving)
    changed = copy.deepcopy(driving)
    damage(changed)
    assert not accepted(changed)


def test_a_vector_in_which_nobody_moves_is_refused() -> None:
    """It would be a step that is always there, so that nothing ever stalls; no model has one."""
    content = with_states(automata_network(4), Predicates())
    assert content is not None
    assert accepted(content)
    vector = content["claim"]["problem"]["synchronisations"][0]
    vector[0] = [None for _ in vector[0]]
    with pytest.raises(BadCertificate, match="no component takes part"):
        judge_certificate(content)


def shelf(bad: Term) -> Problem:
    """Two cells that are raised in turns, up to 2."""
    cells, turn = Var("cells"), Var("turn")
    raised = Edge(
        "here",
        None,
        cells[turn] < 2,
        outcomes=(Outcome(updates=(Update(cells[turn], cells[turn] + 1), Update(turn, 1 - turn))),),
    )
    world = Environment(
        "shelf",
        (Variable("cells", Array(Int(0, 3), 2)), Variable("turn", Int(0, 1))),
        equal(cells[0], 0) & equal(cells[1], 0) & equal(turn, 0),
        (Component("one", (raised,), ("here",), ("here",)),),
    )
    return Problem("shelf", world, None, Never(bad))


def test_arrays_that_change() -> None:
    cells = Var("cells")
    problem = shelf(cells[1] > cells[0])
    content = with_states(problem, Predicates())
    assert content is not None
    assert accepted(content)
    content["claim"]["problem"]["property"] = about(shelf(cells[0] > cells[1]))
    assert not accepted(content)


def about(problem: Problem) -> Any:
    found = build_graph_certificate(problem)
    assert isinstance(found, Certificate)
    claim: Any = found.content["claim"]
    return claim["problem"]["property"]


def test_where_refinement_is_given_up_all_reachable_states_are_looked_at() -> None:
    result = verify(automata_network(4), Predicates(max_predicates=0), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert "closed" not in result.verdict.certificate.content


def test_many_listed_starts() -> None:
    """Starts are read off a long list, not found by trying every state; none is left out."""
    x = Var("x")
    up = Edge("here", None, x < 9, outcomes=(Outcome(updates=(Update(x, x + 1),)),))
    for listed in (range(0, 200, 2), range(0, 400, 2)):
        start = disjunction_of(tuple(equal(x, value) for value in listed))
        parts = (Component("c", (up,), ("here",), ("here",)),)
        world = Environment("up", (Variable("x", Int(0, 500)),), start, parts)
        for bad, held in ((equal(x, listed[-1]), False), (equal(x, listed[-1] + 1), True)):
            found = build_graph_certificate(Problem("up", world, None, Never(bad)))
            assert isinstance(found, Certificate)
            assert accepted(dict(found.content)) is held
