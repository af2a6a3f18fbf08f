"""The cubic pendulum as data: the Euler map in float64, clipping, disturbance."""

from fractions import Fraction
from math import pi, radians
from random import Random

import numpy as np
import pytest

from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.network import Shape, dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import (
    State,
    apply_move,
    enumerate_successors,
    holds_in_state,
    is_initial,
    policy_decision,
)
from surefoot.problem.validate import validate_problem
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.term.value_types import Arithmetic
from surefoot.work.budget import Budget
from surefoot_studies.pendulum.problem import PROBLEMS, exact_radians, pendulum_policy, stays_upright

DEGREE = pi / 180


def executed(problem: Problem) -> Problem:
    return discretise(problem)


def plain_step(eta: float, omega: float, action: float, gust: float = 0.0) -> tuple[float, float]:
    """The executed map, operation by operation: 10*(eta - eta^3/6) + a/1 (+ gust), then Euler."""
    pull = 10 * (eta - eta * eta * eta / 6)
    rate = pull + action / 1
    return eta + 0.01 * omega, omega + 0.01 * (rate + gust if gust else rate)


def plain_action(eta: float, omega: float) -> float:
    return min(max(-12.05 * eta + -5.87 * omega, -15.0), 15.0)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_valid(name: str) -> None:
    validate_problem(PROBLEMS[name]())
    validate_problem(executed(PROBLEMS[name]()))


def test_the_constants_are_the_papers() -> None:
    problem = stays_upright()
    assert problem.environment.arithmetic is Arithmetic.FLOAT64
    assert problem.environment.flow is not None
    assert problem.environment.flow.step == Fraction(1, 100)
    assert float(exact_radians(20)) == radians(20) == 0.3490658503988659
    for eta, inside in ((0.349, True), (-0.349, True), (0.3491, False)):
        assert is_initial(problem.environment, {"eta": eta, "omega": 0.1}) is inside


def test_a_thousand_steps_are_the_euler_map_bit_for_bit() -> None:
    problem = executed(stays_upright())
    state: State = {"eta": 0.34, "omega": -0.3}
    eta, omega = 0.34, -0.3
    for _ in range(1000):
        (successor,) = enumerate_successors(problem, state)
        state = successor.state
        eta, omega = plain_step(eta, omega, plain_action(eta, omega))
        assert (state["eta"], state["omega"]) == (eta, omega)
    assert abs(eta) < 0.01  # the paper's program does balance the pendulum


def test_the_action_is_clipped() -> None:
    problem = executed(stays_upright())
    made = policy_decision(problem, {"eta": 1.5, "omega": 1.5})
    assert made is not None
    assert made.controls == {"a": -15.0}
    free = policy_decision(executed(stays_upright(strongest_action=None)), {"eta": 1.5, "omega": 1.5})
    assert free is not None
    assert free.controls == {"a": -12.05 * 1.5 + -5.87 * 1.5}


def test_a_disturbed_run() -> None:
    problem = executed(stays_upright(disturbance=Fraction(1, 10)))
    run = simulate_run(problem, {"eta": 0.3, "omega": 0.3}, 300, Random(8))
    assert run.ending == "truncated"
    gusts = [move.chosen["gust"] for move in run.moves]
    assert all(-0.1 <= gust <= 0.1 for gust in gusts)
    assert max(gusts) > 0.09
    for before, move, after in zip(run.states, run.moves, run.states[1:], strict=False):
        eta, omega = before["eta"], before["omega"]
        assert (after["eta"], after["omega"]) == plain_step(
            eta, omega, plain_action(eta, omega), move.chosen["gust"]
        )
        assert apply_move(problem, before, move) == after
    assert not any(bad(problem, s) for s in run.states)


def bad(problem: Problem, state: State) -> bool:
    assert isinstance(problem.property, Never)
    return holds_in_state(problem, state, problem.property.bad)


def test_unsafe_is_outside_the_open_box() -> None:
    for degrees in (90, 30):
        problem = stays_upright(degrees=degrees)
        limit = radians(degrees)
        for eta, omega in ((limit, 0.0), (-limit, 0.0), (0.0, limit), (2.0, 2.0)):
            assert bad(problem, {"eta": eta, "omega": omega})
        below = float(np.nextafter(limit, 0))
        assert not bad(problem, {"eta": below, "omega": -below})


def test_without_control_it_falls() -> None:
    still = dense_network([([[0, 0]], [0])])
    problem = executed(stays_upright(pendulum_policy(still)))
    run = simulate_run(problem, {"eta": 0.3, "omega": 0.0}, 200, Random(0))
    assert any(bad(problem, s) for s in run.states)


def test_a_network_acts_in_float32_on_a_float64_plant() -> None:
    rng = np.random.default_rng(2)
    network = dense_network(
        [(rng.normal(size=(8, 2)), rng.normal(size=8)), (rng.normal(size=(1, 8)), rng.normal(size=1))],
        Shape.TANH,
    )
    problem = executed(stays_upright(pendulum_policy(network)))
    validate_problem(problem)
    made = policy_decision(problem, {"eta": 0.1, "omega": 0.2})
    assert made is not None
    assert made.outputs is not None
    assert made.controls == {"a": made.outputs[0]}
    assert np.float32(made.outputs[0]) == made.outputs[0]


def test_the_case_study_within_23_degrees_needs_one_rule() -> None:
    made = make_certified_shield(PROBLEMS["within-23-degrees"](), (2,), Budget(100))
    assert made.accepted
    assert not made.found.uncovered
    assert len(made.found.branches) == 1


def test_a_weak_pendulum_starts_where_it_can_be_held() -> None:
    system = read_control_system(discretise(PROBLEMS["within-90-degrees-weak"]()))
    assert [high for _, high in system.initial] == [exact_radians(3), exact_radians(3)]
    assert system.controls == (("a", -1, 1),)
