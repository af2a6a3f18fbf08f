"""What a simulator is: a batch of episodes that begin together."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Actions: TypeAlias = NDArray[Any]  # one number per episode: a real one, or the index of an action


class BatchSimulator(Protocol):
    width: ClassVar[int]  # of an observation
    actions: ClassVar[int]  # how many there are to choose from; 0: one real number
    longest: ClassVar[int]  # no episode has more decisions than this
    baseline_name: ClassVar[str]

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        """Begin `count` episodes; everything random about them comes from `rng`."""
        ...

    def observe(self) -> Floats:
        """What the policy sees, one row per episode."""
        ...

    def step(self, actions: Actions) -> tuple[Floats, Flags]:
        """Act in every episode: the reward, and whether the episode is over (then both mean nothing more)."""
        ...

    def baseline(self) -> Actions:
        """What the named simple controller would do now."""
        ...
