"""Tracks of the Racetrack game: text maps of walls, starts, goals and free cells."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.errors import InvalidProblem

FREE, WALL, START, GOAL = 0, 1, 2, 3
CELLS = {".": FREE, " ": FREE, "x": WALL, "#": WALL, "s": START, "g": GOAL}
LARGEST_SIDE = 1000


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
        raise InvalidProblem(f"a track has between 1 and {LARGEST_SIDE} rows and columns", where=name)
    width = max(map(len, lines))
    for number, line in enumerate(lines, start=1 if declared is None else 2):
        for column, cell in enumerate(line, start=1):
            if cell not in CELLS:
                raise InvalidProblem(
                    f"`{cell}` is no cell of a track",
                    fix="use x or # (wall), s (start), g (goal), . or blank (free)",
                    where=f"{name}:{number}:{column}",
                )
    if declared is not None and declared.split()[1:] != [str(len(lines)), str(width)]:
        raise InvalidProblem(
            f"`{declared}` announces another size than {len(lines)} rows and {width} columns",
            where=f"{name}:1",
        )
    track = Track(name, tuple(tuple(CELLS[c] for c in line.ljust(width)) for line in lines))
    if not track.places(START) or not track.places(GOAL):
        raise InvalidProblem("a track needs at least one start and one goal", where=name)
    return track
