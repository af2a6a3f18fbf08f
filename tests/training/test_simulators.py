"""The simulators of the studies' systems: what a step does, and that it is what the studies' models say."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.network import dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State, apply_move, permitted_transitions
from surefoot_studies.deeprm.problem import empties_queue
from surefoot_studies.training.rollout import baseline_returns, play_episodes
from surefoot_studies.training.simulators import SIMULATORS
from surefoot_studies.training.simulators.aurora import Aurora
from surefoot_studies.training.simulators.deeprm import CAPACITY, HORIZON, SLOTS, DeepRM
from surefoot_studies.training.simulators.pensieve import BITRATES, TRACE_SECONDS, Pensieve


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", SIMULATORS)
def test_the_same_seed_gives_the_same_episodes_and_another_seed_others(name: str) -> None:
    kind = SIMULATORS[name]

    def act(simulator, _):  # type: ignore[no-untyped-def]
        return simulator.baseline()

    first, again, other = (play_episodes(kind, act, 3, rng(seed), advised=True) for seed in (1, 1, 2))
    assert np.array_equal(first.observations, again.observations)
    assert np.array_equal(first.rewards, again.rewards)
    assert not np.array_equal(first.observations[:50], other.observations[:50])
    assert first.observations.shape[2] == kind.width
    assert len(first.rewards) <= kind.longest
    assert np.array_equal(first.actions, first.advice)
    assert np.all(np.isfinite(first.observations))


def link(**changes: float) -> Aurora:
    """One sender at half the bandwidth of a link without random loss, but for the changes."""
    simulator = Aurora(1, rng())
    facts = {"bandwidth": 200.0, "round_trip": 0.2, "room": 50.0, "loss": 0.0, "rate": 100.0, **changes}
    for name, value in facts.items():
        setattr(simulator, name, np.array([value]))
    simulator.interval = simulator.round_trip / 2
    return simulator


def test_a_link_with_room_looks_excellent() -> None:
    simulator = link()
    for _ in range(10):
        reward, _ = simulator.step(np.array([0.0]))
        assert reward[0] == pytest.approx(0.5, abs=0.01)
    gradient, ratio, sent = simulator.observe().reshape(10, 3).T
    assert np.all(np.abs(gradient) <= 0.05)  # jitter alone
    assert np.all((ratio >= 1) & (ratio <= 1.01))
    assert np.allclose(sent, 1)


def test_the_action_multiplies_the_rate_within_its_bounds() -> None:
    simulator = link()
    simulator.step(np.array([4.0]))
    assert simulator.rate[0] == pytest.approx(110)
    simulator.step(np.array([-4.0]))
    assert simulator.rate[0] == pytest.approx(100)
    simulator.step(np.array([-1000.0]))
    assert simulator.rate[0] == 40


def test_an_overloaded_link_fills_its_queue_and_then_loses_what_does_not_fit() -> None:
    simulator = link(rate=400.0)
    sent = served = 0.0
    for number in range(20):
        before, seconds = simulator.queue[0], simulator.interval[0]
        first, second = simulator._half(), simulator._half()
        sent += 400 * seconds
        served += first[0][0] + second[0][0]
        assert 0 <= simulator.queue[0] <= 50
        assert first[0][0] + second[0][0] <= 200 * seconds + before + 1e-9
        if number > 5:
            assert (first[1] + second[1])[0] == pytest.approx(200 * seconds)
    assert served < sent
    simulator.step(np.array([0.0]))
    assert simulator.observe()[0, -1] == pytest.approx(2)  # sent twice as fast as it arrives
    assert simulator.lost[0] == pytest.approx(0.5)


def test_observations_shift_and_stay_within_their_bounds() -> None:
    simulator = Aurora(64, rng(3))
    noise = rng(4)
    for _ in range(100):
        before = simulator.observe()
        simulator.step(noise.normal(0, 20, 64))
        after = simulator.observe()
        assert np.array_equal(after[:, :27], before[:, 3:])
        gradient, ratio, sent = after[:, 27:].T
        assert np.all((gradient >= -1) & (gradient <= 10))
        assert np.all((ratio >= 1) & (ratio <= 10))
        assert np.all((sent >= 1) & (sent <= 10))


def slow_download(simulator: Pensieve, episode: int, size: float) -> float:
    """Second by second."""
    clock, seconds = simulator.clock[episode] % TRACE_SECONDS, 0.0
    while True:
        speed = simulator.trace[episode, int(clock) % TRACE_SECONDS]
        left = 1 - clock % 1
        if size <= speed * left:
            return seconds + size / speed
        size, seconds, clock = size - speed * left, seconds + left, clock + left


def test_downloads_follow_the_trace_and_the_player_its_rules() -> None:
    simulator, noise = Pensieve(8, rng(5)), rng(6)
    for number in range(48):
        chosen = noise.integers(0, 6, 8)
        sizes, buffer, quality = simulator.sizes[:, number], simulator.buffer.copy(), simulator.quality.copy()
        expected = [slow_download(simulator, e, sizes[e, chosen[e]]) + 0.08 for e in range(8)]
        reward, over = simulator.step(chosen)
        assert simulator.times[:, -1] == pytest.approx(expected)
        assert simulator.throughputs[:, -1] == pytest.approx(sizes[np.arange(8), chosen] / expected)
        standstill = np.maximum(expected - buffer, 0)
        change = np.abs(BITRATES[chosen] - BITRATES[quality]) / 1000
        assert reward == pytest.approx(BITRATES[chosen] / 1000 - 4.3 * standstill - change)
        assert simulator.buffer == pytest.approx(np.minimum(np.maximum(buffer - expected, 0) + 4, 60))
        assert over.all() == (number == 47)


def test_what_the_player_sees() -> None:
    simulator = Pensieve(2, rng(7))
    assert np.array_equal(simulator.observe()[:, 2:18], np.zeros((2, 16)))
    simulator.step(np.array([0, 5]))
    seen = simulator.observe()[1]
    assert seen[0] == 1
    assert seen[1] == simulator.buffer[1] / 10
    assert seen[9] == simulator.throughputs[1, -1]
    assert seen[17] == min(simulator.times[1, -1], 30) / 10
    assert np.array_equal(seen[18:24], simulator.sizes[1, 1])
    assert seen[24] == 47 / 48


def state_of(simulator: DeepRM) -> State:
    """The state of the first episode, in the words of the study's model."""
    whole = {"used_memory": simulator.used[0, :, 0], "used_cpu": simulator.used[0, :, 1]}
    jobs = dict(zip(("length", "need_memory", "need_cpu"), simulator.visible[0].T, strict=True))
    arrays = {name: tuple(int(v) for v in values) for name, values in {**whole, **jobs}.items()}
    return {**arrays, "backlog": int(simulator.waiting[0]), "silence": int(simulator.silence[0]), "begin": 0}


def test_the_cluster_does_what_the_model_of_the_study_says() -> None:
    blind = dense_network([(np.zeros((6, 2480)), np.zeros(6))])
    seeing = empties_queue(blind)
    problem = Problem("any", seeing.environment, None, seeing.property)
    simulator, noise = DeepRM(1, rng(8)), rng(9)
    for number in range(40):
        before, action = state_of(simulator), int(noise.integers(0, 6))
        time = int(simulator.time[0])
        first_waiting = simulator.backlog[0, 0].copy()
        simulator.step(np.array([action]))
        arrived = simulator.jobs[0, time + 1] if simulator.time[0] > time else first_waiting
        job = [int(v) for v in arrived] if arrived[0] else [0, 1, 1]
        if simulator.time[0] == time:
            job = [max(v, 1) for v in job]
        label = "wait" if action == SLOTS else f"schedule{action + 1}"
        (transition,) = (t for t in permitted_transitions(problem, before) if t.label == label)
        chosen = dict(zip(("new_length", "new_memory", "new_cpu"), job, strict=True))
        assert apply_move(problem, before, Move(transition, (0,), chosen)) == state_of(simulator)
        if number % 15 == 0:
            image = observation_vector(seeing.policy, seeing.environment, state_of(simulator))  # type: ignore[arg-type]
            assert np.array_equal(image, simulator.observe()[0].astype(np.float32))


def test_a_step_costs_what_every_job_in_the_system_costs() -> None:
    simulator = DeepRM(1, rng(10))
    simulator.jobs[:] = 0
    simulator.visible[:] = 0
    simulator.visible[0, 0], simulator.visible[0, 1] = (2, 10, 10), (4, 1, 1)
    assert simulator.baseline()[0] == 0
    reward, _ = simulator.step(np.array([0]))
    assert reward[0] == 0
    assert simulator.baseline()[0] == SLOTS  # nothing else can begin now
    rewards = [simulator.step(np.array([SLOTS]))[0][0] for _ in range(3)]
    assert rewards == pytest.approx([-0.75, -0.75, -0.25])
    assert np.all(simulator.used <= CAPACITY)
    assert simulator.used.shape == (1, HORIZON, 2)


@pytest.mark.parametrize("name", SIMULATORS)
def test_held_out_episodes_are_the_same_each_time(name: str) -> None:
    assert np.array_equal(baseline_returns(SIMULATORS[name], 4), baseline_returns(SIMULATORS[name], 4))


@pytest.mark.filterwarnings("ignore:.*Box:UserWarning")
@pytest.mark.parametrize("name", SIMULATORS)
def test_as_gymnasium_environments(name: str) -> None:
    pytest.importorskip("gymnasium", reason="needs gymnasium")
    from gymnasium.utils.env_checker import check_env

    from surefoot_studies.training.gym import make_simulator_env

    made = make_simulator_env(name)
    check_env(made, skip_render_check=True)
    made.reset(seed=3)
    over, decisions = False, 0
    while not over:
        action = SIMULATORS[name].actions - 1 if SIMULATORS[name].actions else [0.0]
        _, _, over, truncated, _ = made.step(action)
        decisions += 1
        assert not truncated
    assert 40 <= decisions <= SIMULATORS[name].longest
