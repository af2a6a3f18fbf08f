"""A shield around a Gymnasium environment: what is proposed is applied only where it is seen to be safe.

    from my_shield import step                     # written by `surefoot shield MODEL --python my_shield.py`
    env = Shielded(gymnasium.make("…"), step)

The environment's observation has to be the state of the model, or `state_of` makes it one. Every step's info
has `shield`: proposed and applied action, whether the shield intervened (0, 1; 2: the state was in no safe
set), and counters of the episode. A learner that stores what it proposed trains on something that was not
done where the shield intervened: `info["shield"]["applied"]` is what was done. The proof is about float64:
an action space of float32 rounds what the program says, which no proof knows of; what is proposed is rounded
before the shield looks at it.

For many variables the C step is sooner (`surefoot.integrations.native`); it decides the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot import api

try:
    import gymnasium
except ImportError:
    raise api.missing_backend("gymnasium", "gym") from None

_ARRAY = np.ndarray


class _ShieldWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What both kinds of shields do: know the state, and count."""

    def __init__(self, env: Any, state_of: Callable[[Any], Sequence[float]] | None) -> None:
        super().__init__(env)
        self.state_of = state_of
        self.state: list[float] | None = None
        self.told = _empty_record()

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self.state = _float_list(observation if self.state_of is None else self.state_of(observation))
        self.told = _empty_record()
        return observation, info

    def current_state(self) -> list[float]:
        """The present state."""
        if self.state is None:
            raise RuntimeError("reset the environment first")
        return self.state

    def take_step(
        self, action: Any, proposed: Any, applied: Any, intervened: int
    ) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make the step, and tell about it in its info."""
        result: tuple[Any, Any, bool, bool, dict[str, Any]] = self.env.step(action)
        seen = result[0] if self.state_of is None else self.state_of(result[0])
        self.state = seen.tolist() if type(seen) is _ARRAY and seen.ndim == 1 else _float_list(seen)
        told = self.told
        told["proposed"], told["applied"], told["intervened"] = proposed, applied, intervened
        told["steps"] += 1
        if intervened:
            told["interventions"] += 1
            told["outside"] += intervened == 2
        result[4]["shield"] = told.copy()
        return result


def _empty_record() -> dict[str, Any]:
    """What is told of a step, before the first one of an episode."""
    counters = {"steps": 0, "interventions": 0, "outside": 0}
    return {"proposed": None, "applied": None, "intervened": 0, **counters}


def _float_list(values: Any) -> list[float]:
    """As numbers of Python: a step of a shield takes any kind."""
    if type(values) is _ARRAY and values.ndim == 1:
        return values.tolist()  # type: ignore[no-any-return]
    return np.asarray(values, dtype=np.float64).ravel().tolist()


class Shielded(_ShieldWrapper):
    """`state_of`: from an observation to the values of the model's variables, in their order."""

    def __init__(
        self, env: Any, step: api.StepFunction, state_of: Callable[[Any], Sequence[float]] | None = None
    ) -> None:
        super().__init__(env, state_of)
        if not isinstance(env.action_space, gymnasium.spaces.Box):
            raise TypeError("a shield of controls needs an action space that is a Box")
        if not np.issubdtype(env.action_space.dtype, np.floating):
            raise TypeError(
                f"a shield of controls needs actions that are floats, not {env.action_space.dtype}"
            )
        self.decide = step
        self.dtype, self.shape = env.action_space.dtype, env.action_space.shape
        self.flat = len(self.shape) == 1

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Apply the action, or what the shield puts in its place."""
        plain = type(action) is _ARRAY and action.ndim == 1 and action.dtype is self.dtype
        proposed = tuple(action.tolist() if plain else _float_list(np.asarray(action, self.dtype)))
        values, intervened = self.decide(self.state or self.current_state(), proposed)
        if not (plain and self.flat and values == proposed):
            action = np.array(values, self.dtype)
            values = tuple(action.tolist())  # what a float32 makes of them
            if not self.flat:
                action = action.reshape(self.shape)
        return self.take_step(action, proposed, values, intervened)


def find_exact_state(env: Any, count: int) -> Callable[[Any], Sequence[float]] | None:
    """The state that the environment itself keeps, where its observations are rounded: None, if it has none
    of so many numbers."""
    inner = env.unwrapped
    try:
        if len(inner.state) != count:
            return None
    except (AttributeError, TypeError):
        if not hasattr(inner, "state") or inner.state is not None:  # it has none before its first episode
            return None
    return lambda _: inner.state


class Masked(_ShieldWrapper):
    """A shield of actions: `module` is what `surefoot shield MODEL --python` wrote for a finite system.

    Action i of the environment is `module.ACTIONS[i]`, or the one that `names[i]` names. `action_masks` is
    what maskable learners ask for; who ignores it has actions that are not permitted replaced.
    """

    def __init__(
        self,
        env: Any,
        module: Any,
        state_of: Callable[[Any], Sequence[float]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env, state_of)
        if not isinstance(env.action_space, gymnasium.spaces.Discrete):
            raise TypeError("a shield of actions needs an action space that is Discrete")
        self.names = tuple(module.ACTIONS if names is None else names)
        if sorted(self.names) != sorted(module.ACTIONS) or len(self.names) != env.action_space.n:
            raise ValueError(f"the environment's {env.action_space.n} actions are not {module.ACTIONS}")
        self.module, self.first = module, int(env.action_space.start)

    def current_state(self) -> list[float]:
        """The present state, if it is one of the shield's model: any other would be looked up, too."""
        state, names = super().current_state(), self.module.STATE
        if len(state) != len(names):
            raise ValueError(
                f"the shield's states are {len(names)} values ({', '.join(names)}), not {len(state)}: "
                "give `state_of`, which makes one of an observation"
            )
        return state

    def action_masks(self) -> Any:
        """Which actions are permitted now, in the order of the environment."""
        by_name = dict(zip(self.module.ACTIONS, self.module.action_masks(self.current_state()), strict=True))
        return np.array([by_name[name] for name in self.names], dtype=np.bool_)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the action, or the safest one in its place."""
        place = int(action) - self.first
        if not 0 <= place < len(self.names):  # a negative one would count from the end
            raise ValueError(f"action {action} is none of {self.env.action_space}")
        proposed = self.names[place]
        taken, intervened = self.module.step(self.current_state(), proposed)
        return self.take_step(self.first + self.names.index(taken), proposed, taken, intervened)
