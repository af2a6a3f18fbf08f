"""Ranks that lead to the goal along choices which keep their bounds: what makes a certificate local.

A checker that looks at one state at a time cannot see that bounds below do not feed on themselves (an end
component that claims 1 for itself does). A number that falls along some outcome shows it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Accumulate, Markov, MarkovAnswer, MarkovQuestion, Until
from surefoot.solvers.markov.integer_vectors import integer_weights, sum_rows
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph
from surefoot.solvers.markov.sound_sweeps import rounding_error

PART = 1 << 20  # choices that are looked at together
Ranks = NDArray[np.int64]


def rank_states(markov: Markov, question: MarkovQuestion, answer: MarkovAnswer) -> Ranks | None:
    """A rank for every state, -1 where none is needed; None: these bounds have no such ranks."""
    graph = MarkovGraph(markov)
    match question:
        case Until(optimise, left, right, None, 0):
            through = left & ~right
            if optimise == "max":
                rises = _kept_choices(graph, answer.low, None, answer.scale, rising=True)
                rank, _ = graph.can_reach(right, through, rises)
            else:
                rank = graph.must_reach(right, through)
            needed = answer.low > 0
        case Accumulate(optimise, rewards, goal, None):
            if answer.infinite.any() or any(markov.values[i] < 0 for i in np.unique(rewards)):
                return None
            if optimise == "max":
                rank = graph.must_reach(goal, ~goal)
            else:
                falls = _kept_choices(graph, answer.high, rewards, answer.scale, rising=False)
                rank, _ = graph.can_reach(goal, ~goal, falls)
            needed = np.ones(markov.states, dtype=np.bool_)
        case _:
            return None
    return None if (needed.astype(np.bool_) & (rank == NEVER)).any() else rank


def _kept_choices(
    graph: MarkovGraph, values: NDArray[Any], rewards: NDArray[np.int32] | None, scale: int, *, rising: bool
) -> NDArray[np.bool_]:
    """[choices]: those under which the bound surely does not fall (or does not rise)."""
    markov = graph.markov
    if values.dtype != np.object_:
        return _surely_kept(graph, values / float(scale), rewards, rising=rising)
    given = integer_weights(markov, rewards)
    after = sum_rows(given.weights * values[markov.targets], markov.outcomes) * given.grain
    if given.amounts is not None:
        after = after + sum_rows(given.weights * given.amounts, markov.outcomes) * scale
    own = values[graph.owners] * (given.unit * given.grain)
    return cast(NDArray[np.bool_], ((after >= own) if rising else (after <= own)).astype(np.bool_))


def _surely_kept(
    graph: MarkovGraph, values: NDArray[np.float64], rewards: NDArray[np.int32] | None, *, rising: bool
) -> NDArray[np.bool_]:
    """The same of values that are floats: their means are off by a small factor."""
    markov, error = graph.markov, rounding_error(graph.markov)
    numbers = np.array([float(v) for v in markov.values])
    kept = np.zeros(len(markov.outcomes) - 1, dtype=np.bool_)
    own = np.repeat(values, np.diff(markov.choices))
    for first in range(0, len(kept), PART):
        end = min(first + PART, len(kept))
        begin, stop = markov.outcomes[first], markov.outcomes[end]
        parts = values[markov.targets[begin:stop]]
        if rewards is not None:
            parts += numbers[rewards[begin:stop]]
        parts *= numbers[markov.weights[begin:stop]]
        after = np.add.reduceat(parts, markov.outcomes[first:end] - begin)
        if rising:
            kept[first:end] = after * (1.0 - error) >= own[first:end]
        else:
            kept[first:end] = after * (1.0 + error) <= own[first:end]
    return kept
