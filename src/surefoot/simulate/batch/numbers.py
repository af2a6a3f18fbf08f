"""Numbers in [0, 1) by which runs pick what is left open, one for each run, step and thing to pick."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.simulate.batch.decision import Uniform
from surefoot.simulate.batch.model import Rows

Manner: TypeAlias = Literal["random", "extreme", "held", "mixed"]
MANNERS: tuple[Manner, ...] = ("random", "mixed", "extreme", "held")
_ALMOST_ONE = float(np.nextafter(1.0, 0.0))
_SWITCH = 0.1  # of the steps: a held number changes


def random_numbers(rng: np.random.Generator) -> Uniform:
    """Each by chance."""
    return lambda _, rows: rng.random(len(rows))


def numbers_in_manner(manner: Manner, count: int, rng: np.random.Generator) -> Uniform:
    """`extreme`: at the ends of the range; `held`: the same for a while; `mixed`: each run has its manner."""
    own = {"random": 0, "extreme": 1, "held": 2}
    kinds = rng.integers(0, 3, count) if manner == "mixed" else np.full(count, own[manner])
    held: dict[str, NDArray[np.float64]] = {}

    def draw(slot: str, rows: Rows) -> NDArray[np.float64]:
        found = rng.random(len(rows))
        mine = kinds[rows]
        found = np.where(mine == 1, np.where(found < 0.5, 0.0, _ALMOST_ONE), found)
        if (mine == 2).any():
            before = held.setdefault(slot, np.full(count, np.nan))
            old = before[rows]
            changes = np.isnan(old) | (rng.random(len(rows)) < _SWITCH)
            ends = np.where(rng.random(len(rows)) < 0.5, np.where(found < 0.5, 0.0, _ALMOST_ONE), found)
            kept = np.where(changes, ends, old)
            before[rows] = kept
            found = np.where(mine == 2, kept, found)
        return found

    return draw
