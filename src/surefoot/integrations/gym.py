"""Gymnasium environments: how likely is it that an episode succeeds, with a proved confidence?

    from surefoot.integrations.gym import estimate_success
    estimate_success("CartPole-v1", act, lambda step: step.steps >= 200 or None, eps=Fraction(1, 50))

The environment is a black box, and so is whoever acts in it: nothing is known about either but the episodes
that are seen. Episode number r begins with `reset(seed=…)`, where the seed is made from r and the seed of the
experiment; the confidence is right if episodes with different seeds are independent of each other, and the
answer can be repeated if everything random comes from that seed. This is the slow way: one step at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot import api


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """What is known after a step; number 0 is the reset."""

    observation: Any
    reward: float
    total: float  # of all rewards so far
    steps: int
    terminated: bool
    info: dict[str, Any]


Make = str | Callable[[], Any]
Judge = Callable[[EpisodeStep], bool | None]


def by_termination(step: EpisodeStep) -> bool | None:
    """An episode that terminates has succeeded."""
    return True if step.terminated else None


def estimate_success(
    environment: Make,
    act: Any,
    judge: Judge = by_termination,
    *,
    eps: Fraction = Fraction(1, 100),
    delta: Fraction = Fraction(1, 20),
    method: str = "clopper-pearson",
    max_steps: int = 10_000,
    workers: int = 1,
    budget: api.Budget | None = None,
) -> api.Estimated:
    """How likely `judge` says True before it says False; None: not decided yet.

    An episode that terminates undecided has failed. One that is cut off (by `max_steps` or by the environment
    itself, `truncated`) is undecided and widens the interval.
    """
    return api.estimate_episode_success(
        _make_episodes,
        (environment, act, judge, max_steps),
        eps=eps,
        delta=delta,
        method=method,
        workers=workers,
        budget=budget or api.Budget(),
        environ=os.environ,
    )


def estimate_return(
    environment: Make,
    act: Any,
    least: Fraction,
    most: Fraction,
    *,
    eps: Fraction,
    delta: Fraction = Fraction(1, 20),
    max_steps: int = 10_000,
    workers: int = 1,
    budget: api.Budget | None = None,
) -> api.Estimated:
    """The expected sum of rewards of an episode, none of which is outside of `least` and `most`."""
    return api.estimate_episode_reward(
        _make_episodes,
        (environment, act, _is_never_decided, max_steps),
        least,
        most,
        eps=eps,
        delta=delta,
        workers=workers,
        budget=budget or api.Budget(),
    )


def _is_never_decided(_: EpisodeStep) -> bool | None:
    return None


def _make_episodes(
    environment: Make, act: Any, judge: Judge, max_steps: int
) -> Callable[[int], tuple[bool | None, int, float]]:
    """What makes an episode from its seed."""
    return EpisodeSampler(_make_environment(environment), _action_function(act), judge, max_steps).episode


def _make_environment(environment: Make) -> Any:
    if not isinstance(environment, str):
        return environment()
    try:
        import gymnasium
    except ImportError:
        raise api.missing_backend("gymnasium", "gym") from None
    return gymnasium.make(environment)


def _action_function(act: Any) -> Callable[[Any], Any]:
    """A function of the observation, or a model of Stable-Baselines3, whose best action is taken."""
    predict = getattr(act, "predict", None)
    if predict is None:
        return act  # type: ignore[no-any-return]
    return lambda observation: predict(observation, deterministic=True)[0]


@dataclass(slots=True)
class EpisodeSampler:
    environment: Any
    act: Callable[[Any], Any]
    judge: Judge
    max_steps: int

    def episode(self, seed: int) -> tuple[bool | None, int, float]:
        """Did it succeed (None: undecided), after how many steps, with what sum of rewards?"""
        observation, info = self.environment.reset(seed=seed)
        step = EpisodeStep(observation, 0.0, 0.0, 0, False, info)
        truncated = False
        while True:
            judged = self.judge(step)
            if judged is not None:
                return judged, step.steps, step.total
            if step.terminated:
                return False, step.steps, step.total
            if truncated or step.steps >= self.max_steps:
                return None, step.steps, step.total
            observation, reward, terminated, truncated, info = self.environment.step(
                self.act(step.observation)
            )
            gained = float(reward)
            step = EpisodeStep(
                observation, gained, step.total + gained, step.steps + 1, bool(terminated), info
            )
