"""The graph of all runs that some order of summation in the network makes possible.

States in which all orders decide alike keep the steps that were explored. Elsewhere, and in states that are
reached from there only, the reference semantics is asked about each possible decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.engines.explicit.graph import Flags, StateGraph
from surefoot.engines.explicit.ties import possible_decisions
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state, may_end
from surefoot.work.budget import Budget

MOST = 200_000  # states that are looked at one by one


class TooMany(Exception):
    """There is not enough time or room to look at all possibilities."""


def add_rounding_runs(
    problem: Problem,
    explored: ExploredModel,
    graph: StateGraph,
    condition: Flags,
    near: Flags,
    budget: Budget,
) -> tuple[StateGraph, Flags, Callable[[int], State]]:
    """The graph with what is possible in the states `near`, where the condition holds, and its states.

    Where it depends on the decision the condition is taken for the worse: a bad state may be one, a good one
    may be none.
    """
    names = explored.states.names
    columns = [explored.states.column(name).tolist() for name in names]
    numbers: dict[tuple[Any, ...], int] = {}
    for row in zip(*columns, strict=True):
        numbers[row] = len(numbers)
    more: list[State] = []
    waiting = np.flatnonzero(near).tolist()
    sources: list[int] = []
    targets: list[int] = []
    ends: dict[int, bool] = {}
    flags: dict[int, bool] = {}
    count = graph.states
    while waiting:
        if len(ends) >= MOST or budget.is_spent():
            raise TooMany(f"{len(ends) + len(waiting)} states or more")
        number = waiting.pop()
        state = explored.valuation(number) if number < count else more[number - count]
        ends[number], flags[number], reached = _possible_successors(problem, state)
        for after in reached:
            key = tuple(after[name] for name in names)
            if (target := numbers.get(key)) is None:
                target = numbers[key] = count + len(more)
                more.append(after)
                waiting.append(target)
            sources.append(number)
            targets.append(target)
    merged = _replace_arrows(
        graph, near, np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64), more
    )
    all_ends, all_flags = (
        np.concatenate([f, np.zeros(len(more), np.bool_)]) for f in (graph.ends, condition)
    )
    looked_at = list(ends)
    all_ends[looked_at], all_flags[looked_at] = list(ends.values()), list(flags.values())
    whole = replace(merged, ends=all_ends)
    return whole, all_flags, lambda s: explored.valuation(s) if s < count else more[s - count]


def _possible_successors(problem: Problem, state: State) -> tuple[bool, bool, list[State]]:
    """Whether a run may end here, whether the condition holds, and every next state."""
    asked = problem.property
    assert problem.policy is not None
    assert isinstance(asked, Never | Eventually | Recurs | Within)
    term = asked.bad if isinstance(asked, Never) else asked.good
    found: list[State] = []
    ends, flags = False, []
    for policy in possible_decisions(problem.policy, problem.environment, state):
        decided = replace(problem, policy=policy)
        ends = ends or may_end(decided, state)
        flags.append(holds_in_state(decided, state, term))
        found += [s.state for s in enumerate_successors(decided, state)]
    return ends, any(flags) if isinstance(asked, Never) else all(flags), found


def _replace_arrows(
    graph: StateGraph, near: Flags, sources: Any, targets: Any, more: list[State]
) -> StateGraph:
    """The arrows of other states stay, those of these states are the given ones."""
    origin = np.repeat(np.arange(graph.states), np.diff(graph.arrows))
    kept = ~near[origin]
    origin, reached = np.concatenate([origin[kept], sources]), np.concatenate([graph.targets[kept], targets])
    order = np.argsort(origin, kind="stable")
    counts = np.bincount(origin, minlength=graph.states + len(more))
    arrows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return StateGraph(arrows, reached[order].astype(np.int64), graph.initial, graph.ends)
