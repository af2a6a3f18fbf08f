"""A Gymnasium environment of a model: what is proved is also what is trained on.

    env = surefoot.as_gym(surefoot.gym("CartPole-v1"))
    env = surefoot.as_gym(problem, reward="earned", max_steps=200)

Steps are those of the reference semantics, one at a time. An observation has float32 numbers, as networks
read them. An action that is not possible ends the episode (`info["stalled"]`); `action_masks` says which are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, SupportsFloat

import numpy as np

from surefoot import api

try:
    import gymnasium
except ImportError:
    raise api.missing_backend("gymnasium", "gym") from None

Earn = Callable[[dict[str, Any], Any, dict[str, Any]], SupportsFloat]  # state, action and state after it
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class EpisodeRules:
    """What a learner sees, does and earns, and when an episode is over."""

    observe: tuple[api.Term, ...]
    actions: tuple[str, ...]  # by number; empty: the controls
    reward: str | api.Term | Earn  # a reward of the edges, a term of the state after a step, or a function
    ends: api.Term | None = None
    max_steps: int | None = None


class ModelEnvironment(gymnasium.Env[Any, Any]):
    """The model as a learner meets it; `state` is the present state by name."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as the base class declares it

    def __init__(self, environment: api.EnvironmentData, rules: EpisodeRules) -> None:
        self.model, self.rules = api.OpenModel(environment), rules
        self._observe = [self.model.compile_term(term) for term in rules.observe]
        self._ends = None if rules.ends is None else self.model.compile_term(rules.ends)
        earns_by_state = not isinstance(rules.reward, str) and not callable(rules.reward)
        self._earn = self.model.compile_term(rules.reward) if earns_by_state else None  # type: ignore[arg-type]
        self.observation_space = self._observation_box()
        self.action_space = self._action_space()
        self._row: Any = None
        self._taken, self._stream = 0, api.Stream(0, 0)

    def _observation_box(self) -> Any:
        ends = [self.model.bounds_of(term) for term in self.rules.observe]
        low, high = [_float32_at_most(a) for a, _ in ends], [-_float32_at_most(-b) for _, b in ends]
        return gymnasium.spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)

    def _action_space(self) -> Any:
        if self.rules.actions:
            return gymnasium.spaces.Discrete(len(self.rules.actions))
        controls = self.model.environment.controls
        low = [-np.inf if c.low is None else float(c.low) for c in controls]
        high = [np.inf if c.high is None else float(c.high) for c in controls]
        return gymnasium.spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)

    @property
    def state(self) -> dict[str, Any]:
        """The present state, each variable by its name."""
        return self.model.layout.state(self._present())

    def _present(self) -> Any:
        if self._row is None:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._row

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """A start of the model, drawn by its laws."""
        super().reset(seed=seed)
        self._row = self.model.begin(self.np_random)
        self._stream = api.Stream(int(self.np_random.integers(2**63)), 0)
        self._taken = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of the model; `terminated` where it is over, `truncated` after `max_steps`."""
        before = self._present()
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is none of {self.action_space}")
        if self.rules.actions:
            taken = self.model.take_step(before, self.rules.actions[int(action)], (), self._stream)
        else:
            values = self.model.set_controls(np.asarray(action).ravel().tolist())
            taken = self.model.take_step(before, None, values, self._stream)
        self._taken += 1
        late = self.rules.max_steps is not None and self._taken >= self.rules.max_steps
        if taken.row is None:
            return self._seen(), 0.0, True, late, {"stalled": True}
        self._row = taken.row
        over = self._is_over() or not self.model.can_go_on(self._row)
        return self._seen(), self._earned(before, action, taken), over, late, {}

    def _is_over(self) -> bool:
        return self._ends is not None and bool(self.model.value(self._ends, self._present(), "the end"))

    def _seen(self) -> Any:
        """What is observed now, rounded to float32 once."""
        row = self._present()
        values = [float(self.model.value(term, row, "an observation")) for term in self._observe]
        return np.clip(np.array(values), -_LARGEST, _LARGEST).astype(np.float32)

    def _earned(self, before: Any, action: Any, taken: Any) -> float:
        if self._earn is not None:
            return float(self.model.value(self._earn, taken.row, "the reward"))
        if isinstance(self.rules.reward, str):
            return float(taken.rewards[self.rules.reward])
        layout = self.model.layout
        return float(self.rules.reward(layout.state(before), action, layout.state(taken.row)))  # type: ignore[operator]

    def action_masks(self) -> Any:
        """Which actions are possible now, in their order: what maskable learners ask for."""
        if not self.rules.actions:
            raise AttributeError("controls have no masks")
        enabled = self.model.enabled_labels(self._present())
        return np.array([action in enabled for action in self.rules.actions], dtype=np.bool_)


def _float32_at_most(value: float) -> Any:
    """The largest float32 number that is not above a bound."""
    nearest = np.float32(value)
    if not isfinite(value) or float(nearest) <= value:
        return nearest
    return np.nextafter(nearest, np.float32(-np.inf))
