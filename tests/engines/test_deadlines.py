"""Syntheses end at their deadline, also inside one semidefinite program or among simulations."""

from __future__ import annotations

from time import process_time

import pytest

from surefoot.engines.barrier.search import search_invariant_set
from surefoot.engines.barrier.sos_candidate import Polyhedron
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.synthesis import RuleSource, synthesise_rules
from surefoot.term.term import Const, Var
from surefoot.work.budget import Budget
from surefoot.work.child import borrow_worker, processor_time
from surefoot_studies.control.problem import stays_safe

LATE = 4.0  # seconds: a busy machine needs some


@pytest.mark.parametrize(
    ("name", "degree", "seconds"), [("self-driving", 12, 3.0), ("eight-car-platoon", 2, 1.0)]
)
def test_a_synthesis_ends_at_its_deadline(name: str, degree: int, seconds: float) -> None:
    system = read_control_system(discretise(stays_safe(name)))
    budget = Budget(seconds)
    found = synthesise_rules(system, RuleSource(), (degree,), budget)
    assert budget.elapsed_seconds() < seconds + LATE
    assert found.uncovered == (system.initial,)


def test_ways_around_an_obstacle_end_at_the_deadline() -> None:
    system = read_control_system(discretise(stays_safe("self-driving-obstacle")))
    budget = Budget(1.0)
    found = synthesise_rules(system, RuleSource(), (Polyhedron(8), 2, 4), budget)
    assert budget.elapsed_seconds() < 1.0 + LATE
    assert found.uncovered == (system.initial,)
    assert found.trouble == "the time is over"


def test_a_degree_that_is_too_large_is_refused_at_once() -> None:
    system = read_control_system(discretise(stays_safe("eight-car-platoon")))
    found = synthesise_rules(system, RuleSource(), (4, 8), Budget(60.0))
    assert found.trouble == "degree 4 is too large: 3876 monomials in 15 variables, at most 3000"
    assert found.uncovered == (system.initial,)
    then = tuple(Const(-1) * Var(system.variables[0]) for _ in system.controls)
    assert "degree 8 is too large" in str(search_invariant_set(system, then, (8,), Budget(60.0)))


def test_processor_time_counts_warm_children() -> None:
    before, own = processor_time(), process_time()
    with borrow_worker() as worker:
        worker.call(sum, range(20_000_000), seconds=60)
    own = process_time() - own
    assert processor_time() - before > own + 0.1
