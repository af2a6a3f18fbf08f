"""Many violating runs, drawn by chance: starts as they are drawn, what is left open equally likely.

Unlike the search for one violation nothing is steered, so that it means something how often a run passes a
state. Every run that is handed over has been made again by the reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from surefoot.engines.falsify.looking import property_steps
from surefoot.engines.falsify.suspicion import confirm_run
from surefoot.engines.falsify.watch import Watch, compile_watched, step_under_watch
from surefoot.problem.problem import Problem
from surefoot.problem.property import Within
from surefoot.problem.semantics import State
from surefoot.simulate.batch.model import Rows, make_batch_model
from surefoot.simulate.batch.numbers import RunNumbers
from surefoot.simulate.batch.runs import BatchRuns, begin_runs, moves_of_run
from surefoot.simulate.starts import StartSamples, prepare_starts
from surefoot.term.columns import Truths
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

LANES, STEPS = (64, 2048), (64, 2048)  # the first and the last batch
MOST_CELLS = 2**20  # runs times steps of a batch: they are remembered
PATIENCE = 3  # batches without a new violation, where all runs are known by their starts


@dataclass(slots=True)
class ViolationCollector:
    """`made`: runs that were drawn so far; `is_quiet`: several batches had no other start with one."""

    problem: Problem
    budget: Budget
    made: int = 0
    is_quiet: bool = False
    _seen: set[Hashable] = field(default_factory=set)

    def collect(self) -> Iterator[Trace]:
        """Runs that violate the property, as long as there is time."""
        rng = np.random.default_rng(self.budget.seed % 2**63)
        model, source = make_batch_model(self.problem), prepare_starts(self.problem.environment, rng)
        watched, bound = compile_watched(self.problem, model), property_steps(self.problem)
        lanes, steps, quiet = LANES[0], STEPS[0], 0
        while not self.budget.is_spent():
            length = steps if bound is None else min(bound, steps) if not self._has_deadline() else bound
            starts = source.draw(max(1, min(lanes, MOST_CELLS // (length + 1))), rng)
            numbers = RunNumbers(len(starts), rng, plain=True)
            runs = begin_runs(model, starts.columns)
            watch = Watch(self.problem, watched, len(starts))
            self.made += len(starts)
            before = len(self._seen)
            for start, trace in self._batch(starts, runs, watch, numbers, length):
                place = tuple(sorted(start.items()))  # the run may have been shortened
                if numbers.asked or place not in self._seen:
                    self._seen.add(place)
                    yield trace
            quiet = 0 if numbers.asked or len(self._seen) > before else quiet + 1
            if quiet >= PATIENCE:
                self.is_quiet = True
                return
            lanes, steps = min(4 * lanes, LANES[1]), min(2 * steps, STEPS[1])

    def _has_deadline(self) -> bool:
        return isinstance(self.problem.property, Within)

    def _batch(
        self, starts: StartSamples, runs: BatchRuns, watch: Watch, numbers: RunNumbers, steps: int
    ) -> Iterator[tuple[State, Trace]]:
        done = np.zeros(len(starts), dtype=np.bool_)
        for step in step_under_watch(runs, watch, numbers, steps):
            yield from self._confirm(starts, runs, step.suspicious, done)
            if self.budget.is_spent():
                break
        yield from self._confirm(starts, runs, watch.find_returning(), done)

    def _confirm(
        self,
        starts: StartSamples,
        runs: BatchRuns,
        rows: Rows,
        done: Truths,
    ) -> Iterator[tuple[State, Trace]]:
        for row in rows[~done[rows]].tolist():
            if self.budget.is_spent():
                return
            done[row] = True
            start = next(iter(starts.states(self.problem.environment, [row])))
            found = confirm_run(self.problem, start, moves_of_run(runs, row, len(runs.steps)), self.budget)
            if isinstance(found, Trace):
                yield start, found
