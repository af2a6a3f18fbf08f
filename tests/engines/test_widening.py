"""Sets that are made larger where the network goes: fewer interventions, the same proofs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from surefoot.certify.barrier.claim import build_barrier_certificate
from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.enlarge.larger_sets import enlarge_sets
from surefoot.shields.enlarge.visited_states import visited_states
from surefoot.shields.program import shield_policy, synthesis_evidence, synthesis_program
from surefoot.shields.synthesis import RuleSource, ShieldRule, Synthesis, synthesise_rules
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.control.problem import stays_safe

PROBLEM = discretise(stays_safe("biology"))
SYSTEM = read_control_system(PROBLEM)


def elsewhere(states: Floats) -> Floats:
    """A safe controller that settles where the regulator's runs do not go."""
    return np.column_stack([-5.0 * (states[:, 0] + 3.0), np.full(len(states), 5.0)])


def careless(states: Floats) -> Floats:
    """Unsafe from every start."""
    return np.full((len(states), 2), 50.0)


@pytest.fixture(scope="module")
def found() -> Synthesis:
    return synthesise_rules(SYSTEM, RuleSource(), (2,), Budget(60))


def inside(branch: ShieldRule, states: Floats) -> float:
    """The share of states in a set, by its terms."""
    where = scale_system(SYSTEM, branch.then, branch.set.domain)
    low, high = (np.array([float(r[i]) for r in branch.set.domain]) for i in (0, 1))
    centres, units = (np.array([float(u[i]) for u in where.units]) for i in (0, 1))
    values = evaluate_polynomial(where.of(branch.set.barrier), (states - centres) / units)
    return float((((states >= low) & (states <= high)).all(axis=1) & (values <= 0)).mean())


def test_the_set_contains_what_the_network_visits(found: Synthesis) -> None:
    states = visited_states(SYSTEM, elsewhere, Budget())
    wide = enlarge_sets(SYSTEM, found, elsewhere, (2,), Budget(60))
    (old,), (new,) = found.branches, wide.branches
    assert inside(old, states) < 0.5
    assert inside(new, states) > 0.99
    assert new.then == old.then
    assert new.set.proof["covers"] == old.set.proof["covers"]


def test_it_is_certified_with_its_shield(found: Synthesis) -> None:
    wide = enlarge_sets(SYSTEM, found, elsewhere, (2,), Budget(60))
    policy, permits = shield_policy(SYSTEM, wide, synthesis_program(SYSTEM, wide))
    problem = replace(PROBLEM, policy=policy)
    content = json.loads(
        json.dumps(build_barrier_certificate(problem, synthesis_evidence(wide, permits)).content)
    )
    assert judge_certificate(content).accepted


def test_unsafe_runs_are_no_reason(found: Synthesis) -> None:
    assert len(visited_states(SYSTEM, careless, Budget())) == 0
    assert enlarge_sets(SYSTEM, found, careless, (2,), Budget(60)) == found


def test_without_time_the_sets_stay(found: Synthesis) -> None:
    assert enlarge_sets(SYSTEM, found, elsewhere, (2,), Budget(0.0)) == found


@pytest.mark.parametrize("where", ["visited_states", "fit_barrier"])
def test_an_interruption_keeps_what_there_is(
    where: str, found: Synthesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"surefoot.shields.enlarge.larger_sets.{where}", interrupted)
    kept = enlarge_sets(SYSTEM, found, elsewhere, (2,), Budget(60))
    assert kept.interrupted
    assert kept.branches == found.branches
