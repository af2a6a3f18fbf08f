"""What a Markov solver is asked about every state of a process, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Optimise: TypeAlias = Literal["min", "max"]


@dataclass(frozen=True, slots=True, eq=False)
class Until:
    """The probability that a run stays in `left` until it is in `right`.

    With limits, `right` must be reached in a state number `after` to `steps` of the run (starts are number 0)
    and every earlier one be in `left`. A run that has ended stays where it is: its last state counts as all
    later ones. `left` may be true or false in states of `right`; without limits it makes no difference.
    """

    optimise: Optimise
    left: NDArray[np.bool_]
    right: NDArray[np.bool_]
    steps: int | None = None
    after: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Accumulate:
    """The expected sum of the rewards of the steps before a run first is in `until`; rewards are >= 0.

    It is infinite for a way to resolve choices under which `until` is not reached almost surely: the maximum
    is infinite where there is such a way, the minimum where all are like that. With `steps`, the sum over the
    first so many steps (or those until `until`, if that is sooner), which is always finite.
    """

    optimise: Optimise
    rewards: NDArray[np.int32]  # [outcomes]: index into the values of the process
    until: NDArray[np.bool_]
    steps: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """The expected reward of the state that is number `steps` of the run."""

    optimise: Optimise
    rewards: NDArray[np.int32]  # [states]: index into the values of the process
    steps: int


MarkovQuestion: TypeAlias = Until | Accumulate | Instant


@dataclass(frozen=True, slots=True, eq=False)
class MarkovAnswer:
    """For each state, the value asked for lies between low / scale and high / scale; both are exact."""

    low: NDArray[np.object_]  # [states]: integers; fractions where the value is exact and `scale` is 1
    high: NDArray[np.object_]
    scale: int
    infinite: NDArray[np.bool_]  # [states]: the value is infinite, whatever low and high say
    scheduler: NDArray[np.int64]  # [states]: an optimal choice, -1 where none is needed
