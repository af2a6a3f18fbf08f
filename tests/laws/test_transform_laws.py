"""Transformed finite systems against the originals, by search through every state: no solver takes part."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from tests.laws.brute_force import Graph, truth
from tests.laws.finite_systems import KINDS, problems

from surefoot.errors import Unsupported
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.validate import validate_problem
from surefoot.reductions.abstraction import FreedValues, abstract_network_io
from surefoot.reductions.proof_obligations import assume_invariant
from surefoot.reductions.restriction import restrict_variables
from surefoot.term.interval import Span
from surefoot.term.term import Var
from surefoot.term.value_types import Int

SYSTEMS = 12
WORSE = ("holds", "unclear", "violated")


def asked(seed: int) -> Problem:
    return problems(seed)[KINDS[seed % len(KINDS)]]


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_freeing_inputs_never_makes_a_property_hold(seed: int) -> None:
    problem = asked(seed)
    if isinstance(problem.policy, NeuralPolicy):
        freed = FreedValues(frozenset(i for i in range(2) if Random(seed).random() < 0.6))
        made = abstract_network_io(problem, freed).problem
        validate_problem(made)
        assert WORSE.index(truth(made)) >= WORSE.index(truth(problem))


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_assuming_what_is_true_of_all_reachable_states_changes_nothing(seed: int) -> None:
    problem = asked(seed)
    graph = Graph(problem)
    reached = graph.explore(graph.starts(), lambda _: True)
    if reached:
        highest = max(s["x"] for s in reached)
        invariant = (Var("x") <= highest) & (Var("y") <= max(s["y"] for s in reached))
        made = assume_invariant(problem, invariant)
        validate_problem(made)
        assert truth(made) == truth(problem)


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_a_restricted_system_has_the_runs_that_keep_the_bounds(seed: int) -> None:
    problem = problems(seed)["never"]
    assert isinstance(problem.property, Never)
    (x,) = (v.kind for v in problem.environment.variables if v.name == "x")
    assert isinstance(x, Int)
    high = Random(seed).randint(0, x.high or 0)
    try:
        made = restrict_variables(problem, {"x": Span(high=Fraction(high))})
    except Unsupported:
        return
    validate_problem(made)
    here, there = Graph(problem), Graph(made)
    kept = here.explore(here.starts(), lambda s: s["x"] <= high)
    same = there.explore(there.starts(), lambda _: True)
    assert sorted(map(str, kept)) == sorted(map(str, same))
    assert here.unclear == there.unclear
