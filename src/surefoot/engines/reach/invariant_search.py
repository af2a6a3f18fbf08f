"""Sets that runs stay in for ever, found beside the starts: boxes whose cells all come back into the boxes.

Each proposal is a search of its own; they take turns, which become longer. Once all cells of one are back its
boxes are regions that are closed, and cells of the starts may end in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.engines.reach.certificate_tree import region_trees_to_json
from surefoot.engines.reach.flow_step import watch_condition
from surefoot.engines.reach.invariant_boxes import (
    Boxes,
    Proposal,
    RunSampler,
    StartRuns,
    do_starts_return,
    grow_to_sets,
    propose_boxes,
    regions_of,
    sample_starts,
)
from surefoot.engines.reach.search import (
    Cell,
    CellSearch,
    begin_search,
    close_regions,
    have_other_states,
    search_cells,
)
from surefoot.engines.reach.start_regions import Region
from surefoot.engines.reach.walk import NOT_BACK, LoopWalk
from surefoot.work.budget import Budget
from surefoot.work.task_pool import TaskPool

FIRST_SLICE, PROPOSING = 0.3, 5.0  # seconds for each proposal, and for making one
GROWTHS = 4  # of a proposal to what its cells reach, with the proposal itself


@dataclass(frozen=True, slots=True)
class ClosedRegion:
    """A box, and how each of its cells comes back, as a certificate has it; regions are numbered from 0."""

    region: Region
    tree: Any


@dataclass(slots=True, eq=False)
class InvariantSearch:
    """What was proposed so far, and which proposals are still followed."""

    walk: LoopWalk
    starts: list[Region]
    prepare: Callable[[CellSearch, Budget], None]  # how finely cells are followed
    seed: int = 0
    since: Fraction = Fraction(0)  # when bad states of runs from the starts begin to count
    pool: TaskPool | None = None  # who follows cells
    budget: Budget = field(default_factory=Budget)  # of this turn
    sampler: RunSampler | None = None
    cut: bool = False  # boxes of starts hold other states
    returning: bool | None = None  # do runs come back into the starts by themselves?
    runs: StartRuns | None = None
    tried: list[CellSearch] = field(default_factory=list)
    boxes: list[Boxes] = field(default_factory=list)  # that were proposed
    proposed: int = 0
    proposals: Iterator[Proposal | None] | None = None
    patience: float = PROPOSING
    until: float = np.inf  # looking at runs for the next proposal ends then
    hurried: bool = False  # some proposal was not made as there was no time
    exhausted: bool = False
    closed: list[ClosedRegion] = field(default_factory=list)
    slice: float = FIRST_SLICE
    turn: int = 0  # place in `tried`; behind its end a new proposal is made

    @property
    def words(self) -> str:
        """For those who wait, and for the answer."""
        if self.closed:
            boxes = "a box" if len(self.closed) == 1 else f"{len(self.closed)} boxes"
            return f"{boxes} that runs do not leave for ever found"
        if self.runs is not None and self.runs.violated:
            return "a run that was looked at seems to be bad"
        tried = "1 was" if self.proposed == 1 else f"{self.proposed} were"
        return f"no box that all runs come back into found, {tried} tried"

    @property
    def can_go_on(self) -> bool:
        return not self.closed and not (self.exhausted and not any(s.can_go_on for s in self.tried))

    def go_on(self, budget: Budget, seconds: float) -> None:
        """For so long, or until the boxes of a proposal are closed."""
        self.budget, end = budget, budget.elapsed_seconds() + seconds
        while self.can_go_on and not budget.is_spent() and budget.elapsed_seconds() < end:
            if self.turn == len(self.tried) and not self.exhausted:
                self._begin_next(budget)
                continue
            if self.turn >= len(self.tried):
                self.turn, self.slice = 0, 2 * self.slice
                continue
            search = self.tried[self.turn]
            self.turn += 1
            search_cells(search, budget, seconds=self.slice)
            if search.done:
                self._keep_closed(search)

    def _begin_next(self, budget: Budget) -> None:
        if self.proposals is None:
            self.proposals = self._propose(budget)
        self.until = budget.elapsed_seconds() + self.patience
        try:
            proposal = next(self.proposals)
        except StopIteration:
            self.exhausted = not self.hurried
            self.proposals, self.hurried, self.patience = None, False, 4 * self.patience
            return
        if proposal is None:
            return
        assert self.runs is not None
        regions: list[Region] | None = regions_of(self.walk, proposal, self.runs.fixed, self.starts)
        self.proposed += 1
        for _ in range(GROWTHS):
            if regions is None or budget.is_spent():
                break
            search = begin_search(self.walk, regions, None)
            search.pool = self.pool or search.pool
            search.most_periods = proposal.periods
            close_regions(search)
            self.prepare(search, budget)
            search_cells(search, budget, rounds=1)
            self.tried.append(search)
            if search.done:
                self._keep_closed(search)
                return
            regions = _grow_regions(search)

    def look_at_returns(self, budget: Budget) -> bool:
        if self.returning is None:
            self.budget, sampler = budget, self._prepare_sampler(budget)
            self.until = budget.elapsed_seconds() + PROPOSING
            self.returning = not self.cut and do_starts_return(sampler, self.starts)
        return self.returning

    def _prepare_sampler(self, budget: Budget) -> RunSampler:
        if self.sampler is None:
            first = begin_search(
                self.walk, self.starts, watch_condition(self.walk.loop, self.walk.loop.initial)
            )
            self.prepare(first, budget)
            self.cut = have_other_states(first)

            def stop() -> bool:
                late = self.budget.elapsed_seconds() > self.until
                self.hurried |= late
                return late or self.budget.is_spent()

            self.sampler = RunSampler(self.walk, first.options, np.random.default_rng(self.seed), stop)
        return self.sampler

    def _propose(self, budget: Budget) -> Iterator[Proposal | None]:
        sampler = self._prepare_sampler(budget)
        if self.runs is None:
            self.runs = sample_starts(sampler, self.starts, self.since)
        if not self.runs.violated:
            yield from propose_boxes(sampler, self.runs, self.boxes)

    def _keep_closed(self, search: CellSearch) -> None:
        trees = region_trees_to_json(search, len(self.starts))
        self.closed = [ClosedRegion(r, tree) for r, tree in zip(search.regions, trees, strict=True)]


def _grow_regions(search: CellSearch) -> list[Region] | None:
    """Around what whole boxes reach, if nothing else is against it."""
    whole = search.roots
    if search.returns is None or len(search.returns.bounds) != len(whole):
        return None
    if any(cell.failure is not None and cell.failure.why != NOT_BACK for cell in whole):
        return None
    failed = [n for n, cell in enumerate(whole) if cell.failure is not None]
    reached = [search.returns.bounds[n] for n in failed]
    return grow_to_sets(search.walk, search.regions, [r for r in reached if r is not None])


def add_closed_regions(search: CellSearch, closed: Sequence[ClosedRegion]) -> None:
    """Cells of the starts may end in these from now on."""
    names = search.walk.loop.variables
    for one in closed:
        low, high = (tuple(one.region.box[v][side] for v in names) for side in (0, 1))
        search.roots.append(Cell(len(search.roots), low, high, way=one.tree))
        search.regions.append(one.region)
        search.leave_out = True
    close_regions(search)
