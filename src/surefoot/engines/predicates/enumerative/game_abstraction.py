"""Bounds of a probability from an abstraction (after Kwiatkowska, Norman, Parker, QEST 2006).

An abstract state stands for states with different choices. Whoever picks among these states, and among the
actions within rounding, plays for the least value and for the greatest one; whoever optimises picks a choice
of the state. The true value lies between the two. Where both play for the same end, or nothing is left to
optimise, this is a decision process. Otherwise it is a game: any strategy for the choices gives a bound, the
one that value iteration finds a good one, and with it fixed a decision process is left again. The solver's
bounds of that process hold exactly, so these do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.distributions import ASTRAY, Choices, Distributions
from surefoot.engines.predicates.enumerative.partition import Ids, Partition
from surefoot.query.markov import Markov, Optimise, Until
from surefoot.solvers.markov import solve_markov
from surefoot.work.budget import Budget

Row: TypeAlias = tuple[tuple[int, Fraction], ...]  # abstract states and probabilities, sorted
ROUNDS = 2000  # of value iteration, for a strategy
SMALL = 1e-12
WIDEST = 1 << 62


@dataclass(frozen=True, slots=True)
class AbstractGame:
    """Per abstract state the sets of choices that its states have; the last two go astray or end."""

    rows: tuple[Row, ...]
    sets: tuple[frozenset[tuple[int, ...]], ...]  # per abstract state: choices by number, one set a state


def build_abstract_game(parts: Partition, found: Distributions, trouble: Mask, decided: Mask) -> AbstractGame:
    """`decided`: abstract states where nothing that happens later matters."""
    count = len(parts)
    numbers: dict[Row, int] = {}
    sets: list[set[tuple[int, ...]]] = [set() for _ in range(count + 2)]
    astray, end = (numbers.setdefault(((count + i, Fraction(1)),), i) for i in range(2))
    rows, first = _number_choices(parts, found.choices, numbers)[found.order], found.first
    several, cell = np.diff(first), parts.cell
    for c in np.unique(cell[several == 0]).tolist():
        sets[c].add((end,))
    single = np.flatnonzero((several == 1) & ~found.stalls)
    for key in np.unique(cell[single] * len(numbers) + rows[first[single]]).tolist():
        sets[key // len(numbers)].add((key % len(numbers),))
    for s in np.flatnonzero((several > 1) | ((several == 1) & found.stalls)).tolist():
        mine = slice(first[s], first[s + 1])
        picked = found.variants[mine].tolist(), rows[mine].tolist()
        sets[cell[s]].update(_enumerate_variants(*picked, found.stalls[s], end))
    for c in np.unique(cell[trouble]).tolist():
        sets[c].add((astray,))
    kept = tuple(frozenset() if c < count and decided[c] else frozenset(s) for c, s in enumerate(sets))
    return AbstractGame(tuple(numbers), kept)


def _enumerate_variants(
    variants: Sequence[int], rows: Sequence[int], stalls: bool, end: int
) -> Iterable[tuple[int, ...]]:
    """The choices of a state, for everything that the policy may pick there."""
    always = {r for v, r in zip(variants, rows, strict=True) if not v}
    picked = {v for v in variants if v}
    for variant in picked:
        yield tuple(sorted(always | {r for v, r in zip(variants, rows, strict=True) if v == variant}))
    if stalls or not picked:
        yield tuple(sorted(always)) or (end,)


def _number_choices(parts: Partition, choices: Sequence[Choices], numbers: dict[Row, int]) -> Ids:
    """The number of the abstract choice, of every choice."""
    found: list[Ids] = [np.zeros(0, dtype=np.int64)]
    for group in choices:
        to = np.where(group.targets == ASTRAY, len(parts), parts.cell[group.targets])
        distinct, which = _distinct_rows(to, len(parts) + 1)
        made = []
        for targets in distinct.tolist():
            shares: dict[int, Fraction] = {}
            for target, share in zip(targets, group.shares, strict=True):
                shares[target] = shares.get(target, Fraction(0)) + share
            made.append(numbers.setdefault(tuple(sorted(shares.items())), len(numbers)))
        found.append(np.array(made, dtype=np.int64)[which])
    return np.concatenate(found)


def _distinct_rows(rows: Ids, base: int) -> tuple[Ids, Ids]:
    """The distinct rows of numbers below the base, and which of them each row is."""
    if base ** rows.shape[1] >= WIDEST:
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        return distinct, which.reshape(-1)
    powers = base ** np.arange(rows.shape[1], dtype=np.int64)
    _, first, which = np.unique(rows @ powers, return_index=True, return_inverse=True)
    return rows[first], which.reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class ReachabilityQuestion:
    """What has to be reached, and where one may pass: flags of abstract states."""

    optimise: Optimise
    through: Mask
    goal: Mask


def bound_game_value(
    made: AbstractGame, asked: ReachabilityQuestion, starts: Ids, upper: bool, budget: Budget
) -> NDArray[np.object_]:
    """A bound of the value of every state of each abstract state, from above or from below, exact."""
    worst: Optimise = "max" if upper else "min"
    goal = np.append(asked.goal, [upper, False])  # what goes astray may do anything
    if asked.optimise == worst:
        choices = [sorted({r for several in sets for r in several}) for sets in made.sets]
    else:
        value = _choice_values(made, asked.optimise, worst, goal)
        choices = [sorted({_best_choice(s, value, asked.optimise) for s in sets}) for sets in made.sets]
    through = np.append(asked.through, [False, False])
    process = _markov_process(made, choices, starts)
    found = solve_markov(process, Until(worst, through, goal), seconds_left=budget.remaining)
    ends = found.high if upper else found.low
    return np.array([Fraction(e) / found.scale for e in ends.tolist()], dtype=object)


def _best_choice(several: Sequence[int], value: Mapping[int, float], optimise: Optimise) -> int:
    pick = max if optimise == "max" else min
    return pick(several, key=lambda r: value[r])


def _choice_values(made: AbstractGame, optimise: Optimise, worst: Optimise, goal: Mask) -> dict[int, float]:
    """What each choice is worth in the game, roughly: only a strategy depends on it."""
    value = goal.astype(np.float64)
    targets = np.array([t for row in made.rows for t, _ in row], dtype=np.int64)
    shares = np.array([float(p) for row in made.rows for _, p in row])
    begins = np.cumsum([0, *(len(row) for row in made.rows)])[:-1]
    several = [s for sets in made.sets for s in sorted(sets)]
    cells = [c for c, sets in enumerate(made.sets) if sets]
    inner, outer = (np.maximum if o == "max" else np.minimum for o in (optimise, worst))
    members = np.array([r for s in several for r in s], dtype=np.int64)
    of_sets = np.cumsum([0, *map(len, several)])[:-1]
    of_cells = np.cumsum([0, *(len(made.sets[c]) for c in cells)])[:-1]
    worth = np.add.reduceat(value[targets] * shares, begins)
    for _ in range(ROUNDS if cells else 0):
        new = value.copy()
        new[cells] = outer.reduceat(inner.reduceat(worth[members], of_sets), of_cells)
        new[goal] = 1.0
        change = float(np.abs(new - value).max())
        value = new
        worth = np.add.reduceat(value[targets] * shares, begins)
        if change < SMALL:
            break
    return dict(enumerate(worth.tolist()))


def _markov_process(made: AbstractGame, choices: Sequence[Sequence[int]], starts: Ids) -> Markov:
    rows = [made.rows[r] for several in choices for r in several]
    values: dict[Fraction, int] = {}
    weights = [values.setdefault(p, len(values)) for row in rows for _, p in row]
    return Markov(
        np.cumsum([0, *map(len, choices)], dtype=np.int64),
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([t for row in rows for t, _ in row], dtype=np.int64),
        np.array(weights, dtype=np.int32),
        tuple(values) or (Fraction(1),),
        np.unique(starts),
        {},
        {},
        np.zeros(len(choices), dtype=np.bool_),
    )
