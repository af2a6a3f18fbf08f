"""What exploration returns: the decision process, its states, and what is known about states and choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.row_layout import RowLayout, fits_word
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import State
from surefoot.query.markov import Markov
from surefoot.term.closures import Row
from surefoot.term.value_types import Bool, Int


class States(Protocol):
    """The states by number. Names are those of `problem/semantics.py`: variables, and `@component`."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def __len__(self) -> int: ...

    def valuation(self, number: int) -> State: ...

    def column(self, name: str) -> NDArray[Any]:
        """One entry of all states: int64, bool, or objects (fractions, arrays, unbounded integers)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowStates:
    layout: RowLayout
    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.names

    def __len__(self) -> int:
        return len(self.rows)

    def valuation(self, number: int) -> State:
        return self.layout.state(self.rows[number])

    def column(self, name: str) -> NDArray[Any]:
        slot, kind = self.layout.slots[name], self.layout.kinds[name]
        values = [row[slot] for row in self.rows]
        if isinstance(kind, Bool):
            return np.array(values, dtype=np.bool_)
        if isinstance(kind, Int) and fits_word(kind):
            return np.array(values, dtype=np.int64)
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column


@dataclass(frozen=True, slots=True, eq=False)
class ExploredModel:
    """The reachable part of a problem.

    `stalled`: the policy is asked here and may pick what is not enabled; a run ends here if no transition of
    the environment's own remains. Where the policy draws its action, a draw that ends the run leads to a copy
    of the state, marked in `halted`: not a further state of the run, but the same one with the draw made.
    `blocked`: some transition is enabled but no value satisfies its assumption, and there is no other way on;
    such runs are none of the environment's.
    """

    markov: Markov
    states: States
    labels: NDArray[np.int32]  # [choices]: index into `label_names`, -1 for silent ones and drawn actions
    label_names: tuple[str, ...]
    transition: NDArray[np.int32]  # [choices]: index into `transitions`
    transitions: tuple[tuple[Transition, ...], ...]  # several where the policy draws: one for each action
    chosen: NDArray[np.int32]  # [choices]: index into `chosen_values`
    chosen_values: tuple[Mapping[str, Any], ...]  # what the environment chose; the first is nothing
    stalled: NDArray[np.bool_]  # [states]
    near_tie: NDArray[np.bool_]  # [states]: the reference decided, the fast evaluation could not
    halted: NDArray[np.bool_]  # [states]
    final: NDArray[np.bool_]  # [states]: `until` holds; they are not left, and nothing else is known of them
    blocked: NDArray[np.bool_]  # [states]
    quantities: Mapping[str, NDArray[np.int32]]  # name -> [states]: index into the values of `markov`
    tier: str
    seconds: Mapping[str, float]  # by phase
    bytes_per_state: float
    why_cut: str = ""  # which limit ended the exploration, if one did

    def valuation(self, number: int) -> State:
        return self.states.valuation(number)
