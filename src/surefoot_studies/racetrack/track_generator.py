"""More tracks from a track: a finer grid, random obstacles, a road of random shape."""

from __future__ import annotations

from random import Random

from surefoot import api
from surefoot_studies.racetrack.track import CELLS, FREE, GOAL, START, WALL, Track

SIGNS = {kind: sign for sign, kind in CELLS.items() if sign in ".xsg"}
NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def refine_track(track: Track, factor: int) -> Track:
    """Every cell becomes factor x factor cells of its kind."""
    if factor < 1:
        raise api.InvalidProblem(f"a grid cannot be {factor} times finer", fix="use a factor of at least 1")
    rows = (tuple(c for c in row for _ in range(factor)) for row in track.cells)
    return Track(f"{track.name}-{factor}x", tuple(row for row in rows for _ in range(factor)))


def with_obstacles(track: Track, count: int, seed: int) -> Track:
    """Walls on so many free cells, drawn one by one, so that a goal can be reached from all other cells."""
    rng = Random(seed)
    cells = [list(row) for row in track.cells]
    candidates = list(track.places(FREE))
    rng.shuffle(candidates)
    placed = 0
    for x, y in candidates:
        if placed == count:
            break
        cells[y][x] = WALL
        if _all_reach(cells):
            placed += 1
        else:
            cells[y][x] = FREE
    if placed < count:
        raise api.InvalidProblem(
            f"track `{track.name}` has room for {placed} obstacles, not {count}", fix="ask for fewer"
        )
    return Track(f"{track.name}-{count}-obstacles-{seed}", tuple(map(tuple, cells)))


def random_road(width: int, height: int, seed: int, breadth: int = 4) -> Track:
    """A road from the left edge to the right one whose middle wanders up and down."""
    if width < 3 or height < breadth + 2 or breadth < 1:
        raise api.InvalidProblem(
            f"no road of breadth {breadth} fits into {width} x {height} cells",
            fix="take at least 3 columns, and two rows more than its breadth",
        )
    rng = Random(seed)
    top = rng.randint(1, height - breadth - 1)
    cells = [[WALL] * width for _ in range(height)]
    for x in range(width):
        kind = START if x == 0 else GOAL if x == width - 1 else FREE
        before = top
        if 1 < x < width - 2:
            top = min(max(top + rng.choice((-1, 0, 0, 1)), 1), height - breadth - 1)
        for y in range(min(before, top), max(before, top) + breadth):
            cells[y][x] = kind
    return Track(f"road-{width}x{height}-{seed}", tuple(map(tuple, cells)))


def track_text(track: Track) -> str:
    """The track as a text map."""
    return "".join("".join(SIGNS[c] for c in row) + "\n" for row in track.cells)


def _all_reach(cells: list[list[int]]) -> bool:
    """Is there a way over side by side cells to a goal from everywhere?"""
    height, width = len(cells), len(cells[0])
    seen = {(x, y) for y in range(height) for x in range(width) if cells[y][x] == GOAL}
    todo = list(seen)
    while todo:
        x, y = todo.pop()
        for dx, dy in NEIGHBOURS:
            near = (x + dx, y + dy)
            inside = 0 <= near[0] < width and 0 <= near[1] < height
            if inside and near not in seen and cells[near[1]][near[0]] != WALL:
                seen.add(near)
                todo.append(near)
    return len(seen) == sum(c != WALL for row in cells for c in row)
