"""The control benchmarks as data, and what can be proved about starts that are lost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from surefoot.engines.barrier.invariant_set import Unproved, prove_invariant_set
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.problem.network import dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.validate import validate_problem
from surefoot.query.polynomial import polynomial_from_constant
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.report.shield_text import result_from_synthesis
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield
from surefoot.shields.unavoidable import is_unavoidably_unsafe
from surefoot.term.term import Const
from surefoot.verdict.verdict import Proved, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.comparison import load_study
from surefoot_studies.control.plants import CHANGED, TABLE_1
from surefoot_studies.control.problem import NEEDS_NETWORK, PROBLEMS, stays_safe

SIZES = {"satellite": 2, "dcmotor": 2, "tape": 3, "biology": 3, "cartpole": 4, "lane-keeping": 4,
         "four-car-platoon": 7, "eight-car-platoon": 15, "oscillator": 18}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_a_polynomial_system(name: str) -> None:
    problem = PROBLEMS[name]()
    system = read_control_system(discretise(problem))
    assert len(system.variables) == SIZES.get(name, len(system.variables))
    outputs, inputs = len(system.controls), len(system.variables)
    network = dense_network([([[0.0] * inputs] * outputs, [0.0] * outputs)])
    wired = NEEDS_NETWORK[f"network-{name}"](network)
    assert isinstance(wired.policy, NeuralPolicy)
    validate_problem(wired)


def test_all_benchmarks_of_the_tables_are_there() -> None:
    assert len(TABLE_1) == 15
    assert len(CHANGED) == 5  # four changes, and the pendulum before them
    expected = {e.problem for e in load_study("control").expectations}
    assert set(TABLE_1) <= expected


@pytest.fixture(scope="module")
def quadcopter() -> ShieldSynthesis:
    return make_certified_shield(stays_safe("quadcopter"), (2,), Budget(100))


def test_all_but_the_lost_corners_of_the_quadcopter_is_covered(quadcopter: ShieldSynthesis) -> None:
    half = Fraction(1, 2)
    corners = {((half, half), (half, half)), ((-half, -half), (-half, -half))}
    assert corners <= set(quadcopter.found.lost)
    share = quadcopter.found.covered_share(quadcopter.system.initial)
    assert Fraction(99_99, 100_00) < share < 1
    assert quadcopter.accepted  # about the covered part
    assert quadcopter.certificate is not None
    assert judge_certificate(quadcopter.certificate).claim.count("boxes of its starts") == 1
    for box in quadcopter.found.uncovered:
        assert any(
            is_unavoidably_unsafe(quadcopter.system, corner) for corner in corners if _inside(corner, box)
        )


def _inside(point: tuple[tuple[Fraction, Fraction], ...], box: tuple[tuple[Fraction, Fraction], ...]) -> bool:
    return all(a <= p <= b for (p, _), (a, b) in zip(point, box, strict=True))


def test_a_part_is_no_proof_of_the_whole(quadcopter: ShieldSynthesis) -> None:
    result = result_from_synthesis(quadcopter, 1.0, Budget(100))
    assert isinstance(result.verdict, Unknown)
    assert not result.certified
    assert any("99.99 %" in text for text in result.notes)


def test_a_covered_problem_is_proved() -> None:
    made = make_certified_shield(stays_safe("satellite"), (2,), Budget(100))
    result = result_from_synthesis(made, 1.0, Budget(100))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    assert result.notes == ("1 rule, 100 % of the starts covered",)


def test_starts_outside_of_the_domain_are_not_covered() -> None:
    """A set whose domain does not reach the starts was once said to contain them; the checker refused it."""
    system = read_control_system(discretise(stays_safe("satellite")))
    domain = tuple((low / 2, high / 2) for low, high in system.initial)
    where = scale_system(system, (Const(0),), domain)
    with pytest.raises(Unproved, match="the starts"):
        prove_invariant_set(
            where,
            [polynomial_from_constant(-1, where.size)],
            system.initial,
            [(False, False)],
            True,
            Budget(10),
        )


def test_a_system_without_an_equilibrium_at_the_origin_is_covered() -> None:
    """Insulin hardly moves: its range is widened; the constant part of the controls holds the plant."""
    made = make_certified_shield(stays_safe("biology"), (2,), Budget(100))
    assert made.accepted
    assert not made.found.uncovered
