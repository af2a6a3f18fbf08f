"""Where the parts of a state stand in a row: variables, locations, then controls and chosen values.

A row is a tuple. Its first `width` entries are the state, and compare equal exactly where two states do; what
follows are the values that a policy sets and those that the environment picks, which last for one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.problem.environment import Choice, Environment
from surefoot.problem.semantics import State
from surefoot.term.closures import Row
from surefoot.term.reserved_names import location_key
from surefoot.term.value_types import Int, Real, ValueType


@dataclass(frozen=True, slots=True)
class RowLayout:
    """`slots` of everything that a term of an edge may mention; `places`: slots of the locations."""

    width: int
    slots: Mapping[str, int]
    kinds: Mapping[str, ValueType]
    places: tuple[int | None, ...]  # per component; None where it has a single location
    names: tuple[str, ...]  # of the state's entries, as `problem/semantics.py` calls them
    controls: tuple[str, ...]
    chosen: tuple[str, ...]

    def row(self, state: State) -> Row:
        return tuple(state[name] for name in self.names)

    def state(self, row: Row) -> dict[str, Any]:
        return dict(zip(self.names, row, strict=False))


def row_layout(environment: Environment) -> RowLayout:
    kinds: dict[str, ValueType] = {v.name: v.kind for v in environment.variables}
    names = [v.name for v in environment.variables]
    places: list[int | None] = []
    for component in environment.components:
        several = len(component.locations) > 1
        places.append(len(names) if several else None)
        if several:
            names.append(location_key(component.name))
            kinds[names[-1]] = Int(0, len(component.locations) - 1)
    controls = tuple(c.name for c in environment.controls)
    picked: dict[str, Choice] = {c.name: c for m in environment.components for e in m.edges for c in e.chosen}
    slots = {name: i for i, name in enumerate((*names, *controls, *picked))}
    kinds |= {c: Real() for c in controls} | {name: choice.kind for name, choice in picked.items()}
    return RowLayout(len(names), slots, kinds, tuple(places), tuple(names), controls, tuple(picked))


def fits_word(kind: Int) -> bool:
    """Do all integers of this kind fit into 64 bits?"""
    return kind.low is not None and kind.high is not None and kind.low >= -(2**63) and kind.high < 2**63
