"""What all runs of a finite system do: never, eventually, recurs, within, by looking at the whole graph.

A violation is a shortest path to a bad state, or a path to an end or a cycle without good states. Its moves
are looked up in the reference semantics, so that the trace replays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.compile import Explored
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import Move, State, successors
from surefoot.query.markov import Markov
from surefoot.solve.markov.components import strong_parts
from surefoot.solve.markov.graph import slices
from surefoot.verdict.verdict import Argument, Holds, Reason, Trace, Unknown, Vacuous, Verdict, Violated

MOST_ENTRIES = 50_000_000  # of the states on all levels of `within`
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lasso:
    """States one after the other; `loop`: to which of them the last one returns."""

    states: list[int]
    loop: int | None = None


def decide(problem: Problem, explored: Explored, condition: Flags) -> Verdict:
    """`condition`: where the condition of the property holds."""
    asked, markov = problem.property, explored.markov
    if not len(markov.initial):
        return Vacuous("there is no start state")
    ends = (np.diff(markov.choices) == 0) & ~explored.blocked & ~markov.cut
    limit: int | None = None
    match asked:
        case Never(_, limit):
            found = _first(markov, condition, limit)
        case Eventually():
            found = _quiet(markov, ~condition, ends, everywhere=False)
        case Recurs():
            found = _quiet(markov, ~condition, ends, everywhere=True)
        case Within(_, limit, after):
            found = _levels(markov, ~condition, ends, after, limit)
        case _:
            raise TypeError(f"not about runs: {asked!r}")
    if found is not None:
        return Violated(_trace(problem, explored, found))
    if markov.cut.any():
        known = _distance(markov, markov.cut) if isinstance(asked, Never) else None
        detail = f"the exploration ended at {explored.why_cut}"
        return Unknown(Reason.DEPTH, detail, known, "explicit" if known is not None else "")
    how = "every reachable state was looked at"
    return Holds(limit, "explicit", as_asked=True, how=how, argument=Argument("graph", 0))


def _next(markov: Markov, states: Numbers) -> tuple[Numbers, Numbers]:
    """Every arrow out of these states: from where and to where."""
    choices = slices(markov.choices, states)
    outcomes = slices(markov.outcomes, choices)
    sources = np.repeat(states, np.diff(markov.choices)[states])
    return np.repeat(sources, np.diff(markov.outcomes)[choices]), markov.targets[outcomes]


def _paths(markov: Markov, inside: Flags) -> tuple[Numbers, Numbers]:
    """Distance from the start states along states inside (-1: not reached), and the state before."""
    distance = np.full(markov.states, -1, dtype=np.int64)
    before = np.full(markov.states, -1, dtype=np.int64)
    frontier = markov.initial[inside[markov.initial]]
    distance[frontier] = 0
    level = 0
    while len(frontier):
        level += 1
        sources, targets = _next(markov, frontier)
        fresh = (distance[targets] < 0) & inside[targets]
        frontier, first = np.unique(targets[fresh], return_index=True)
        distance[frontier] = level
        before[frontier] = sources[fresh][first]
    return distance, before


def _back(before: Numbers, last: int) -> list[int]:
    path = [last]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]


def _nearest(distance: Numbers, wanted: Flags) -> int | None:
    candidates = np.flatnonzero(wanted & (distance >= 0))
    return int(candidates[np.argmin(distance[candidates])]) if len(candidates) else None


def _distance(markov: Markov, wanted: Flags) -> int | None:
    distance, _ = _paths(markov, np.ones(markov.states, dtype=np.bool_))
    found = _nearest(distance, wanted)
    return None if found is None else int(distance[found])


def _first(markov: Markov, bad: Flags, limit: int | None) -> Lasso | None:
    distance, before = _paths(markov, np.ones(markov.states, dtype=np.bool_))
    found = _nearest(distance, bad)
    if found is None or (limit is not None and distance[found] > limit):
        return None
    return Lasso(_back(before, found))


def _quiet(markov: Markov, quiet: Flags, ends: Flags, *, everywhere: bool) -> Lasso | None:
    """A way to an end or a cycle of quiet states; `everywhere`: the way there need not be quiet."""
    distance, before = _paths(markov, np.ones(markov.states, dtype=np.bool_) if everywhere else quiet)
    reached = quiet & (distance >= 0)
    if (end := _nearest(distance, ends & reached)) is not None:
        return Lasso(_back(before, end))
    sources, targets = _next(markov, np.flatnonzero(reached))
    inner = reached[targets]
    sources, targets = sources[inner], targets[inner]
    part = strong_parts(sources, targets, markov.states)
    circling = part[sources] == part[targets]
    on_cycle = np.zeros(markov.states, dtype=np.bool_)
    on_cycle[sources[circling]] = True
    start = _nearest(distance, on_cycle)
    if start is None:
        return None
    stem = _back(before, start)
    return Lasso(stem + _cycle(start, sources[circling], targets[circling]), len(stem) - 1)


def _cycle(start: int, sources: Numbers, targets: Numbers) -> list[int]:
    """A shortest way round along these arrows, without the first state and with the last, which is it."""
    arrows: dict[int, list[int]] = {}
    for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
        arrows.setdefault(a, []).append(b)
    before: dict[int, int] = {}
    frontier = [start]
    while frontier:
        coming = []
        for state in frontier:
            for target in arrows.get(state, ()):
                if target == start:
                    path = [start, state] if state != start else [start]
                    while path[-1] != start:
                        path.append(before[path[-1]])
                    return path[-2::-1] if len(path) > 1 else [start]
                if target not in before:
                    before[target] = state
                    coming.append(target)
        frontier = coming
    raise ValueError("no cycle")


def _levels(markov: Markov, quiet: Flags, ends: Flags, after: int, limit: int) -> Lasso | None:
    """A run of `limit` steps, or one that ends before, whose states from `after` on are quiet."""
    levels: list[Numbers] = []
    here = markov.initial
    entries = 0
    for number in range(limit + 1):
        if number >= after:
            here = here[quiet[here]]
        levels.append(here)
        entries += len(here)
        if entries > MOST_ENTRIES:
            raise MemoryError
        if not len(here):
            return None
        ended = here[ends[here]]
        if number == limit or len(ended):
            return Lasso(_climb(markov, levels, int(here[0] if number == limit else ended[0])))
        here = np.unique(_next(markov, here)[1])
    return None


def _climb(markov: Markov, levels: list[Numbers], last: int) -> list[int]:
    path = [last]
    for level in reversed(levels[:-1]):
        sources, targets = _next(markov, level)
        path.append(int(sources[np.flatnonzero(targets == path[-1])[0]]))
    return path[::-1]


def _trace(problem: Problem, explored: Explored, found: Lasso) -> Trace:
    states = [explored.valuation(s) for s in found.states]
    moves = [_move(problem, a, b) for a, b in pairwise(states)]
    return Trace(tuple(states), tuple(moves), found.loop)


def _move(problem: Problem, state: State, after: State) -> Move:
    return next(s.move for s in successors(problem, state) if s.state == after)
