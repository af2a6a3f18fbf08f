"""Linear systems with tight limits, and where ways around unsafe states may lead."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.engines.barrier.falsify import unsafety_score
from surefoot.engines.barrier.float_system import float_system
from surefoot.reductions.barrier import ControlSystem, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.linear_controllers import fails_in_simulation
from surefoot.shields.linear_system import box_corners, furthest_inside, linear_system
from surefoot.shields.waypoints import enumerate_routes, is_obstructed
from surefoot.solvers.sos.semidefinite_program import solve_lmi
from surefoot.work.budget import Budget
from surefoot_studies.control.problem import stays_safe


def system(name: str) -> ControlSystem:
    return read_control_system(discretise(stays_safe(name)))


def test_matrix_inequalities() -> None:
    bound = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])  # |x| <= 1
    found = solve_lmi([bound], np.array([1.0]), Budget(10))
    assert found is not None
    assert found[0] == pytest.approx(-1, abs=1e-6)
    above = np.array([[[-2.0]], [[1.0]]])  # x >= 2
    assert solve_lmi([bound, above], np.array([1.0]), Budget(10)) is None
    assert solve_lmi([bound], np.array([1.0]), Budget(0)) is None


def test_what_is_linear() -> None:
    assert linear_system(system("quadcopter")) is not None
    assert linear_system(system("self-driving")) is None  # a cubic
    assert linear_system(system("lane-keeping")) is None  # wind
    assert is_obstructed(system("self-driving-obstacle"))
    assert not is_obstructed(system("quadcopter"))
    assert not list(enumerate_routes(system("self-driving"), system("self-driving").initial, Budget(10)))


def test_resting_states_stay() -> None:
    plant = system("self-driving-obstacle")
    linear = linear_system(plant)
    assert linear is not None
    rest = linear.equilibrium(np.array([-3.0, -7.0, 0.5, 0.0]))
    assert rest is not None
    state, control = rest
    assert linear.state @ state + linear.control @ control + linear.drift == pytest.approx(state, abs=1e-9)
    assert state[:2] == pytest.approx([-3, -7])


def test_a_gain_for_tight_limits() -> None:
    """Most regulators leave the safe box from a corner of the starts."""
    plant = system("cartpole-longer-pole")
    gain = furthest_inside(plant, plant.initial, Budget(100))
    assert gain is not None
    assert not fails_in_simulation(plant, gain, plant.initial)
    moving, states = float_system(plant, gain.terms(plant)), box_corners(plant.initial)
    for _ in range(500):
        assert (unsafety_score(plant, states) < 0).all()
        wanted = states @ gain.matrix.T + gain.offset
        assert moving.clip_controls(wanted) == pytest.approx(wanted)  # no control at an end
        states = moving.step(states, np.zeros((len(states), 0)))
