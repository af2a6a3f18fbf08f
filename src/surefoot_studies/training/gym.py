"""The simulators as Gymnasium environments (extra `gym`), one episode at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot import api
from surefoot_studies.training.simulators import SIMULATORS
from surefoot_studies.training.simulators.protocol import BatchSimulator


def make_simulator_env(name: str) -> Any:
    """A `gymnasium.Env` of that name: aurora, deeprm or pensieve."""
    try:
        import gymnasium
    except ImportError:
        raise api.missing_backend("gymnasium", "gym") from None
    kind = SIMULATORS[name]

    class Environment(gymnasium.Env):
        """One episode of the simulator; every episode ends by itself (`terminated`)."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (kind.width,), np.float32)
        action_space = (
            gymnasium.spaces.Discrete(kind.actions)
            if kind.actions
            else gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
        )
        simulator: BatchSimulator

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            self.simulator = kind(1, self.np_random)
            return self._observe(), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            reward, over = self.simulator.step(np.asarray(action).reshape(1))
            return self._observe(), float(reward[0]), bool(over[0]), False, {}

        def _observe(self) -> Any:
            return self.simulator.observe()[0].astype(np.float32)

    return Environment()
