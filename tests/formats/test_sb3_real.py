"""Models saved by the real library act here as they act there.

The library saves and predicts in this process; a second process without torch reads the files and computes
the actions. Discrete choices must agree except where the two best outputs nearly tie (counted and printed),
continuous actions within 1e-5.
"""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.train

POINTS = 200
NEAR_TIE = 1e-5
READER = """
import json, sys
from pathlib import Path
import numpy as np
from surefoot.formats.normalization import read_normalization
from surefoot.formats.policy_file import load_policy
from surefoot.problem.meaning.inference import infer_outputs

folder = Path(sys.argv[1])
found = {}
for path in sorted(folder.glob("*.zip")):
    statistics = folder / f"{path.stem}.pkl"
    policy = load_policy(path, normalization=read_normalization(statistics) if statistics.exists() else None)
    observed = np.load(folder / f"{path.stem}.obs.npy")
    np.save(folder / f"{path.stem}.out.npy", infer_outputs(policy.network, observed))
    found[path.stem] = [policy.kind, policy.head, policy.low, policy.high, list(policy.notes)]
loaded = {"torch", "stable_baselines3", "gymnasium", "cloudpickle"} & set(sys.modules)
assert not loaded, loaded
print(json.dumps(found))
"""


def environment(actions: Any) -> Any:
    import gymnasium
    from gymnasium import spaces

    class Noise(gymnasium.Env):  # type: ignore[misc]
        observation_space = spaces.Box(np.float32([-1, -2, 0, -5]), np.float32([1, 3, np.inf, 5]))
        action_space = actions

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return self.observation_space.sample(), 1.0, False, False, {}

    return Noise()


def models() -> dict[str, Any]:
    """One model per algorithm and kind of action; weights are spread so that actions reach their bounds."""
    import stable_baselines3 as library
    import torch
    from gymnasium import spaces

    torch.set_num_threads(1)
    discrete = spaces.Discrete(5)
    uneven = spaces.Box(np.float32([-1, -2, 0.1]), np.float32([3, 0.5, 0.35]))
    even = spaces.Box(-2, 2, (2,))
    shallow = {"net_arch": {"pi": [8], "vf": [4]}, "activation_fn": torch.nn.ReLU}
    leaky = {"net_arch": [16, 16], "activation_fn": torch.nn.LeakyReLU}
    replay: dict[str, Any] = {"buffer_size": 100, "seed": 0, "device": "cpu"}
    plain: dict[str, Any] = {"seed": 0, "device": "cpu"}
    made = {
        "ppo_discrete": library.PPO("MlpPolicy", environment(discrete), **plain),
        "ppo_discrete_normalised": library.PPO("MlpPolicy", environment(discrete), **plain),
        "ppo_box": library.PPO("MlpPolicy", environment(uneven), **plain),
        "ppo_box_normalised": library.PPO("MlpPolicy", environment(even), policy_kwargs=shallow, **plain),
        "ppo_linear": library.PPO(
            "MlpPolicy", environment(discrete), policy_kwargs={"net_arch": []}, **plain
        ),
        "ppo_squashed": library.PPO(
            "MlpPolicy", environment(uneven), use_sde=True, policy_kwargs={"squash_output": True}, **plain
        ),
        "a2c_discrete": library.A2C("MlpPolicy", environment(discrete), **plain),
        "a2c_box": library.A2C("MlpPolicy", environment(uneven), policy_kwargs=leaky, **plain),
        "dqn": library.DQN("MlpPolicy", environment(discrete), **replay),
        "sac": library.SAC("MlpPolicy", environment(uneven), policy_kwargs={"net_arch": [32, 32]}, **replay),
        "sac_gsde": library.SAC("MlpPolicy", environment(even), use_sde=True, **replay),
        "td3": library.TD3("MlpPolicy", environment(uneven), policy_kwargs={"net_arch": [32, 32]}, **replay),
    }
    with torch.no_grad():
        for model in made.values():
            for name, weights in model.policy.named_parameters():
                if "action_net" in name:
                    weights.mul_(200.0)  # the library starts this layer at a hundredth of the others
                elif "actor.mu" in name or "q_net" in name:
                    weights.mul_(3.0)
    return made


def statistics(model: Any) -> Any:
    """A VecNormalize that has seen a few random steps."""
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    wrapper = VecNormalize(DummyVecEnv([lambda: environment(model.action_space)]), clip_obs=2.0)
    wrapper.reset()
    for _ in range(20):
        wrapper.step([model.action_space.sample()])
    return wrapper


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ...]]:
    """Per model: what the reader said, its outputs, the library's actions."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(7)
    predicted = {}
    for name, model in models().items():
        model.save(folder / name)
        observations = (rng.normal(size=(POINTS, 4)) * 3).astype(np.float32)
        np.save(folder / f"{name}.obs.npy", observations)
        seen = observations
        if name.endswith("normalised"):
            wrapper = statistics(model)
            wrapper.save(folder / f"{name}.pkl")
            seen = wrapper.normalize_obs(observations)
        predicted[name] = model.predict(seen, deterministic=True)[0]
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, "-c", READER, str(folder)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    return {
        name: (said[name], np.load(folder / f"{name}.out.npy"), action) for name, action in predicted.items()
    }


DISCRETE = ["ppo_discrete", "ppo_discrete_normalised", "ppo_linear", "a2c_discrete", "dqn"]
BOXES = ["ppo_box", "ppo_box_normalised", "ppo_squashed", "a2c_box", "sac", "sac_gsde", "td3"]


@pytest.mark.parametrize("name", DISCRETE)
def test_the_same_choices(compared: dict[str, tuple[Any, ...]], name: str) -> None:
    (kind, head, *_), outputs, actions = compared[name]
    assert kind == f"sb3 {name[:3].upper()}"
    assert head == "argmax"
    ranked = np.sort(outputs, axis=1)
    differ = outputs.argmax(axis=1) != actions
    tied = ranked[:, -1] - ranked[:, -2] < NEAR_TIE
    print(f"{name}: {differ.sum()} of {POINTS} choices differ, {tied.sum()} near ties")
    assert not (differ & ~tied).any()
    assert len(set(actions.tolist())) > 1


@pytest.mark.parametrize("name", BOXES)
def test_the_same_values(compared: dict[str, tuple[Any, ...]], name: str) -> None:
    (kind, head, low, high, _), outputs, actions = compared[name]
    assert kind == f"sb3 {name[:3].upper()}"
    assert head == "value"
    difference = abs(outputs - actions).max()
    print(f"{name}: largest difference {difference:.2e}")
    assert difference < 1e-5
    assert np.ptp(actions, axis=0).min() > 0
    assert (outputs >= np.float32(low) - 1e-6).all()
    assert (outputs <= np.float32(high) + 1e-6).all()


@pytest.mark.parametrize("name", ["ppo_box", "ppo_box_normalised", "a2c_box"])
def test_the_bounds_were_reached(compared: dict[str, tuple[Any, ...]], name: str) -> None:
    (_, _, low, high, _), outputs, _ = compared[name]
    assert ((outputs == np.float32(low)) | (outputs == np.float32(high))).any()


def test_every_policy_says_whether_it_is_normalised(compared: dict[str, tuple[Any, ...]]) -> None:
    for name, (said, _, _) in compared.items():
        folded = any("folded in front of the first layer" in note for note in said[4])
        assert folded == name.endswith("normalised")
