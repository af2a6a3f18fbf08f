"""DeepRM over many steps: the short model agrees with the simulator of the cluster."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.property import Recurs
from surefoot.problem.semantics import Move, apply_move, holds_in_state, permitted_transitions
from surefoot_studies.deeprm.overload import keeps_placing
from surefoot_studies.training.simulators.deeprm import DeepRM


def always(action: int) -> Network:
    return dense_network([([[0.0] * 2480] * 6, [float(i == action) for i in range(6)])])


def state(busy: int, silence: int = 0) -> dict[str, object]:
    return {**{f"planned_{i}": int(i < busy) for i in range(3)}, "silence": Fraction(silence)}


@pytest.mark.parametrize(("busy", "silence"), [(0, 0), (1, 4), (3, 10)])
def test_the_picture_is_that_of_the_simulator(busy: int, silence: int) -> None:
    problem = keeps_placing(always(5), 3, 10, 2)
    simulator = DeepRM(1, np.random.default_rng(0))
    simulator.used[0, :busy] = [10, 2]
    simulator.visible[0, :] = [3, 10, 2]
    simulator.silence[:] = silence
    assert isinstance(problem.policy, NeuralPolicy)
    seen = observation_vector(problem.policy, problem.environment, state(busy, silence))
    assert np.array_equal(seen, simulator.observe()[0].astype(np.float32))


def test_a_job_takes_its_steps_and_waiting_gives_them_back() -> None:
    chosen = {"new_silence": Fraction(0)}
    placing = keeps_placing(always(1), 3, 10, 2)
    (place,) = permitted_transitions(placing, state(0))
    after = apply_move(placing, state(0), Move(place, (0,), chosen))
    assert after == state(3)
    waiting = keeps_placing(always(5), 3, 10, 2)
    for left in (2, 1, 0, 0):
        (wait,) = permitted_transitions(waiting, after)
        after = apply_move(waiting, after, Move(wait, (0,), chosen))
        assert after == state(left)


def test_only_placing_is_good() -> None:
    for action, good in ((1, True), (5, False)):
        problem = keeps_placing(always(action), 1, 1, 10)
        assert isinstance(problem.property, Recurs)
        start = {"planned_0": 0, "silence": Fraction(0)}
        assert holds_in_state(problem, start, problem.property.good) == good


def test_a_job_that_leaves_room_for_others_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="all of one resource"):
        keeps_placing(always(0), 1, 9, 2)
