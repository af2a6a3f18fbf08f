"""When open outcomes are worth it: a look at the first states, with and without them.

A state with open outcomes costs a thousand times what machine code takes for one. So a search with them goes
on only if it comes as deep with far fewer of them: first for some states, then, if there are very many
without, for its share of the time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.errors import SurefootError
from surefoot.explore.delayed.explorer import DelayedExplorer, DelayedGaveUp
from surefoot.explore.delayed.model import (
    DelayedQuestion,
    build_delayed_model,
    delayed_objection,
    may_delay,
)
from surefoot.explore.limits import ExplorationLimits
from surefoot.problem.problem import Problem
from surefoot.query.markov import Markov

_FEW = 200  # states after which the two are compared
_MOST_STARTS = 50  # each is kept as it is
_FEWER, _FAR_FEWER = 4, 30  # times fewer states with open outcomes, at the beginning and later
_MORE = 2_000  # states of a search that is worth it, before anything is compiled
_PART = 0.2  # of the time, at most, for each of these
_SHARE, _AT_MOST = 0.5, 100.0  # of the time that is left, and seconds, if there are very many without


def begin_delayed(
    problem: Problem, question: DelayedQuestion, plain: Markov, limits: ExplorationLimits
) -> DelayedExplorer | None:
    """The search with open outcomes, perhaps done, or None where it is not worth it. `plain`: the first
    states without."""
    if not may_delay(problem) or len(plain.initial) > _MOST_STARTS:
        return None
    if delayed_objection(problem, question) is not None:
        return None
    try:
        search = DelayedExplorer(build_delayed_model(problem, question))
        if not search.advance(_limits_for(limits, _PART, _FEW)) and not _is_worth_it(search, plain, _FEWER):
            return None
        search.advance(_limits_for(limits, _PART, _MORE))
    except (SurefootError, DelayedGaveUp):  # whatever it is, another tier says it better
        return None
    return search


def continue_delayed(search: DelayedExplorer, plain: Markov | None, limits: ExplorationLimits) -> bool:
    """Is it worth it beside so many states without, if machine code found some, and done in its time?"""
    if plain is not None and not _is_worth_it(search, plain, _FAR_FEWER):
        return False
    clock = limits.budget
    seconds = min(clock.seconds, clock.elapsed_seconds() + _AT_MOST)
    part = replace(limits, budget=replace(clock, seconds=seconds))
    try:
        return search.advance(_limits_for(part, _SHARE, None))
    except (SurefootError, DelayedGaveUp):
        return False


def _limits_for(limits: ExplorationLimits, share: float, states: int | None) -> ExplorationLimits:
    """This share of the time, and so many states."""
    known = [n for n in (limits.max_states, states) if n is not None]
    return replace(limits, budget=limits.budget.part(share), max_states=min(known) if known else None)


def _is_worth_it(search: DelayedExplorer, plain: Markov, times: int) -> bool:
    """Does it come as deep with so many times fewer states?"""
    depth = state_depths(plain)
    complete = min(int(depth.max()), max(search.depth)) - 1  # of the deepest level not all may be known
    if complete < 1:
        return False
    with_open = sum(1 for d in search.depth if d <= complete)
    return times * with_open <= int((depth <= complete).sum())


def state_depths(markov: Markov) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Steps from the nearest start state, of states in the order in which a search found them."""
    depth = np.zeros(markov.states, dtype=np.int64)
    sources = markov.owners()[markov.rows()]
    targets, first = np.unique(markov.targets, return_index=True)
    started = set(markov.initial.tolist())
    for target, source in zip(targets.tolist(), sources[first].tolist(), strict=True):
        if target not in started:
            depth[target] = depth[source] + 1
    return depth
