"""Several runs that violate a property: the shortest that was found, and others that differ from it.

Random runs are made in step until some violate the property; of these the ones are taken that are farthest
from those taken before, by where they start and where they end. Where chance meets none, the search of
`falsify` goes on. Every run is made by the reference semantics and replayed with zero tolerance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.engines.falsify.suspicion import confirm_run
from surefoot.engines.falsify.watch import Watch, compile_watched, step_under_watch
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Within
from surefoot.problem.semantics import Move, State
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.simulate.batch.model import BatchModel, make_batch_model
from surefoot.simulate.batch.numbers import RunNumbers
from surefoot.simulate.batch.runs import BatchRuns, begin_runs, moves_of_run
from surefoot.simulate.batch.state_columns import Names, columns_from_rows
from surefoot.simulate.starts import StartSamples, prepare_starts
from surefoot.verdict.verdict import Reason, Result, Trace, Unknown, Violated, trace_key
from surefoot.work.budget import Budget

Features = NDArray[np.float64]
MOST_SECONDS = 10.0  # for all further witnesses
LANES, BATCHES = 512, 6
LONGEST, MOST_CELLS = 4096, 2**20
SHORTEST_TRIED = 4  # suspicions of a batch that may be shorter than the shortest run so far
AHEAD = 4  # times as many suspicions are made again as witnesses are missing
_STREAM = 2026  # of random numbers: others than those of the engine
END_WEIGHT = 0.5  # of where a run ends, beside where it starts


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A run in columns that seems to violate the property, made by the reference when it is asked for."""

    runs: BatchRuns
    starts: StartSamples
    row: int
    steps: int  # before it was seen
    features: Features

    def start(self, problem: Problem) -> State:
        return next(iter(self.starts.states(problem.environment, [self.row])))

    def moves(self) -> list[Move]:
        return moves_of_run(self.runs, self.row, self.steps)


def with_witnesses(problem: Problem, result: Result, count: int, budget: Budget) -> Result:
    """A violation with up to so many runs that show it, the shortest of them first; others as they are.

    How many were found is said where it is fewer.
    """
    verdict = result.verdict
    if not isinstance(verdict, Violated) or not result.certified:
        return result
    if verdict.trace.recurrence or verdict.trace.times:
        what = "in continuous time" if verdict.trace.times else "that stay in a set of states"
        note = f"there is one witness: others of runs {what} are not looked for"
        return replace(
            result, witnesses=(verdict.trace,), notes=(*result.notes, note) if count > 1 else result.notes
        )
    seconds = min(MOST_SECONDS, budget.remaining())
    search = _WitnessSearch(problem, verdict.trace, count, budget.begin_part(seconds))
    found, why = search.find() if count > 1 else ((verdict.trace,), "")
    notes = result.notes
    if len(found) < count:
        notes = (*notes, f"{len(found)} of {count} witnesses that were asked for: {why}")
    if len(found[0].moves) < len(verdict.trace.moves):
        verdict = replace(verdict, trace=found[0])
    taken = budget.elapsed_seconds()
    return replace(
        result,
        verdict=verdict,
        witnesses=found,
        notes=notes,
        seconds=max(result.seconds, taken),
        timings={**result.timings, "witnesses": search.budget.elapsed_seconds()},
    )


class _WitnessSearch:
    def __init__(self, problem: Problem, first: Trace, count: int, budget: Budget) -> None:
        self.executed = discretise(problem)
        self.problem = end_at_goal(self.executed)
        self.first, self.count, self.budget = first, count, budget
        self.found: dict[Hashable, Trace] = {trace_key(first): first}

    def find(self) -> tuple[tuple[Trace, ...], str]:
        """Witnesses, the shortest first, and why there are no more."""
        why = Falsify().objection(self.problem)
        if why is None:
            try:
                self._look_by_chance()
                if len(self.found) < self.count:
                    why = self._look_by_search()
            except SurefootError as error:
                why = str(error)
            except KeyboardInterrupt:
                why = "interrupted by the user"
        return self._choose(), why or "no others were found in time"

    def _choose(self) -> tuple[Trace, ...]:
        """The shortest, then those farthest from what was taken before."""
        all_found = list(self.found.values())
        shortest = min(all_found, key=lambda trace: len(trace.moves))
        others = [trace for trace in all_found if trace is not shortest]
        points = self._points([shortest, *others])
        order = spread_order(points[1:], points[:1], self.count - 1)
        return (shortest, *(others[place] for place in order))

    def _points(self, traces: list[Trace]) -> Features:
        environment = self.problem.environment
        first = columns_from_rows([t.states[0] for t in traces], environment)
        last = columns_from_rows([t.states[-1] for t in traces], environment)
        return _scale_columns(np.hstack([_flat(first), _flat(last)]), _flat(first).shape[1])

    def _accept(self, found: object) -> bool:
        """Keep a run of the reference that is new and replays."""
        if not isinstance(found, Trace) or trace_key(found) in self.found:
            return False
        if replay(self.executed, found) is not None:
            return False
        self.found[trace_key(found)] = found
        self.budget.progress(f"witnesses: {len(self.found)}")
        return True

    def _look_by_chance(self) -> None:
        """Batches of random runs; of those that violate it some that differ are made by the reference."""
        rng = np.random.default_rng((self.budget.seed % 2**63, _STREAM))
        model = make_batch_model(self.problem)
        for number in range(BATCHES):
            suspects = self._suspects(model, rng, number)
            shortest = min(len(t.moves) for t in self.found.values())
            for one in sorted(suspects, key=lambda s: s.steps)[:SHORTEST_TRIED]:
                if one.steps < shortest and not self.budget.is_spent():
                    self._confirm(one)
            if suspects:
                points = np.array([one.features for one in suspects])
                missing = AHEAD * (self.count - len(self.found)) + 2
                for place in spread_order(points, points[:0], min(missing, len(points))):
                    if self.budget.is_spent() or len(self.found) >= 2 * self.count:
                        break
                    self._confirm(suspects[place])
            if self.budget.is_spent() or len(self.found) >= self.count:
                return

    def _confirm(self, one: _Suspect) -> bool:
        found = confirm_run(self.problem, one.start(self.problem), one.moves(), self.budget)
        return self._accept(found)

    def _suspects(self, model: BatchModel, rng: np.random.Generator, number: int) -> list[_Suspect]:
        """The runs of one batch that seem to violate the property."""
        problem = self.problem
        steps = self._steps()
        lanes = min(LANES, max(8, MOST_CELLS // (steps + 1)))
        starts = prepare_starts(problem.environment, rng, corners=number % 3 == 2).draw(lanes, rng)
        runs = begin_runs(model, starts.columns)
        watch = Watch(problem, compile_watched(problem, model), lanes)
        numbers = RunNumbers(lanes, rng, plain=number % 2 == 0)
        seen: dict[int, tuple[int, Features]] = {}
        for step in step_under_watch(runs, watch, numbers, steps, by_probability=number % 2 == 0):
            for row in step.suspicious:
                if int(row) not in seen:
                    place = int(np.searchsorted(step.rows, row))
                    ending = {n: c[place : place + 1] for n, c in step.state.items()}
                    seen[int(row)] = step.number, _flat(ending)[0]
            if self.budget.is_spent():
                break
        ends = _flat(runs.state)
        for row in np.intersect1d(watch.find_returning(), runs.rows):  # others are over
            seen.setdefault(int(row), (len(runs.steps), ends[int(np.searchsorted(runs.rows, row))]))
        if not seen:
            return []
        begun = _flat(starts.columns)
        joined = np.array([np.concatenate([begun[row], end]) for row, (_, end) in seen.items()])
        points = _scale_columns(joined, begun.shape[1])
        return [
            _Suspect(runs, starts, row, step, point)
            for (row, (step, _)), point in zip(seen.items(), points, strict=True)
        ]

    def _steps(self) -> int:
        asked = getattr(self.problem.property, "steps", None)
        if isinstance(self.problem.property, Within):
            return min(self.problem.property.steps, LONGEST)
        wanted = 2 * len(self.first.moves) + 16
        return min(wanted if asked is None else min(wanted, asked), LONGEST)

    def _look_by_search(self) -> str | None:
        """The engine that looks for violations, as long as it finds new ones."""
        looking, doubts = Falsify().begin(self.problem, self.budget.seed + 1), 0
        quiet = Budget(self.budget.remaining(), self.budget.seed)  # it would say that nothing was found
        while len(self.found) < self.count:
            verdict = looking.check(self.problem, quiet)
            if not isinstance(verdict, Violated):
                late = isinstance(verdict, Unknown) and verdict.reason is Reason.TIMEOUT
                return None if late or not isinstance(verdict, Unknown) else f"of all others {verdict.detail}"
            doubts = 0 if self._accept(verdict.trace) else doubts + 1
            if doubts > 50 * self.count:
                return "the others that were found are the same"
        return None


def _flat(columns: Names) -> Features:
    """Every row as numbers."""
    parts = [np.asarray(c, dtype=np.float64).reshape(len(c), -1) for c in columns.values()]
    return np.hstack(parts) if parts else np.zeros((0, 0))


def _scale_columns(points: Features, of_starts: int) -> Features:
    """By the spread of each column; those after the starts weigh less."""
    spread = np.ptp(points, axis=0) if len(points) else np.ones(points.shape[1])
    scaled = np.where(spread > 0, (points - points.min(axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
    scaled[:, of_starts:] *= END_WEIGHT
    return np.asarray(np.nan_to_num(scaled))


def spread_order(points: Features, taken: Features, count: int) -> Iterator[int]:
    """So many of the points, each as far as possible from all before it (Gonzalez)."""
    if not len(points):
        return
    if len(taken):
        nearest = np.min([np.linalg.norm(points - one, axis=1) for one in taken], axis=0)
    else:  # begin in the middle
        nearest = -np.linalg.norm(points - np.median(points, axis=0), axis=1)
    free = np.ones(len(points), dtype=np.bool_)
    for number in range(min(count, len(points))):
        place = int(np.argmax(np.where(free, nearest, -np.inf)))
        free[place] = False
        yield place
        distance = np.linalg.norm(points - points[place], axis=1)
        nearest = distance if number == 0 and not len(taken) else np.minimum(nearest, distance)
