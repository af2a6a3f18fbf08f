"""Runs in columns that seem to violate a property, made again by the reference.

A run is suspicious if a state of it is bad (`never`), if nothing was good in time or before its end
(`within`, `eventually`, `recurs`), or if it returns to a state since which nothing was good: then it can go
round for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import Move, State
from surefoot.reductions.refutation.witness import refuting_prefix
from surefoot.simulate.batch.conditions import BatchConditions, compile_batch_conditions
from surefoot.simulate.batch.model import BatchModel, BatchStep
from surefoot.simulate.batch.runs import BatchRuns, moves_of_run, rebuild_run
from surefoot.simulate.batch.state_columns import Names, rows_from_columns
from surefoot.term.columns import Truths
from surefoot.term.term import Term
from surefoot.verdict.verdict import Reason, Refused, Trace

MOST_TRIED = 8  # suspicions of a batch that are made again
_ODD = np.uint64(0x9E3779B97F4A7C15)


def watched_condition(problem: Problem) -> Term:
    """What a state is bad or good by."""
    match problem.property:
        case Never(condition) | Within(condition) | Eventually(condition) | Recurs(condition):
            return condition
        case other:
            raise AssertionError(other)


@dataclass(slots=True)
class Watch:
    """What has been seen of the runs of a batch."""

    problem: Problem
    conditions: BatchConditions
    count: int
    states: int = 0  # that were looked at, of each run
    good_until: NDArray[np.int64] = field(init=False)  # the number after that of the last good state
    hashes: list[NDArray[np.uint64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.good_until = np.zeros(self.count, dtype=np.int64)

    def look(self, state: Names, alive: Truths, step: BatchStep) -> NDArray[np.int64]:
        """The runs that have just become suspicious, before the step that leaves this state is taken."""
        found = self.conditions(state, step, self.count)
        holds, number = found.columns[0] & ~found.lost[0] & alive, self.states
        self.states += 1
        match self.problem.property:
            case Never(_, steps):
                return np.flatnonzero(holds if steps is None or number <= steps else np.zeros_like(holds))
            case Within(_, steps, after):
                if number >= after:
                    self.good_until[holds] = number + 1
                open_runs = alive & (self.good_until == 0) & ~found.lost[0]
                last = np.ones_like(alive) if number == steps else step.transition < 0
                return np.flatnonzero(open_runs & last)
            case Eventually() | Recurs():
                self.good_until[holds] = number + 1
                if self._goes_on_counting():
                    self.hashes.append(hash_rows(state, self.count))
                once = isinstance(self.problem.property, Eventually)
                open_runs = alive & ~holds & ((self.good_until == 0) if once else True)
                return np.flatnonzero(open_runs & (step.transition < 0))
        return np.zeros(0, dtype=np.int64)

    def _goes_on_counting(self) -> bool:
        return len(self.hashes) < 4096

    def returning(self) -> NDArray[np.int64]:
        """Runs that were twice in one state with nothing good in between."""
        if not self.hashes:
            return np.zeros(0, dtype=np.int64)
        table = np.array(self.hashes)
        order = np.argsort(table, axis=0, kind="stable")
        ordered = np.take_along_axis(table, order, axis=0)
        same = (ordered[1:] == ordered[:-1]) & (order[:-1] >= self.good_until)
        if isinstance(self.problem.property, Eventually):
            same &= self.good_until == 0
        return np.flatnonzero(same.any(axis=0))


def make_watch(problem: Problem, model: BatchModel, count: int) -> Watch:
    return Watch(problem, compile_batch_conditions(model, [watched_condition(problem)]), count)


def hash_rows(state: Names, count: int) -> NDArray[np.uint64]:
    """Equal rows have equal numbers; others hardly ever."""
    total = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in state.values():
            parts = column.reshape(count, -1)
            wide = parts.astype(np.float64) + 0.0 if parts.dtype.kind == "f" else parts.astype(np.int64)
            for part in np.ascontiguousarray(wide).view(np.uint64).T:
                total = (total ^ part) * _ODD
                total ^= total >> np.uint64(29)
    return total


def confirm_run(problem: Problem, runs: BatchRuns, row: int, steps: int) -> Trace | Refused:
    """The run by the reference as far as it violates the property, or why it does not."""
    start = next(iter(rows_from_columns(runs.start, problem.environment, [row])))
    states: list[State] = []
    moves: list[Move] = []
    for move, state in rebuild_run(problem, start, moves_of_run(runs, row, steps)):
        states.append(state)
        if move is not None:
            moves.append(move)
    if not states:
        return Refused(Reason.SPURIOUS, "it does not begin")
    return refuting_prefix(problem, Trace(tuple(states), tuple(moves)))


def confirm_first(problem: Problem, runs: BatchRuns, rows: NDArray[np.int64], steps: int) -> Iterator[Trace]:
    """Those of the suspicious runs that the reference confirms."""
    for row in rows[:MOST_TRIED]:
        if isinstance(found := confirm_run(problem, runs, int(row), steps), Trace):
            yield found
