"""Do simulated runs stay in the sets that engine `reach` computes? At the periods, and between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reach_attack.loops import RandomLoop
from benchmarks.reach_attack.runs import SteppedRun, TimedRuns
from surefoot.engines.reach.analysis import prepare_problem
from surefoot.engines.reach.search import cell_forms
from surefoot.engines.reach.tubes import TubeRecorder, plan_tubes
from surefoot.engines.reach.walk import WalkOptions, prepare_walk, walk_cells
from surefoot.reductions.loop_question import LoopQuestion
from surefoot.term.term import FALSE

Array = NDArray[np.float64]


@dataclass(slots=True)
class FollowedSets:
    """Forms of all rows after each period, from the first on, and enclosures between."""

    periods: list[Array] = field(default_factory=list)
    hulls: list[tuple[Fraction, Fraction, Array, Array]] = field(default_factory=list)
    names: tuple[str, ...] = ()


def follow_sets(loop: RandomLoop, periods: int, draw: Random) -> FollowedSets:
    """As many periods as the engine can follow: nothing is asked."""
    walk, search = prepare_problem(loop.problem)
    length = walk.loop.period
    walk = prepare_walk(walk.loop, LoopQuestion(FALSE, None, Fraction(0), periods * length))
    options = WalkOptions(draw.choice((1, 2, 4, 10)), draw.randint(1, 6), draw.randint(1, 3))
    found = FollowedSets(names=walk.loop.variables)

    def look(forms: Array, _: NDArray[np.intp]) -> NDArray[np.intp]:
        found.periods.append(forms.copy())
        return np.full(len(forms), -1, dtype=np.intp)

    roots = cell_forms(search.roots[:1])
    grid = plan_tubes(walk.loop, walk.question, periods)
    tubes = TubeRecorder(grid, len(roots))
    record, _ = walk_cells(walk, roots, options, closing=look, tubes=tubes, most_rows=300)
    if record.failures:
        whole = min(f.time for f in record.failures.values())
        found.periods = found.periods[: int(whole / length)]
    reached = len(found.periods) * length
    count = len(walk.loop.variables)
    for slot in range(0 if walk.loop.derivatives is None else grid.slots):
        begin, end = grid.ends_of(slot, slot)
        if end <= reached:
            found.hulls.append((begin, end, tubes.low[:, slot, :count], tubes.high[:, slot, :count]))
    return found


def find_escape_in_time(sets: FollowedSets, runs: TimedRuns, draw: Random) -> str | None:
    """The first run that is not in any of the sets of its time."""
    for number, forms in enumerate(sets.periods, 1):
        states, slack = runs.at_period(number)
        for run in np.flatnonzero(np.isfinite(states).all(1)):
            if not _is_inside(forms, states[run], slack[run], draw):
                return f"run {run} is outside after {number} periods: {states[run]}"
    for place, time in enumerate(runs.times):
        here = [(low, high) for a, b, low, high in sets.hulls if a <= time <= b]
        if not here:
            continue
        low, high = (np.concatenate(side) for side in zip(*here, strict=True))
        states, slack = runs.states[place], runs.slack[place]
        for run in np.flatnonzero(np.isfinite(states).all(1)):
            within = (low <= states[run] + slack[run]) & (states[run] - slack[run] <= high)
            if not within.all(1).any():
                return f"run {run} is outside at time {time}: {states[run]}"
    return None


def _is_inside(forms: Array, state: Array, slack: Array, draw: Random) -> bool:
    """In some row, by the variables and by some sums of them."""
    count = len(state)
    weights = [np.eye(count)[i] for i in range(count)]
    weights += [np.array([draw.randint(-3, 3) for _ in range(count)], float) for _ in range(6)]
    inside = np.ones(len(forms), bool)
    for weight in weights:
        line = np.einsum("v,rvw->rw", weight, forms)
        reach = np.abs(line[:, 1:-1]).sum(1) + np.abs(weight) @ forms[..., -1].T
        value = float(weight @ state)
        allowed = float(np.abs(weight) @ slack) + 1e-12 * (1 + abs(value))
        inside &= np.abs(line[:, 0] - value) <= reach + allowed
    return bool(inside.any())


def find_escape_in_steps(sets: FollowedSets, runs: list[SteppedRun], draw: Random) -> str | None:
    for which, run in enumerate(runs):
        for number, forms in enumerate(sets.periods, 1):
            if number >= len(run.states):
                break
            state = [_number(run.states[number][n]) for n in sets.names]
            if not _is_surely_inside(forms, state, draw):
                return f"run {which} is outside after {number} steps: {[float(v) for v in state]}"
    return None


def _number(value: Any) -> Fraction:
    return Fraction(int(value) if isinstance(value, bool) else value)


def _is_surely_inside(forms: Array, state: list[Fraction], draw: Random) -> bool:
    """Exactly, where floats do not say it clearly."""
    floats = np.array([float(v) for v in state])
    if _is_inside(forms, floats, np.full(len(floats), -2e-12), draw):
        return True
    weights = [[int(i == j) for j in range(len(state))] for i in range(len(state))]
    weights += [[draw.randint(-3, 3) for _ in state] for _ in range(6)]
    return any(all(_line_holds(row, weight, state) for weight in weights) for row in forms)


def _line_holds(row: Array, weight: list[int], state: list[Fraction]) -> bool:
    used = [(w, [Fraction(c) for c in form], v) for w, form, v in zip(weight, row, state, strict=True) if w]
    if not used:
        return True
    gap = sum((w * (v - form[0]) for w, form, v in used), Fraction(0))
    width = len(used[0][1])
    reach = sum(
        (abs(sum((w * form[j] for w, form, _ in used), Fraction(0))) for j in range(1, width - 1)),
        Fraction(0),
    )
    return abs(gap) <= reach + sum((abs(w) * form[-1] for w, form, _ in used), Fraction(0))


def with_property(loop: RandomLoop, asked: Any) -> RandomLoop:
    return replace(loop, problem=replace(loop.problem, property=asked))
