"""The callback inside the real library: a policy is trained for a moment on the pond, and checked twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.heatmap.tables import write_constant

from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file import read_problem_file
from surefoot.formats.wiring import wiring_from_options
from surefoot.integrations.checks import start_value_problem
from surefoot.integrations.sb3 import check_callback
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.verdict.verdict import PerStart
from surefoot.work.budget import Budget

pytestmark = pytest.mark.train
POND = Path(__file__).parents[2] / "docs" / "reference" / "pond.toml"


def pond() -> Any:
    import gymnasium
    from gymnasium import spaces

    class Pond(gymnasium.Env):  # type: ignore[misc]
        observation_space = spaces.Box(0.0, 8.0, (2,), np.float32)
        action_space = spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            self.place = np.zeros(2, dtype=np.float32)
            return self.place, {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.place = np.minimum(self.place + np.float32([action == 0, action == 1]), np.float32([7, 5]))
            return self.place, 0.0, bool(self.place.sum() >= 12), False, {}

    return Pond()


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    write_constant(tmp_path / "first.nnet", (0.0, 0.0))
    wiring = wiring_from_options("x, y", "east,north", "argmax-applicable")
    return read_problem_file(POND, property="drowns", policy=tmp_path / "first.nnet", wiring=wiring)


@pytest.mark.parametrize("normalised", [False, True])
def test_checks_and_logs(problem: Problem, tmp_path: Path, normalised: bool) -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    environment: Any = DummyVecEnv([pond])
    environment = VecNormalize(environment) if normalised else environment
    folder = tmp_path / "checks"
    callback = check_callback(problem, every=64, threshold="<= 0.1", folder=folder)
    model = PPO("MlpPolicy", environment, n_steps=64, batch_size=32, n_epochs=1, device="cpu", seed=1)
    model.set_logger(configure(str(tmp_path / "log"), ["csv"]))
    model.learn(128, callback=callback)
    steps = [check.step for check in callback.checks.done]
    assert steps == [64, 128]
    assert (folder / "agent-64.pkl").exists() is normalised
    if not normalised:
        network = load_policy(folder / "agent-128.zip").network
        again = verify(
            start_value_problem(problem, network),
            callback.checks.settings.engine,
            Budget(60),
            certificates=False,
        )
        assert isinstance(again.verdict, PerStart)
        assert again.verdict.table == callback.checks.done[-1].verdict.table
    logged = (tmp_path / "log" / "progress.csv").read_text().splitlines()
    assert "surefoot/mean_low" in logged[0]
    assert "surefoot/heatmap" not in logged[0]
    assert (folder / "heatmap-128.svg").is_file()
