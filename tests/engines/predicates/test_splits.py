"""One more predicate: what is told of it is what the engine builds with that predicate given."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import pytest
from tests.engines.predicates.wide_systems import PLACE, braking
from tests.laws.automata_networks import automata_network, predicates

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.split_candidates import enumerate_halves, lower_part_bound
from surefoot.engines.predicates.split_preview import with_splits
from surefoot.problem.problem import Problem
from surefoot.term.interval import Scalar
from surefoot.term.printer import show_term
from surefoot.term.value_types import Bool, Int, Real
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Holds, Unknown, Violated
from surefoot.work.budget import Budget


def graph_of(problem: Problem, engine: Predicates) -> AbstractGraph:
    verdict = engine.check(problem, Budget(60))
    assert isinstance(verdict, Holds | Violated | Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)
    return verdict.artifact


def divided(problem: Problem, engine: Predicates, most: int) -> AbstractGraph:
    graph = graph_of(problem, engine)
    found = with_splits(problem, graph, engine.asked_tests(), most, Budget(60))
    assert found.complete
    for split in found.splits:
        again = graph_of(problem, replace(engine, predicates=(*graph.predicates, split.predicate)))
        assert split.states == len(again.states)
        assert split.edges == len(again.edges)
        assert split.unsafe == sum(s.unsafe for s in again.states)
        coarse = Counter((s.locations, s.values[:-1]) for s in again.states)
        assert split.pieces == tuple(coarse[s.locations, s.values] for s in found.states)
        assert split.graph is not None
        assert {(s.locations, s.values) for s in split.graph.states} == {
            (s.locations, s.values) for s in again.states
        }
        for state, inside in zip(split.graph.states, split.inside, strict=True):
            assert state.values[:-1] == found.states[inside].values
    return found


@pytest.mark.parametrize(("seed", "means"), [(0, "table"), (2, "table"), (5, "table"), (2, "cells")])
def test_a_split_is_the_abstraction_with_that_predicate(seed: int, means: Literal["table", "cells"]) -> None:
    problem = automata_network(seed)
    engine = Predicates(predicates(seed, problem)[:2], fixed=True, means=means)
    found = divided(problem, engine, 6 if means == "table" else 2)
    assert found.splits
    assert len({s.predicate for s in found.splits}) == len(found.splits)


def test_with_too_many_states_for_a_table() -> None:
    found = divided(braking(PLACE > 999_998), Predicates((PLACE <= 999_000,), fixed=True), 2)
    assert len(found.splits) == 2


def test_what_is_not_complete_is_completed() -> None:
    """Without --fixed the search stops at the first unsafe state; the graph that is shown goes on."""
    problem = braking(PLACE > 999_998)
    begun = graph_of(problem, Predicates((PLACE <= 500_000,), max_predicates=1))
    assert not begun.complete
    whole = with_splits(problem, begun, frozenset({"guard", "exact"}), 1, Budget(60))
    assert whole.complete
    assert len(whole.splits) == 1


def test_without_time_the_graph_stays_as_it_is() -> None:
    problem = automata_network(0)
    graph = graph_of(problem, Predicates(fixed=True))
    assert with_splits(problem, graph, frozenset({"guard", "exact"}), 5, Budget(0)) == graph


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        (Int(0, 9), 0, 9, "x <= 4"),
        (Int(0, 9), 4, 5, "x <= 4"),
        (Int(-9, 9), -9, -8, "x <= -9"),
        (Int(0, 9), 4, 4, None),
        (Bool(), 0, 1, "x"),
        (Real(), None, 3, None),
        (Real(Fraction(0), Fraction(1)), 0, 1, "x <= 0.5"),
    ],
)
def test_a_bound_in_the_middle(kind: Scalar, low: int | None, high: int | None, wanted: str | None) -> None:
    found = lower_part_bound("x", kind, low, high, Fraction(1, 2))
    assert (None if found is None else show_term(found)) == wanted


def test_bounds_come_from_the_middle_to_the_sides() -> None:
    found = [
        show_term(t) for t in enumerate_halves(build_dynamics(braking(PLACE > 5))) if "place" in show_term(t)
    ]
    assert len(found) == len(set(found)) == 255
    assert found[:3] == ["place <= 500050", "place <= 250025", "place <= 750075"]
