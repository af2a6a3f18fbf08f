"""Episodes of a black box: how likely they succeed and what they are worth, with a proved confidence.

Nothing is known of the box but the episodes that it makes of seeds. Episode number r has a seed that is made
from r and the seed of the experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from surefoot.engines.statistical.experiment import Experiment, Prefix, run_prefixes
from surefoot.engines.statistical.question import (
    ProbabilityQuestion,
    RewardQuestion,
    RunQuestion,
    StartCell,
    named_counts,
)
from surefoot.simulate.path_property import FAILED, SUCCEEDED, UNDECIDED, RunOutcomes
from surefoot.solvers.sampling.boundary.store import user_folder
from surefoot.solvers.sampling.empirical_bernstein import Betting, RewardRange
from surefoot.solvers.sampling.methods import choose_interruptible_plan
from surefoot.verdict.verdict import Estimated
from surefoot.work.budget import Budget
from surefoot.work.philox import philox_words
from surefoot.work.worker_pool import ProcessPool, SerialPool, WorkerPool

Episode: TypeAlias = tuple[bool | None, int, float]  # succeeded, failed or undecided; steps; sum of rewards
MakeEpisodes: TypeAlias = Callable[..., Callable[[int], Episode]]  # gives the function of a seed


def estimate_episode_success(
    make: MakeEpisodes,
    given: tuple[Any, ...],
    *,
    eps: Fraction,
    delta: Fraction,
    method: str,
    workers: int,
    budget: Budget,
    environ: Mapping[str, str],
) -> Estimated:
    """How likely an episode of `make(*given)` succeeds; each worker makes its own box.

    `environ`: where the user keeps the tables of plans.
    """
    plan = choose_interruptible_plan(method, eps, delta, folder=user_folder(environ))
    return _estimate_episodes(ProbabilityQuestion(plan), make, given, workers, budget)


def estimate_episode_reward(
    make: MakeEpisodes,
    given: tuple[Any, ...],
    least: Fraction,
    most: Fraction,
    *,
    eps: Fraction,
    delta: Fraction,
    workers: int,
    budget: Budget,
) -> Estimated:
    """The expected sum of rewards of an episode, none of which is outside of `least` and `most`."""
    question = RewardQuestion(Betting(RewardRange(least, most), eps, delta), endless=False)
    return _estimate_episodes(question, make, given, workers, budget)


def _estimate_episodes(
    question: RunQuestion, make: MakeEpisodes, given: tuple[Any, ...], workers: int, budget: Budget
) -> Estimated:
    crew: WorkerPool = (
        SerialPool(_episode_prefixes(make, *given))
        if workers == 1
        else ProcessPool(workers, _episode_prefixes, make, *given)
    )
    cell = StartCell(None, question, question.begin())
    try:
        stop = Experiment([cell], budget.seed, budget, crew).execute()
    finally:
        crew.dismiss()
    known = question.interval(cell.state)
    counts = named_counts(cell.counts, negated=False)
    return Estimated(known.low, known.high, known.confidence, counts, stop or str(cell.state.stop.value))


def _episode_prefixes(make: MakeEpisodes, *given: Any) -> Callable[..., Prefix]:
    """What makes episodes by their numbers."""
    episode = make(*given)

    def sample_episodes(seed: int, _: int | None, first: int, count: int, __: float) -> RunOutcomes:
        seeds = philox_words(seed, np.arange(first, first + count), 0, 1)[:, 0] >> np.uint64(33)
        made = [episode(int(own)) for own in seeds]
        gained = np.array([total for _, _, total in made], dtype=float)
        return RunOutcomes(
            np.array([_outcome_number(decided) for decided, _, _ in made], dtype=np.int8),
            np.array([steps for _, steps, _ in made], dtype=np.int64),
            gained,
            gained.copy(),
        )

    return run_prefixes(sample_episodes)


def _outcome_number(decided: bool | None) -> int:
    return UNDECIDED if decided is None else SUCCEEDED if decided else FAILED
