"""Integer argmax cells: does some state of a cell choose an acceleration that leads to a given cell?

NET:CELL:NUMBER, as in 16x16:6x4:0: hidden layers, positions and velocities of a cell, and which question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from benchmarks import aurora_like
from surefoot.network.directed_rounding import Array
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Network, dense_network
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.solvers.native.batch_queries import BatchQueries, argmax_row_system
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Int, Real

MOVES = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1))
TRACK = 30  # positions 0 to 30, velocities -5 to 5
BATCH = 1000  # questions that are asked together


@dataclass(frozen=True, slots=True)
class Cell:
    """States low..high; the chosen move must lead into the square of that width at `corner`."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    chosen: int
    corner: tuple[int, ...]
    width: int

    def rows(self) -> list[tuple[list[int], int]]:
        """Where the move must lead, as coefficients over the state and a largest value."""
        found = []
        for axis in range(2):
            row = [int(i in (axis, axis + 2)) for i in range(4)]
            least = self.corner[axis] - MOVES[self.chosen][axis]
            found += [([-c for c in row], -least), (row, least + self.width - 1)]
        return found


@cache
def driver(width: int, seed: int = 5) -> Network:
    """A policy for a race track with six obstacles: from position and velocity to nine action values."""
    generator = np.random.default_rng(seed)
    count = 20000
    states = np.stack(
        [generator.integers(0, TRACK + 1, count) for _ in range(2)]
        + [generator.integers(-5, 6, count) for _ in range(2)],
        1,
    )
    states = states.astype(float)
    goal, obstacles = np.array([TRACK * 0.8, TRACK * 0.7]), generator.uniform(5, 25, (6, 2))
    columns: list[Array] = []
    for move in MOVES:
        velocity = states[:, 2:] + np.array(move)
        position = states[:, :2] + 1.5 * velocity
        value = -np.linalg.norm(position - goal, axis=1) / TRACK
        for obstacle in obstacles:
            value = value - 0.6 * np.exp(-((position - obstacle) ** 2).sum(1) / 8)
        columns.append(value - 0.5 * ((position < 0) | (position > TRACK)).any(1))
    values = np.stack(columns, 1)
    target = (values - values.mean(1, keepdims=True)) * 6
    weights, biases = aurora_like.trained((4, width, width, 9), states, target, seed, steps=4000)
    return dense_network(list(zip(weights, biases, strict=True)), name=f"{width}x{width}")


def cell(name: str) -> tuple[Network, Cell]:
    hidden, size, number = name.split(":")
    places, speeds = (int(n) for n in size.split("x"))
    network = driver(int(hidden.split("x")[0]))
    generator = np.random.default_rng([places, int(number), network.width, int(hidden.split("x")[0])])
    starts = *generator.integers(0, TRACK - places + 2, 2), *generator.integers(-5, 7 - speeds, 2)
    low = [int(v) for v in starts]
    high = [v + w - 1 for v, w in zip(low, (places, places, speeds, speeds), strict=True)]
    member = [int(generator.integers(a, b + 1)) for a, b in zip(low, high, strict=True)]
    chosen = int(best(network, member)) if generator.random() < 0.5 else int(generator.integers(9))
    reached = [member[i] + member[i + 2] + MOVES[chosen][i] for i in range(2)]
    corner = [(r // places) * places for r in reached]
    if generator.random() < 0.3:  # perhaps the cell beside it
        corner = [beside(generator, low, high, i, corner[i], MOVES[chosen][i], places) for i in range(2)]
    return network, Cell(tuple(low), tuple(high), chosen, tuple(corner), places)


def argmax(name: str) -> Query:
    """One question as a query."""
    network, asked = cell(name)
    states, scores = ("x", "y", "vx", "vy"), tuple(f"q{i}" for i in range(9))
    quantities = [QueryVariable(n, Int(a, b)) for n, a, b in zip(states, asked.low, asked.high, strict=True)]
    quantities += [QueryVariable(n, Real()) for n in scores]
    best_score = Var(scores[asked.chosen])
    constraints: list[Term] = [Var(s) <= best_score for s in scores if s != best_score.name]
    for row, most in asked.rows():
        first, second = ((n, c) for n, c in zip(states, row, strict=True) if c)
        left = Const(first[1]) * Var(first[0]) + Const(second[1]) * Var(second[0])
        constraints.append(left <= Const(most))
    call = NetworkCall(network, tuple(Var(n) for n in states), scores)
    return Query(tuple(quantities), tuple(constraints), (call,))


def together(name: str, count: int = BATCH) -> tuple[BatchQueries, int]:
    """Questions 0, 1, … of the same network and size of cell as a batch, and the place of the named one."""
    net, size, number = name.split(":")
    asked = [cell(f"{net}:{size}:{i}") for i in range(max(count, int(number) + 1))]
    network = asked[0][0]
    cells = [c for _, c in asked]
    moves = sorted({c.chosen for c in cells})
    directions = [row for row, _ in cells[0].rows()]
    systems = []
    for move in moves:
        choice = argmax_row_system(network, move)
        relaxed = type(choice)(choice.coefficients, np.zeros_like(choice.strict))  # ties count as chosen
        systems.append(relaxed.and_also(directions))
    offsets = [[0.0] * 8 + [float(most) for _, most in c.rows()] for c in cells]
    questions = BatchQueries(
        network,
        np.array([c.low for c in cells], dtype=np.float64),
        np.array([c.high for c in cells], dtype=np.float64),
        np.ones(4, dtype=np.bool_),
        tuple(systems),
        np.array([moves.index(c.chosen) for c in cells], dtype=np.int64),
        np.array(offsets),
        float32=False,
    )
    return questions, int(number)


def beside(
    generator: np.random.Generator,
    low: list[int],
    high: list[int],
    axis: int,
    corner: int,
    move: int,
    width: int,
) -> int:
    """The same or the next interval of positions, as long as some state of the cell reaches it."""
    other = corner + width * int(generator.integers(-1, 2))
    least, most = low[axis] + low[axis + 2] + move, high[axis] + high[axis + 2] + move
    return other if least <= other + width - 1 and other <= most else corner


def best(network: Network, state: Sequence[int]) -> int:
    scores = exact_outputs(network, [Fraction(v) for v in state])
    return scores.index(max(scores))
