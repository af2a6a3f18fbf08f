"""Taxi: fetch a passenger and bring them to their destination (Dietterich, 2000)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from surefoot.formats.tables import TableModel, TableQuestions, build_table_model, explore_transitions
from surefoot.formats.tables.table_environment import TERMINATED
from surefoot.formats.toy_text.frozen_lake import read_probability, rounding_notes
from surefoot.term.term import Var

ACTIONS = ("south", "north", "east", "west", "pickup", "dropoff")
_MAP = ("|R: | : :G|", "| : | : : |", "| : : : : |", "| | : | : |", "|Y| : |B: |")
_PLACES = ((0, 0), (0, 4), (4, 0), (4, 3))
_IN_TAXI = 4
_MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
_SIDES = ((2, 3), (3, 2), (1, 0), (0, 1))  # to the left and to the right of each move
_SIZE = 5


class TaxiState(NamedTuple):
    state: int  # what the library shows
    fickle: bool  # the passenger will think again once


class _Place(NamedTuple):
    row: int
    column: int
    passenger: int
    destination: int


def decode_taxi(state: int) -> _Place:
    return _Place(state // 100, state // 20 % 5, state // 4 % 5, state % 4)


def encode_taxi(place: _Place) -> int:
    return ((place.row * 5 + place.column) * 5 + place.passenger) * 4 + place.destination


def build_taxi(name: str, values: Mapping[str, Any], limit: int | None, counted: bool) -> TableModel:
    """`values`: is_rainy, rainy_probability, fickle_passenger, fickle_probability."""
    straight = Fraction(1)
    if values["is_rainy"]:
        straight = read_probability(values["rainy_probability"], f"{name}: rainy_probability")
    fickle = Fraction(0)
    if values["fickle_passenger"]:
        fickle = read_probability(values["fickle_probability"], f"{name}: fickle_probability")

    def successors(at: TaxiState, action: int) -> list[tuple[Any, ...]]:
        place = decode_taxi(at.state)
        if action >= 4:
            return [(1, *_serve_passenger(at, place, action))]
        found: list[tuple[Any, ...]] = []
        for share, cell in _drive(place, action, straight):
            after = place._replace(row=cell[0], column=cell[1])
            if at.fickle and place.passenger == _IN_TAXI and cell != (place.row, place.column):
                others = [n for n in range(4) if n != place.destination]
                found += [
                    (share / 3, TaxiState(encode_taxi(after._replace(destination=n)), False), -1, False)
                    for n in others
                ]
            else:
                found.append((share, TaxiState(encode_taxi(after), at.fickle), -1, False))
        return found

    def plain(state: int, action: int) -> list[tuple[Any, ...]]:
        """Without a fickle passenger the state is what the library shows."""
        several = successors(TaxiState(state, False), action)
        return [(share, after.state, *rest) for share, after, *rest in several]

    starts = _starts(fickle)
    if fickle:
        table = explore_transitions(starts, range(6), successors)
    else:
        table = explore_transitions([at.state for at in starts if not at.fickle], range(6), plain)
    asked = TableQuestions(
        labels={
            "taxi_row": lambda at: _look(at).row,
            "taxi_column": lambda at: _look(at).column,
            "passenger": lambda at: _look(at).passenger,
            "destination": lambda at: _look(at).destination,
        },
        goal=Var(TERMINATED),
        limit=limit,
        counted=counted,
        notes=rounding_notes(straight, fickle),
    )
    return build_table_model(name, table, ACTIONS, ranges={"state": (0, 499)}, asked=asked)


def _look(at: TaxiState | int) -> _Place:
    return decode_taxi(at if isinstance(at, int) else at.state)


def _starts(fickle: Fraction) -> dict[TaxiState, Fraction]:
    """The passenger waits at a place that is not the destination, and is fickle or not."""
    cells = [(row, column) for row in range(_SIZE) for column in range(_SIZE)]
    places = [_Place(*cell, p, d) for cell in cells for p in range(4) for d in range(4) if p != d]
    share = Fraction(1, len(places))
    found: dict[TaxiState, Fraction] = {}
    for place in places:
        found[TaxiState(encode_taxi(place), False)] = share * (1 - fickle)
        found[TaxiState(encode_taxi(place), True)] = share * fickle
    return found


def _serve_passenger(at: TaxiState, place: _Place, action: int) -> tuple[TaxiState, int, bool]:
    cell = (place.row, place.column)
    passenger, reward, ends = place.passenger, -10, False
    if action == 4:
        if passenger < _IN_TAXI and cell == _PLACES[passenger]:
            passenger, reward = _IN_TAXI, -1
    elif passenger == _IN_TAXI and cell == _PLACES[place.destination]:
        passenger, reward, ends = place.destination, 20, True
    elif passenger == _IN_TAXI and cell in _PLACES:
        passenger, reward = _PLACES.index(cell), -1
    return TaxiState(encode_taxi(place._replace(passenger=passenger)), at.fickle), reward, ends


def _drive(place: _Place, action: int, straight: Fraction) -> list[tuple[Fraction, tuple[int, int]]]:
    """Where the taxi comes to: in rain also to the sides, unless the way ahead is blocked."""
    here = (place.row, place.column)
    if straight == 1 or _is_blocked(here, action):
        return [(Fraction(1), _step(here, action))]
    drift = (1 - straight) / 2
    left, right = (_drift(here, side) for side in _SIDES[action])
    return [(straight, _step(here, action)), (drift, left), (drift, right)]


def _is_blocked(cell: tuple[int, int], action: int) -> bool:
    row, column = cell
    if action == 0:
        return row == _SIZE - 1
    if action == 1:
        return row == 0
    return _MAP[row][2 * column + (2 if action == 2 else 0)] != ":"


def _step(cell: tuple[int, int], action: int) -> tuple[int, int]:
    if _is_blocked(cell, action):
        return cell
    return cell[0] + _MOVES[action][0], cell[1] + _MOVES[action][1]


def _drift(cell: tuple[int, int], action: int) -> tuple[int, int]:
    """To a side; walls are looked for where the library looks for them, which is behind the taxi."""
    row = max(0, min(_SIZE - 1, cell[0] + _MOVES[action][0]))
    column = max(0, min(_SIZE - 1, cell[1] + _MOVES[action][1]))
    if action >= 2:
        wall = 2 * column if action == 2 else 2 * column + 2
        if _MAP[cell[0]][wall] != ":":
            return cell
    return row, column
