"""Panels of lines: numbers over a parameter, linear or logarithmic, with time-outs as arrows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log10

from surefoot.report.drawing.frame import LINE_COLOURS, Frame, axes_line, tick_values
from surefoot.report.drawing.shapes import Drawing, Mark, Polyline, Shape, Text, shift_shapes
from surefoot.report.drawing.svg_file import render_svg

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 40
HEAD, STEP = 26, 14  # of the title, and of a line of the legend
INK = "#000000"
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 3), (8, 3, 2, 3))


@dataclass(frozen=True, slots=True)
class DataLine:
    """Points (x, y), those without an answer apart. Lines of a name have a colour, those of a kind a dash."""

    name: str
    kind: str  # drawn without interruptions if it is the first one
    points: tuple[tuple[float, float], ...]
    late: tuple[tuple[float, float], ...] = ()  # at least so much: drawn as arrows upwards
    gaps: tuple[float, ...] = ()  # where nothing is known: the line is not drawn across

    @property
    def label(self) -> str:
        return f"{self.name}, {self.kind}" if self.kind else self.name


@dataclass(frozen=True, slots=True)
class LinePanel:
    title: str
    across: str
    along: str
    lines: tuple[DataLine, ...]
    logarithmic: bool = False


def line_panels_svg(title: str, panels: Sequence[LinePanel], columns: int = 2) -> str:
    """All panels in rows of so many."""
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    heights = [max(HEIGHT, *(TOP + STEP * (len(_legend_entries(p)) + 1) for p in row)) for row in rows]
    shapes: list[Shape] = [Text(12, 19, title, 15, colour=INK)]
    for above, row in zip(accumulate(heights, initial=HEAD), rows, strict=False):
        for column, panel in enumerate(row):
            shapes += shift_shapes(_draw_panel(panel), WIDTH * column, above)
    size = WIDTH * min(columns, len(panels)), sum(heights) + HEAD
    return render_svg(Drawing(*size, tuple(shapes), title))


def _draw_panel(panel: LinePanel) -> Iterator[Shape]:
    points = [p for line in panel.lines for p in (*line.points, *line.late)]
    yield Text(LEFT, 20, panel.title, 13, colour=INK)
    if not points:
        return
    values = [_scale_value(y, panel) for _, y in points]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    across = (min(x for x, _ in points), max(x for x, _ in points))
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, across, (low - room, high + room))
    yield axes_line(frame)
    yield Text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, panel.across, 12, "middle", INK)
    yield Text(8, TOP - 6, panel.along, 12, colour=INK)
    for value in tick_values(*frame.across):
        yield Text(frame.x(value), HEIGHT - BOTTOM + 15, f"{value:g}", 10, "middle", INK)
    for value in tick_values(*frame.along, whole=panel.logarithmic and high - low > 1.5):
        shown = f"{float(f'{10**value:.2g}'):g}" if panel.logarithmic else f"{value:g}"
        yield Text(LEFT - 5, frame.y(value) + 4, shown, 10, "end", INK)
    names, kinds = _names_and_kinds(panel)
    for line in panel.lines:
        style = _line_style(names.index(line.name), kinds.index(line.kind), names)
        yield from _draw_line(line, panel, frame, *style)
    for number, (mark, words) in enumerate(_legend_entries(panel)):
        y = TOP + STEP * number
        yield from shift_shapes([mark], WIDTH - RIGHT + 8, y)
        yield Text(WIDTH - RIGHT + 30, y + 4, words, 10, colour=INK)


def _names_and_kinds(panel: LinePanel) -> tuple[list[str], list[str]]:
    names, kinds = (
        dict.fromkeys(which) for which in zip(*((n.name, n.kind) for n in panel.lines), strict=True)
    )
    return list(names), list(kinds)


def _line_style(name: int, kind: int, names: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Colour and dash; where all lines have one name, kinds have colours too."""
    return LINE_COLOURS[(name if len(names) > 1 else kind) % len(LINE_COLOURS)], DASHES[kind % len(DASHES)]


def _legend_entries(panel: LinePanel) -> list[tuple[Shape, str]]:
    """Marks with words: for every name and, if there are several, for every kind; and the arrow."""
    if not panel.lines:
        return []
    names, kinds = _names_and_kinds(panel)
    several, found = len(names) > 1, list[tuple[Shape, str]]()
    if several or len(kinds) == 1:
        found += [(_legend_stroke(*_line_style(n, 0, names)), name) for n, name in enumerate(names)]
    if len(kinds) > 1:
        dashes = [_line_style(0, n, names) for n in range(len(kinds))]
        drawn = [_legend_stroke("#444444" if several else colour, dash) for colour, dash in dashes]
        found += [(mark, kind or "default") for mark, kind in zip(drawn, kinds, strict=True)]
    if any(line.late for line in panel.lines):
        found.append((Mark(9, 0, "#444444", "", "arrow", 4), "stopped: at least so much"))
    return found


def _legend_stroke(colour: str, dash: tuple[int, ...]) -> Polyline:
    return Polyline(((0, 0), (18, 0)), colour, 1.6, dash)


def _scale_value(value: float, panel: LinePanel) -> float:
    return log10(max(value, 1e-3)) if panel.logarithmic else value


def _draw_line(
    line: DataLine, panel: LinePanel, frame: Frame, colour: str, dash: tuple[int, ...]
) -> Iterator[Shape]:
    def place(over: float, value: float) -> tuple[float, float]:
        return frame.place(over, _scale_value(value, panel))

    for piece in _split_at_gaps(line):
        yield Polyline(tuple(place(*point) for point in piece), colour, dash=dash)
    for over, value in line.points:
        yield Mark(*place(over, value), colour, f"{line.label}: {value:.6g} at {over:g}", size=2.4)
    for over, value in line.late:
        told = f"{line.label}: no end within {value:.6g} at {over:g}"
        yield Mark(*place(over, value), colour, told, "arrow", 4)


def _split_at_gaps(line: DataLine) -> list[list[tuple[float, float]]]:
    """The points in runs that nothing interrupts."""
    breaks = sorted({*line.gaps, *(x for x, _ in line.late)})
    found: dict[int, list[tuple[float, float]]] = {}
    for point in sorted(line.points):
        found.setdefault(bisect(breaks, point[0]), []).append(point)
    return list(found.values())
