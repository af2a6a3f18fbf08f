"""A shield that was proved for the polynomial model of Pendulum, around the library's own environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import Unsupported
from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.problem.property import Never

gymnasium = pytest.importorskip("gymnasium")
TEXT = "gym:Pendulum-v1?polynomial_within=0.5&x_init=0.2&y_init=0.2"
RESET = {"x_init": 0.2, "y_init": 0.2}


@pytest.mark.parametrize("more", ["", "&g=9.81&m=0.8&l=1.1", "&dt=0.02&max_torque=3"])
def test_the_library_is_within_what_the_model_leaves_open(more: str) -> None:
    """10,000 steps from states where the polynomial is meant to be close, with actions rounded to float32."""
    (edge,) = build_gym_model(TEXT + more).environment.components[0].edges
    most = float(edge.chosen[0].kind.high)  # type: ignore[union-attr]
    env, rng = gymnasium.make("Pendulum-v1").unwrapped, np.random.default_rng(0)
    env.reset(seed=0)
    for part in more.split("&")[1:]:
        key, _, value = part.partition("=")
        setattr(env, key, float(value))
    worst = 0.0
    for theta, speed, torque in rng.uniform(-1, 1, (10_000, 3)) * np.array([0.5, 5.0, env.max_torque]):
        env.state = np.array([theta, speed])
        env.step(np.array([torque], dtype=np.float32))
        pull, gain = 3 * env.g / (2 * env.l), 3.0 / (env.m * env.l**2)
        held = float(np.float32(torque))
        known = pull * (theta - theta * theta * theta / 6) + gain * held
        rest = (pull * np.sin(theta) + float(gain * np.float32(torque))) - known
        after = speed + (known + rest) * env.dt
        assert (theta + after * env.dt, after) == tuple(env.state)  # the library's step, bit by bit
        off = (
            known + rest - (pull * (theta - theta**3 / 6) + gain * torque)
        )  # of a torque that is rounded later
        worst = max(worst, abs(rest), abs(off))
    assert 0.5 * most < worst <= most


def test_no_episode_of_the_library_is_unsafe_behind_the_shield() -> None:
    """1,000 episodes of an adversary that pushes outward or at random; without the shield all are unsafe."""
    guard = sf.shield(TEXT, "safe", timeout=100)
    assert guard.accepted
    assert guard.covered == 1
    bare = gymnasium.make("Pendulum-v1")
    plain = bare.unwrapped
    shielded = guard.wrap(bare, state_of=lambda _: plain.state)
    assert count_unsafe(bare, plain, 50) == 50
    assert count_unsafe(shielded, plain, 1000) == 0


def count_unsafe(env: Any, plain: Any, episodes: int) -> int:
    rng, unsafe = np.random.default_rng(0), 0
    for number in range(episodes):
        env.reset(seed=number, options=RESET)
        over, left = False, False
        while not over:
            theta, speed = plain.state
            push = 2 * np.sign(theta + 0.3 * speed) if number % 2 else rng.uniform(-2, 2)
            _, _, _, over, _ = env.step(np.array([push], dtype=np.float32))
            left |= abs(plain.state[0]) > 0.5
        unsafe += left
    return unsafe


def test_questions_about_the_polynomial_model() -> None:
    """What is proved of it holds in the library only as long as the states are near."""
    near = sf.gym(TEXT)
    asked = near.problem(None, "never theta > 0.3").property
    assert isinstance(asked, Never)
    assert asked.bad == sf.disjunction_of((sf.parse_term("theta > 0.3"), near.model.outside))
    with pytest.raises(Unsupported):
        near.problem(None, "within 3 theta > 0")


@pytest.mark.train
def test_a_trained_policy_behind_the_shield() -> None:
    """SAC, trained on the library's environment behind the shield, which nothing makes unsafe."""
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)
    guard = sf.shield(TEXT, "safe", timeout=100)
    bare = gymnasium.make("Pendulum-v1")
    plain = bare.unwrapped
    shielded = guard.wrap(ResetNear(bare), state_of=lambda _: plain.state)
    made = SAC(
        "MlpPolicy", shielded, seed=0, device="cpu", learning_starts=100, policy_kwargs={"net_arch": [16]}
    )
    made.learn(400)
    for number in range(20):
        seen, _ = shielded.reset(seed=number)
        over = False
        while not over:
            seen, _, _, over, _ = shielded.step(made.predict(seen, deterministic=True)[0])
            assert abs(plain.state[0]) <= 0.5


class ResetNear(gymnasium.Wrapper):  # type: ignore[misc,type-arg]
    """Episodes that begin near the top."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed, options=RESET)
