"""The tracks of this study, and what can be read off a track once and for all."""

from __future__ import annotations

from importlib.resources import files

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.racetrack_map import GOAL, Track, parse_track

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


def shipped_track(name: str) -> Track:
    """One of our own maps: a bend for tests, and the shapes of Barto-small, Barto-big and Ring."""
    if name not in TRACKS:
        raise InvalidProblem(f"there is no track `{name}`", fix=did_you_mean(name, TRACKS))
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
