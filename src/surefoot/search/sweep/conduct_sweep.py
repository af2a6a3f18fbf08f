"""A sweep at work: every worker of a pool has one problem, and results are kept as they arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic

from surefoot.search.sweep.sweep_directory import SweepDirectory
from surefoot.search.sweep.sweep_plan import SweepUnit
from surefoot.search.sweep.sweep_row import (
    NOT_ASKED,
    SweepRow,
    SweepTable,
    UnitReport,
    error_answer,
)
from surefoot.verdict.sentences import count_noun
from surefoot.work.interrupt import stop_if_interrupted
from surefoot.work.worker_pool import LostQuestion, WorkerPool

_LOOK_UP = 1.0  # seconds


def conduct_sweep(
    units: Sequence[SweepUnit],
    make_pool: Callable[[int], WorkerPool],
    directory: SweepDirectory | None,
    progress: Callable[[str], None],
) -> SweepTable:
    """Answers to all problems; what is known already is not asked. `make_pool`: of so many problems.

    An interrupt ends it, with the answers that there are.
    """
    rows = {} if directory is None else dict(directory.rows)
    waiting = deque(unit for unit in units if unit.key not in rows)
    asked: dict[int, tuple[SweepUnit, float]] = {}
    cut, pool = False, None
    try:
        if waiting:
            progress(f"{len(rows)} of {len(units)} problems; workers begin")
            pool = make_pool(len(waiting))
        ticket = 0
        while pool is not None and (waiting or asked):
            stop_if_interrupted()
            while waiting and pool.idle:
                ticket += 1
                asked[ticket] = waiting.popleft(), monotonic()
                pool.ask(ticket, asked[ticket][0])
            try:
                for number, report in pool.answers(_LOOK_UP):
                    unit, _ = asked.pop(number)
                    rows[unit.key] = keep_report(unit, report, directory)
                    progress(f"{len(rows)} of {len(units)} problems; last: {unit.title}")
            except LostQuestion as lost:
                unit, since = asked.pop(lost.ticket)
                memory = ", perhaps for want of memory" if lost.memory else ""
                words = f"every process that was asked ended without an answer{memory}: {lost}"
                rows[unit.key] = SweepRow(unit, error_answer(words, 4, monotonic() - since))
    except KeyboardInterrupt:
        cut = True
    finally:
        if pool is not None:
            pool.dismiss()
    mark = f"interrupted: {len(rows)} of {count_noun(len(units), 'problem')} were answered" if cut else ""
    return SweepTable(tuple(rows.get(unit.key, SweepRow(unit, NOT_ASKED)) for unit in units), mark)


def keep_report(unit: SweepUnit, report: UnitReport, directory: SweepDirectory | None) -> SweepRow:
    """A row, and its files; a file that has changed while the sweep was at work makes no result."""
    if directory is None:
        return SweepRow(unit, report.answer)
    if report.document is not None and (path := directory.changed_input(report.inputs)) is not None:
        words = f"`{path}` has changed while the sweep was at work"
        return SweepRow(unit, error_answer(words, 2, report.answer.seconds))
    return directory.record(unit, report)
