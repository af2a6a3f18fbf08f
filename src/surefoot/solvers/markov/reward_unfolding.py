"""The part of a process that matters for a question, with counters of rewards as part of the state.

A bound on an accumulated reward becomes a question without one: states are pairs of a state and the sums so
far. Closed states (the question is decided there) get no choices, so that nothing beyond is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov
from surefoot.solvers.markov.bellman import MarkovUndecided
from surefoot.solvers.markov.qualitative import csr_positions

LARGEST = 400_000_000  # pairs of a state and counters, whether they are reached or not

IsClosed: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class CappedCounter:
    """Sums of whole rewards: below `most` they are counted, from there on they stay at `most`."""

    amounts: NDArray[np.int64]  # [outcomes]
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class UnfoldedProcess:
    """States sorted by (state, counters); `counts` has one row for each of them."""

    markov: Markov
    state: NDArray[np.int64]
    counts: NDArray[np.int64]


def unfold_rewards(
    markov: Markov,
    counters: tuple[CappedCounter, ...],
    closed: IsClosed,
    seconds_left: Callable[[], float] = lambda: inf,
) -> UnfoldedProcess:
    """Everything that is reached from the start states with all counters 0; `closed(states, counts)`.

    Without counters it is enough that nothing is left out: if the time is over all states are taken.
    """
    if not counters and _ends_where_decided(markov, closed):
        return UnfoldedProcess(markov, np.arange(markov.states), np.zeros((markov.states, 0), dtype=np.int64))
    sizes = [c.most + 1 for c in counters]
    total = int(np.prod(np.array([1, *sizes], dtype=object)))
    if markov.states * total > LARGEST:
        raise MarkovUndecided("the bound on a reward is too large to count up to it")
    seen = np.zeros(markov.states * total, dtype=np.bool_)
    frontier = markov.initial * total
    seen[frontier] = True
    while len(frontier):
        if seconds_left() <= 0:
            if counters:
                raise MarkovUndecided("the time is over")
            seen[:] = True
            break
        states, counts = _split_keys(frontier, total, sizes)
        living = ~closed(states, counts)
        states, counts = states[living], counts[living]
        reached = _successor_keys(markov, counters, sizes, total, states, counts)[0]
        fresh = reached[~seen[reached]]
        seen[fresh] = True
        frontier = np.unique(fresh)
    return _build_unfolding(markov, counters, sizes, total, np.flatnonzero(seen), closed)


def _ends_where_decided(markov: Markov, closed: IsClosed) -> bool:
    """Has exploration itself stopped at every closed state? Then nothing is to be left out."""
    everything = np.arange(markov.states, dtype=np.int64)
    decided = closed(everything, np.zeros((markov.states, 0), dtype=np.int64))
    return not (decided & ((np.diff(markov.choices) > 0) | markov.cut)).any()


def _split_keys(
    keys: NDArray[np.int64], total: int, sizes: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    code = keys % total
    counts = np.zeros((len(keys), len(sizes)), dtype=np.int64)
    for i in reversed(range(len(sizes))):
        counts[:, i] = code % sizes[i]
        code //= sizes[i]
    return keys // total, counts


def _successor_keys(
    markov: Markov,
    counters: tuple[CappedCounter, ...],
    sizes: list[int],
    total: int,
    states: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Keys of what comes next, and the choices and outcomes of the process that lead there."""
    choices = csr_positions(markov.choices, states)
    outcomes = csr_positions(markov.outcomes, choices)
    which = np.repeat(np.arange(len(states)), markov.choices[states + 1] - markov.choices[states])
    which = np.repeat(which, markov.outcomes[choices + 1] - markov.outcomes[choices])
    code = np.zeros(len(outcomes), dtype=np.int64)
    for i, counter in enumerate(counters):
        now = np.minimum(counts[which, i] + counter.amounts[outcomes], counter.most)
        code = code * sizes[i] + now
    return markov.targets[outcomes] * total + code, choices, outcomes


def _build_unfolding(
    markov: Markov,
    counters: tuple[CappedCounter, ...],
    sizes: list[int],
    total: int,
    keys: NDArray[np.int64],
    closed: IsClosed,
) -> UnfoldedProcess:
    states, counts = _split_keys(keys, total, sizes)
    living = ~closed(states, counts)
    targets, choices, outcomes = _successor_keys(
        markov, counters, sizes, total, states[living], counts[living]
    )
    per_state = np.where(living, np.diff(markov.choices)[states], 0)
    unfolded = replace(
        markov,
        choices=np.concatenate(([0], np.cumsum(per_state))).astype(np.int64),
        outcomes=np.concatenate(([0], np.cumsum(np.diff(markov.outcomes)[choices]))).astype(np.int64),
        targets=np.searchsorted(keys, targets).astype(np.int64),
        weights=markov.weights[outcomes],
        initial=np.searchsorted(keys, markov.initial * total).astype(np.int64),
        rewards={name: amounts[outcomes] for name, amounts in markov.rewards.items()},
        labels={name: flags[states] for name, flags in markov.labels.items()},
        cut=markov.cut[states] & living,
    )
    return UnfoldedProcess(unfolded, states, counts)
