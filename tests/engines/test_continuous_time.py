"""Proofs about differential equations: they agree with accurate solutions, and none is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.old_format import to_format_1
from scipy.linalg import expm
from tests.engines.held import Floats, period, plant, ruled, unsafe

from surefoot.certify.barrier.claim import build_barrier_certificate, matches_barrier_claim, read_claimed_sets
from surefoot.engines.barrier import Barrier
from surefoot.engines.barrier.float_system import evaluate_polynomial, float_system
from surefoot.engines.barrier.invariant_set import prove_invariant_set
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.engines.barrier.search import search_invariant_set
from surefoot.engines.barrier.sos_candidate import fit_barrier
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.problem import Problem, in_time
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, control_branches, polynomial_of, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.shields.program import (
    shield_policy,
    synthesis_evidence,
    synthesis_program,
    with_room_between,
)
from surefoot.shields.synthesis import ShieldRule, Synthesis
from surefoot.term.evaluate import evaluate_term
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.verdict import Proved, Result, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.pendulum.problem import stays_upright

ROTATION = {"x": "-0.3*x + 3*y", "y": "-3*x - 0.3*y"}
SMALL = "-0.5 <= x <= 0.5 and -0.5 <= y <= 0.5"
FAR = "x < -2 or x > 2 or y < -2 or y > 2"


def asked(problem: Problem, seconds: float = 60, degree: int = 4) -> Result:
    return verify(problem, Barrier(degree=degree), Budget(seconds))


def content(result: Result) -> dict[str, Any]:
    assert isinstance(result.verdict, Proved), result.verdict
    assert result.certified
    found = to_format_1(result.verdict.certificate.content)
    return found


def drawn(system: ControlSystem, data: dict[str, Any], count: int, generator: np.random.Generator) -> Floats:
    """States of the first set of a certificate, near to its border where possible."""
    domain, barrier, _ = read_claimed_sets(data)[0]
    ring = {n: polynomial_from_variable(i, len(system.variables)) for i, n in enumerate(system.variables)}
    value = polynomial_of(barrier, ring, len(ring), system.rounded)
    low, high = (np.array([float(r[i]) for r in domain]) for i in (0, 1))
    states = generator.uniform(low, high, (40 * count, len(low)))
    heights = evaluate_polynomial(value, states)
    states, heights = states[heights <= 0], heights[heights <= 0]
    order = np.argsort(-heights)
    return states[np.concatenate([order[: count // 2], order[:: max(1, len(order) // (count // 2))]])]


def follows(problem: Problem, data: dict[str, Any], seed: int = 0) -> None:
    """From states of the set, whatever the disturbances are: in the set after a period, never unsafe, and
    near to the predictions as the certificate says."""
    system, generator = read_control_system(problem), np.random.default_rng(seed)
    domain, barrier, then = read_claimed_sets(data)[0]
    margins = data["sets"][0]["margins"]
    states = drawn(system, data, 120, generator)
    assert len(states) > 20
    controls = ruled(system, then, states)
    seen, mean = period(system, states, controls, generator)
    assert not any(unsafe(system, s).any() for s in seen)
    last = seen[-1]
    ring = {n: polynomial_from_variable(i, len(system.variables)) for i, n in enumerate(system.variables)}
    heights = evaluate_polynomial(polynomial_of(barrier, ring, len(ring), system.rounded), last)
    assert heights.max() <= -float(Fraction(margins["room"])) + 1e-12
    low, high = (np.array([float(r[i]) for r in domain]) for i in (0, 1))
    assert ((last >= low - 1e-12) & (last <= high + 1e-12)).all()
    predicted = float_system(system, then).next_states(states, mean, controls)
    steps = np.array([float(Fraction(e)) for e in margins["step"]])
    assert (np.abs(predicted - last) <= steps + 1e-12).all()
    where = scale_system(system, then, domain)
    assert where.own is not None
    for share, state in zip(np.linspace(0, 1, len(seen)), seen, strict=True):
        line = (1 - share) * states + share * last
        assert (np.abs(state - line) <= np.array([float(c) for c in where.own.chord]) + 1e-12).all()
        ends = states if share <= 0.5 else last
        assert (np.abs(state - ends) <= np.array([float(c) for c in where.own.half]) + 1e-12).all()


@pytest.mark.parametrize("method", ["euler", "taylor"])
def test_the_pendulum_of_the_paper_stays_upright_at_all_times(method: str) -> None:
    problem = in_time(stays_upright(degrees=30), "continuous", method)
    data = content(asked(problem))
    assert "time" in data["claim"]["system"]
    follows(problem, data)


def test_the_oscillator_of_the_paper_stays_within_its_limits_at_all_times() -> None:
    """Duffing, Example 4.3, with the program that `surefoot shield` finds."""
    rates = {"x": "y", "y": "-0.6*y - x - x^3 + u0"}
    starts, bad = "-2.5 <= x <= 2.5 and -2 <= y <= 2", "x < -5 or x > 5 or y < -5 or y > 5"
    problem = plant(rates, "0.01", starts, bad, rule=("-16.66*x - 22.21*y",))
    follows(problem, content(asked(problem, degree=2)))


def test_disturbances_may_change_at_any_time() -> None:
    problem = plant(
        {"x": "y + 0.1*x*d", "y": "-x - y + d + u0"}, "0.05", SMALL, FAR, gust="0.2", rule=("-y",)
    )
    data = content(asked(problem, degree=2))
    for seed in range(2):
        follows(problem, data, seed)


def test_what_is_steeper_than_euler_can_follow_is_proved_by_the_second_order() -> None:
    """The flow is a contracting rotation; Euler's steps grow: they are rightly not proved."""
    stepped = plant(ROTATION, "0.1", SMALL, FAR, continuous=False)
    state = np.array([0.5, 0.5])
    for _ in range(400):
        state = state + 0.1 * np.array([-0.3 * state[0] + 3 * state[1], -3 * state[0] - 0.3 * state[1]])
    assert np.abs(state).max() > 2
    assert isinstance(asked(stepped, 1, degree=2).verdict, Unknown)
    problem = plant(ROTATION, "0.1", SMALL, FAR)
    follows(problem, content(asked(problem, degree=2)))
    assert isinstance(asked(plant(ROTATION, "0.1", SMALL, FAR, method="euler"), 1, degree=2).verdict, Unknown)


def test_steps_may_be_safe_where_the_flow_is_not() -> None:
    """x' = x - 3 x(last sample), period 0.9: by Euler times -0.8, in truth times -1.92."""
    unsafe_soon = "x < -3 or x > 3"
    rates = {"x": "x + u0"}
    stepped = plant(rates, "0.9", "-1 <= x <= 1", unsafe_soon, rule=("-3*x",), continuous=False)
    assert isinstance(asked(stepped, degree=2).verdict, Proved)
    for method in ("euler", "taylor"):
        problem = plant(rates, "0.9", "-1 <= x <= 1", unsafe_soon, rule=("-3*x",), method=method)
        assert isinstance(asked(problem, 1, degree=2).verdict, Unknown)


def test_a_circle_without_damping_is_not_proved() -> None:
    problem = plant({"x": "y", "y": "-x"}, "0.1", SMALL, "x < -0.72 or x > 0.72 or y < -0.72 or y > 0.72")
    assert isinstance(asked(problem, 1, degree=2).verdict, Unknown)


def test_a_state_may_be_unsafe_between_two_samples_only() -> None:
    """At multiples of the period the state is 0 or returns to it; in between it is further."""
    rates = {"x": "y", "y": "u0"}  # a push that is taken back: x is at most its highest in the middle
    bad = "x > 0.0125 or x < -0.0125"
    starts = "0 <= x <= 0 and 0.1 <= y <= 0.1"
    problem = plant(rates, "0.5", starts, bad, rule=("-0.4",))
    system = read_control_system(problem)
    seen, _ = period(system, np.array([[0.0, 0.1]]), np.array([[-0.4]]), np.random.default_rng(0))
    assert abs(seen[-1][0, 0]) < 1e-9
    assert abs(seen[len(seen) // 2][0, 0]) > 0.0124
    assert isinstance(asked(problem, 1, degree=2).verdict, Unknown)


@pytest.mark.parametrize("seed", range(8))
def test_random_linear_systems_are_never_proved_wrongly(seed: int) -> None:
    """Controls are held, so the state after a period is a matrix times the state: known in floats."""
    generator = np.random.default_rng(seed)
    size, h = float(generator.uniform(0.3, 2.0)), float(generator.choice([0.05, 0.1, 0.3]))
    matrix = np.round(generator.normal(0, size, (2, 2)) - np.diag(generator.uniform(0, 2, 2)), 2)
    gain = np.round(generator.normal(0, size, 2), 2)
    rates = {n: f"({a})*x + ({b})*y" for n, (a, b) in zip("xy", matrix, strict=True)}
    rates["y"] += " + u0"
    rule = (f"({gain[0]})*x + ({gain[1]})*y",)
    arithmetic = Arithmetic.FLOAT64 if seed % 2 else Arithmetic.EXACT
    problem = plant(rates, str(h), SMALL, FAR, rule=rule, arithmetic=arithmetic)
    verdict = asked(problem, 0.7, degree=2).verdict
    worst, held = 0.0, np.zeros((3, 3))
    held[:2, :2], held[1, 2] = matrix, 1.0
    moves = [expm(held * h * k / 8) for k in range(1, 9)]
    state = np.array([[a, b] for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
    for _ in range(200):
        whole = np.column_stack([state, state @ gain])
        between = [whole @ move.T for move in moves]
        worst = max(worst, *(float(np.abs(b[:, :2]).max()) for b in between))
        state = np.clip(between[-1][:, :2], -1e6, 1e6)
    if worst >= 2:
        assert isinstance(verdict, Unknown)


def test_a_shield_permits_only_what_keeps_the_state_in_the_set() -> None:
    problem = in_time(stays_safe("pendulum-continuous"), "continuous")
    made = make_certified_shield(problem, (2,), Budget(60))
    assert made.accepted, made.reason
    assert made.certificate is not None
    policy, system, generator = made.problem.policy, made.system, np.random.default_rng(1)
    assert isinstance(policy, ShieldedPolicy)
    states = drawn(system, made.certificate, 60, generator)
    proposed = generator.uniform(-15, 15, (len(states), 1))
    asked_for = [
        evaluate_term(policy.permits, {"eta": a, "omega": b, "u1": u}, Arithmetic.FLOAT64)
        for (a, b), (u,) in zip(states.tolist(), proposed.tolist(), strict=True)
    ]
    permitted = np.array(asked_for, dtype=np.bool_)
    assert 3 < permitted.sum() < len(states)
    seen, _ = period(system, states[permitted], proposed[permitted], generator)
    assert not any(unsafe(system, s).any() for s in seen)
    _, barrier, _ = read_claimed_sets(made.certificate)[0]
    ring = {n: polynomial_from_variable(i, 2) for i, n in enumerate(system.variables)}
    assert evaluate_polynomial(polynomial_of(barrier, ring, 2, True), seen[-1]).max() <= 0


def test_what_is_proposed_may_lead_from_one_set_into_another() -> None:
    """The smaller set has too little room for a period that begins in the larger one, and is given more."""
    problem = plant(
        {"x": "2*x + u0"}, "0.05", "-0.2 <= x <= 0.2", "x < -2 or x > 2", rule=("-6*x",), limit="9"
    )
    system, (rule,) = read_control_system(problem), control_branches(problem.policy)
    branches = []
    for end, starts in (
        (1, (Fraction(-1, 5), Fraction(1, 5))),
        (Fraction(3, 2), (Fraction(-1), Fraction(1))),
    ):
        where = scale_system(system, rule.then, [(-Fraction(end), Fraction(end))], tested=True)
        barrier = fit_barrier(where, [starts], 2, Fraction(99, 100), [(False, False)], Budget(30))
        assert barrier is not None
        found = prove_invariant_set(where, [barrier], [starts], [(False, False)], True, Budget(30))
        branches.append(ShieldRule(rule.then, found))
    both = Synthesis(tuple(branches), ())
    answers = []
    for made in (both, with_room_between(system, both, Budget(30))):
        policy, permits = shield_policy(system, made, synthesis_program(system, made))
        certificate = build_barrier_certificate(
            replace(problem, policy=policy), synthesis_evidence(made, permits)
        )
        answers.append(judge_certificate(json.loads(json.dumps(certificate.content))))
    assert not answers[0].accepted
    assert "slack" in answers[0].reason
    assert answers[1].accepted, answers[1].reason


def test_a_certificate_is_about_one_time() -> None:
    problem = plant(ROTATION, "0.02", SMALL, FAR)
    data = content(asked(problem, degree=2))
    assert matches_barrier_claim(data, problem)
    assert not matches_barrier_claim(data, discretise(in_time(problem, "steps")))
    assert not matches_barrier_claim(data, plant(ROTATION, "0.03", SMALL, FAR))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(Unsupported, match="affine"):
        read_control_system(plant({"x": "d*d - x"}, "0.1", "0 <= x <= 1", "x > 3", gust="1"))
    with pytest.raises(Unsupported, match="continuous time"):
        discretise(plant({"x": "-x"}, "0.1", "0 <= x <= 1", "x > 3"))
    with pytest.raises(InvalidProblem, match="method"):
        asked(plant({"x": "-x"}, "0.1", "0 <= x <= 1", "x > 3", method="rk4"))
    with pytest.raises(Unsupported, match="no differential equation"):
        in_time(stays_safe("satellite"), "continuous")


def test_polyhedra_are_for_steps() -> None:
    system = read_control_system(plant(ROTATION, "0.02", SMALL, FAR))
    assert "for steps" in str(search_invariant_set(system, (), shapes_for("polyhedron"), Budget(10)))


def test_a_period_that_is_too_long_is_no_answer() -> None:
    found = asked(plant({"x": "-30*x"}, "0.1", "-1 <= x <= 1", "x > 3 or x < -3"), 5).verdict
    assert isinstance(found, Unknown)
    assert "within a period" in found.detail
