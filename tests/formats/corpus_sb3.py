"""Policy files that Stable-Baselines3 and sb3-contrib write, with what the library makes of random inputs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.corpus import POINTS, Sample


def environment(observations: Any, actions: Any) -> Any:
    import gymnasium

    class Noise(gymnasium.Env):  # type: ignore[misc]
        observation_space = observations
        action_space = actions

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return self.observation_space.sample(), 1.0, False, False, {}

    return Noise()


def spaces() -> dict[str, Any]:
    from gymnasium import spaces as kinds

    return {
        "box": kinds.Box(np.float32([-1, -2, 0, -5]), np.float32([1, 3, np.inf, 5])),
        "matrix": kinds.Box(-3, 3, (2, 3)),
        "image": kinds.Box(0, 255, (2, 3, 4), np.uint8),
        "discrete": kinds.Discrete(16),
        "multi-discrete": kinds.MultiDiscrete([3, 5, 2]),
        "multi-binary": kinds.MultiBinary(6),
        "dictionary": kinds.Dict(
            {
                "speed": kinds.Box(-1, 1, (2, 2)),
                "gear": kinds.Discrete(5),
                "lamps": kinds.MultiBinary([2, 2]),
                "place": kinds.MultiDiscrete([2, 3]),
            }
        ),
        "uneven": kinds.Box(np.float32([-1, -2, 0.1]), np.float32([3, 0.5, 0.35])),
    }


CHOICES, VALUES = "discrete", "uneven"
# Name: algorithm, observations, actions, options of the policy.
MODELS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "PPO": ("PPO", "box", "discrete", {}),
    "PPO, ELU": ("PPO", "box", "uneven", {"activation_fn": "ELU"}),
    "PPO, GELU": ("PPO", "box", "uneven", {"activation_fn": "GELU"}),
    "PPO, SiLU": ("PPO", "box", "uneven", {"activation_fn": "SiLU"}),
    "PPO of a matrix": ("PPO", "matrix", "uneven", {}),
    "PPO of an image, MlpPolicy": ("PPO", "image", "discrete", {}),
    "PPO of Discrete": ("PPO", "discrete", "discrete", {}),
    "A2C of MultiDiscrete": ("A2C", "multi-discrete", "discrete", {"activation_fn": "ReLU"}),
    "PPO of MultiBinary": ("PPO", "multi-binary", "uneven", {}),
    "PPO of a Dict": ("PPO", "dictionary", "discrete", {}),
    "SAC of a Dict": ("SAC", "dictionary", "uneven", {}),
    "PPO, MultiDiscrete actions": ("PPO", "box", "multi-discrete", {}),
    "A2C, MultiBinary actions": ("A2C", "box", "multi-binary", {}),
    "DQN of Discrete": ("DQN", "discrete", "discrete", {}),
    "DQN of a Dict": ("DQN", "dictionary", "discrete", {}),
    "SAC": ("SAC", "box", "uneven", {}),
    "TD3": ("TD3", "box", "uneven", {}),
    "DDPG": ("DDPG", "box", "uneven", {}),
    "TRPO": ("TRPO", "box", "discrete", {}),
    "MaskablePPO": ("MaskablePPO", "box", "discrete", {}),
    "QRDQN": ("QRDQN", "box", "discrete", {}),
    "TQC": ("TQC", "box", "uneven", {}),
    "ARS": ("ARS", "box", "uneven", {}),
    "ARS, LinearPolicy": ("ARS", "box", "discrete", {"linear": True}),
}


def make_model(algorithm: str, observed: Any, actions: Any, options: dict[str, Any]) -> Any:
    """An untrained model whose weights are spread, so that actions differ and reach their bounds."""
    import sb3_contrib
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    options = dict(options)
    policy = "LinearPolicy" if options.pop("linear", False) else "MlpPolicy"
    policy = "MultiInputPolicy" if hasattr(observed, "spaces") else policy
    policy = "MlpLstmPolicy" if algorithm == "RecurrentPPO" else policy
    if "activation_fn" in options:
        options["activation_fn"] = getattr(torch.nn, options["activation_fn"])
    how: dict[str, Any] = {"seed": 0, "device": "cpu", "policy_kwargs": options}
    if algorithm in ("DQN", "SAC", "TD3", "DDPG", "QRDQN", "TQC"):
        how["buffer_size"] = 10
    found = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    model = found(policy, environment(observed, actions), **how)
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weights in model.policy.named_parameters():
            if "action_net" in name and algorithm != "ARS":
                weights.copy_(torch.randn_like(weights))
            elif name.endswith("bias") or algorithm == "ARS":
                weights.copy_(0.3 * torch.randn_like(weights))
            elif "actor.mu" in name or "q_net" in name:
                weights.mul_(3.0)
    return model


def flatten_inputs(space: Any, sample: Any) -> Any:
    """The numbers of observations in the library's order: keys of a dictionary in the order of its space."""
    if hasattr(space, "spaces"):
        return np.concatenate([flatten_inputs(s, sample[k]) for k, s in space.spaces.items()], axis=1)
    return np.asarray(sample, dtype=np.float32).reshape(len(sample), -1)


def sample_inputs(space: Any) -> Any:
    if hasattr(space, "spaces"):
        return {key: sample_inputs(own) for key, own in space.spaces.items()}
    return np.array([space.sample() for _ in range(POINTS)])


def make_writer(name: str) -> Callable[[Path], Sample]:
    algorithm, observed_name, action_name, options = MODELS[name]

    def write(folder: Path) -> Sample:
        known = spaces()
        observed, actions = known[observed_name], known[action_name]
        observed.seed(1)
        model = make_model(algorithm, observed, actions, options)
        path = folder / "policy.zip"
        model.save(path)
        inputs = sample_inputs(observed)
        found = np.asarray(model.predict(inputs, deterministic=True)[0])
        discrete = action_name == "discrete"
        return Sample(
            path,
            flatten_inputs(observed, inputs),
            found if discrete else found.reshape(POINTS, -1).astype(np.float32),
            choices=discrete,
        )

    return write
