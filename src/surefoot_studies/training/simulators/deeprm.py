"""A cluster with two resources, planned 20 steps ahead, five visible jobs and a backlog.

After DeepRM (Mao et al., HotNets 2016): a job arrives with probability 0.7 per step; 80 % of the jobs last
1 to 3 steps, the others 10 to 15; each needs 5 to 10 units of one resource and 1 or 2 of the other. Placing a
job takes no time; waiting, an empty slot or a job that does not fit lets a step pass, which costs 1 / length
for every job in the system. An episode has 50 steps. Ours: every used cell of the image is 1 (there:
a colour per job), as in the study's model.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surefoot_studies.training.simulators.protocol import Actions, Flags, Floats

HORIZON, CAPACITY, SLOTS, RESOURCES = 20, 10, 5, 2
BACKLOG_COLUMNS, LONGEST_SILENCE = 3, 10
MOST_WAITING = HORIZON * BACKLOG_COLUMNS
STEPS, ARRIVAL, SHORT = 50, 0.7, 0.8
SHORT_LENGTHS, LONG_LENGTHS = range(1, 4), range(10, 16)
LENGTHS = (*SHORT_LENGTHS, *LONG_LENGTHS)
LARGER_NEEDS, SMALLER_NEEDS = range(5, 11), range(1, 3)  # of one resource and of the other
COLUMNS = RESOURCES * CAPACITY * (1 + SLOTS) + BACKLOG_COLUMNS + 1


class DeepRM:
    """2480 inputs: 20 rows of 124 cells; per resource the plan and five jobs, then backlog and silence."""

    width: ClassVar[int] = HORIZON * COLUMNS
    actions: ClassVar[int] = SLOTS + 1
    longest: ClassVar[int] = 3 * STEPS
    baseline_name: ClassVar[str] = "shortest job first, of those that can begin now"

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.jobs = _draw_jobs(
            count, rng
        )  # per step the job that arrives: length and needs, length 0 for none
        self.used = np.zeros((count, HORIZON, RESOURCES), dtype=np.int64)
        self.visible = np.zeros((count, SLOTS, 1 + RESOURCES), dtype=np.int64)
        self.backlog = np.zeros((count, MOST_WAITING, 1 + RESOURCES), dtype=np.int64)
        self.waiting = np.zeros(count, dtype=np.int64)
        self.silence = np.zeros(count, dtype=np.int64)
        self.cost = np.zeros((count, HORIZON))  # of the jobs that are placed, until they end
        self.time = np.zeros(count, dtype=np.int64)
        self.arrive(np.ones(count, dtype=np.bool_))

    def observe(self) -> Floats:
        count, rows, cells = len(self.time), np.arange(HORIZON), np.arange(CAPACITY)
        image = np.zeros((count, HORIZON, COLUMNS))
        for r in range(RESOURCES):
            left = r * CAPACITY * (1 + SLOTS)
            image[:, :, left : left + CAPACITY] = cells < self.used[:, :, r, None]
            long = rows[:, None, None] < self.visible[:, None, :, None, 0]
            wide = cells < self.visible[:, None, :, None, 1 + r]
            image[:, :, left + CAPACITY : left + CAPACITY * (1 + SLOTS)] = (long & wide).reshape(
                count, HORIZON, -1
            )
        places = np.arange(MOST_WAITING).reshape(HORIZON, BACKLOG_COLUMNS)
        image[:, :, -1 - BACKLOG_COLUMNS : -1] = places < self.waiting[:, None, None]
        image[:, :, -1] = (self.silence / LONGEST_SILENCE)[:, None]
        return image.reshape(count, -1)

    def step(self, actions: Actions) -> tuple[Floats, Flags]:
        chosen = np.asarray(actions, dtype=np.int64)
        rows = np.arange(len(chosen))
        begin = self.earliest()[rows, np.minimum(chosen, SLOTS - 1)]
        places = (chosen < SLOTS) & (begin < HORIZON)
        for row in np.flatnonzero(places):
            self._place(int(row), int(chosen[row]), int(begin[row]))
        passes = ~places & (self.time < STEPS)
        slow = _inverse_length(self.visible[:, :, 0]).sum(axis=1) + _inverse_length(
            self.backlog[:, :, 0]
        ).sum(axis=1)
        reward = np.where(passes, -(slow + self.cost[:, 0]), 0.0)
        for plan in (self.used, self.cost):
            plan[passes, :-1] = plan[passes, 1:]
            plan[passes, -1] = 0
        self.time += passes
        self.arrive(passes)
        return reward, self.time >= STEPS

    def earliest(self) -> Actions:
        """Per episode and slot: the first step at which its job fits; HORIZON if none, or if it is empty."""
        length, need = self.visible[:, :, 0], self.visible[:, :, 1:]
        fits = np.all(self.used[:, :, None, :] + need[:, None, :, :] <= CAPACITY, axis=3)
        free = np.zeros((len(self.time), SLOTS), dtype=np.int64)  # consecutive steps with room from here on
        begin = np.full_like(free, HORIZON)
        for at in reversed(range(HORIZON)):
            free = np.where(fits[:, at], free + 1, 0)
            begin = np.where((free >= length) & (length < HORIZON - at) & (length > 0), at, begin)
        return begin

    def _place(self, row: int, slot: int, begin: int) -> None:
        length, *need = self.visible[row, slot]
        self.used[row, begin : begin + length] += need
        self.cost[row, : begin + length] += 1 / length
        self.visible[row, slot] = self.backlog[row, 0]
        self.backlog[row, :-1] = self.backlog[row, 1:]
        self.backlog[row, -1] = 0
        self.waiting[row] = max(self.waiting[row] - 1, 0)

    def arrive(self, passes: Flags) -> None:
        """The job of this step, if there is one, takes the first empty slot or joins the backlog."""
        for row in np.flatnonzero(passes):
            job = self.jobs[row, self.time[row]]
            self.silence[row] = 0 if job[0] else min(self.silence[row] + 1, LONGEST_SILENCE)
            if not job[0]:
                continue
            empty = np.flatnonzero(self.visible[row, :, 0] == 0)
            if empty.size:
                self.visible[row, empty[0]] = job
            elif self.waiting[row] < MOST_WAITING:
                self.backlog[row, self.waiting[row]] = job
                self.waiting[row] += 1

    def baseline(self) -> Actions:
        length = np.where(self.earliest() == 0, self.visible[:, :, 0], HORIZON + 1)
        shortest = np.argmin(length, axis=1)
        possible = length[np.arange(len(shortest)), shortest] <= HORIZON
        return np.where(possible, shortest, SLOTS)


def _draw_jobs(count: int, rng: np.random.Generator) -> Actions:
    shape = (count, STEPS + 1)
    short = rng.random(shape) < SHORT
    length = np.where(
        short, _draw_integers(SHORT_LENGTHS, shape, rng), _draw_integers(LONG_LENGTHS, shape, rng)
    )
    most, least = _draw_integers(LARGER_NEEDS, shape, rng), _draw_integers(SMALLER_NEEDS, shape, rng)
    first = rng.random(shape) < 0.5
    jobs = np.stack([length, np.where(first, most, least), np.where(first, least, most)], axis=2)
    return jobs * (rng.random(shape) < ARRIVAL)[:, :, None]


def _draw_integers(values: range, shape: tuple[int, int], rng: np.random.Generator) -> Actions:
    return rng.integers(values.start, values.stop, shape)


def _inverse_length(length: Actions) -> Floats:
    return np.where(length > 0, 1 / np.maximum(length, 1), 0.0)
