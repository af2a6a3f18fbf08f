"""A question put to the part of a process that matters for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, lcm

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.pctl_question import PctlQuestion, constant_bound
from surefoot.errors import Unsupported
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.property import Bound, counts_steps
from surefoot.query.markov import Accumulate, Markov, MarkovQuestion, Until
from surefoot.solvers.markov.reward_unfolding import CappedCounter, UnfoldedProcess, unfold_rewards
from surefoot.term.term import Term


@dataclass(frozen=True, slots=True, eq=False)
class Subproblem:
    """The process that matters, its question, and what its states are."""

    unfolded: UnfoldedProcess
    question: MarkovQuestion


def build_subproblem(
    explored: ExploredModel,
    wanted: PctlQuestion,
    everywhere: bool,
    seconds_left: Callable[[], float] = lambda: inf,
) -> Subproblem:
    """`everywhere`: keep all states, also those that only matter as starts."""
    markov = explored.markov
    left, right = markov.labels["left"], markov.labels["right"]
    kinds = [_reward_counter(markov, b) for b in wanted.bounds]

    def within_bounds(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.ones(len(counts), dtype=np.bool_)
        for i, (_, low, dead) in enumerate(kinds):
            found &= (counts[:, i] >= low) & (dead is None or counts[:, i] < dead)
        return found

    def bound_exceeded(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.zeros(len(counts), dtype=np.bool_)
        for i, (_, _, dead) in enumerate(kinds):
            if dead is not None:
                found |= counts[:, i] >= dead
        return found

    def is_decided(states: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        if everywhere:
            return np.zeros(len(states), dtype=np.bool_)
        if wanted.reward is not None:
            return right[states]
        if wanted.after:
            return bound_exceeded(counts) | (~left[states] & ~right[states])
        return bound_exceeded(counts) | (right[states] & within_bounds(counts)) | ~left[states]

    if wanted.reward is not None:
        markov = _with_reward(explored, wanted.reward)
    unfolded = unfold_rewards(markov, tuple(k[0] for k in kinds), is_decided, seconds_left)
    gone = bound_exceeded(unfolded.counts)
    goal = right[unfolded.state] & within_bounds(unfolded.counts) & ~gone
    if wanted.reward is None:
        inside = left[unfolded.state] & ~gone
        question: MarkovQuestion = Until(wanted.optimise, inside, goal, wanted.steps, wanted.after)
    else:
        amounts = unfolded.markov.rewards["\0asked"]
        question = Accumulate(wanted.optimise, amounts, goal, wanted.steps)
    return Subproblem(unfolded, question)


def _with_reward(explored: ExploredModel, reward: str | Term) -> Markov:
    """The process with the reward that is asked for under a name of its own.

    A draw that ends the run leads to a copy of the state, but it is no step and pays nothing.
    """
    markov = explored.markov
    if isinstance(reward, str) and not counts_steps(reward):
        return replace(markov, rewards={**markov.rewards, "\0asked": markov.rewards[reward]})
    needed = (Fraction(0), Fraction(1))
    values = (*markov.values, *(v for v in needed if v not in markov.values))
    nothing, one = map(values.index, needed)
    if counts_steps(reward):
        amounts = np.full(len(markov.targets), one, dtype=np.int32)
    else:
        amounts = explored.quantities["reward"][markov.owners()[markov.rows()]].astype(np.int32)
    amounts[explored.halted[markov.targets]] = nothing
    return replace(markov, values=values, rewards={**markov.rewards, "\0asked": amounts})


def _reward_counter(markov: Markov, bound: Bound) -> tuple[CappedCounter, int, int | None]:
    """The counter, the least sum that is enough, and the sum from which on it is too much."""
    assert bound.reward is not None
    indices = markov.rewards[bound.reward]
    low, high = constant_bound(bound.low), constant_bound(bound.high)
    used = np.unique(indices)
    if any(markov.values[i] < 0 for i in used):
        raise Unsupported(f"a bound on `{bound.reward}`, which may be negative")
    grain = lcm(1, *(markov.values[i].denominator for i in used))
    least = 0 if low is None else -((-low * grain).__floor__())
    dead = None
    if high is not None:
        most = high * grain
        dead = -((-most).__floor__()) if bound.strict else most.__floor__() + 1
    table = np.zeros(len(markov.values), dtype=np.int64)
    limit = dead if dead is not None else max(least, 0)
    for i in used:
        table[i] = min(int(markov.values[i] * grain), limit + 1)
    return CappedCounter(table[indices], limit), least, dead
