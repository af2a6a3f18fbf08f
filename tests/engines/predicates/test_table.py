"""Predicate abstraction where all states can be looked at: exact graphs, refinement, violations, trouble."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.engines.predicates.end_cells import CRASHED, DX, SMALL, X, race, slow_driver
from tests.engines.predicates.enumeration import Cell, reachable
from tests.laws.automata_networks import automata_network, predicates

from surefoot.certify.replay import replay
from surefoot.engines.predicates import Predicates
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.parser import parse_term
from surefoot.term.reserved_names import STALLED
from surefoot.term.term import FALSE, Var
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Holds, Reason, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

WITH_ERRORS = (6, 8, 10, 11, 14, 17, 21, 26)  # networks in which two edges write the same variable at once
ALONG = [(0, 1, 0, 0), (0, 1, 1, 0), (1, 1, 0, 1)]


def graph_of(problem: Problem, engine: Predicates) -> AbstractGraph:
    verdict = engine.check(problem, Budget(60))
    assert isinstance(verdict, Holds | Violated | Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)
    return verdict.artifact


def cells(problem: Problem, graph: AbstractGraph) -> list[Cell]:
    places = {c.name: c.locations for c in problem.environment.components}
    return [(tuple(places[c].index(p) for c, p in s.locations), s.values) for s in graph.states]


@pytest.mark.parametrize("seed", [s for s in range(16) if s not in WITH_ERRORS])
def test_the_graph_is_that_of_all_states(seed: int) -> None:
    """Reachable abstract states and transitions are those that the definition gives."""
    problem = automata_network(seed)
    engine = Predicates(predicates(seed, problem), fixed=True)
    assert engine.objection(problem) is None
    graph = graph_of(problem, engine)
    found = cells(problem, graph)
    states, edges = reachable(problem, engine.predicates)
    assert set(found) == states
    assert len(found) == len(states)
    assert {(found[s], label, found[t]) for s, label, t in graph.edges} == edges


def test_a_race_from_many_starts_is_safe_without_any_predicate_given() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Holds)
    assert verdict.as_asked
    graph = verdict.artifact
    assert isinstance(graph, AbstractGraph)
    assert graph.refinements
    assert not any(state.unsafe for state in graph.states)
    assert sum(state.start for state in graph.states) >= 1


def test_the_predicates_that_were_found_are_enough_when_they_are_given() -> None:
    problem = race(SMALL, ALONG[:2], slow_driver(), speed=1)
    found = graph_of(problem, Predicates())
    again = Predicates(found.predicates, fixed=True).check(problem, Budget(60))
    assert isinstance(again, Holds)
    assert isinstance(again.artifact, AbstractGraph)
    assert again.artifact.states == found.states


def test_a_crash_is_a_run_that_replays() -> None:
    problem = race(SMALL, [*ALONG, (0, 1, -2, 0)], slow_driver(), speed=2)
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Violated)
    assert replay(problem, verdict.trace) is None


def test_with_predicates_that_do_not_suffice_nothing_is_claimed() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    verdict = Predicates((DX <= 0,), fixed=True).check(problem, Budget(60))
    assert isinstance(verdict, Unknown)
    assert "unsafe, though no run reaches" in verdict.detail


def test_a_policy_that_never_stalls() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    driving = replace(problem, property=Never(Var(STALLED)))
    assert isinstance(Predicates().check(driving, Budget(60)), Holds)


def test_without_a_start_nothing_is_shown() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    world = replace(problem.environment, initial=FALSE)
    assert isinstance(Predicates().check(replace(problem, environment=world), Budget(60)), Vacuous)


def test_too_many_steps_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.engines.predicates.enumerative.table.MOST_STEPS", 10)
    verdict = Predicates().check(automata_network(0), Budget(60))
    assert isinstance(verdict, Unknown)
    assert "more than 10 steps" in verdict.detail


def test_a_spent_budget_is_no_answer() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    verdict = Predicates().check(problem, Budget(0.0))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.TIMEOUT


def test_without_a_policy_all_that_the_environment_can_do_counts() -> None:
    problem = replace(race(SMALL, ALONG, slow_driver(), speed=2), policy=None)
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Violated)
    assert replay(problem, verdict.trace) is None


def test_objections() -> None:
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    assert Predicates().objection(problem) is None
    bounded = replace(problem, property=Never(CRASHED, 3))
    assert "any length" in str(Predicates().objection(bounded))
    outputs = replace(problem, property=Never(parse_term("1 / output[0] > 3")))
    assert "network outputs" in str(Predicates().objection(outputs))
    assert "`z`" in str(Predicates((parse_term("z <= 3"),)).objection(problem))


def test_few_predicates_are_enough_to_begin_with() -> None:
    """What is given is kept, in front."""
    problem = race(SMALL, ALONG, slow_driver(), speed=2)
    graph = graph_of(problem, Predicates((X <= 2,)))
    assert graph.predicates[0] == (X <= 2)
