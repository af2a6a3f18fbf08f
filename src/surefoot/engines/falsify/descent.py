"""Steps down the gradient of the distance to a violation, by finite differences in columns.

A run is a point: the real numbers of its start, in units of how far starts are spread, and the numbers by
which it picks, in pieces of its steps. One batch has a run for each coordinate, which is changed a little:
its distances are the gradient. The next batch has runs along it, near and far. No coordinate leaves the range
that starts were drawn in; where a start misses the initial condition all the same, it stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.evolution import pick_starts, round_starts, split_exact_columns
from surefoot.problem.environment import Environment
from surefoot.simulate.batch.numbers import GivenNumbers
from surefoot.simulate.batch.state_columns import column_kinds
from surefoot.simulate.starts import StartSamples
from surefoot.simulate.starts.check_starts import check_rows, compile_start_condition
from surefoot.term.columns import Column
from surefoot.term.reserved_names import location_key

Points = NDArray[np.float64]
MOST_PIECES = 32  # of the numbers for one thing to pick
MOST_COORDINATES = 256
NEAR, LEAST_NEAR = 2.0**-10, 2.0**-18  # how far a coordinate is changed to see what that does
ALONG = 2.0 ** np.arange(-12, 3)  # how far along the gradient runs are tried
ROOTS = np.array([0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0])  # times as far as where the distance would be 0
_ALMOST_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True)
class DescentPoint:
    """One run and its coordinates; `spread`: of starts, by name, for each entry of a column."""

    environment: Environment
    starts: StartSamples  # one row
    numbers: GivenNumbers  # of one run
    spread: dict[str, Points]
    ends: dict[str, tuple[Points, Points]]  # between which starts were drawn

    def count(self) -> int:
        return sum(s.size for s in self.spread.values()) + len(self.numbers.slots) * self.pieces()

    def pieces(self) -> int:
        return min(MOST_PIECES, self.numbers.steps + 1)

    def signs(self) -> Points:
        """In which direction each coordinate has more room."""
        found = [
            np.where(2 * self.starts.columns[n][0] > sum(self.ends[n]), -1.0, 1.0).ravel()
            for n in self.spread
        ]
        pieces = np.array_split(np.arange(self.numbers.steps + 1), self.pieces())
        found += [
            np.array([1.0 if numbers[0, some].mean() < 0.5 else -1.0 for some in pieces])
            for numbers in self.numbers.slots.values()
        ]
        return np.concatenate(found)

    def at(self, move: Points) -> DescentPoint:
        """The point at the end of a move."""
        starts, numbers = self.move(move[None])
        return replace(self, starts=starts, numbers=numbers)

    def move(self, moves: Points) -> tuple[StartSamples, GivenNumbers]:
        """The runs at the ends of these moves, one in each row."""
        many, place = len(moves), 0
        base = pick_starts(self.starts, np.zeros(many, dtype=np.int64))
        columns: dict[str, Column] = dict(base.columns)
        for name, spread in self.spread.items():
            by = moves[:, place : place + spread.size].reshape(many, *spread.shape)
            moved = np.clip(base.columns[name] + by * spread, *self.ends[name])
            kind = column_kinds(self.environment)[name]
            rounded = round_starts(moved, kind, spread, self.environment.arithmetic)
            columns[name] = np.where(by == 0.0, base.columns[name], rounded)
            place += spread.size
        exact = split_exact_columns(base, columns)
        fine = check_rows(self.environment, compile_start_condition(self.environment), columns, exact, many)
        both = {n: np.concatenate([c, base.columns[n]]) for n, c in columns.items()}
        old = {n: np.concatenate([c, base.exact[n]]) for n, c in exact.items()}
        joined = StartSamples(both, "spread", base.how, 0, old)
        starts = pick_starts(joined, np.where(fine, np.arange(many), many + np.arange(many)))
        pieces = self.pieces()
        parts = np.array_split(np.arange(self.numbers.steps + 1), pieces)
        piece = np.repeat(np.arange(pieces), [len(part) for part in parts])
        numbers = self.numbers.breed(many, lambda n: np.repeat(n, many, axis=0))
        for slot, values in numbers.slots.items():
            by = moves[:, place : place + pieces][:, piece]
            numbers.slots[slot] = np.clip(values + by, 0.0, _ALMOST_ONE)
            place += pieces
        return starts, numbers


def make_point(
    environment: Environment, population: StartSamples, row: int, numbers: GivenNumbers
) -> DescentPoint | None:
    """The point of one run of a population; None: it has no coordinates, or too many."""
    keys = {location_key(c.name) for c in environment.components}
    spread = {
        name: np.asarray(column.std(axis=0), dtype=np.float64)
        for name, column in population.columns.items()
        if name not in keys and column.dtype.kind == "f"
    }
    here = np.array([row])
    alone = numbers.breed(1, lambda n: n[here])
    spread = {n: s for n, s in spread.items() if s.any()}
    ends = {n: (population.columns[n].min(axis=0), population.columns[n].max(axis=0)) for n in spread}
    found = DescentPoint(environment, pick_starts(population, here), alone, spread, ends)
    return found if 0 < found.count() <= MOST_COORDINATES else None


def probe_moves(point: DescentPoint, near: float) -> Points:
    """No move, and each coordinate alone."""
    return np.concatenate([np.zeros((1, point.count())), np.diag(near * point.signs())])


def line_moves(probes: Points, values: Points) -> Points | None:
    """Moves along the gradient that the distances after some probes show, and to the ends of coordinates;
    None: it is flat."""
    with np.errstate(all="ignore"):
        gradient = np.nan_to_num((values[1:] - values[0]) / probes[1:].diagonal(), posinf=0.0, neginf=0.0)
    length = float(np.linalg.norm(gradient))
    if not np.isfinite(values[0]) or length == 0.0:
        return None
    down = -gradient / length
    root = ROOTS * max(float(values[0]), 0.0) / length
    far = np.concatenate([ALONG, root[root < 2 * ALONG[-1]]])
    ends = np.sign(down)[None, :] * np.array([[0.01], [0.1], [0.3], [1.0]])
    return np.concatenate([far[:, None] * down[None, :], ends])
