"""Runs to be drawn into a flowpipe, all at once: steps as they are executed, or integrated numerically.

For looking only: in continuous time they have the error of an integrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.reductions.discretise import discretise
from surefoot.report.violation.drawn_run import DrawnRun
from surefoot.simulate.batch.integrate import compile_flow
from surefoot.simulate.batch.model import ENDED, BatchModel, make_batch_model
from surefoot.simulate.batch.numbers import RunNumbers, numbers_of_rows
from surefoot.simulate.starts import prepare_starts
from surefoot.term.columns import Column

RUNS, MOST_PERIODS, MOST_POINTS = 12, 500, 400
LEAST_POINTS = 4  # of a period

Moment = tuple[Fraction, dict[str, Column], "np.ndarray[tuple[int], np.dtype[np.bool_]]"]


def simulate_runs(problem: Problem, until: Fraction | None, seed: int) -> tuple[DrawnRun, ...]:
    """From corners of the starts and from others, up to a moment; none where that is not possible."""
    executed = discretise(problem, continuous=True)
    flow = executed.environment.flow
    period = Fraction(1) if flow is None else Fraction(flow.control_period)
    periods = MOST_PERIODS if until is None else min(MOST_PERIODS, ceil(until / period))
    rng = np.random.default_rng(seed % 2**63)
    try:
        model = make_batch_model(
            executed
            if flow is None
            else replace(executed, environment=replace(executed.environment, flow=None))
        )
        halves = [
            prepare_starts(executed.environment, rng, corners=corners).draw(RUNS // 2, rng)
            for corners in (True, False)
        ]
        start = {n: np.concatenate([np.asarray(h.columns[n]) for h in halves]) for n in halves[0].columns}
        moments = list(_follow(executed, model, start, periods, period, rng))
    except SurefootError:
        return ()
    step = max(1, len(moments) // MOST_POINTS)
    kept = [m for n, m in enumerate(moments) if n % step == 0 or n == len(moments) - 1]
    names = [n for n, column in start.items() if column.ndim == 1]
    found = []
    for row in range(len(next(iter(start.values())))):
        lived = [(t, state) for t, state, alive in kept if alive[row]]
        times = tuple(float(t) for t, _ in lived)
        found.append(DrawnRun("", times, tuple({n: float(s[n][row]) for n in names} for _, s in lived)))
    return tuple(run for run in found if run.times)


def _follow(
    problem: Problem,
    model: BatchModel,
    start: dict[str, Column],
    periods: int,
    period: Fraction,
    rng: np.random.Generator,
) -> Iterator[Moment]:
    """States moment by moment, and which rows still have one."""
    count = len(next(iter(start.values())))
    flow = None if problem.environment.flow is None else compile_flow(problem.environment)
    numbers, state, alive = RunNumbers(count, rng), start, np.ones(count, dtype=np.bool_)
    yield Fraction(0), state, alive
    points = max(LEAST_POINTS, min(32, MOST_POINTS // max(periods, 1)))
    for number in range(periods):
        numbers.step = number
        made = model.step(state, count, numbers_of_rows(numbers, np.arange(count)))
        alive = alive & (made.transition != ENDED) & ~made.lost
        if flow is None:
            state = made.state
            yield Fraction(number + 1), state, alive
            continue
        held = made.decision.controls if made.decision is not None else {}
        known = {**state, **made.chosen, **held}
        for piece, (after, lost) in enumerate(flow.advance(known, float(period), points, count), 1):
            state, alive = {**state, **after}, alive & ~lost
            yield number * period + piece * period / points, state, alive
