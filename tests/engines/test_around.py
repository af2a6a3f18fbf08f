"""Linear systems with tight limits, and ways around unsafe states."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.cli.commands.shield.made import make
from surefoot.encode.barrier import System, system_of
from surefoot.engines.barrier.sampled import sampled
from surefoot.engines.barrier.unsafe import how_unsafe
from surefoot.engines.shield.around import is_obstructed, ways
from surefoot.engines.shield.gains import fails
from surefoot.engines.shield.linear import corners, furthest_inside, linear_of
from surefoot.problem.meaning.decision import decide
from surefoot.problem.term import Const
from surefoot.solve.sos.inequalities import satisfy
from surefoot.studies.control.problem import stays_safe
from surefoot.transform.discretise import discretise
from surefoot.work.budget import Budget


def system(name: str) -> System:
    return system_of(discretise(stays_safe(name))[0])


def test_matrix_inequalities() -> None:
    bound = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])  # |x| <= 1
    found = satisfy([bound], np.array([1.0]), Budget(10))
    assert found is not None
    assert found[0] == pytest.approx(-1, abs=1e-6)
    above = np.array([[[-2.0]], [[1.0]]])  # x >= 2
    assert satisfy([bound, above], np.array([1.0]), Budget(10)) is None
    assert satisfy([bound], np.array([1.0]), Budget(0)) is None


def test_what_is_linear() -> None:
    assert linear_of(system("quadcopter")) is not None
    assert linear_of(system("self-driving")) is None  # a cubic
    assert linear_of(system("lane-keeping")) is None  # wind
    assert is_obstructed(system("self-driving-obstacle"))
    assert not is_obstructed(system("quadcopter"))
    assert not list(ways(system("self-driving"), system("self-driving").initial, Budget(10)))


def test_resting_states_stay() -> None:
    plant = system("self-driving-obstacle")
    linear = linear_of(plant)
    assert linear is not None
    rest = linear.resting(np.array([-3.0, -7.0, 0.5, 0.0]))
    assert rest is not None
    state, control = rest
    assert linear.state @ state + linear.control @ control + linear.drift == pytest.approx(state, abs=1e-9)
    assert state[:2] == pytest.approx([-3, -7])


def test_a_gain_for_tight_limits() -> None:
    """Most regulators leave the safe box from a corner of the starts."""
    plant = system("cartpole-longer-pole")
    gain = furthest_inside(plant, plant.initial, Budget(100))
    assert gain is not None
    assert not fails(plant, gain, plant.initial)
    moving, states = sampled(plant, gain.terms(plant)), corners(plant.initial)
    for _ in range(500):
        assert (how_unsafe(plant, states) < 0).all()
        wanted = states @ gain.matrix.T + gain.offset
        assert moving.clipped(wanted) == pytest.approx(wanted)  # no control at an end
        states = moving.step(states, np.zeros((len(states), 0)))


def test_the_way_around_an_obstacle_is_proved() -> None:
    problem = stays_safe("self-driving-obstacle")
    made = make(problem, (2,), Budget(200))
    assert made.accepted, made.reason
    assert not made.found.uncovered
    assert len(made.found.branches) == 2
    policy = made.problem.policy
    fallback = getattr(policy, "fallback", policy)
    assert fallback is not None
    moving = sampled(made.system, tuple(Const(0) for _ in made.system.controls))
    state = np.array([[-7.0, -7.0, 0.0, 0.0]])  # straight on it would hit the obstacle
    for _ in range(5000):
        named = dict(zip(made.system.variables, map(float, state[0]), strict=True))
        controls = decide(fallback, made.problem.environment, named).controls
        chosen = np.array([[float(controls[name]) for name, _, _ in made.system.controls]])
        state = moving.moved(state, np.zeros((1, 0)), chosen)
        assert (how_unsafe(made.system, state) < 0).all()
    assert state[0, 1] > -1  # it has passed the obstacle
