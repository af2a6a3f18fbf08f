"""A track as tables, so that many cars drive at once in numpy: the model of the study once more.

Written apart from the study's automata; a test compares the two on every cell, velocity and observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from surefoot_studies.racetrack.track import FREE, GOAL, START, WALL, Track, parse_track

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
ACCELERATIONS = np.array([(ax, ay) for ax in (-1, 0, 1) for ay in (-1, 0, 1)])
CRASHED, ARRIVED = -1, -2  # instead of the cell that a movement ends in
LARGEST_SPEED = 5
_COMPASS = ((1, 0), (0, -1), (1, -1), (-1, -1), (0, 1), (1, 1), (-1, 1), (-1, 0))


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Cells are numbered row by row, velocities per axis from 0 (for -speed) to 2 * speed."""

    track: Track
    speed: int
    moved: Numbers  # [cell, velocity x, velocity y]: the cell that is reached, CRASHED or ARRIVED
    seen: NDArray[np.float32]  # [cell]: x, y, eight distances to walls; to the goal: distance, x, y
    line: Numbers  # the cells of the start line
    anywhere: Numbers  # every cell that is neither wall nor goal

    def observe(self, state: Numbers, width: int) -> NDArray[np.float32]:
        """What the network sees of rows (cell, velocity x, velocity y): 15 numbers, or 4."""
        velocity = (state[:, 1:] - self.speed).astype(np.float32)
        seen = self.seen[state[:, 0]]
        return np.hstack((velocity, seen) if width == 15 else (seen[:, :2], velocity))

    def scale(self, width: int) -> NDArray[np.float32]:
        """By what each input is divided while a network is trained."""
        velocity, place, wall = [2] * 2, [10] * 2, [4] * 8
        sizes = velocity + place + wall + [10] * 3 if width == 15 else place + velocity
        return np.array(sizes, dtype=np.float32)

    def drive(self, state: Numbers, actions: Numbers, slips: NDArray[np.bool_]) -> Numbers:
        """Accelerate, unless it slips, and move: the next rows; a negative cell says that the run is over."""
        change = np.where(slips[:, None], 0, ACCELERATIONS[actions])
        velocity = np.clip(state[:, 1:] + change, 0, 2 * self.speed)
        cell = self.moved[state[:, 0], velocity[:, 0], velocity[:, 1]]
        return np.column_stack((cell, velocity))


def shipped_course(name: str, *, end_cell: bool = False) -> Course:
    """A track of the study, which is data there."""
    text = files("surefoot_studies").joinpath("racetrack", "assets", f"{name}.track").read_text("utf-8")
    return build_course(parse_track(text, name), end_cell=end_cell)


def build_course(track: Track, speed: int = LARGEST_SPEED, *, end_cell: bool = False) -> Course:
    """All tables of a track; `end_cell`: only the last cell of a movement is looked at."""
    cells = np.array(track.cells)
    cell = np.arange(cells.size)
    return Course(
        track=track,
        speed=speed,
        moved=_movement_table(cells, speed, end_cell),
        seen=_observation_table(cells),
        line=cell[cells.ravel() == START],
        anywhere=cell[(cells.ravel() == START) | (cells.ravel() == FREE)],
    )


def _cell_kind_at(cells: Numbers, x: Numbers, y: Numbers) -> Numbers:
    """What is there; outside is wall."""
    inside = (x >= 0) & (x < cells.shape[1]) & (y >= 0) & (y < cells.shape[0])
    return np.where(inside, cells[np.where(inside, y, 0), np.where(inside, x, 0)], WALL)


def _movement_table(cells: Numbers, speed: int, end_cell: bool) -> Numbers:
    """Cell k of n on the way is start + floor(k * d/n + 1/2), where n is the larger of |dx| and |dy|."""
    y, x = (part.ravel()[:, None, None] for part in np.indices(cells.shape))
    velocity = np.arange(-speed, speed + 1)
    dx, dy = velocity[None, :, None], velocity[None, None, :]
    length = np.maximum(np.abs(dx), np.abs(dy))
    found = (y + dy) * cells.shape[1] + (x + dx)
    if end_cell:
        there = _cell_kind_at(cells, x + dx, y + dy)
        return np.asarray(np.where(there == WALL, CRASHED, np.where(there == GOAL, ARRIVED, found)))
    over = np.zeros(found.shape, dtype=np.bool_)
    for k in range(1, speed + 1):
        half = np.maximum(length, 1)
        there = _cell_kind_at(
            cells, x + (2 * k * dx + half) // (2 * half), y + (2 * k * dy + half) // (2 * half)
        )
        going = (k <= length) & ~over
        for kind, end in ((WALL, CRASHED), (GOAL, ARRIVED)):
            found = np.where(going & (there == kind), end, found)
            over = over | (going & (there == kind))
    return np.asarray(found)


def _observation_table(cells: Numbers) -> NDArray[np.float32]:
    y, x = (part.ravel() for part in np.indices(cells.shape))
    columns = [x, y]
    for dx, dy in _COMPASS:
        count = np.zeros_like(x)
        going = np.ones(x.shape, dtype=np.bool_)
        while going.any():
            going &= _cell_kind_at(cells, x + count * dx, y + count * dy) != WALL
            count += going
        columns.append(count)
    goal_y, goal_x = np.nonzero(cells == GOAL)  # row by row: on a tie the first
    away_x, away_y = goal_x[None, :] - x[:, None], goal_y[None, :] - y[:, None]
    distance = np.abs(away_x) + np.abs(away_y)
    nearest = np.argmin(distance, axis=1)[:, None]
    columns += [np.take_along_axis(part, nearest, 1)[:, 0] for part in (distance, away_x, away_y)]
    return np.column_stack(columns).astype(np.float32)
