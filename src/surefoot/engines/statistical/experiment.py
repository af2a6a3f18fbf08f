"""The runs are made: by one process or many, for one start or many, until every question has its answer.

Run number r of a start is the same run whoever makes it (`simulate`), and questions consume runs in
the order of their numbers, so the answer does not depend on who was fast. In completion order it would: short
runs come first, and short runs are not like long ones.

The next runs go to the starts in turns, so that all of them know about the same when the time ends. A batch
is as large as the question needs in any case, but takes no more than a fraction of a second, so that somebody
looks at the clock. Beyond what is surely needed a few runs more are made, which may turn out superfluous.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.statistical.question import StartCell, total_counts
from surefoot.errors import InvalidProblem, SurefootError
from surefoot.simulate.path_property import UNDECIDED, RunOutcomes
from surefoot.verdict.verdict import Reason
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied
from surefoot.work.deadline import Late
from surefoot.work.run_directory import NotRecorded, RunDirectory, RunRecord
from surefoot.work.worker_pool import WorkerPool

_BATCH_SECONDS = 0.25
_LONG_BATCH_SECONDS = 1.0  # where more runs in a batch make a run cheaper
_CHEAPER = 0.75
_AHEAD = 64  # runs for each worker, and a quarter of what there is: made before they are surely needed
_LOOK_UP = 0.2  # seconds
_FEW = 64  # runs that are tried after a single one was fast
_MOST = 1 << 18  # runs in a batch
_TELL_SECONDS = 0.5
_PATIENCE = 2.0  # seconds before anybody thinks about more workers
_LONG = 5.0  # seconds of work that are worth starting them


@dataclass(frozen=True, slots=True)
class Prefix:
    """The runs of a batch up to the first that cannot be made, and why that is so; `cut`: the time ended
    while they were under way, and those that were not over by then are undecided.

    That is sound whichever they are: an interval covers both ends that they may come to.
    """

    runs: RunOutcomes
    error: SurefootError | None = None
    cut: bool = False


MakeRuns: TypeAlias = Callable[[int, int | None, int, int, float], RunOutcomes]  # …, until when


def run_prefixes(make: MakeRuns) -> Callable[..., Prefix]:
    """A run that cannot be made matters only if its turn comes: whatever precedes it is kept."""

    def make_prefix(seed: int, start: int | None, first: int, count: int, until: float) -> Prefix:
        try:
            made = make(seed, start, first, count, until)
            missing = len(made.outcome) < count or bool(made.count(UNDECIDED))
            return Prefix(made, cut=missing and monotonic() >= until)
        except SurefootError as error:
            if count == 1:
                return Prefix(_restore_runs(np.empty(0, dtype=np.int8)), error)
        half = count // 2
        before = make_prefix(seed, start, first, half, until)
        if before.error is not None or before.cut:
            return before
        after = make_prefix(seed, start, first + half, count - half, until)
        return Prefix(_concatenate_runs(before.runs, after.runs), after.error, after.cut)

    return lambda seed, start, first, count, seconds: make_prefix(
        seed, start, first, count, monotonic() + seconds
    )


@dataclass(slots=True)
class Pace:
    """How many runs of a start make a batch: more and more, as long as that takes no time."""

    together: int = 1  # so many runs take hardly longer than one
    limit: int = field(init=False)
    price: float = inf  # seconds of a run, in the batch in which it was lowest

    def __post_init__(self) -> None:
        self.limit = self.together

    def learn(self, runs: int, seconds: float) -> None:
        fitting = _MOST if seconds <= 0 else int(runs * _BATCH_SECONDS / seconds)
        if seconds < _BATCH_SECONDS and self.together > 1:
            fitting = max(fitting, 4 * runs)  # runs in step: the first ones cost most
        if seconds < _LONG_BATCH_SECONDS and seconds / runs < _CHEAPER * self.price:
            fitting = max(fitting, 2 * runs)  # where a policy is asked for many runs at once
        self.price = min(self.price, seconds / runs)
        self.limit = max(self.together, min(_MOST, max(4 * self.limit, _FEW), fitting))


@dataclass(slots=True)
class Experiment:
    cells: list[StartCell]
    seed: int
    budget: Budget
    crew: WorkerPool
    directory: RunDirectory | None = None
    together: int = 1
    grow: Callable[[], WorkerPool | None] | None = None  # asked once, where the work turns out to be large
    paces: dict[int, Pace] = field(default_factory=dict)  # by cell
    given: dict[int, tuple[int, int, int, float]] = field(default_factory=dict)
    tickets: int = 0

    def execute(self) -> str:
        """Until all questions are answered (then it is "") or it ends sooner, and why."""
        try:
            return self._execute()
        except Late:
            return Reason.TIMEOUT.value
        except KeyboardInterrupt:
            return Reason.INTERRUPTED.value
        except WorkerDied as why:
            return f"a worker process ended: {why}"
        except MemoryError:
            return Reason.MEMORY.value
        except NotRecorded as why:  # what is known is told; going on without a record is not what was asked
            return str(why)

    def _execute(self) -> str:
        self._recall()
        waiting = deque(number for number, cell in enumerate(self.cells) if cell.open)
        told = started = monotonic()
        while waiting:
            if self.budget.is_spent():
                return Reason.TIMEOUT.value
            self._give(waiting)
            answers = self.crew.answers(min(_LOOK_UP, self.budget.remaining()))
            for ticket, made in answers:
                self._receive_batch(ticket, made)
            if any(made.cut for _, made in answers):
                return Reason.TIMEOUT.value
            while waiting and not self.cells[waiting[0]].open:
                waiting.popleft()
            if monotonic() - told >= _TELL_SECONDS:
                waiting = deque(number for number in waiting if self.cells[number].open)
                told = monotonic()
                self._tell(len(waiting))
                self._perhaps_grow(monotonic() - started)
        return ""

    def _recall(self) -> None:
        """What a run directory knows already."""
        for record in self.directory.records if self.directory else ():
            if not _is_batch(record, len(self.cells)):
                raise InvalidProblem("the results in the run directory are no runs", fix="remove its files")
            number, first = record.key
            self.cells[number].keep(first, _restore_runs(*record.arrays))
        for cell in self.cells:
            cell.advance()

    def _give(self, waiting: deque[int]) -> None:
        """Every worker gets something to do."""
        for spare in (False, True):
            for _ in range(len(waiting)):
                if not self.crew.idle:
                    return
                number = waiting[0]
                waiting.rotate(-1)
                cell = self.cells[number]
                while cell.open and self.crew.idle and (count := self._wanted_runs(number, spare)):
                    first, gap = cell.next_gap()
                    count = count if gap is None else min(count, gap)
                    cell.assigned = first + count
                    self.tickets += 1
                    self.given[self.tickets] = (number, first, count, monotonic())
                    seconds = max(0.0, self.budget.remaining() - _LOOK_UP)
                    self.crew.ask(self.tickets, self.seed, cell.start, first, count, seconds)
                    if spare:
                        break

    def _wanted_runs(self, number: int, spare: bool) -> int:
        """How many runs more this question needs surely; `spare`: or will probably need."""
        cell, pace = self.cells[number], self.paces.setdefault(number, Pace(self.together))
        first, _ = cell.next_gap()
        needed = cell.question.ahead(cell.state) - (first - cell.runs)
        some = 16 + cell.runs // 20
        if needed <= 0:  # others may wait long for somebody's batch: not without end ahead of it
            near = -needed < cell.runs // 4 + _AHEAD * self.crew.size
            return min(some, pace.limit) if spare and near else 0
        each = -(-needed // self.crew.size)
        return min(max(each, some), pace.limit)

    def _receive_batch(self, ticket: int, made: Prefix) -> None:
        number, first, count, since = self.given.pop(ticket)
        runs = made.runs
        self.paces[number].learn(count, monotonic() - since)
        if self.directory is not None and len(runs.outcome) and not made.cut:
            rewards = (
                (runs.reward_low, runs.reward_high) if runs.reward_low.any() or runs.reward_high.any() else ()
            )
            self.directory.append((number, first), (runs.outcome, *rewards))
        if made.error is not None:
            self.cells[number].errors[first + len(runs.outcome)] = made.error
        self.cells[number].arrive(first, runs)

    def _tell(self, waiting: int) -> None:
        made = int(total_counts(self.cells).sum())
        if len(self.cells) > 1:
            self.budget.progress(f"{made:,} runs; {waiting} of {len(self.cells)} starts are not precise yet")
        else:
            known = self.cells[0].question.interval(self.cells[0].state)
            ends = f"[{float(known.low):.4g}, {float(known.high):.4g}]"
            self.budget.progress(f"{made:,} runs; so far in {ends}")

    def _perhaps_grow(self, elapsed: float) -> None:
        """More workers, once, if what is needed in any case will take long."""
        if self.grow is None or elapsed < _PATIENCE or self.given:
            return
        made = max(1, int(total_counts(self.cells).sum()))
        needed = sum(cell.question.ahead(cell.state) for cell in self.cells if cell.open)
        if needed / made * elapsed > _LONG:
            larger, self.grow = self.grow(), None
            if larger is not None:
                self.crew.dismiss()
                self.crew = larger


def _is_batch(record: RunRecord, cells: int) -> bool:
    """Has it the form that `append` was given? Checksums tell what was torn, not what was made up."""
    if len(record.key) != 2 or not (0 <= record.key[0] < cells and record.key[1] >= 0):
        return False
    outcome, *rewards = record.arrays or (np.empty(0),)
    kinds = outcome.dtype == np.int8 and all(r.dtype == np.float64 for r in rewards)
    alike = len(rewards) in (0, 2) and all(r.shape == outcome.shape for r in rewards)
    return bool(kinds and alike and outcome.ndim == 1 and outcome.size and np.isin(outcome, range(5)).all())


def _restore_runs(
    outcome: NDArray[np.int8], low: NDArray[np.float64] | None = None, high: NDArray[np.float64] | None = None
) -> RunOutcomes:
    """Runs from a record; rewards that are all 0 were not written, and the lengths of runs never are."""
    nothing = np.zeros(len(outcome))
    return RunOutcomes(
        outcome,
        np.zeros(len(outcome), dtype=np.int64),
        nothing if low is None else low,
        nothing if high is None else high,
    )


def _concatenate_runs(one: RunOutcomes, other: RunOutcomes) -> RunOutcomes:
    columns = ("outcome", "steps", "reward_low", "reward_high")
    return RunOutcomes(*(np.concatenate([getattr(one, name), getattr(other, name)]) for name in columns))
