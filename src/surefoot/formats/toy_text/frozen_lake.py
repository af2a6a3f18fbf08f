"""FrozenLake: over the ice to the goal, past the holes; on slippery ice also to the sides."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem, WrongType, did_you_mean
from surefoot.formats.tables import TableModel, TableQuestions, build_table_model, explore_transitions
from surefoot.term.arguments import exact_fraction

ACTIONS = ("left", "down", "right", "up")
MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
THIRD = 1.0 / 3.0  # the double that the library has for a third
_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
_TILES = "SFHG"
_MOST_TILES = 250_000


def build_frozen_lake(name: str, values: Mapping[str, Any], limit: int | None, counted: bool) -> TableModel:
    """`values`: desc, map_name, is_slippery, success_rate and reward_schedule, as the library takes them."""
    desc = read_map(values["desc"], values["map_name"], name)
    rows, columns = len(desc), len(desc[0])
    paid = read_schedule(values["reward_schedule"], name)
    success = Fraction(1)
    if values["is_slippery"]:
        success = read_probability(values["success_rate"], f"{name}: success_rate")

    def move(state: int, way: int) -> tuple[int, Fraction, bool]:
        down, right = _MOVES[way % 4]
        row = max(0, min(rows - 1, state // columns + down))
        column = max(0, min(columns - 1, state % columns + right))
        tile = desc[row][column]
        return row * columns + column, paid["GH".find(tile)], tile in "GH"

    def successors(state: int, action: int) -> list[tuple[Any, ...]]:
        fail = (1 - success) / 2
        ways = ((fail, action - 1), (success, action), (fail, action + 1))
        return [(share, *move(state, way)) for share, way in ways if share]

    def is_tile(kind: str, state: int) -> bool:
        return desc[state // columns][state % columns] == kind

    starts = [n for n in range(rows * columns) if is_tile("S", n)]
    table = explore_transitions(starts, range(4), successors)
    asked = TableQuestions(
        labels={
            "row": lambda state: state // columns,
            "column": lambda state: state % columns,
            "hole": lambda state: is_tile("H", state),
        },
        goal=lambda state: is_tile("G", state),
        bad=lambda state: is_tile("H", state),
        limit=limit,
        counted=counted,
        notes=rounding_notes(success),
    )
    return build_table_model(name, table, ACTIONS, ranges={"state": (0, rows * columns - 1)}, asked=asked)


def read_map(desc: Any, map_name: Any, name: str) -> tuple[str, ...]:
    """The rows of the map: a list, a text with `/` between them, or the library's by its name."""
    if desc is None or desc == "":
        if map_name in (None, "", "none"):
            what = "without a map the library draws another one each time"
            raise InvalidProblem(what, fix="give desc, such as SFF/FHF/FFG", where=name)
        if map_name not in MAPS:
            fix = did_you_mean(str(map_name), MAPS)
            raise InvalidProblem(f"there is no map `{map_name}`", fix=fix, where=f"{name}: map_name")
        return MAPS[map_name]
    rows = desc.split("/") if isinstance(desc, str) else [_row_text(row) for row in desc]
    where = f"{name}: desc"
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidProblem("the rows of the map are not equally long", fix="write SFF/FHF/FFG", where=where)
    if odd := next((tile for row in rows for tile in row if tile not in _TILES), None):
        fix = "S is a start, F ice, H a hole, G the goal"
        raise InvalidProblem(f"there is no tile `{odd}`", fix=fix, where=where)
    if not any("S" in row for row in rows):
        raise InvalidProblem("the map has no start", fix="make one tile S", where=where)
    if len(rows) * len(rows[0]) > _MOST_TILES:
        what = f"the map has {len(rows) * len(rows[0])} tiles"
        raise InvalidProblem(what, fix=f"at most {_MOST_TILES} are read", where=where)
    return tuple(rows)


def _row_text(row: Any) -> str:
    """A row as a text; a live environment has an array of bytes."""
    if isinstance(row, str):
        return row
    return "".join(tile.decode("ascii") if isinstance(tile, bytes) else str(tile) for tile in row)


def read_schedule(given: Any, name: str) -> tuple[Fraction, Fraction, Fraction]:
    """The rewards for the goal, a hole and ice; also as a text: `1,0,0`."""
    parts = given.split(",") if isinstance(given, str) else given
    try:
        goal, hole, ice = (exact_fraction(part) for part in parts)
    except (WrongType, TypeError, ValueError):
        fix = "give three numbers, for the goal, a hole and ice: 1,0,0"
        raise InvalidProblem("no reward schedule", fix=fix, where=f"{name}: reward_schedule") from None
    return goal, hole, ice


def read_probability(given: Any, where: str) -> Fraction:
    """A probability; the library's double for a third means a third."""
    share = Fraction(1, 3) if isinstance(given, float) and given == THIRD else exact_fraction(given)
    if not 0 <= share <= 1:
        raise InvalidProblem(f"{given} is no probability", fix="give a number from 0 to 1", where=where)
    return share


def rounding_notes(*shares: Fraction) -> tuple[str, ...]:
    """What a reader must know of probabilities that are no doubles."""
    if all(share in (0, 1) for share in shares):
        return ()
    return ("probabilities are exact; the doubles that the library draws by differ by less than 1e-15",)
