"""Runs that came nearest have offspring: their starts and their numbers, mixed and changed.

Starts move by the difference of two others, which keeps linear equations, by noise as wide as the best are
spread, between two of them, or along the secant through two to where the distance would be 0; one that misses
the initial condition is left as its parent was. Numbers are changed piece by piece, exchanged from some step
on, drawn anew from there, or moved along that secant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.environment import Environment
from surefoot.simulate.batch.numbers import GivenNumbers, fresh_numbers
from surefoot.simulate.batch.state_columns import column_kinds
from surefoot.simulate.starts import StartSamples, StartSource
from surefoot.simulate.starts.check_starts import check_rows
from surefoot.term.columns import Column
from surefoot.term.reserved_names import location_key
from surefoot.term.value_types import Arithmetic, Array, Real, ValueType

ELITE = 0.1  # share of the runs that have offspring
REDRAWN = 0.1  # share of the starts that are new
PIECES = 8  # of a run whose numbers are changed together
LEAST_NOISE = 0.02
FARTHEST = 10.0  # times the difference of two parents
SHORT_BITS = 16  # of a changed start within its spread, in exact arithmetic


@dataclass(slots=True)
class Population:
    """Runs to make: starts and numbers; and the best so far, with their distances."""

    starts: StartSamples
    numbers: GivenNumbers
    elite_starts: StartSamples | None = None
    elite_numbers: GivenNumbers | None = None
    elite_values: NDArray[np.float64] | None = None


def breed_population(
    environment: Environment,
    old: Population,
    values: NDArray[np.float64],
    source: StartSource,
    rng: np.random.Generator,
) -> Population:
    """The next generation, of the best of this one and of those before."""
    count = len(old.starts)
    kept = max(4, round(ELITE * count))
    order = np.argsort(values, kind="stable")[:kept]
    starts = pick_starts(old.starts, order)
    numbers = old.numbers.breed(len(order), lambda n: n[order])
    best = values[order]
    if old.elite_values is not None and old.elite_starts is not None and old.elite_numbers is not None:
        starts = join_starts(old.elite_starts, starts)
        numbers = _join_numbers(old.elite_numbers, numbers, rng)
        best = np.concatenate([old.elite_values, best])
        again = np.argsort(best, kind="stable")[:kept]
        starts, best = pick_starts(starts, again), best[again]
        numbers = numbers.breed(len(again), lambda n: n[again])
    parents = rng.integers(len(best), size=(3, count))
    secants = _secant_shares(best, parents, rng)
    children = breed_starts(environment, starts, parents, secants, source, rng)
    made = numbers.breed(count, lambda n: _breed_numbers(n, parents, secants, rng))
    return Population(children, made, starts, numbers, best)


def _secant_shares(
    values: NDArray[np.float64], parents: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """How far from the first parent towards the second the distance would be 0, if it were linear there.

    Between them, if they are on different sides of it; beyond the first one, if both are on one side. That is
    what a gradient would be used for, along a direction that the best runs differ in.
    """
    a, b = values[parents[0]], values[parents[1]]
    with np.errstate(all="ignore"):
        between, beyond = a / (a + b), a / (a - b)
    found = np.where(rng.random(len(a)) < 0.5, between, beyond)
    return np.asarray(np.clip(np.nan_to_num(found), -FARTHEST, FARTHEST))


def keep_first(starts: StartSamples, count: int) -> StartSamples:
    return starts if count == len(starts) else pick_starts(starts, np.arange(count))


def pick_starts(starts: StartSamples, rows: NDArray[np.int64]) -> StartSamples:
    return StartSamples(
        {n: c[rows] for n, c in starts.columns.items()},
        "spread",
        starts.how,
        0,
        {n: c[rows] for n, c in starts.exact.items()},
    )


def join_starts(first: StartSamples, second: StartSamples) -> StartSamples:
    columns = {n: np.concatenate([c, second.columns[n]]) for n, c in first.columns.items()}
    exact = {
        n: np.concatenate([s.exact.get(n, s.columns[n]).astype(object) for s in (first, second)])
        for n in dict.fromkeys((*first.exact, *second.exact))
    }
    return StartSamples(columns, "spread", first.how, 0, exact)


def _join_numbers(first: GivenNumbers, second: GivenNumbers, rng: np.random.Generator) -> GivenNumbers:
    joined = GivenNumbers(first.count + second.count, first.steps, rng)
    for slot in dict.fromkeys((*first.slots, *second.slots)):
        joined.slots[slot] = np.concatenate(
            [
                g.slots[slot] if slot in g.slots else fresh_numbers(g.count, g.steps + 1, rng)
                for g in (first, second)
            ]
        )
    return joined


def breed_starts(
    environment: Environment,
    elite: StartSamples,
    parents: NDArray[np.int64],
    secants: NDArray[np.float64],
    source: StartSource,
    rng: np.random.Generator,
) -> StartSamples:
    """Starts near those of the parents; each of them is one."""
    count = parents.shape[1]
    base = pick_starts(elite, parents[0])
    manner: NDArray[np.int64] = rng.integers(
        0, 5, size=(count,)
    )  # as it was, by a difference, by noise, between two, by a secant
    factor = np.where(rng.random(count) < 0.5, 1.0, rng.random(count))
    factor = np.where(manner == 4, secants, factor)
    keys = {location_key(c.name) for c in environment.components}
    columns = {}
    for name, kind in column_kinds(environment).items():
        column = elite.columns[name]
        if column.dtype.kind == "b" or name in keys:
            taken = np.where(manner == 3, parents[1], parents[0])
            columns[name] = column[taken]
            continue
        columns[name] = _move_column(column, kind, parents, manner, factor, environment.arithmetic, rng)
    exact = split_exact_columns(base, columns)
    moved = manner > 0
    fine = np.ones(count, dtype=np.bool_)
    fine[moved] = check_rows(
        environment,
        source.compiled,
        {n: c[moved] for n, c in columns.items()},
        {n: c[moved] for n, c in exact.items()},
        int(moved.sum()),
    )
    made = StartSamples(columns, "spread", elite.how, 0, exact)
    new = np.flatnonzero(rng.random(count) < REDRAWN)
    joined = join_starts(join_starts(made, base), source.draw(max(len(new), 1), rng))
    rows = np.where(fine, np.arange(count), count + np.arange(count))
    rows[new] = 2 * count + np.arange(len(new))
    return pick_starts(joined, rows)


def _move_column(
    column: Column,
    kind: ValueType,
    parents: NDArray[np.int64],
    manner: NDArray[np.int64],
    factor: NDArray[np.float64],
    arithmetic: Arithmetic,
    rng: np.random.Generator,
) -> Column:
    more = (1,) * (column.ndim - 1)
    a, b, c = (column[p].astype(np.float64) for p in parents)
    manner, factor = manner.reshape(-1, *more), factor.reshape(-1, *more)
    spread = column.astype(np.float64).std(axis=0) + 1e-3 * np.abs(column).mean(axis=0)
    noise = rng.normal(size=a.shape) * spread * factor
    by_difference, between = a + factor * (b - c), a + factor * (b - a)
    moved = np.select([manner == 0, manner == 1, manner == 2], [a, by_difference, a + noise], between)
    if column.dtype.kind == "i":
        moved = np.rint(np.where(manner == 1, a + (b - c), moved))
        return np.asarray(np.where(manner == 0, column[parents[0]], moved), dtype=np.int64)
    return np.asarray(np.where(manner == 0, a, round_starts(moved, kind, spread, arithmetic)))


def round_starts(
    moved: NDArray[np.float64], kind: ValueType, spread: Any, arithmetic: Arithmetic
) -> NDArray[np.float64]:
    """Real numbers that a start may have where they were moved to."""
    while isinstance(kind, Array):
        kind = kind.element
    if isinstance(kind, Real) and kind.float32:
        return np.asarray(moved.astype(np.float32), dtype=np.float64)
    return shorten_numbers(moved, spread) if arithmetic is Arithmetic.EXACT else moved


def shorten_numbers(values: NDArray[np.float64], spread: Any) -> NDArray[np.float64]:
    """To so many bits within their spread: fractions of many steps become long otherwise."""
    grain = np.exp2(np.floor(np.log2(np.maximum(spread, 1e-30))) - SHORT_BITS)
    return np.asarray(np.rint(values / grain) * grain)


def split_exact_columns(base: StartSamples, columns: Mapping[str, Column]) -> dict[str, NDArray[Any]]:
    """Fractions of parents where nothing was changed."""
    found = {}
    for name, fractions in base.exact.items():
        own = columns[name].astype(object)
        same = columns[name] == base.columns[name]
        own[same] = fractions[same]
        found[name] = own
    return found


def _breed_numbers(
    numbers: NDArray[np.float64],
    parents: NDArray[np.int64],
    secants: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Those of the first parent: as they were, changed in pieces, exchanged or drawn anew from a step on, or
    moved along the secant of two.
    """
    count, steps = parents.shape[1], numbers.shape[1]
    own = numbers[parents[0]]
    manner = rng.integers(0, 5, size=(count, 1))
    place = np.minimum(np.arange(steps) * PIECES // steps, PIECES - 1)
    spread = np.maximum(numbers.std(axis=0), LEAST_NOISE)
    pieces = rng.normal(size=(count, PIECES)) * (rng.random((count, PIECES)) < 0.5)
    changed = np.abs(own + pieces[:, place] * spread)
    changed = np.where(changed >= 1.0, np.maximum(2.0 - changed, 0.0), changed)
    since = rng.integers(0, steps, size=(count, 1))
    later = np.arange(steps) >= since
    exchanged = np.where(later, numbers[parents[1]], own)
    drawn = np.where(later, fresh_numbers(count, steps, rng), own)
    moved = own + secants[:, None] * (numbers[parents[1]] - own)
    mixed = np.select(
        [manner == 0, manner == 1, manner == 2, manner == 3], [own, changed, exchanged, drawn], moved
    )
    return np.asarray(np.clip(mixed, 0.0, float(np.nextafter(1.0, 0.0))))
