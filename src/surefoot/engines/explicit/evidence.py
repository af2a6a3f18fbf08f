"""The values of all states in the order of the certificate: sorted by what the states are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.explore import States
from surefoot.query.markov import MarkovAnswer
from surefoot.solvers.markov.reward_unfolding import UnfoldedProcess


def sort_states(
    states: States, unfolded: UnfoldedProcess, among: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """The states of the process, or those `among` them, sorted by their entries.

    Entries are variables, locations, then counters.
    """
    some = np.arange(len(unfolded.state), dtype=np.int64) if among is None else among
    places, counts = unfolded.state[some], unfolded.counts[some]
    columns = [states.column(name)[places] for name in states.names]
    if all(c.dtype != object for c in columns):
        keys = columns + list(counts.T)
        return some[np.lexsort(keys[::-1])] if keys else some
    rows = list(zip(*(c.tolist() for c in (*columns, *counts.T)), strict=True))
    return some[sorted(range(len(rows)), key=rows.__getitem__)]


def encode_state_values(states: States, unfolded: UnfoldedProcess, answer: MarkovAnswer) -> dict[str, Any]:
    """The bounds of every state; numbers that occur often are written once."""
    order = sort_states(states, unfolded)
    table: dict[Any, int] = {}
    sides = [
        [table.setdefault(v, len(table)) for v in side[order].tolist()] for side in (answer.low, answer.high)
    ]
    return {
        "states": len(order),
        "scale": hex(answer.scale),
        "numbers": [_number_to_hex(v) for v in table],
        "low": sides[0],
        "high": sides[1],
    }


def _number_to_hex(value: int | Fraction) -> str | list[str]:
    if isinstance(value, Fraction) and value.denominator != 1:
        return [hex(value.numerator), hex(value.denominator)]
    return hex(int(value))
