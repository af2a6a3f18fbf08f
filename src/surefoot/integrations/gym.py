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

import numpy as np

from surefoot.engines.statistical.experiment import Experiment, Prefix, run_prefixes
from surefoot.engines.statistical.question import (
    ProbabilityQuestion,
    RewardQuestion,
    RunQuestion,
    StartCell,
    named_counts,
)
from surefoot.errors import missing_backend
from surefoot.simulate import FAILED, SUCCEEDED, UNDECIDED, RunOutcomes
from surefoot.solvers.sampling import Betting, RewardRange, choose_plan
from surefoot.solvers.sampling.boundary.store import user_folder
from surefoot.verdict.verdict import Estimated
from surefoot.work.budget import Budget
from surefoot.work.philox import philox_words
from surefoot.work.worker_pool import ProcessPool, SerialPool, WorkerPool


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
    budget: Budget | None = None,
) -> Estimated:
    """How likely `judge` says True before it says False; None: not decided yet.

    An episode that terminates undecided has failed. One that is cut off (by `max_steps` or by the environment
    itself, `truncated`) is undecided and widens the interval.
    """
    plan = choose_plan(method, eps, delta, folder=user_folder(os.environ))
    return _estimate_episodes(
        ProbabilityQuestion(plan), (environment, act, judge, max_steps), workers, budget or Budget()
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
    budget: Budget | None = None,
) -> Estimated:
    """The expected sum of rewards of an episode, none of which is outside of `least` and `most`."""
    question = RewardQuestion(Betting(RewardRange(least, most), eps, delta), endless=False)
    return _estimate_episodes(
        question, (environment, act, _is_never_decided, max_steps), workers, budget or Budget()
    )


def _is_never_decided(_: EpisodeStep) -> bool | None:
    return None


def _estimate_episodes(
    question: RunQuestion, made: tuple[Any, ...], workers: int, budget: Budget
) -> Estimated:
    crew: WorkerPool = (
        SerialPool(_episode_prefixes(*made))
        if workers == 1
        else ProcessPool(workers, _episode_prefixes, *made)
    )
    cell = StartCell(None, question, question.begin())
    try:
        stop = Experiment([cell], budget.seed, budget, crew).execute()
    finally:
        crew.dismiss()
    known = question.interval(cell.state)
    counts = named_counts(cell.counts, negated=False)
    return Estimated(known.low, known.high, known.confidence, counts, stop or str(cell.state.stop.value))


def _episode_prefixes(environment: Make, act: Any, judge: Judge, max_steps: int) -> Callable[..., Prefix]:
    """What makes episodes by their numbers."""
    return run_prefixes(
        EpisodeSampler(_make_environment(environment), _action_function(act), judge, max_steps).runs
    )


def _make_environment(environment: Make) -> Any:
    if not isinstance(environment, str):
        return environment()
    try:
        import gymnasium
    except ImportError:
        raise missing_backend("gymnasium", "gym") from None
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

    def runs(self, seed: int, _: int | None, first: int, count: int) -> RunOutcomes:
        seeds = philox_words(seed, np.arange(first, first + count), 0, 1)[:, 0] >> np.uint64(33)
        made = [self._episode(int(own)) for own in seeds]
        gained = np.array([total for _, _, total in made], dtype=float)
        return RunOutcomes(
            np.array([outcome for outcome, _, _ in made], dtype=np.int8),
            np.array([steps for _, steps, _ in made], dtype=np.int64),
            gained,
            gained.copy(),
        )

    def _episode(self, seed: int) -> tuple[int, int, float]:
        observation, info = self.environment.reset(seed=seed)
        step = EpisodeStep(observation, 0.0, 0.0, 0, False, info)
        truncated = False
        while True:
            judged = self.judge(step)
            if judged is not None:
                return (SUCCEEDED if judged else FAILED), step.steps, step.total
            if step.terminated:
                return FAILED, step.steps, step.total
            if truncated or step.steps >= self.max_steps:
                return UNDECIDED, step.steps, step.total
            observation, reward, terminated, truncated, info = self.environment.step(
                self.act(step.observation)
            )
            gained = float(reward)
            step = EpisodeStep(
                observation, gained, step.total + gained, step.steps + 1, bool(terminated), info
            )
