"""Closed sets as drawings, for SVG and PNG files: panels side by side, each cut along two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.float_system import evaluate_polynomial
from surefoot.query.polynomial import Polynomial
from surefoot.report.drawing.frame import Frame, tick_values
from surefoot.report.drawing.shapes import (
    Cells,
    Drawing,
    Polyline,
    Rectangle,
    Shape,
    Text,
    shift_shapes,
    text_width,
)
from surefoot.report.region.scene import Box, Range, Scene

SIDE, COLUMNS, ROWS = 2, 200, 160  # of the grid of squares
LEFT, TOP, BOTTOM, RIGHT = 56, 30, 62, 14
SETS = ("#a9cdea", "#b4ddb4", "#cdb8e0", "#efd29b", "#a8dcdc")
EDGES = ("#1f5fa8", "#1e8449", "#7d3c98", "#b9770e", "#117a8b")
UNSAFE, STRIPE, PAPER, INK = "#f6d5d0", "#dd8f84", "#ffffff", "#1b2631"
WITH, WITHOUT = "#0b6e4f", "#d35400"
Grid = NDArray[np.bool_]


def draw_scenes(scenes: Sequence[Scene], across: int = 0, upwards: int = 1) -> Drawing:
    """All panels from left to right; the other variables are cut in the middle of the starts."""
    shapes: list[Shape] = []
    width = LEFT + COLUMNS * SIDE + RIGHT
    for number, scene in enumerate(scenes):
        shapes += shift_shapes(_draw_scene(scene, across, upwards), number * width, 0)
    return Drawing(width * len(scenes), TOP + ROWS * SIDE + BOTTOM, tuple(shapes))


def _draw_scene(scene: Scene, across: int, upwards: int) -> list[Shape]:
    frame = Frame(
        LEFT, LEFT + COLUMNS * SIDE, TOP, TOP + ROWS * SIDE, scene.view(across), scene.view(upwards)
    )
    shapes: list[Shape] = [Text(LEFT, 18, scene.title, 13, bold=True)]
    shapes.append(Cells(LEFT, TOP, SIDE, _cell_colours(scene, across, upwards), ()))
    shapes.append(_draw_outline(frame, scene.starts[across], scene.starts[upwards], INK))
    shapes += _draw_runs(scene, frame, across, upwards)
    shapes += _draw_axes(scene, frame, across, upwards)
    return [*shapes, *_draw_legend(scene)]


def _grid_points(scene: Scene, across: int, upwards: int) -> NDArray[np.float64]:
    """The middles of the squares of the grid, row by row from the top."""
    (x0, x1), (y0, y1) = scene.view(across), scene.view(upwards)
    xs = x0 + (np.arange(COLUMNS) + 0.5) / COLUMNS * (x1 - x0)
    ys = y1 - (np.arange(ROWS) + 0.5) / ROWS * (y1 - y0)
    found = np.tile(np.array(scene.middle()), (COLUMNS * ROWS, 1))
    found[:, across], found[:, upwards] = np.tile(xs, ROWS), np.repeat(ys, COLUMNS)
    return found


def _in_domain(domain: Box, where: NDArray[np.float64]) -> Grid:
    low, high = (np.array([float(r[i]) for r in domain]) for i in (0, 1))
    found: Grid = np.all((where >= low) & (where <= high), axis=1)
    return found


def _in_barrier(rows: Sequence[Polynomial], where: NDArray[np.float64]) -> Grid:
    """Where no row of a barrier is above 0."""
    found: Grid = np.all([evaluate_polynomial(row, where) <= 0 for row in rows], axis=0)
    return found


def _cell_colours(scene: Scene, across: int, upwards: int) -> tuple[tuple[str, ...], ...]:
    where = _grid_points(scene, across, upwards)
    found = np.full((ROWS, COLUMNS), PAPER, dtype="<U7")
    for number, region in reversed(list(enumerate(scene.regions))):
        held = _in_domain(region.domain, where) & _in_barrier(region.rows, where)
        grid = held.reshape(ROWS, COLUMNS)
        found[grid] = SETS[number % len(SETS)]
    unsafe = np.zeros(COLUMNS * ROWS, dtype=np.bool_)
    for case in scene.unsafe:
        unsafe |= np.all([evaluate_polynomial(p, where) >= 0 for p in case], axis=0)
    bad = unsafe.reshape(ROWS, COLUMNS)
    stripes = (np.add.outer(np.arange(ROWS), np.arange(COLUMNS)) % 6) < 2
    found[bad], found[bad & stripes] = UNSAFE, STRIPE
    for number, region in enumerate(scene.regions):  # its edge, where the barrier changes its sign
        held = _in_domain(region.domain, where) & _in_barrier(region.rows, where)
        found[_boundary_cells(held.reshape(ROWS, COLUMNS))] = EDGES[number % len(EDGES)]
    return tuple(tuple(map(str, row)) for row in found)


def _boundary_cells(grid: Grid) -> Grid:
    """Squares inside with a neighbour that is not."""
    padded = np.pad(grid, 1)
    around = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    found: Grid = grid & ~around
    return found


def _draw_outline(frame: Frame, across: Range, upwards: Range, colour: str) -> Polyline:
    (x0, x1), (y0, y1) = (tuple(map(float, ends)) for ends in (across, upwards))
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
    return Polyline(tuple(frame.place(x, y) for x, y in corners), colour, 2)


def _draw_runs(scene: Scene, frame: Frame, across: int, upwards: int) -> Iterator[Shape]:
    (x0, x1), (y0, y1) = frame.across, frame.along
    for run in sorted(scene.runs, key=lambda r: not r.shielded):
        colour = WITH if run.shielded else WITHOUT
        path = []
        for state in run.states:
            x, y = state[across], state[upwards]
            path.append(frame.place(min(max(x, x0), x1), min(max(y, y0), y1)))
            if not (x0 <= x <= x1 and y0 <= y <= y1):
                break
        yield Polyline(tuple(path), colour)
        if run.unsafe:
            x, y = path[-1]
            yield Polyline(((x - 4, y - 4), (x + 4, y + 4)), colour, 2)
            yield Polyline(((x - 4, y + 4), (x + 4, y - 4)), colour, 2)


def _draw_axes(scene: Scene, frame: Frame, across: int, upwards: int) -> Iterator[Shape]:
    bottom = TOP + ROWS * SIDE
    right = LEFT + COLUMNS * SIDE
    yield Polyline(((LEFT, TOP), (right, TOP), (right, bottom), (LEFT, bottom), (LEFT, TOP)), INK)
    for value in tick_values(*frame.across):
        yield Text(round(frame.x(value)), bottom + 14, f"{value:g}", 10, "middle")
    for value in tick_values(*frame.along):
        yield Text(LEFT - 5, round(frame.y(value)) + 4, f"{value:g}", 10, "end")
    yield Text(LEFT + COLUMNS * SIDE // 2, bottom + 28, scene.variables[across], 11, "middle")
    yield Text(4, TOP - 6, scene.variables[upwards], 11)


def _draw_legend(scene: Scene) -> Iterator[Shape]:
    words = [(STRIPE, "unsafe"), (INK, "starts")]
    words += [(EDGES[i % len(EDGES)], f"set {i + 1}") for i in range(len(scene.regions))]
    protected = any(run.shielded for run in scene.runs)
    words += [(WITHOUT, "no shield" if protected else "runs")] if scene.runs else []
    words += [(WITH, "shield")] if protected else []
    x, y = LEFT, TOP + ROWS * SIDE + 46
    for colour, text in words:
        yield Rectangle(x, y - 8, 12, 8, colour)
        yield Text(x + 16, y, text, 10)
        x += 26 + text_width(text, 10)
