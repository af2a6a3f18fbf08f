"""Policies saved by Stable-Baselines3 are wired by themselves, and act in the model as in the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidProblem
from surefoot.problem.semantics import policy_decision

pytestmark = pytest.mark.train

ALGORITHMS = {
    "PPO": ("CartPole-v1", {"n_steps": 64}),
    "A2C": ("Acrobot-v1", {}),
    "DQN": ("MountainCar-v0", {"learning_starts": 50}),
    "SAC": ("Pendulum-v1", {"learning_starts": 50}),
    "TD3": ("MountainCarContinuous-v0", {"learning_starts": 50}),
    "DDPG": ("Pendulum-v1", {"learning_starts": 50}),
}
POINTS = 100


def train(algorithm: str, name: Any, steps: int = 200, **options: Any) -> Any:
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    made = getattr(stable_baselines3, algorithm)("MlpPolicy", name, seed=0, device="cpu", **options)
    return made.learn(steps)


def states_of(name: str) -> list[dict[str, Any]]:
    """States that a random walk through the model comes to."""
    env = sf.gym(name).as_gym()
    env.action_space.seed(0)
    env.reset(seed=0)
    found = []
    for number in range(POINTS):
        found.append(env.state)
        _, _, over, late, _ = env.step(env.action_space.sample())
        if over or late:
            env.reset(seed=number)
    return found


def compare_decisions(name: str, policy: sf.NeuralPolicy, predict: Any) -> None:
    """The decision in each state, and what the library's own model predicts for its observation there."""
    environment, env = sf.gym(name), sf.gym(name).as_gym()
    problem = environment.problem(policy, "steps")
    env.reset(seed=0)
    for state in states_of(name):
        env._row = env.model.layout.row(state)
        theirs = predict(env._seen())
        ours = policy_decision(problem, state)
        assert ours is not None
        if environment.model.actions:
            assert [*ours.actions] == [environment.model.actions[int(theirs)]]
        else:
            assert np.allclose([*ours.controls.values()], theirs, atol=1e-5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(algorithm: str, tmp_path: Path) -> None:
    name, options = ALGORITHMS[algorithm]
    made = train(algorithm, name, **options)
    made.save(tmp_path / "policy.zip")
    policy = sf.gym(name).policy(tmp_path / "policy.zip")
    assert [Path(file).name for file in policy.inputs] == ["policy.zip"]
    compare_decisions(name, policy, lambda seen: made.predict(seen, deterministic=True)[0])


def test_statistics_beside_the_policy_are_found_and_told(tmp_path: Path) -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    wrapped = VecNormalize(make_vec_env("Pendulum-v1", n_envs=1, seed=0))
    made = train("PPO", wrapped, n_steps=64)
    made.save(tmp_path / "ppo.zip")
    wrapped.save(str(tmp_path / "ppo_vecnormalize.pkl"))
    policy = sf.gym("Pendulum-v1").policy(tmp_path / "ppo.zip")
    assert any("ppo_vecnormalize.pkl" in note for note in policy.notes)
    assert [Path(file).name for file in policy.inputs] == ["ppo.zip", "ppo_vecnormalize.pkl"]
    compare_decisions(
        "Pendulum-v1",
        policy,
        lambda seen: made.predict(wrapped.normalize_obs(seen), deterministic=True)[0],
    )


def test_statistics_of_rewards_alone_change_nothing(tmp_path: Path) -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    wrapped = VecNormalize(make_vec_env("CartPole-v1", n_envs=1, seed=0), norm_obs=False)
    made = train("PPO", wrapped, 64, n_steps=64)
    made.save(tmp_path / "ppo.zip")
    wrapped.save(str(tmp_path / "vecnormalize.pkl"))
    policy = sf.gym("CartPole-v1").policy(tmp_path / "ppo.zip")
    assert [Path(file).name for file in policy.inputs] == ["ppo.zip"]
    compare_decisions("CartPole-v1", policy, lambda seen: made.predict(seen, deterministic=True)[0])


def test_statistics_of_another_policy_are_refused(tmp_path: Path) -> None:
    train("PPO", "CartPole-v1", 64, n_steps=64).save(tmp_path / "ppo.zip")
    (tmp_path / "vecnormalize.json").write_text('{"mean": [0, 0, 0], "variance": [1, 1, 1]}')
    with pytest.raises(InvalidProblem) as caught:
        sf.gym("CartPole-v1").policy(tmp_path / "ppo.zip")
    assert "it stands beside the policy, and it is about 3 observations, not 4" in str(caught.value)


def test_a_policy_of_another_environment_is_refused_with_both_lists(tmp_path: Path) -> None:
    train("PPO", "CartPole-v1", 64, n_steps=64).save(tmp_path / "cart.zip")
    train("SAC", "Pendulum-v1", 10).save(tmp_path / "pendulum.zip")
    for name, file, said in (
        (
            "Pendulum-v1",
            "cart.zip",
            "the network reads 4 numbers, and Pendulum-v1 shows 3 (cos(theta), sin(theta), ",
        ),
        ("CartPole-v1", "pendulum.zip", "the network reads 3 numbers, and CartPole-v1 shows 4 (x, x_dot, "),
        (
            "MountainCar-v0",
            "pendulum.zip",
            "the network reads 3 numbers, and MountainCar-v0 shows 2 (position, ",
        ),
    ):
        with pytest.raises(InvalidProblem) as caught:
            sf.gym(name).policy(tmp_path / file)
        assert said in str(caught.value)
        assert "`observe`" in str(caught.value)


def test_a_policy_behind_a_wrapper_that_rescales_actions_is_refused(tmp_path: Path) -> None:
    import gymnasium

    env = gymnasium.wrappers.RescaleAction(
        gymnasium.make("Pendulum-v1"), np.float32([-1.0]), np.float32([1.0])
    )
    train("SAC", env, 10).save(tmp_path / "scaled.zip")
    with pytest.raises(InvalidProblem) as caught:
        sf.gym("Pendulum-v1").policy(tmp_path / "scaled.zip")
    assert "trained for actions in [-1, 1], and Pendulum-v1 takes torque in [-2.0, 2.0]" in str(caught.value)


def test_the_walk_from_training_to_a_verdict(tmp_path: Path) -> None:
    """PPO on CartPole, a verdict with its evidence, and a probability."""
    train("PPO", "CartPole-v1", 2048, n_steps=256, learning_rate=1e-3).save(tmp_path / "ppo.zip")
    found = sf.check("gym:CartPole-v1", tmp_path / "ppo.zip", "safe", timeout=60)
    assert found.violated
    assert found.trace is not None
    last = found.trace.states[-1]
    assert abs(last["x"]) > 2.4 or abs(last["theta"]) > 0.2094395102
    chance = sf.probability("gym:CartPole-v1", "P safe", policy=tmp_path / "ppo.zip", timeout=60)
    assert 0 <= chance.low <= chance.high <= 1
    assert chance.high - chance.low <= 0.0201
