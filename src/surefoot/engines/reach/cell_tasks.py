"""Cells that are followed together as a task for any process: their forms go out, their fates come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from time import monotonic

from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.region_boxes import CellReturns, RegionBoxes
from surefoot.engines.reach.tubes import Tube, TubeGrid, TubeRecorder
from surefoot.engines.reach.walk import Failure, LoopWalk, TreeNode, walk_cells
from surefoot.engines.reach.walk_options import WalkOptions
from surefoot.reductions.loop_question import LoopQuestion
from surefoot.work.budget import Budget
from surefoot.work.task_pool import TaskPool

PATIENCE = 1.0  # seconds in cells before there are other processes
_LONGEST = 1e8  # seconds


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
    return monotonic() + left if (left := budget.remaining()) < _LONGEST else inf


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
