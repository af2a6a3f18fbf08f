"""States that runs came to, kept to go on from: those that were met seldom, and those nearest to a violation.

After Go-Explore (Ecoffet and others, Nature 590, 2021): a state falls into a cell, cells that were met seldom
are returned to, and runs go on from there. So a violation that needs one thing after the other is found piece
by piece, though no random run does all of it. A state is kept with the moves that lead to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.robustness import Distances
from surefoot.engines.falsify.watch import hash_rows, watched_condition
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State
from surefoot.simulate.batch.model import Rows
from surefoot.simulate.batch.runs import BatchRuns, moves_of_run
from surefoot.simulate.batch.state_columns import Names, column_kinds
from surefoot.simulate.starts import StartSamples
from surefoot.term.columns import Truths
from surefoot.term.term import free_names

MOST_CELLS = 20_000
MOST_STRETCHES = 300  # batches whose moves are kept
BUCKETS = 8  # of a real number within its spread

KeptPlace: TypeAlias = tuple[int, int, int]  # a stretch, a run of it and a step
Origins: TypeAlias = tuple[KeptPlace, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A batch of runs that began in kept states (`origins`), or in starts."""

    runs: BatchRuns
    starts: StartSamples | None
    origins: Origins  # by run: stretch, run and step that it goes on from


@dataclass(slots=True)
class Archive:
    """Kept states by cell. `names`: the columns that cells are made of; all of them at first."""

    problem: Problem
    names: tuple[str, ...]
    watched: tuple[str, ...]  # of the condition: they alone make cells when there are too many
    stretches: list[Stretch] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # of cells, by hash
    states: list[dict[str, object]] = field(default_factory=list)
    origins: list[KeptPlace] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    grains: dict[str, float] = field(default_factory=dict)
    drawn: Origins = ()  # where the states come from that were drawn last

    def begin(self, stretch: Stretch) -> None:
        """What is noted from now on is of these runs."""
        self.stretches.append(stretch)

    def make_room(self) -> None:
        """Forget everything if it is too much; cells become coarser where they were too many."""
        if len(self.stretches) < MOST_STRETCHES and len(self.places) < MOST_CELLS:
            return
        if len(self.places) >= MOST_CELLS:
            self.names = tuple(n for n in self.names if n in self.watched) or self.names
        for kept in (self.stretches, self.states, self.origins, self.depths, self.visits, self.values):
            kept.clear()
        self.places.clear()

    def note(self, state: Names, alive: Truths, rows: Rows, distances: Distances, step: int) -> None:
        """Keep the states that fall into new cells, or come to one in fewer steps."""
        number = len(self.stretches) - 1
        stretch = self.stretches[number]
        mine = np.flatnonzero(alive & np.isfinite(distances))
        if not len(mine):
            return
        hashes = self._cells({n: state[n][mine] for n in self.names}, len(mine))
        found, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        for cell, place, count in zip(found.tolist(), mine[first].tolist(), counts.tolist(), strict=True):
            known = self.places.get(cell)
            row = int(rows[place])
            if known is not None:
                self.visits[known] += count
                continue
            before = 0 if stretch.starts is not None else self._depth_of(stretch.origins[row])
            self.places[cell] = len(self.states)
            self.states.append({n: c[place] for n, c in state.items()})
            self.origins.append((number, row, step))
            self.depths.append(before + step)
            self.visits.append(count)
            self.values.append(float(distances[place]))

    def _depth_of(self, origin: KeptPlace) -> int:
        total = 0
        while True:
            number, row, step = origin
            total += step
            stretch = self.stretches[number]
            if stretch.starts is not None:
                return total
            origin = stretch.origins[row]

    def _cells(self, columns: Names, count: int) -> NDArray[np.uint64]:
        parts = {}
        for name, column in columns.items():
            if column.dtype.kind == "f":
                if name not in self.grains:
                    self.grains[name] = float(column.std()) * 4 / BUCKETS or 1.0
                column = np.floor(np.clip(column / self.grains[name], -1e15, 1e15)).astype(np.int64)
            parts[name] = column
        return hash_rows(parts, count)

    def draw(self, lanes: int, most_depth: int | None, rng: np.random.Generator) -> StartSamples | None:
        """States to go on from: half of them seldom met, half of them near; None: there are none."""
        weights = 1.0 / np.sqrt(1.0 + np.array(self.visits))
        if most_depth is not None:
            weights[np.array(self.depths) > most_depth] = 0.0
        if not len(weights) or not weights.any():
            return None
        values = np.where(weights > 0, np.array(self.values), np.inf)
        ranks = np.empty(len(values))
        ranks[np.argsort(values, kind="stable")] = np.arange(1, len(values) + 1)
        near, seldom = weights / ranks, weights
        half = lanes // 2
        picked = np.concatenate(
            [
                rng.choice(len(weights), size=half, p=near / near.sum()),
                rng.choice(len(weights), size=lanes - half, p=seldom / seldom.sum()),
            ]
        )
        self.drawn = tuple(self.origins[p] for p in picked)
        columns = {
            name: np.array([self.states[p][name] for p in picked])
            for name in column_kinds(self.problem.environment)
        }
        return StartSamples(columns, "spread", "states that were met before", 0, {})

    def trace_back(self, origin: KeptPlace) -> tuple[State, list[Move]]:
        """The start of the run that came there, and the moves that lead to it."""
        number, row, step = origin
        moves = list[Move]()
        while True:
            stretch = self.stretches[number]
            moves = moves_of_run(stretch.runs, row, step) + moves
            if stretch.starts is not None:
                return next(iter(stretch.starts.states(self.problem.environment, [row]))), moves
            number, row, step = stretch.origins[row]


def make_archive(problem: Problem, names: tuple[str, ...]) -> Archive:
    used = free_names(watched_condition(problem))
    return Archive(problem, names, tuple(n for n in names if n in used or n.startswith("@")))
