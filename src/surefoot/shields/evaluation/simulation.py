"""Runs of a plant, many at once (Zhu et al., PLDI 2019, section 5: 1000 runs of 5000 steps).

A run ends at its first unsafe state. The paper counts failures (runs with an unsafe state), interventions
(steps at which the shield did not apply what was proposed) and, for its oscillator, how many interventions
were effective: here an intervention was needed if the policy alone, from that state on, becomes unsafe within
what is left of the run. Steps to a steady state: those until every variable stays within 5 % of its range.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.float_system import Floats
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.evaluation.plant import BatchPlant, Propose
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late
from surefoot.work.interrupt import stop_if_interrupted

WATCHED = 100  # runs whose way to a steady state is recorded
BAND = 0.05  # of the range of a variable in its run
LATE = 0.9  # of a run: what moves later than this has not settled
ASKED = 500  # interventions of which it is asked whether they were needed
EVERY = 250  # steps between two words of progress
Whole: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Interventions: the state, what was proposed and the number of the step."""

    states: Floats
    proposed: Floats
    at: Whole


@dataclass(frozen=True, slots=True)
class Campaign:
    """What happened; `complete`: every run took all its steps or became unsafe."""

    runs: int
    steps: int
    taken: int
    failures: int
    interventions: int
    overruled: NDArray[np.bool_]  # for each run: did the shield ever intervene
    outside: int  # steps in a state of no set of the shield
    settled: int  # of the runs that were watched
    watched: int
    steps_to_steady: float | None  # the mean over those
    complete: bool
    moments: Moments
    last: Floats = field(repr=False)  # the last state of each run
    interrupted: bool = False

    @property
    def overruled_runs(self) -> int:
        return int(np.count_nonzero(self.overruled))


def simulate_campaign(
    plant: BatchPlant,
    starts: Floats,
    steps: int,
    propose: Propose,
    guard: BatchGuard | None,
    budget: Budget,
    *,
    what: str = "runs",
    extreme: bool = False,
    among: NDArray[np.bool_] | None = None,
) -> Campaign:
    """Runs from these starts; `extreme`: disturbances at the ends of their ranges; `among`: only these runs.

    Whichever runs are made, each gets the same disturbances.
    """
    work = _Work(plant, starts, steps, np.random.default_rng((budget.seed, 1)), guard is not None, among)
    complete, interrupted = True, False
    try:
        stop_if_interrupted()
        for step in range(steps):
            if step % EVERY == 0:
                budget.progress(f"{what}: step {step} of {steps}, {work.failures} runs unsafe")
                if budget.is_spent():
                    complete = False
                    break
            if not len(work.alive) or not work.advance(step, propose, guard, extreme):
                break
    except Late:
        complete = False
    except KeyboardInterrupt:
        complete, interrupted = False, True
    return replace(work.result(steps, complete), interrupted=interrupted)


def rerun_unshielded(
    plant: BatchPlant, starts: Floats, propose: Propose, shielded: Campaign, budget: Budget, *, what: str
) -> Campaign:
    """The runs without their shield: one that it never overruled is the same, the others are made again."""
    made = simulate_campaign(
        plant, starts, shielded.steps, propose, None, budget, what=what, among=shielded.overruled
    )
    same = shielded.runs - shielded.overruled_runs
    return replace(
        made, taken=made.taken + same * shielded.steps, complete=made.complete and shielded.complete
    )


class _Work:
    """The runs that are still safe, and what was counted."""

    def __init__(
        self,
        plant: BatchPlant,
        starts: Floats,
        steps: int,
        generator: np.random.Generator,
        guarded: bool,
        among: NDArray[np.bool_] | None,
    ) -> None:
        self.plant, self.generator = plant, generator
        self.last = starts.copy()
        chosen = np.ones(len(starts), dtype=bool) if among is None else among
        bad = plant.is_unsafe(starts)
        self.alive = np.flatnonzero(chosen & ~bad)
        self.failures, self.taken, self.outside = int(np.count_nonzero(chosen & bad)), 0, 0
        self.interventions, self.overruled = 0, np.zeros(len(starts), dtype=bool)
        watched = min(WATCHED, len(starts))
        self.way = np.full((steps + 1, watched, starts.shape[1]), np.nan, dtype=np.float32)
        self.way[0] = starts[:watched]
        self.kept = _Kept(np.random.default_rng(0)) if guarded else None

    def advance(self, step: int, propose: Propose, guard: BatchGuard | None, extreme: bool) -> bool:
        """One step of every run that is safe; are there any left?"""
        plant, alive = self.plant, self.alive
        drawn = plant.draw_disturbances(len(self.last), self.generator, extreme)[alive]
        states = self.last[alive]
        proposed = propose(states, step)
        if guard is None:
            controls = plant.clip_controls(proposed)
        else:
            made = guard.step(states, proposed)
            controls = made.applied
            where = np.flatnonzero(made.intervened)
            self.interventions += len(where)
            self.outside += int(np.count_nonzero(made.intervened == 2))
            self.overruled[alive[where]] = True
            if self.kept is not None and len(where):
                self.kept.add(states[where], proposed[where], step)
        following = plant.step(states, controls, drawn)
        self.taken += len(alive)
        bad = plant.is_unsafe(following)
        self.failures += int(np.count_nonzero(bad))
        self.last[alive] = following
        self.alive = alive[~bad]
        shown = len(self.way[0])
        inside = self.alive[self.alive < shown]
        self.way[step + 1, inside] = self.last[inside]
        return len(self.alive) > 0

    def result(self, steps: int, complete: bool) -> Campaign:
        settled = _settling_times(self.way[:, : len(self.way[0])]) if complete else []
        return Campaign(
            len(self.last),
            steps,
            self.taken,
            self.failures,
            self.interventions,
            self.overruled,
            self.outside,
            len(settled),
            self.way.shape[1],
            float(np.mean(settled)) if settled else None,
            complete,
            _no_moments(self.last.shape[1]) if self.kept is None else self.kept.moments(self.last.shape[1]),
            self.last,
        )


def _no_moments(width: int) -> Moments:
    nothing = np.zeros((0, width))
    return Moments(nothing, np.zeros((0, 0)), np.zeros(0, dtype=np.int64))


class _Kept:
    """A sample of the interventions in which each has the same chance: those with the smallest numbers."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator, self.cut = generator, 1.0
        # One list for keys and what they belong to: an interrupt may come between any two statements.
        self.rows: list[tuple[Floats, Floats, Floats, Whole]] = []

    def add(self, states: Floats, proposed: Floats, step: int) -> None:
        keys = self.generator.random(len(states))
        chosen = keys < self.cut
        if chosen.any():
            self.rows.append((keys[chosen], states[chosen], proposed[chosen], np.full(chosen.sum(), step)))
            if sum(len(row[0]) for row in self.rows) > 8 * ASKED:
                self._shorten()

    def _shorten(self) -> None:
        keys, *others = (np.concatenate([row[i] for row in self.rows]) for i in range(4))
        order = np.argsort(keys)[:ASKED]
        states, proposed, at = (column[order] for column in others)
        self.rows = [(keys[order], states, proposed, at)]
        if len(order) == ASKED:
            self.cut = float(keys[order[-1]])

    def moments(self, width: int) -> Moments:
        if not self.rows:
            return _no_moments(width)
        self._shorten()
        return Moments(*self.rows[0][1:])


def _settling_times(way: NDArray[np.float32]) -> list[int]:
    """For each run that settled: the first step from which every variable stays near its last value."""
    found = []
    for run in range(way.shape[1]):
        path = way[:, run]
        if np.isnan(path).any():
            continue
        band = BAND * (path.max(axis=0) - path.min(axis=0))
        away = np.flatnonzero((np.abs(path - path[-1]) > band).any(axis=1))
        first = int(away[-1]) + 1 if len(away) else 0
        if first < LATE * len(path):
            found.append(first)
    return found


def count_needed_interventions(
    plant: BatchPlant, moments: Moments, steps: int, propose: Propose, budget: Budget
) -> tuple[int, int] | None:
    """Of how many of these interventions the policy alone would have become unsafe; None: out of time."""
    count = len(moments.at)
    if not count:
        return 0, 0
    generator = np.random.default_rng((budget.seed, 2))
    states, unsafe = moments.states.copy(), np.zeros(count, dtype=bool)
    left, alive = steps - moments.at, np.arange(count)
    proposed = moments.proposed
    for step in range(int(left.max())):
        if step % EVERY == 0:
            budget.progress(f"were interventions needed: step {step}, {int(unsafe.sum())} of {count}")
            if budget.is_spent():
                return None
        drawn = plant.draw_disturbances(count, generator)[alive]
        states[alive] = plant.step(states[alive], plant.clip_controls(proposed), drawn)
        bad = plant.is_unsafe(states[alive])
        unsafe[alive[bad]] = True
        alive = alive[~bad & (left[alive] > step + 1)]
        if not len(alive):
            break
        proposed = propose(states[alive], step + 1)
    return int(unsafe.sum()), count
