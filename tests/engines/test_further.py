"""Stronger and further rules where a shield overrules its network: fewer interventions, the same proofs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from surefoot.certify.barrier.claim import build_barrier_certificate
from surefoot.engines.barrier.falsify import unsafety_score
from surefoot.engines.barrier.float_system import Floats, float_system
from surefoot.engines.barrier.polyhedron.linear_loop import HalfSpace, LinearLoop
from surefoot.engines.barrier.sos_candidate import FEW
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import barrier_rows, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield
from surefoot.shields.enlarge import fewer_interventions
from surefoot.shields.enlarge.fewer_interventions import reduce_interventions
from surefoot.shields.enlarge.float_shield import count_interventions, float_rules
from surefoot.shields.enlarge.two_speed_rules import (
    separating_half_spaces,
    slow_rows,
    two_speed_candidates,
    two_speed_gain,
)
from surefoot.shields.linear_controllers import unsafe_states
from surefoot.shields.linear_system import disturbed_linear_system
from surefoot.shields.program import shield_policy, synthesis_evidence, synthesis_program
from surefoot.shields.synthesis import RuleSource, Synthesis, synthesise_rules
from surefoot.term.term import Const
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_studies.control.problem import stays_safe

PENDULUM = discretise(stays_safe("pendulum-heavier"))
OBSTACLE = discretise(stays_safe("self-driving-obstacle"))


def weak(states: Floats) -> Floats:
    """Too weak for the pendulum: it falls from most starts."""
    return -9.0 * states[:, :1] - 2.0 * states[:, 1:]


def straight(states: Floats) -> Floats:
    """Drives towards the goal, whatever is in between."""
    return np.clip(-0.4 * states[:, :2] - 0.2 * states[:, 2:], -1.0, 1.0)


def interventions(problem: Problem, found: Synthesis) -> int:
    system = read_control_system(problem)
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    starts = np.random.default_rng(9).uniform(low, high, (40, len(low)))
    oracle = weak if problem is PENDULUM else straight
    shield = float_rules(system, found.branches)
    return count_interventions(disturbed_linear_system(system), shield, oracle, starts, 600, Budget()).count


def accepted(problem: Problem, found: Synthesis) -> bool:
    system = read_control_system(problem)
    policy, permits = shield_policy(system, found, synthesis_program(system, found))
    content = build_barrier_certificate(
        replace(problem, policy=policy), synthesis_evidence(found, permits)
    ).content
    return judge_certificate(json.loads(json.dumps(content))).accepted


@pytest.fixture(scope="module")
def pendulum() -> Synthesis:
    return synthesise_rules(read_control_system(PENDULUM), RuleSource(), (2,), Budget(60))


def test_a_stronger_rule_for_the_same_set(pendulum: Synthesis) -> None:
    found = reduce_interventions(read_control_system(PENDULUM), pendulum, weak, (2,), Budget(60))
    (old,), (new,) = pendulum.branches, found.branches
    assert new.set.barrier == old.set.barrier
    assert new.then != old.then
    assert new.set.proof["covers"] == old.set.proof["covers"]
    assert interventions(PENDULUM, found) < 0.9 * interventions(PENDULUM, pendulum)
    assert accepted(PENDULUM, found)


def test_nothing_is_changed_where_nothing_is_overruled(pendulum: Synthesis) -> None:
    system = read_control_system(PENDULUM)
    (piece,) = float_rules(system, pendulum.branches)
    assert reduce_interventions(system, pendulum, piece.controls, (2, FEW), Budget(60)) == pendulum


def test_an_interruption_keeps_what_there_is(pendulum: Synthesis) -> None:
    def stopped(states: Floats) -> Floats:
        raise KeyboardInterrupt

    found = reduce_interventions(read_control_system(PENDULUM), pendulum, stopped, (2,), Budget(60))
    assert found == replace(pendulum, interrupted=True)


def test_without_ends_or_lines_nothing_is_tried() -> None:
    for name in ("duffing", "biology"):
        system = read_control_system(discretise(stays_safe(name)))
        none = Synthesis((), (system.initial,))
        assert reduce_interventions(system, none, lambda x: x, (2, FEW), Budget(60)) is none


@pytest.fixture(scope="module")
def made() -> ShieldSynthesis:
    """Rules around the obstacle, and their certificate."""
    return make_certified_shield(stays_safe("self-driving-obstacle"), (2,), Budget(400))


def test_the_way_around_an_obstacle_is_proved(made: ShieldSynthesis) -> None:
    assert made.accepted, made.reason
    assert not made.found.uncovered
    assert len(made.found.branches) == 2
    policy = made.problem.policy
    fallback = getattr(policy, "fallback", policy)
    assert fallback is not None
    moving = float_system(made.system, tuple(Const(0) for _ in made.system.controls))
    state = np.array([[-7.0, -7.0, 0.0, 0.0]])  # straight on it would hit the obstacle
    for _ in range(5000):
        named = dict(zip(made.system.variables, map(float, state[0]), strict=True))
        controls = decide_in_state(fallback, made.problem.environment, named).controls
        chosen = np.array([[float(controls[name]) for name, _, _ in made.system.controls]])
        state = moving.next_states(state, np.zeros((1, 0)), chosen)
        assert (unsafety_score(made.system, state) < 0).all()
    assert state[0, 1] > -1  # it has passed the obstacle


def test_around_the_obstacle(made: ShieldSynthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fewer_interventions, "LEAST_SECONDS", 400.0)  # a busy machine needs more than 30
    system, before = read_control_system(OBSTACLE), made.found
    assert made.system == system
    after = reduce_interventions(system, before, straight, (2, FEW), Budget(400))
    assert after.branches[-len(before.branches) :] == before.branches
    assert len(after.branches) > len(before.branches)
    assert interventions(OBSTACLE, after) < 0.5 * interventions(OBSTACLE, before)
    assert accepted(OBSTACLE, after)


def test_sets_beside_the_obstacle_are_closed() -> None:
    system, moving, generator = (
        read_control_system(OBSTACLE),
        disturbed_linear_system(read_control_system(OBSTACLE)),
        np.random.default_rng(1),
    )
    states = generator.uniform([-8, -8, -0.5, -0.5], [0, 0, 0.5, 0.5], (2000, 4))
    is_unsafe = unsafe_states(system)
    candidates = two_speed_candidates(system, moving, states[~is_unsafe(states)], Budget(60))
    proved = [branch for c in candidates if (branch := c.prove_rule(Budget(60))) is not None]
    assert len(proved) >= 4
    for branch, piece in zip(proved, float_rules(system, proved), strict=True):
        assert branch.set.proof["covers"] == []
        assert len(barrier_rows(branch.set.barrier)) <= 20
        run = states[piece.contains(states)]
        for _ in range(200):
            run = moving.step(run, piece.controls(run))
        assert not is_unsafe(run).any()
        assert piece.contains(run).all()


def test_half_spaces_have_no_unsafe_state() -> None:
    corners = np.array([[x, y, 0.0, 0.0] for x in (-3.1, -2.9) for y in (-3.1, -2.9)])
    choices = separating_half_spaces(read_control_system(OBSTACLE))
    assert len(choices) == 16
    assert all(float(row.margins(corners).max()) < 0 for (row,) in choices)
    assert separating_half_spaces(read_control_system(PENDULUM)) == [()]


def test_a_loop_of_two_speeds() -> None:
    moving = disturbed_linear_system(read_control_system(OBSTACLE))
    gain = two_speed_gain(moving.state, moving.control, 0.02, 0.001)
    assert gain is not None
    loop, one = moving.state + moving.control @ gain, np.eye(4)
    assert np.allclose((loop - 0.98 * one) @ (loop - 0.999 * one), 0)


def test_four_variables_of_one_control_have_more_speeds() -> None:
    moving = disturbed_linear_system(read_control_system(discretise(stays_safe("cartpole"))))
    assert two_speed_gain(moving.state, moving.control, 0.02, 0.001) is None


def test_a_row_and_its_slow_row_are_closed() -> None:
    state, control = np.array([[1.0, 0.01], [0.0, 0.99]]), np.array([[0.0], [0.01]])
    gain = two_speed_gain(state, control, 0.02, 0.0005)
    assert gain is not None
    nothing = np.zeros(0)
    loop = LinearLoop(
        state, control, np.zeros((2, 0)), np.zeros(2), gain, np.zeros(1), -np.ones(1), np.ones(1), nothing
    )
    wall = HalfSpace(np.array([1.0, 0.0]), 3.0)
    (slow,) = slow_rows(loop, [wall], 1)
    points = np.random.default_rng(2).uniform(-5, 5, (4000, 2))
    inside = points[(wall.margins(points) >= 0) & (slow.margins(points) >= 0)]
    after = inside @ (state + control @ gain).T
    assert 500 < len(inside) < 4000
    assert wall.margins(after).min() >= -1e-9
    assert slow.margins(after).min() >= -1e-9


def test_rows_of_other_loops_are_left_to_the_recursion() -> None:
    state = np.diag([0.9, 0.8, 0.7]) + np.eye(3, k=1) * 0.1
    loop = LinearLoop(state, np.zeros((3, 1)), np.zeros((3, 0)), np.zeros(3), np.zeros((1, 3)), np.zeros(1),
                -np.ones(1), np.ones(1), np.zeros(0))  # fmt: skip
    assert slow_rows(loop, [HalfSpace(np.array([1.0, 0.0, 0.0]), 1.0)], 1) == []
