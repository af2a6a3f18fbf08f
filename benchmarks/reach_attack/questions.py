"""Questions about random closed loops, near what simulated runs do, and which of them a run violates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.reach_attack.loops import LoopMaker, RandomLoop
from benchmarks.reach_attack.runs import SteppedRun, TimedRuns, evaluate_arrays
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Timed, Within
from surefoot.term.term import Const, Term, Var

Array = NDArray[np.float64]
MARGINS = (-0.02, -0.3, 0.02, 0.1, 0.5, 1.0, 3.0)  # of what runs reach, relative to how far they spread


@dataclass(frozen=True, slots=True)
class RandomQuestion:
    asked: Property
    shape: str
    violated: bool  # by a simulated run


@dataclass(frozen=True, slots=True)
class Watched:
    """A term along runs (moments, runs), what it may be off by, and where in time the moments are."""

    term: Term
    values: Array  # NaN: not known
    slack: Array
    times: list[Fraction]
    ended: NDArray[np.bool_]  # runs that end within the time


def watch_in_time(loop: RandomLoop, runs: TimedRuns, term: Term) -> Watched:
    def value(states: Array) -> Array:
        with np.errstate(all="ignore"):
            names = {n: states[..., i] for i, n in enumerate(loop.reals)}
            return np.asarray(np.broadcast_to(evaluate_arrays(term, names), states.shape[:-1]), float)

    near = [value(runs.states + sign * runs.slack) for sign in (-1, 1)]
    values = value(runs.states)
    slack = 2 * sum(abs(v - values) for v in near) + 1e-7 * (1 + np.abs(values))
    return Watched(term, values, slack, runs.times, np.zeros(values.shape[1], bool))


def watch_in_steps(runs: list[SteppedRun], term: Term, steps: int) -> Watched:
    values = np.full((steps + 1, len(runs)), np.nan)
    for column, run in enumerate(runs):
        for row, state in enumerate(run.states):
            names = {n: float(v) for n, v in state.items()}
            with np.errstate(all="ignore"):
                values[row, column] = evaluate_arrays(term, names)
    slack = 1e-12 * (1 + np.abs(values))
    ended = np.array([run.ended for run in runs])
    return Watched(term, values, slack, [Fraction(k) for k in range(steps + 1)], ended)


def random_watched_term(loop: RandomLoop, maker: LoopMaker) -> Term:
    names = list(loop.reals)
    if maker.draw.random() < 0.5:
        return sum((maker.number() * Var(n) for n in names[1:]), Var(names[0]))
    return maker.term(names, 2, True)


def make_question(watched: Watched, other: Watched, continuous: bool, draw: Random) -> RandomQuestion | None:
    """`other` is the goal's term of `never … before …`."""
    values = watched.values
    if not np.isfinite(values).any():
        return None
    last = watched.times[-1]
    shapes = ["never", "window", "moment", "before", "within", "at", "for ever", "late"]
    shape = draw.choice(shapes if continuous else ["never", "before", "within", "for ever", "after"])
    since, until = Fraction(0), last * Fraction(draw.choice((32, 61, 64)), 64)
    if not continuous:
        until = last
    if shape in ("window", "late"):
        since = last * Fraction(draw.randint(1, 30), 64)
    if shape == "after":
        since = Fraction(draw.randint(1, int(last)))
    if shape in ("at", "moment"):
        since = until = watched.times[draw.randrange(len(watched.times))]
    counted = np.array([since <= t <= until for t in watched.times])
    inside = values[counted]
    if not np.isfinite(inside).any():
        return None
    spread = float(np.nanmax(values) - np.nanmin(values)) + 1e-3
    margin = draw.choice(MARGINS) * spread
    if shape in ("within", "at", "after"):
        return _goal_question(watched, shape, since, until, counted, margin, continuous)
    level = _level(float(np.nanmax(inside)) + margin)
    bad = watched.term > Const(level)
    over = watched.values - watched.slack > float(level)
    if shape == "before":
        goal_level = _level(float(np.nanmedian(other.values)))
        goal = other.term > Const(goal_level)
        met = ~(other.values + other.slack < float(goal_level))  # perhaps
        counts = over & ~np.logical_or.accumulate(met, 0) & counted[:, None]
        asked: Property = NeverBefore(bad, goal, None if continuous else int(until))
        return RandomQuestion(Timed(asked, until) if continuous else asked, shape, bool(counts.any()))
    violated = bool((over & counted[:, None]).any())
    if shape == "for ever":
        return RandomQuestion(Never(bad), shape, bool(over.any()))
    if not continuous:
        return RandomQuestion(Never(bad, int(until)), shape, violated)
    if shape == "late":
        late = np.array([t >= since for t in watched.times])
        return RandomQuestion(Timed(Never(bad), None, since), shape, bool((over & late[:, None]).any()))
    return RandomQuestion(Timed(Never(bad), until, since), shape, violated)


def _goal_question(
    watched: Watched,
    shape: str,
    since: Fraction,
    until: Fraction,
    counted: NDArray[np.bool_],
    margin: float,
    continuous: bool,
) -> RandomQuestion:
    """Each run has to be above a level at some moment; in time only moments that are looked at are known."""
    inside, off = watched.values[counted], watched.slack[counted]
    known = np.isfinite(inside).all(0) | watched.ended
    best = np.where(np.isfinite(inside), inside, -np.inf).max(0)
    level = _level(
        float(best[known].min()) - margin if known.any() and np.isfinite(best[known].min()) else 0.0
    )
    good = watched.term > Const(level)
    gap = np.abs(np.diff(inside, axis=0)).max(initial=0.0) if continuous and len(inside) > 1 else 0.0
    missed = np.where(np.isfinite(inside), inside + off, -np.inf).max(0) + 2 * gap < float(level)
    violated = bool((missed & known).any())
    if continuous:
        return RandomQuestion(Timed(Eventually(good), until, since), shape, violated)
    return RandomQuestion(Within(good, int(until), int(since)), shape, violated)


def _level(value: float) -> Fraction:
    return Fraction(round(value * 10**6), 10**6)
