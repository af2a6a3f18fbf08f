"""Tracks of the Racetrack game: text maps, those of this study, and what can be read off one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from surefoot import api

FREE, WALL, START, GOAL = 0, 1, 2, 3
CELLS = {".": FREE, " ": FREE, "x": WALL, "#": WALL, "s": START, "g": GOAL}
LARGEST_SIDE = 1000
TRACKS = ("bend", "small", "big", "ring")  # in assets/, all drawn for this study
DIRECTIONS = {  # origin top left, y grows downwards; in the order of the published observation
    "east": (1, 0),
    "north": (0, -1),
    "north_east": (1, -1),
    "north_west": (-1, -1),
    "south": (0, 1),
    "south_east": (1, 1),
    "south_west": (-1, 1),
    "west": (-1, 0),
}


@dataclass(frozen=True, slots=True)
class Track:
    """Cells by row, from the top; every row has the same length."""

    name: str
    cells: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return len(self.cells)

    @property
    def width(self) -> int:
        return len(self.cells[0])

    def places(self, *kinds: int) -> tuple[tuple[int, int], ...]:
        """All (x, y) whose cell is of one of these kinds, row by row."""
        return tuple((x, y) for y, row in enumerate(self.cells) for x, c in enumerate(row) if c in kinds)

    def is_blocked(self, x: int, y: int) -> bool:
        return not (0 <= x < self.width and 0 <= y < self.height) or self.cells[y][x] == WALL


def parse_track(text: str, name: str = "track") -> Track:
    """A map of `x` or `#` (wall), `s` (start), `g` (goal), `.` or blank (free).

    A first line `dim: rows columns` may announce the size, and is checked.
    """
    lines = text.splitlines()
    declared = lines.pop(0) if lines and lines[0].startswith("dim:") else None
    while lines and not lines[-1]:
        lines.pop()
    if not lines or max(len(lines), *map(len, lines)) > LARGEST_SIDE:
        raise api.InvalidProblem(f"a track has between 1 and {LARGEST_SIDE} rows and columns", where=name)
    width = max(map(len, lines))
    for number, line in enumerate(lines, start=1 if declared is None else 2):
        for column, cell in enumerate(line, start=1):
            if cell not in CELLS:
                raise api.InvalidProblem(
                    f"`{cell}` is no cell of a track",
                    fix="use x or # (wall), s (start), g (goal), . or blank (free)",
                    where=f"{name}:{number}:{column}",
                )
    if declared is not None and declared.split()[1:] != [str(len(lines)), str(width)]:
        raise api.InvalidProblem(
            f"`{declared}` announces another size than {len(lines)} rows and {width} columns",
            where=f"{name}:1",
        )
    track = Track(name, tuple(tuple(CELLS[c] for c in line.ljust(width)) for line in lines))
    if not track.places(START) or not track.places(GOAL):
        raise api.InvalidProblem("a track needs at least one start and one goal", where=name)
    return track


def shipped_track(name: str) -> Track:
    """One of our own maps: a bend for tests, and the shapes of Barto-small, Barto-big and Ring."""
    if name not in TRACKS:
        raise api.InvalidProblem(f"there is no track `{name}`", fix=api.did_you_mean(name, TRACKS))
    return parse_track(files(__package__).joinpath("assets", f"{name}.track").read_text("utf-8"), name)


def wall_distance(track: Track, direction: str) -> tuple[tuple[int, ...], ...]:
    """Per cell: how many cells away the first blocked one is in this direction (1: it is adjacent)."""
    dx, dy = DIRECTIONS[direction]

    def distance(x: int, y: int) -> int:
        count = 0
        while not track.is_blocked(x + count * dx, y + count * dy):
            count += 1
        return count

    return tuple(tuple(distance(x, y) for x in range(track.width)) for y in range(track.height))


def nearest_goal(track: Track) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Per cell: goal minus cell as (x, y) for the goal at least Manhattan distance (on a tie the first)."""
    goals = track.places(GOAL)

    def difference(x: int, y: int) -> tuple[int, int]:
        return min(((gx - x, gy - y) for gx, gy in goals), key=lambda d: abs(d[0]) + abs(d[1]))

    return tuple(tuple(difference(x, y) for x in range(track.width)) for y in range(track.height))
