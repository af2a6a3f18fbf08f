"""The runs are made: by one process or many, for one start or many, until every question has its answer.

Run number r of a start is the same run whoever makes it (`compile/simulation`), and questions consume runs in
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
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from surefoot.compile.simulation import Runs
from surefoot.engines.statistical.question import Cell, total
from surefoot.verdict.verdict import Reason
from surefoot.work.budget import Budget
from surefoot.work.child import Died
from surefoot.work.crew import Crew
from surefoot.work.run_directory import RunDirectory

_BATCH_SECONDS = 0.25
_LOOK_UP = 0.2  # seconds
_MOST = 1 << 18  # runs in a batch
_TELL_SECONDS = 0.5


@dataclass(slots=True)
class Pace:
    """How many runs a worker makes in a batch: more and more, as long as that takes no time."""

    limit: int = 1

    def learn(self, runs: int, seconds: float) -> None:
        fitting = _MOST if seconds <= 0 else int(runs * _BATCH_SECONDS / seconds)
        self.limit = max(1, min(_MOST, 4 * self.limit, fitting))


@dataclass(slots=True)
class Experiment:
    cells: list[Cell]
    seed: int
    budget: Budget
    crew: Crew
    directory: RunDirectory | None = None
    grow: Callable[[], Crew | None] | None = None  # asked once, where the work turns out to be large
    pace: Pace = field(default_factory=Pace)
    given: dict[int, tuple[int, int, int, float]] = field(default_factory=dict)
    tickets: int = 0

    def run(self) -> str:
        """Until all questions are answered (then it is "") or it ends sooner, and why."""
        try:
            return self._run()
        except KeyboardInterrupt:
            return Reason.INTERRUPTED.value
        except Died as why:
            return f"a worker process ended: {why}"
        except MemoryError:
            return Reason.MEMORY.value

    def _run(self) -> str:
        self._recall()
        waiting = deque(number for number, cell in enumerate(self.cells) if cell.open)
        told = started = monotonic()
        while waiting:
            if self.budget.spent():
                return Reason.TIMEOUT.value
            self._give(waiting)
            for ticket, runs in self.crew.answers(min(_LOOK_UP, self.budget.remaining())):
                self._arrived(ticket, runs)
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
            number, first = record.key
            self.cells[number].waiting[first] = _restored(*record.arrays)
        for cell in self.cells:
            cell.advance()
            cell.assigned = max(cell.assigned, cell.runs)

    def _give(self, waiting: deque[int]) -> None:
        """Every worker gets something to do."""
        for spare in (False, True):
            for _ in range(len(waiting)):
                if not self.crew.idle:
                    return
                number = waiting[0]
                waiting.rotate(-1)
                cell = self.cells[number]
                while cell.open and self.crew.idle and (count := self._wanted(cell, spare)):
                    first, gap = cell.next_gap()
                    count = count if gap is None else min(count, gap)
                    cell.assigned = first + count
                    self.tickets += 1
                    self.given[self.tickets] = (number, first, count, monotonic())
                    self.crew.ask(self.tickets, self.seed, cell.start, first, count)
                    if spare:
                        break

    def _wanted(self, cell: Cell, spare: bool) -> int:
        """How many runs more this question needs surely; `spare`: or will probably need."""
        first, _ = cell.next_gap()
        needed = cell.question.ahead(cell.state) - (first - cell.runs)
        some = 16 + cell.runs // 20
        if needed <= 0:
            return min(some, self.pace.limit) if spare else 0
        each = -(-needed // self.crew.size)
        return min(max(each, some), self.pace.limit)

    def _arrived(self, ticket: int, runs: Runs) -> None:
        number, first, count, since = self.given.pop(ticket)
        self.pace.learn(count, monotonic() - since)
        if self.directory is not None:
            rewards = (
                (runs.reward_low, runs.reward_high) if runs.reward_low.any() or runs.reward_high.any() else ()
            )
            self.directory.append((number, first), (runs.outcome, *rewards))
        self.cells[number].arrive(first, runs)

    def _tell(self, waiting: int) -> None:
        made = int(total(self.cells).sum())
        if len(self.cells) > 1:
            self.budget.progress(f"{made:,} runs; {waiting} of {len(self.cells)} starts are not precise yet")
        else:
            known = self.cells[0].question.interval(self.cells[0].state)
            ends = f"[{float(known.low):.4g}, {float(known.high):.4g}]"
            self.budget.progress(f"{made:,} runs; so far in {ends}")

    def _perhaps_grow(self, elapsed: float) -> None:
        if self.grow is None or elapsed < 2.0 or self.given:
            return
        made = max(1, int(total(self.cells).sum()))
        needed = sum(cell.question.ahead(cell.state) for cell in self.cells if cell.open)
        if needed / made * elapsed > 5.0:
            larger = self.grow()
            if larger is not None:
                self.crew.dismiss()
                self.crew = larger
        self.grow = None if needed / made * elapsed > 5.0 or elapsed > 30 else self.grow


def _restored(
    outcome: NDArray[np.int8], low: NDArray[np.float64] | None = None, high: NDArray[np.float64] | None = None
) -> Runs:
    """Runs from a record; rewards that are all 0 were not written, and the lengths of runs never are."""
    nothing = np.zeros(len(outcome))
    return Runs(
        outcome,
        np.zeros(len(outcome), dtype=np.int64),
        nothing if low is None else low,
        nothing if high is None else high,
    )
