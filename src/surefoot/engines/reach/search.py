"""Cells in batches: those that fail are halved, along the variable that matters for what may be violated.

A cell is done when its whole way is: to the horizon, to the goal, or (for ever) back into a region that is
closed in the same way. The options of a walk (sub-steps, order of the series, symbols) are tried on the whole
start first, and made finer where cells do not get further by being halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, inf
from time import monotonic
from typing import Any

import numpy as np

from surefoot.engines.reach.decision_forms import enumerate_decisions
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.flow_step import WatchedCondition, measure_remainder, take_sub_step
from surefoot.engines.reach.start_regions import CellReturns, Corner, Region, RegionBoxes, list_constants
from surefoot.engines.reach.symbols import absorb_radii, forms_of_box
from surefoot.engines.reach.tubes import Key, Tube, TubeGrid, TubeRecorder, TubeStore
from surefoot.engines.reach.walk import (
    LATER,
    NO_ROOM,
    NOT_BACK,
    Failure,
    LoopWalk,
    TreeNode,
    walk_cells,
)
from surefoot.engines.reach.walk_options import MOST_HALVINGS, WalkOptions
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.reductions.loop_question import LoopQuestion
from surefoot.work.budget import Budget
from surefoot.work.task_pool import TaskPool

FIRST_BATCH, MOST_TOGETHER = 16, 512  # cells that are followed together
SHORT, LONG, SHARE = 0.4, 6.0, 1 / 8  # seconds that a batch may take, and of the time that is left
MOST_CELLS = 200_000
MOST_CUT = 8  # variables of which all corners are looked at
FEWEST_BETWEEN, MOST_BETWEEN = 4, 4  # cells that make sub-steps shorter, and sub-steps of a period for that
PATIENCE = 1.0  # seconds in cells before there are other processes
LONGEST = 1e8  # seconds
PARTS, LEAST_PART = 8, 16  # of a round, which are followed apart from each other, and the fewest cells of one


def fit_halvings(walk: LoopWalk, forms: Array, options: WalkOptions, loosest: float) -> WalkOptions:
    """So many parts for networks that little of the sets after the first period comes from them."""
    while options.halvings < MOST_HALVINGS:
        record, _ = walk_cells(walk, forms, options, most_periods=1)
        if record.looseness <= loosest:
            break
        options = replace(options, halvings=options.halvings + 1)
    return options


def fit_options(walk: LoopWalk, forms: Array, options: WalkOptions, tolerance: float) -> WalkOptions:
    """The cheapest order of series and number of sub-steps that leave out little of the first period."""
    if walk.flow is None:
        return options
    decision = next(enumerate_decisions(walk.decisions, forms, options.halvings))
    if not decision.good.any():
        return options
    state, count = decision.state[decision.good], forms.shape[1]
    both = absorb_radii(np.concatenate([state, decision.controls[decision.good]], 1))
    tried = sorted((p * k * k, k, p) for p in (1, 2, 4, 8, 16, 32, 64) for k in range(3, 9))
    for _, taylor, pieces in tried:
        length = float(walk.loop.period) / pieces
        step = take_sub_step(walk.flow, both[:, :count], both[:, count:], length, taylor)
        if step.good.all() and measure_remainder(step) * pieces <= tolerance:
            return replace(options, taylor=taylor, pieces=pieces)
    return options


@dataclass(slots=True, eq=False)
class Cell:
    """A box of a region; `tree` once it is done, `halves` where it was split along `split`."""

    region: int
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    path: int = 1  # from the region: 1, then 0 or 1 for each half
    split: int = -1
    halves: tuple[Cell, Cell] | None = None
    tree: TreeNode | None = None
    options: Sequence[WalkOptions] = ()  # period by period
    way: list[Any] | None = None  # as a certificate has it, where an earlier run has followed it
    outside: bool = False
    failure: Failure | None = None
    parent_failure: Failure | None = None

    @property
    def key(self) -> Key:
        return self.region, self.path

    def forget(self) -> None:
        """What was found out about it."""
        self.split, self.halves, self.tree, self.options = -1, None, None, ()
        self.outside, self.failure, self.way = False, None, None


@dataclass(slots=True, eq=False)
class CellSearch:
    """What is known so far: trees of cells below each region, and those that are open."""

    walk: LoopWalk
    regions: list[Region]
    roots: list[Cell]
    waiting: list[Cell]
    options: WalkOptions = field(default_factory=WalkOptions)
    usual: WalkOptions = field(default_factory=WalkOptions)  # at first: what is not said in a certificate
    tolerance: float | None = None  # of what series leave out
    loosest: float | None = None  # that outputs of networks may be
    closing: RegionBoxes | None = None
    returns: CellReturns | None = None  # of the last batch
    initial: WatchedCondition | None = None  # where it surely fails there are no starts
    cut: bool = False  # regions of starts hold states that are none: it is one thing to leave these out
    leave_out: bool = True  # and another to come back to them
    come_back: bool = True  # may cells end in regions of starts?
    followed: int = 0
    most_periods: int = 10_000
    stuck: list[Cell] = field(default_factory=list)  # failed, and points: they have no halves
    batch: int = FIRST_BATCH  # cells that are followed together: fewer where that takes long
    tubes: TubeStore | None = None
    recalled: float = 0.0  # share of the starts that an earlier run has followed
    note: Callable[[Sequence[Cell]], None] = lambda _: None  # told of every batch
    pool: TaskPool = field(init=False)  # who follows cells

    def __post_init__(self) -> None:
        self.pool = share_cells(self.walk)

    @property
    def open_cells(self) -> list[Cell]:
        return [*self.waiting, *self.stuck]

    @property
    def done(self) -> bool:
        return not self.waiting and not self.stuck

    @property
    def can_go_on(self) -> bool:
        return bool(self.waiting) and self.followed < MOST_CELLS


def begin_search(
    walk: LoopWalk, regions: list[Region], initial: WatchedCondition | None, **more: object
) -> CellSearch:
    names = walk.loop.variables
    roots = [
        Cell(n, tuple(r.box[v][0] for v in names), tuple(r.box[v][1] for v in names))
        for n, r in enumerate(regions)
    ]
    return CellSearch(walk, list(regions), roots, list(roots), initial=initial, **more)  # type: ignore[arg-type]


def have_other_states(search: CellSearch) -> bool:
    """Is some corner of a region of starts surely no start?"""
    if search.initial is None:
        return False
    low, high = (np.array([[float(x) for x in side] for side in ends]) for ends in _sides_of(search.roots))
    shares = np.array(list(product((0.0, 1.0), repeat=min(low.shape[1], MOST_CUT))))
    shares = np.pad(shares, ((0, 0), (0, low.shape[1] - shares.shape[1])))
    corners = (low[:, None] + shares * (high - low)[:, None]).reshape(-1, low.shape[1])
    return bool(search.initial.decide(forms_of_box(corners, corners))[1].any())


def _sides_of(cells: Sequence[Cell]) -> tuple[list[Corner], list[Corner]]:
    return [cell.low for cell in cells], [cell.high for cell in cells]


def cell_forms(cells: Sequence[Cell]) -> Array:
    """Forms of boxes, whose ends are rounded outward."""
    low = np.array([[rounded_down(x) for x in cell.low] for cell in cells])
    high = np.array([[rounded_up(x) for x in cell.high] for cell in cells])
    return forms_of_box(low, high)


def search_cells(
    search: CellSearch,
    budget: Budget,
    progress: Callable[[CellSearch], None] | None = None,
    *,
    seconds: float = np.inf,
    rounds: int | None = None,
) -> None:
    """Follow and halve cells until none is open, or time (of all or of this turn) or rounds are over."""
    begun = budget.elapsed_seconds()
    while search.can_go_on and rounds != 0:
        now = budget.elapsed_seconds()
        if budget.is_spent() or now - begun >= seconds:
            return
        rounds = None if rounds is None else rounds - 1
        batch = search.waiting[: search.batch * (PARTS if rounds is None else 1)]
        try:
            worked = follow_batch(search, batch, budget)
        except BaseException:  # ^C, or the clock: nothing is known of these
            for cell in batch:
                cell.forget()
            raise
        late = [cell for cell in batch if cell.failure is not None and cell.failure.why in LATER]
        crowd = any(cell.failure is not None and cell.failure.why == NO_ROOM for cell in late)
        between = add_pieces(search, batch)
        late += between
        search.waiting = late + search.waiting[len(batch) :]
        for cell in batch:
            if cell in late:
                cell.failure = None
            elif cell.failure is not None:
                halves = split_cell(cell, search.roots[cell.region])
                search.waiting += halves
                search.stuck += [] if halves else [cell]
        search.note([cell for cell in batch if cell not in late])
        _fit_batch(search, worked, len(batch) - len(late) if crowd else None, budget)
        if progress is not None:
            progress(search)


@dataclass(frozen=True, slots=True)
class _WorkedBatch:
    """How long a part of a batch took, of how many cells."""

    parts: int
    cells: int
    seconds: float  # of the processor


def _fit_batch(search: CellSearch, worked: _WorkedBatch, fitting: int | None, budget: Budget) -> None:
    """Fewer cells together where that takes long, or where they become too many rows (there was room for
    those that are `fitting`); else more."""
    aimed = min(max(SHORT, SHARE * budget.remaining()), LONG)
    if fitting is not None:
        search.batch = max(1, fitting // max(1, worked.parts))
    elif worked.cells == search.batch and worked.seconds < aimed / 2 and search.batch < MOST_TOGETHER:
        search.batch *= 2
    elif worked.seconds > 2 * aimed and search.batch > 1:
        search.batch = max(1, search.batch // 2)


def add_pieces(search: CellSearch, batch: Sequence[Cell]) -> list[Cell]:
    """Shorter sub-steps where most cells may be bad inside of one only; such cells are followed once more."""
    failures = [cell.failure for cell in batch if cell.failure is not None]
    between = [cell for cell in batch if cell.failure is not None and cell.failure.between]
    given = search.tolerance is None
    if given or 2 * len(between) <= len(failures) or len(between) < FEWEST_BETWEEN:
        return []
    pieces = 2 * search.options.least_pieces
    if pieces > MOST_BETWEEN:
        return []
    search.options = replace(search.options, pieces=max(search.options.pieces, pieces), least_pieces=pieces)
    return between


@dataclass(frozen=True, slots=True, eq=False)
class CellTask:
    """Forms of some cells, and how they are followed."""

    forms: Array
    question: LoopQuestion
    options: WalkOptions
    closing: RegionBoxes | None
    grid: TubeGrid | None
    most_periods: int
    tolerance: float | None
    loosest: float | None
    deadline: float  # of `monotonic`


@dataclass(frozen=True, slots=True, eq=False)
class FollowedCells:
    """What became of each."""

    failures: dict[int, Failure]
    trees: list[TreeNode]
    options: list[WalkOptions]  # period by period
    tubes: list[Tube] | None
    returns: CellReturns | None


def share_cells(walk: LoopWalk) -> TaskPool:
    """Who follows cells of this walk; how many processes is said by the budget of a search."""
    return TaskPool(1, prepare_cells, walk, here=partial(follow_cells, walk), patience=PATIENCE)


def prepare_cells(walk: LoopWalk) -> Callable[[CellTask], FollowedCells]:
    return partial(follow_cells, walk)


def deadline_of(budget: Budget) -> float:
    return monotonic() + left if (left := budget.remaining()) < LONGEST else inf


def follow_cells(walk: LoopWalk, task: CellTask) -> FollowedCells:
    """One walk of all cells of a task."""
    count = len(task.forms)
    tubes = None if task.grid is None else TubeRecorder(task.grid, count)
    returns = None if task.closing is None else task.closing.begin_walk(count)
    record, trees = walk_cells(
        replace(walk, question=task.question),
        task.forms,
        task.options,
        tubes=tubes,
        closing=None if returns is None else returns.find_regions,
        most_periods=task.most_periods,
        tolerance=task.tolerance,
        loosest=task.loosest,
        stop=lambda: monotonic() > task.deadline,
    )
    own = None if tubes is None else [Tube(tubes.low[n].copy(), tubes.high[n].copy()) for n in range(count)]
    return FollowedCells(record.failures, trees, record.options, own, returns)


def follow_batch(search: CellSearch, batch: Sequence[Cell], budget: Budget) -> _WorkedBatch:
    """The fate of each cell of a batch, which is followed in parts, the same for any number of workers."""
    forms = cell_forms(batch)
    search.followed += len(batch)
    live = list(range(len(batch)))
    if search.initial is not None:
        _, none = search.initial.decide(forms)
        for cell, outside in zip(batch, none.tolist(), strict=True):
            if outside and search.leave_out and search.regions[cell.region].start:
                cell.outside = True
                if search.tubes is not None:
                    search.tubes.note_half(cell.key)
        live = [n for n in live if not batch[n].outside]
    search.returns = None
    if not live:
        return _WorkedBatch(0, 0, 0.0)
    size = min(search.batch, max(LEAST_PART, ceil(len(live) / PARTS)))
    parts = [live[first : first + size] for first in range(0, len(live), size)]
    tasks = [(_task_of(search, forms[part], deadline_of(budget)),) for part in parts]
    before = search.pool.seconds
    for part, found in zip(parts, search.pool.run(tasks), strict=True):
        _take_fates(search, [batch[n] for n in part], found)
    return _WorkedBatch(len(parts), size, (search.pool.seconds - before) / len(parts))


def _task_of(search: CellSearch, forms: Array, deadline: float) -> CellTask:
    return CellTask(
        forms,
        search.walk.question,
        search.options,
        search.closing,
        None if search.tubes is None else search.tubes.grid,
        search.most_periods,
        search.tolerance,
        search.loosest,
        deadline,
    )


def _take_fates(search: CellSearch, cells: Sequence[Cell], found: FollowedCells) -> None:
    """What became of some cells of a batch."""
    for place, cell in enumerate(cells):
        cell.failure = found.failures.get(place)
        if cell.failure is None:
            cell.tree, cell.options = found.trees[place], found.options
        elif cell.failure.why == NOT_BACK and found.returns is not None:
            cell.failure.weights = found.returns.weights[place]
    if found.returns is not None:
        search.returns = found.returns if search.returns is None else search.returns.join(found.returns)
    if search.tubes is not None and found.tubes is not None:
        _keep_tubes(search.tubes, cells, found.tubes)


def _keep_tubes(store: TubeStore, cells: Sequence[Cell], tubes: Sequence[Tube]) -> None:
    for cell, tube in zip(cells, tubes, strict=True):
        late = cell.failure is not None and cell.failure.why in LATER
        if not late:
            store.note_half(cell.key)
        if cell.failure is None:
            store.keep_done(cell.key, tube)
        elif not late or cell.parent_failure is None:
            store.keep_failed(cell.key, tube)


def split_cell(cell: Cell, whole: Cell) -> list[Cell]:
    """Two halves, along the variable that matters most for the failure (or the widest one for its start)."""
    assert cell.failure is not None
    sides = zip(cell.low, cell.high, whole.low, whole.high, strict=True)
    width = np.array([float((b - a) / (d - c)) if d > c else 0.0 for a, b, c, d in sides])
    weights = cell.failure.weights
    if weights is None or not (weights * (width > 0)).any():
        weights = width
    place = int(np.argmax(np.where(width > 0, weights, -1.0)))
    return halve_cell(cell, place) if width[place] > 0 else []


def halve_cell(cell: Cell, place: int) -> list[Cell]:
    """Both halves of a cell that failed, along a variable."""
    middle = (cell.low[place] + cell.high[place]) / 2
    lower, upper = list(cell.high), list(cell.low)
    lower[place] = upper[place] = middle
    first = Cell(cell.region, cell.low, tuple(lower), 2 * cell.path, parent_failure=cell.failure)
    second = Cell(cell.region, tuple(upper), cell.high, 2 * cell.path + 1, parent_failure=cell.failure)
    cell.split, cell.halves = place, (first, second)
    return [first, second]


def close_regions(search: CellSearch) -> None:
    """Cells may end in the regions that the search has by now: of starts only if all of them counts."""
    boxes = [(root.low, root.high) for root in search.roots]
    proposed = np.array([not region.start for region in search.regions])
    closing = RegionBoxes(boxes, proposed[:, None] & list_constants(search.walk.loop), proposed)
    if (search.cut and search.leave_out) or not search.come_back:
        closing.least[~proposed] = np.inf
    search.closing = closing
