"""The rows of a decision process while it grows, state by state in order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class MarkovBuilder:
    """Flat arrays to which states, choices and outcomes are appended."""

    def __init__(self, rewards: int) -> None:
        self.choices = array("q", [0])
        self.outcomes = array("q", [0])
        self.targets = array("q")
        self.weights = array("i")
        self.rewards = [array("i") for _ in range(rewards)]
        self.transition = array("i")
        self.chosen = array("i")

    def choice(self, reached: Sequence[tuple[int, int, Sequence[int]]], transition: int, chosen: int) -> None:
        """A choice of the current state: outcomes as (weight, target, rewards)."""
        for weight, target, rewards in reached:
            self.targets.append(target)
            self.weights.append(weight)
            for column, reward in zip(self.rewards, rewards, strict=True):
                column.append(reward)
        self.outcomes.append(len(self.targets))
        self.transition.append(transition)
        self.chosen.append(chosen)

    def drop_choices(self) -> None:
        """Forget those of the current state."""
        choices = self.choices[-1]
        del self.outcomes[choices + 1 :], self.transition[choices:], self.chosen[choices:]
        for column in (self.targets, self.weights, *self.rewards):
            del column[self.outcomes[-1] :]

    def end_state(self) -> None:
        self.choices.append(len(self.outcomes) - 1)

    def bytes(self) -> int:
        arrays = (self.choices, self.outcomes, self.targets, self.weights, self.transition, self.chosen)
        return sum(a.itemsize * len(a) for a in (*arrays, *self.rewards))


class StateIndex:
    """States by number, and the number of each."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.numbers: dict[tuple[Any, ...], int] = {}

    def number(self, row: tuple[Any, ...]) -> int:
        found = self.numbers.get(row)
        if found is None:
            found = self.numbers[row] = len(self.rows)
            self.rows.append(row)
        return found


def freeze_array(values: array[int], dtype: Any) -> NDArray[Any]:
    result = np.frombuffer(values, dtype=dtype) if len(values) else np.zeros(0, dtype=dtype)
    result = result.copy()
    result.flags.writeable = False
    return result
