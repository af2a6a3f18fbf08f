"""Finite decision processes, what is asked about them and what a solver answers.

What a Markov solver is asked about every state of a process, and its answer.

A finite Markov decision process written as rows; a chain is one where no state has two choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Markov:
    """A finite decision process in rows: a state has choices, a choice has outcomes. Probabilities are exact.

    A state without choices is where the run ends; nothing happens there any more. The probabilities of the
    outcomes of one choice sum to 1. Several outcomes of one choice may lead to the same state.
    """

    choices: NDArray[np.int64]  # [states + 1]: the choices of state s are choices[s] .. choices[s + 1] - 1
    outcomes: NDArray[np.int64]  # [choices + 1]: likewise the outcomes of a choice
    targets: NDArray[np.int64]  # [outcomes]: the next state
    weights: NDArray[np.int32]  # [outcomes]: index into `values` of the probability, which is positive
    values: tuple[Fraction, ...]  # distinct numbers
    initial: NDArray[np.int64]  # start states, sorted
    rewards: Mapping[str, NDArray[np.int32]]  # name -> [outcomes]: index into `values`
    labels: Mapping[str, NDArray[np.bool_]]  # name -> [states]
    cut: NDArray[np.bool_]  # [states] seen but not explored (a budget ended): anything may happen from there

    @property
    def states(self) -> int:
        return len(self.choices) - 1

    @property
    def is_chain(self) -> bool:
        """No state leaves anything open."""
        return bool((np.diff(self.choices) <= 1).all()) and not self.cut.any()

    def owners(self) -> NDArray[np.int64]:
        """[choices]: the state that each choice belongs to."""
        return np.repeat(np.arange(self.states, dtype=np.int64), np.diff(self.choices))

    def rows(self) -> NDArray[np.int64]:
        """[outcomes]: the choice that each outcome belongs to."""
        return np.repeat(np.arange(len(self.outcomes) - 1, dtype=np.int64), np.diff(self.outcomes))


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
