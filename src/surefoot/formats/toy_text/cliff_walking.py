"""CliffWalking: along a cliff to the goal; who falls is back at the start (Sutton and Barto, example 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from surefoot.formats.tables import TableModel, TableQuestions, build_table_model, explore_transitions
from surefoot.formats.toy_text.frozen_lake import rounding_notes

ACTIONS = ("up", "right", "down", "left")
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
_ROWS, _COLUMNS = 4, 12
START, GOAL = 36, 47


class CliffState(NamedTuple):
    state: int  # what the library shows
    fallen: bool  # at some time of this episode


def build_cliff_walking(name: str, values: Mapping[str, Any], limit: int | None, counted: bool) -> TableModel:
    """`values`: is_slippery."""
    ways = (-1, 0, 1) if values["is_slippery"] else (0,)

    def successors(at: CliffState, action: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for way in ways:
            down, right = _MOVES[(action + way) % 4]
            row = max(0, min(_ROWS - 1, at.state // _COLUMNS + down))
            column = max(0, min(_COLUMNS - 1, at.state % _COLUMNS + right))
            share, after = Fraction(1, len(ways)), row * _COLUMNS + column
            if START < after < GOAL:
                found.append((share, CliffState(START, True), -100, False))
            else:
                found.append((share, CliffState(after, at.fallen), -1, after == GOAL))
        return found

    table = explore_transitions(CliffState(START, False), range(4), successors)
    asked = TableQuestions(
        labels={
            "row": lambda at: at.state // _COLUMNS,
            "column": lambda at: at.state % _COLUMNS,
        },
        goal=lambda at: at.state == GOAL,
        bad=lambda at: bool(at.fallen),
        limit=limit,
        counted=counted,
        notes=rounding_notes(Fraction(1, len(ways))),
    )
    return build_table_model(name, table, ACTIONS, ranges={"state": (0, 47)}, asked=asked)
