"""The experiments of policy predicate abstraction: instances, and what the engine finds on them."""

from __future__ import annotations

import pytest
from tests.studies.end_cells import abstract_states, counted_states

from surefoot.engines.predicates import Predicates
from surefoot.verdict.artifact import AbstractGraph
from surefoot.work.budget import Budget
from surefoot_studies.paper_figures import Claim, check_claim
from surefoot_studies.racetrack.abstraction_instances import (
    ABSTRACTIONS,
    AbstractionInstance,
    abstraction_starts,
    halving_bounds,
    predicate_order,
    solvable_states,
)
from surefoot_studies.racetrack.abstraction_runs import DEFAULT, MEASURES, AbstractionRun, run_instance
from surefoot_studies.racetrack.track import shipped_track


def test_halving_takes_every_bound_once_and_the_middle_first() -> None:
    assert list(halving_bounds(0, 7)) == [4, 2, 6, 1, 5, 3, 7]
    assert sorted(halving_bounds(-5, 39)) == list(range(-4, 40))
    assert list(halving_bounds(3, 3)) == []


def test_predicate_sets_begin_with_one_for_each_variable_and_grow() -> None:
    order = predicate_order()
    assert len(order) == len(set(order)) == 145
    assert {str(p.args[1]) for p in order[:4]} == {  # type: ignore[union-attr]
        f"Var(name='{n}')" for n in ("car_x", "car_y", "car_dx", "car_dy")
    }


def test_starts_are_different_and_can_reach_the_goal() -> None:
    found = abstraction_starts()
    assert len(set(found)) == 1001
    assert set(found) <= solvable_states(shipped_track("small"))


@pytest.mark.parametrize(("width", "predicates", "count"), [(16, 50, 1), (24, 100, 1001)])
def test_abstract_states_are_those_of_all_states(width: int, predicates: int, count: int) -> None:
    instance = AbstractionInstance(width, predicates, count)
    verdict = Predicates(instance.predicate_set(), fixed=True).check(instance.problem(), Budget(60))
    graph = getattr(verdict, "artifact", None)
    assert isinstance(graph, AbstractGraph)
    assert graph.exact
    assert counted_states(graph) == abstract_states(instance)


def test_measures_of_a_figure() -> None:
    runs = [
        run_instance(i, "native", 60.0, lambda _: None)
        for i in (AbstractionInstance(16, n, 1) for n in (25, 110, 145))
    ]
    assert MEASURES["share of instances that the default finishes, exactly"](runs) == 1.0
    assert MEASURES["least rise of the number of abstract states over predicates"](runs) > 2
    assert MEASURES["abstract states with all predicates, per most"](runs) < 0.2
    assert {i.width for i in ABSTRACTIONS["pa-1"].instances} == {16, 24, 32, 64}


def test_an_abstraction_that_was_stopped_measures_nothing() -> None:
    """Its number of states so far, or none at all, is not that of the abstraction."""
    runs = [
        AbstractionRun(
            AbstractionInstance(16, predicates, starts),
            DEFAULT,
            predicates < 9,
            True,
            0 if predicates == 9 else 5,
            1,
            1,
            9,
            7.0,
            0.1,
            (),
        )
        for predicates in (4, 9)
        for starts in (101, 1001)
    ]
    claim = Claim("pa", "m", "paper", "says", at_least=0.0)
    for measure in (
        "least rise of the number of abstract states over predicates",
        "abstract states with all predicates, per most",
        "growth of abstract states after the first hundred random starts",
    ):
        checked = check_claim(claim, MEASURES[measure](runs))
        assert (checked.measured, checked.answer) == (None, "unknown"), measure
        assert check_claim(claim, MEASURES[measure](runs[:2])).answer == "reproduced"
