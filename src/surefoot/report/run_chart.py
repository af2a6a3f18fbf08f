"""Line charts: values over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from surefoot.report.drawing.frame import LINE_COLOURS, Frame, tick_values
from surefoot.report.drawing.shapes import Drawing, Mark, Polyline, Rectangle, Shape, Text
from surefoot.report.drawing.svg_file import render_svg

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 26, 30
INK, GRID, PAST, LOOP = "#566573", "#e5e8e8", "#f2f4f4", "#c0392b"


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) in order, drawn as a line with a mark at each."""

    label: str
    points: tuple[tuple[float, float], ...]


def line_chart(title: str, series: Sequence[Series], *, since: float = 0.0, loop: float | None = None) -> str:
    """One chart; what lies before x = `since` is shaded as history, `loop`: where the run returns to."""
    shown = [Series(s.label, tuple(p for p in s.points if isfinite(p[1]))) for s in series]
    points = [p for s in shown for p in s.points]
    if not points:
        return ""
    across, along = _padded_range([x for x, _ in points], 0.0), _padded_range([y for _, y in points], 0.08)
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, across, along)
    shapes: list[Shape] = [
        Text(LEFT, 16, title, 13, colour="#1b2631", bold=True),
        *_draw_history(frame, since),
        *_draw_grid(frame),
    ]
    for number, one in enumerate(shown):
        shapes += _draw_series(one, LINE_COLOURS[number % len(LINE_COLOURS)], frame)
    if loop is not None:
        shapes += _draw_loop(frame, loop, max(x for x, _ in points))
    return render_svg(Drawing(WIDTH, HEIGHT, (*shapes, *_draw_legend(shown)), title))


def _padded_range(values: Sequence[float], margin: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * margin if high > low else max(abs(high) * 0.1, 1e-6)
    return low - room, high + room


def _draw_history(frame: Frame, since: float) -> Iterator[Shape]:
    if since > frame.across[0]:
        yield Rectangle(LEFT, TOP, frame.x(since) - LEFT, HEIGHT - TOP - BOTTOM, PAST)
        yield Text(LEFT + 4, TOP + 12, "before the run", colour=INK)


def _draw_grid(frame: Frame) -> Iterator[Shape]:
    for value in tick_values(*frame.along):
        y = frame.y(value)
        yield Polyline(((LEFT, y), (WIDTH - RIGHT, y)), GRID)
        yield Text(LEFT - 6, y + 4, f"{value:.6g}", anchor="end", colour=INK)
    below = HEIGHT - BOTTOM + 15
    for value in tick_values(*frame.across, whole=True):
        yield Text(frame.x(value), below, f"{value:g}", anchor="middle", colour=INK)
    yield Text(LEFT - 6, below, "step", anchor="end", colour=INK)


def _draw_series(one: Series, colour: str, frame: Frame) -> Iterator[Shape]:
    yield Polyline(tuple(frame.place(*point) for point in one.points), colour, 1.6)
    for step, value in one.points:
        yield Mark(*frame.place(step, value), colour, f"{one.label}: {value:.9g} at step {step:g}")


def _draw_loop(frame: Frame, loop: float, last: float) -> Iterator[Shape]:
    y, start, end = HEIGHT - BOTTOM + 3, frame.x(loop), frame.x(last)
    yield Polyline(((start, y), (end, y)), LOOP, 3)
    yield Text((start + end) / 2, HEIGHT - 3, "for ever", anchor="middle", colour=INK)


def _draw_legend(series: Sequence[Series]) -> Iterator[Shape]:
    x = WIDTH - RIGHT
    for number, one in reversed(list(enumerate(series)) if len(series) > 1 else []):
        x -= 7 * len(one.label) + 22
        if x < LEFT + 150:
            break
        yield Rectangle(x, 8, 10, 10, LINE_COLOURS[number % len(LINE_COLOURS)])
        yield Text(x + 13, 17, one.label, colour=INK)
