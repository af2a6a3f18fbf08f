"""Racetrack as a Gymnasium environment (extra `gym`), one car at a time, for other trainers."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot import api
from surefoot_studies.racetrack.track import Track
from surefoot_studies.training.racetrack.track_tables import (
    ACCELERATIONS,
    ARRIVED,
    Numbers,
    build_course,
    shipped_course,
)


def make_racetrack_env(
    track: str | Track = "small",
    *,
    noise: float = 0.2,
    start: str = "anywhere",
    inputs: int = 15,
    end_cell: bool = False,
    goal_reward: float = 100.0,
    crash_reward: float = -50.0,
    longest: int = 100,
) -> Any:
    """A `gymnasium.Env`: a track of the study by name, or one of your own; options as in the recipes.

    Goal and crash end an episode (`terminated`); after `longest` decisions it is broken off (`truncated`).
    """
    try:
        import gymnasium
    except ImportError:
        raise api.missing_backend("gymnasium", "gym") from None
    if start not in ("anywhere", "line") or inputs not in (4, 15):
        raise api.InvalidProblem(
            "a start is `anywhere` or `line`, and there are 4 or 15 inputs", fix="use one of these"
        )
    road = (
        shipped_course(track, end_cell=end_cell)
        if isinstance(track, str)
        else build_course(track, end_cell=end_cell)
    )
    cells = road.line if start == "line" else road.anywhere

    class Racetrack(gymnasium.Env):
        """One car; `info` says how an episode ended."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (inputs,), np.float32)
        action_space = gymnasium.spaces.Discrete(len(ACCELERATIONS))
        state: Numbers
        age = 0

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            cell = int(self.np_random.choice(cells))
            self.state, self.age = np.array([[cell, road.speed, road.speed]]), 0
            return self._observe(), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            slips = self.np_random.random(1) < noise
            following = road.drive(self.state, np.array([int(action)]), slips)
            self.age += 1
            end = int(following[0, 0])
            if end < 0:
                reward, how = (goal_reward, "goal") if end == ARRIVED else (crash_reward, "crash")
                return self._observe(), reward, True, False, {"end": how}
            self.state = following
            return self._observe(), 0.0, False, self.age >= longest, {}

        def _observe(self) -> Any:
            return road.observe(self.state, inputs)[0]

    return Racetrack()
