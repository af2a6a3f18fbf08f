"""Episodes of the library's Pendulum-v1 behind a shield, with an adversary and with SAC: how many are unsafe?

    python -m benchmarks.shielded_episodes --episodes 1000 --train 5000

It runs the commands of docs/tutorial/gymnasium.md in a folder of its own. Needs gymnasium and
stable-baselines3. The exit code is 1 if an episode behind the shield was unsafe, or if none was without it.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODEL = "gym:Pendulum-v1?polynomial_within=0.5&x_init=0.2&y_init=0.2"
STARTS = {"x_init": 0.2, "y_init": 0.2}
BAD_ANGLE = 0.5
Act = Callable[[Any, Any], Any]


def synthesise_guard(folder: Path) -> Any:
    """The `step` of the shield that `surefoot shield` writes."""
    file = folder / "guard.py"
    subprocess.run(
        [sys.executable, "-m", "surefoot", "shield", MODEL, "--python", str(file), "--quiet"], check=True
    )
    loading = importlib.util.spec_from_file_location("guard", file)
    assert loading is not None
    assert loading.loader is not None
    module = importlib.util.module_from_spec(loading)
    loading.loader.exec_module(module)
    return module.step


def push_outward(_: Any, state: Any) -> Any:
    """As hard as it can, to where the pendulum falls already."""
    return np.array([2 * np.sign(state[0] + 0.3 * state[1])], dtype=np.float32)


def count_unsafe(step: Any, act: Act, episodes: int) -> int:
    """Episodes in which the angle was ever beyond the limit; without a shield if `step` is None."""
    import gymnasium

    from surefoot.integrations.shield import Shielded

    plain: Any = gymnasium.make("Pendulum-v1")
    env: Any = plain if step is None else Shielded(plain, step, state_of=lambda _: plain.unwrapped.state)
    unsafe = 0
    for seed in range(episodes):
        seen, _ = env.reset(seed=seed, options=STARTS)
        over = left = False
        while not over:
            seen, _, _, over, _ = env.step(act(seen, plain.unwrapped.state))
            left |= bool(abs(plain.unwrapped.state[0]) > BAD_ANGLE)
        unsafe += left
    return unsafe


def main() -> int:
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    reading.add_argument("--episodes", type=int, default=1000)
    reading.add_argument("--train", type=int, default=5000, help="steps of SAC")
    given = reading.parse_args()
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", "Pendulum-v1", seed=0, policy_kwargs={"net_arch": [64, 64]})
    model.learn(given.train)

    def follow(seen: Any, _: Any) -> Any:
        return model.predict(seen, deterministic=True)[0]

    with tempfile.TemporaryDirectory() as folder:
        step = synthesise_guard(Path(folder))
    worst, bare = 0, 0
    for name, act in (("adversary", push_outward), ("SAC", follow)):
        behind = count_unsafe(step, act, given.episodes)
        alone = count_unsafe(None, act, min(given.episodes, 100))
        print(f"{name}: {behind} of {given.episodes} episodes unsafe behind the shield, "
              f"{alone} of {min(given.episodes, 100)} without it", flush=True)  # fmt: skip
        worst, bare = max(worst, behind), max(bare, alone)
    return int(worst > 0 or bare == 0)


if __name__ == "__main__":
    sys.exit(main())
