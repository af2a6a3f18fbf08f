"""A finite Markov decision process written as rows; a chain is one where no state has two choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

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
