"""What is seen of runs in columns, and which of them are suspicious.

A run is suspicious if a state of it is bad (`never`), if nothing was good in time or before its end
(`within`, `eventually`, `recurs`), or if it returns to a state since which nothing was good: then it can go
round for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.simulate.batch.conditions import BatchConditions, compile_batch_conditions
from surefoot.simulate.batch.model import ENDED, BatchModel, BatchStep, Rows
from surefoot.simulate.batch.numbers import Numbers, numbers_of_rows
from surefoot.simulate.batch.runs import BatchRuns
from surefoot.simulate.batch.state_columns import Names
from surefoot.term.columns import Truths
from surefoot.term.term import Term

NOBODY: Rows = np.zeros(0, dtype=np.int64)
_ODD = np.uint64(0x9E3779B97F4A7C15)


def watched_condition(problem: Problem) -> Term:
    """What a state is bad or good by."""
    match problem.property:
        case Never(condition) | Within(condition) | Eventually(condition) | Recurs(condition):
            return condition
        case other:
            raise AssertionError(other)


def compile_watched(problem: Problem, model: BatchModel) -> BatchConditions:
    return compile_batch_conditions(model, [watched_condition(problem)])


@dataclass(slots=True)
class Watch:
    """What has been seen of so many runs. Rows of a step are runs; `rows` has their numbers."""

    problem: Problem
    conditions: BatchConditions
    count: int
    states: int = 0  # that were looked at, of each run
    good_until: NDArray[np.int64] = field(init=False)  # the number after that of the last good state
    first_good: NDArray[np.int64] = field(init=False)  # -1: none yet
    quiet: NDArray[np.int64] = field(init=False)  # most states in a row of which none was good
    hashes: list[NDArray[np.uint64]] = field(default_factory=list)
    good: list[Truths] = field(default_factory=list)  # beside each of them

    def __post_init__(self) -> None:
        self.good_until = np.zeros(self.count, dtype=np.int64)
        self.first_good = np.full(self.count, -1)
        self.quiet = np.zeros(self.count, dtype=np.int64)

    def look(self, state: Names, alive: Truths, rows: Rows, step: BatchStep) -> Rows:
        """The runs that have just become suspicious, before the step that leaves this state is taken."""
        found = self.conditions(state, step, len(rows))
        known, number = alive & ~found.lost[0], self.states
        holds = found.columns[0] & known
        self.states += 1
        asked = self.problem.property
        if isinstance(asked, Never):
            inside = asked.steps is None or number <= asked.steps
            return rows[holds] if inside else NOBODY
        after = asked.after if isinstance(asked, Within) else 0
        if number >= after and holds.any():
            self._note_good(rows[holds], number)
        ended = (step.transition == ENDED) & ~step.lost & known
        if isinstance(asked, Within):
            over = known if number == asked.steps else ended
            return np.asarray(rows[over & (self.first_good[rows] < 0)])
        self._note_hashes(state, alive, rows, holds)
        quiet = np.asarray(ended & ~holds)
        return rows[quiet if isinstance(asked, Recurs) else quiet & (self.first_good[rows] < 0)]

    def _note_good(self, rows: Rows, number: int) -> None:
        self.quiet[rows] = np.maximum(self.quiet[rows], number - self.good_until[rows])
        self.good_until[rows] = number + 1
        self.first_good[rows] = np.where(self.first_good[rows] < 0, number, self.first_good[rows])

    def _note_hashes(self, state: Names, alive: Truths, rows: Rows, holds: Truths) -> None:
        """Runs that are over get numbers that never come back."""
        place = len(self.hashes)
        column = np.arange(place * self.count, (place + 1) * self.count, dtype=np.uint64)
        column[rows[alive]] = hash_rows({n: c[alive] for n, c in state.items()}, int(alive.sum()))
        self.hashes.append(column)
        good = np.ones(self.count, dtype=np.bool_)
        good[rows[alive]] = holds[alive]
        self.good.append(good)

    def find_returning(self) -> Rows:
        """Runs that were twice in one state with nothing good in between, the soonest first."""
        if len(self.hashes) < 2:
            return NOBODY
        table = np.array(self.hashes)
        order = np.argsort(table, axis=0, kind="stable")
        ordered = np.take_along_axis(table, order, axis=0)
        same = (ordered[1:] == ordered[:-1]) & (order[:-1] >= self.good_until)
        if isinstance(self.problem.property, Eventually):
            same &= self.first_good < 0
        back = np.where(same, order[1:], len(table)).min(axis=0)
        rows = np.flatnonzero(back < len(table))
        return rows[np.argsort(back[rows], kind="stable")]


@dataclass(frozen=True, slots=True)
class WatchedStep:
    """States of runs, the step that leaves them, and which of the runs are suspicious there."""

    number: int
    state: Names
    alive: Truths
    rows: Rows  # the numbers of these runs
    made: BatchStep
    suspicious: Rows


def step_under_watch(
    runs: BatchRuns, watch: Watch, numbers: Numbers, steps: int, *, by_probability: bool = True
) -> Iterator[WatchedStep]:
    """So many steps of a batch, as long as a run is alive; runs that are over are dropped on the way."""
    for number in range(steps + 1):
        state, alive, rows = runs.state, runs.alive.copy(), runs.rows
        numbers.step = number
        made = runs.advance(numbers_of_rows(numbers, rows), by_probability=by_probability)
        yield WatchedStep(number, state, alive, rows, made, watch.look(state, alive, rows, made))
        if not runs.alive.any():
            return
        if 2 * runs.alive.sum() < runs.count:
            runs.drop_dead()


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


class RunCount(Protocol):
    """How many runs were made, of how many that are asked for; None: of any number."""

    runs: int | None
    made: int


def limit_runs(looking: RunCount, lanes: int) -> int:
    """How many of so many runs may still be made."""
    return lanes if looking.runs is None else max(0, min(lanes, looking.runs - looking.made))
