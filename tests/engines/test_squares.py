"""Barriers by sums of squares in pairs: cells in a chain, each cubic and coupled to its neighbours."""

from __future__ import annotations

import copy
from fractions import Fraction
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from benchmarks.old_format import to_format_1
from tests.engines.held import plant

from surefoot.engines.barrier import Barrier
from surefoot.engines.barrier import sos_candidate as finding
from surefoot.engines.barrier.float_system import evaluate_polynomial, float_system
from surefoot.engines.barrier.invariant_set import InvariantSet
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.engines.barrier.search import search_invariant_set
from surefoot.engines.barrier.sos_candidate import SosTemplate
from surefoot.problem.problem import Problem
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import ControlSystem, control_branches, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.solvers.sos.rational_identity import gram_blocks
from surefoot.term.term import Const, Var
from surefoot.verdict.verdict import Proved, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.control.problem import stays_safe


def cells(count: int, bend: str = "1", near: str = "0.5") -> Problem:
    """Each cell decays, its cube drives it away, and its neighbours pull at it; the first is controlled."""
    rates = {}
    for i in range(count):
        pull = "".join(f" + {near}*x{j}" for j in (i - 1, i + 1) if 0 <= j < count)
        rates[f"x{i}"] = f"-2*x{i} + {bend}*x{i}^3{pull}{' + u0' if i == 0 else ''}"
    starts = " and ".join(f"x{i} >= -0.5 and x{i} <= 0.5" for i in range(count))
    bad = " or ".join(f"x{i} <= -1 or x{i} >= 1" for i in range(count))
    return plant(rates, "0.1", starts, bad, rule=("-0.2*x0",), limit="1", continuous=False)


def certificate(count: int, squares: Literal["auto", "sos", "sdsos"]) -> dict[str, Any]:
    result = verify(cells(count), Barrier(degree=2, polynomial=True, squares=squares), Budget(60))
    assert result.certified
    assert isinstance(result.verdict, Proved)
    found = to_format_1(result.verdict.certificate.content)
    return found


def accepted(data: dict[str, Any]) -> bool:
    try:
        return judge_certificate(data).accepted
    except BadCertificate:
        return False


def test_a_chain_is_proved_in_pairs_and_tampering_is_seen() -> None:
    data = certificate(3, "sdsos")
    assert accepted(data)
    places = [
        (summand, i)
        for entry in data["sets"][0]["steps"][0]
        if isinstance(entry, list)
        for summand in entry
        for i in range(len(summand["gram"]))
    ]
    random, tried = Random(0), 0
    for summand, i in random.sample(places, 12):
        row = summand["gram"][i]
        before, row[i] = row[i], hex(int(row[i], 16) - random.choice((1, 1 << 20)))
        assert not accepted(data)
        row[i], tried = before, tried + 1
    assert tried == 12
    wrong = copy.deepcopy(data)
    wrong["claim"]["system"]["initial"][1] = ["-3/4", "3/4"]
    assert not accepted(wrong)


def test_where_the_cube_is_too_strong_nothing_is_proved() -> None:
    """From 0.5 the cells run away: 6 x^3 is more than 2 x from 0.58 on, and neighbours push them there."""
    verdict = verify(
        cells(3, "6", "1"), Barrier(degree=2, polynomial=True, squares="sdsos"), Budget(1.5)
    ).verdict
    assert isinstance(verdict, Unknown)


def test_matrices_of_a_cubic_map_are_narrow() -> None:
    """Self-driving at degree 8: the map is cubic in one variable; up to degree 12 there are 91 monomials."""
    system = read_control_system(discretise(stays_safe("self-driving")))
    rule = Const(Fraction(2)) * Var("x1") + Const(Fraction(-4)) * Var("x2")
    where = scale_system(system, (rule,), ((Fraction(-2), Fraction(2)),) * 2)
    part = [Polynomial({m: Fraction(1)}) for m in ((8, 0), (0, 8), (4, 4), (0, 0))]
    (step,) = finding._decrease_conditions(where, part, Fraction(9, 10), [(False, False)], Budget(30))
    wanted = tuple(step.linear.values())
    parts = gram_blocks(24, step.constraints, step.products, step.variables, (step.fixed, *wanted))
    assert max(len(block.basis) for block in parts) == 35


def closed(
    problem: Problem, squares: Literal["auto", "sos", "sdsos"]
) -> tuple[ControlSystem, InvariantSet | str]:
    system = read_control_system(discretise(problem))
    (rule,) = control_branches(problem.policy)
    return system, search_invariant_set(system, rule.then, (SosTemplate(2, squares),), Budget(20))


@pytest.mark.parametrize("seed", range(4))
def test_no_simulated_run_leaves_what_was_found(seed: int) -> None:
    """Random couplings and cubes; runs from anywhere in the set, with the rule."""
    random = Random(seed)
    problem = cells(2, f"{random.uniform(-1, 1):.3f}", f"{random.uniform(-0.5, 0.5):.3f}")
    system, found = closed(problem, "sdsos")
    assert isinstance(found, InvariantSet)
    (rule,) = control_branches(problem.policy)
    where, moving = scale_system(system, rule.then, found.domain), float_system(system, rule.then)
    row, generator = where.of(found.barrier), np.random.default_rng(seed)
    low, high = (np.array([float(r[i]) for r in found.domain]) for i in (0, 1))
    centres, units = (np.array([float(u[i]) for u in where.units]) for i in (0, 1))
    states = generator.uniform(low, high, (2000, len(low)))
    states = states[evaluate_polynomial(row, (states - centres) / units) <= 0]
    assert len(states) > 100
    for _ in range(100):
        states = moving.step(states, np.zeros((len(states), 0)))
        assert np.all((states >= low) & (states <= high))
        assert np.all(evaluate_polynomial(row, (states - centres) / units) <= 1e-12)
        assert np.all(np.abs(states) < 1)
