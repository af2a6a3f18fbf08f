"""Numbers in [0, 1) by which runs pick what is left open, one for each run, step and thing to pick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.simulate.batch.decision import Uniform
from surefoot.simulate.batch.model import Rows

_ALMOST_ONE = float(np.nextafter(1.0, 0.0))
_SWITCH = 0.1  # of the steps: a held number changes
_RANDOM, _EXTREME, _HELD, _COARSE = range(4)
_GRAIN = 16  # of coarse numbers: sums of them come back to what they were
AGAIN = " again "  # in the name of what is drawn once more because an assumption was missed


class Numbers(Protocol):
    """`step`: how many steps have been made, set by whoever makes them."""

    step: int

    def __call__(self, slot: str, rows: Rows) -> NDArray[np.float64]: ...


def numbers_of_rows(numbers: Numbers, runs: Rows) -> Uniform:
    """For rows that are the runs with these numbers."""
    return lambda slot, rows: numbers(slot, runs[rows])


def random_numbers(rng: np.random.Generator) -> Uniform:
    """Each by chance."""
    return lambda _, rows: rng.random(len(rows))


class RunNumbers:
    """Each run has its manner: by chance, fine or coarse, at the ends, or the same number for a while.

    `plain`: all by chance. `asked`: whether anything was left open at all.
    """

    def __init__(self, count: int, rng: np.random.Generator, *, plain: bool = False) -> None:
        self.step, self.asked = 0, False
        self._count, self._rng = count, rng
        self._manners = np.full(count, _RANDOM) if plain else rng.integers(0, 4, count)
        self._held: dict[str, NDArray[np.float64]] = {}

    def __call__(self, slot: str, rows: Rows) -> NDArray[np.float64]:
        self.asked = self.asked or bool(len(rows))
        rng, found, manners = self._rng, self._rng.random(len(rows)), self._manners[rows]
        if not manners.any() or AGAIN in slot:
            return found
        ends = np.where(found < 0.5, 0.0, _ALMOST_ONE)
        found = np.where(manners == _EXTREME, ends, found)
        found = np.where(manners == _COARSE, np.floor(found * _GRAIN) / _GRAIN, found)
        if (manners == _HELD).any():
            before = self._held.setdefault(slot, np.full(self._count, np.nan))
            old = before[rows]
            changes = np.isnan(old) | (rng.random(len(rows)) < _SWITCH)
            kept = np.where(changes, np.where(rng.random(len(rows)) < 0.5, ends, found), old)
            before[rows] = kept
            found = np.where(manners == _HELD, kept, found)
        return found


class GivenNumbers:
    """Numbers of every run and step, made when first asked for, and kept to be changed and used again."""

    def __init__(self, count: int, steps: int, rng: np.random.Generator) -> None:
        self.step, self.steps, self.count = 0, steps, count
        self.slots: dict[str, NDArray[np.float64]] = {}
        self._rng = rng

    def __call__(self, slot: str, rows: Rows) -> NDArray[np.float64]:
        if AGAIN in slot:
            return self._rng.random(len(rows))
        if slot not in self.slots:
            self.slots[slot] = fresh_numbers(self.count, self.steps + 1, self._rng)
        return np.asarray(self.slots[slot][rows, min(self.step, self.steps)])

    def breed(self, count: int, child: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> GivenNumbers:
        """The same for other runs: `child` makes their numbers of these."""
        found = GivenNumbers(count, self.steps, self._rng)
        found.slots = {slot: child(numbers) for slot, numbers in self.slots.items()}
        return found


def fresh_numbers(count: int, steps: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """By run and step: by chance, at the ends, held for a while or coarse, a quarter each."""
    found = rng.random((count, steps))
    manners = rng.integers(0, 4, count)
    ends = np.where(found < 0.5, 0.0, _ALMOST_ONE)
    found = np.where((manners == _EXTREME)[:, None], ends, found)
    found = np.where((manners == _COARSE)[:, None], np.floor(found * _GRAIN) / _GRAIN, found)
    held = manners == _HELD
    if held.any():
        changes = rng.random((int(held.sum()), steps)) < _SWITCH
        changes[:, 0] = True
        last = np.maximum.accumulate(np.where(changes, np.arange(steps), 0), axis=1)
        mixed = np.where(rng.random(found[held].shape) < 0.5, ends[held], found[held])
        found[held] = np.take_along_axis(mixed, last, axis=1)
    return found
