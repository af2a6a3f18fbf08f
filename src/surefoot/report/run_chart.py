"""Line charts: values over the steps of runs, with what is bad or good in the background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from surefoot.report.drawing.frame import LINE_COLOURS, Frame, tick_values
from surefoot.report.drawing.shapes import (
    Drawing,
    Group,
    Mark,
    Polyline,
    Rectangle,
    Shape,
    Text,
    text_width,
)
from surefoot.report.drawing.svg_file import render_svg

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 70, 56, 26, 32
INK, GRID, PAST, LOOP = "#566573", "#e5e8e8", "#f2f4f4", "#c0392b"
TITLE = "#1b2631"
FILLS = {"bad": "#fadbd8", "goal": "#d5f0dd"}
EDGES = {"bad": "#c0392b", "goal": "#1e8449"}
MOST_MARKS = 40  # points of a line that have a mark each
NEAR = 1.5  # times the height of the lines: a limit that is farther away is not in the picture


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) in order, drawn as a line with a mark at each; `classes`: of its element in a page."""

    label: str
    points: tuple[tuple[float, float], ...]
    classes: str = ""
    crossed: bool = False  # its last point is marked by a cross


@dataclass(frozen=True, slots=True)
class Band:
    """Values between these ends, which may be infinite."""

    low: float
    high: float
    kind: str  # `bad` or `goal`


@dataclass(frozen=True, slots=True)
class ChartFacts:
    """What a chart shows beside its lines. `limits`: horizontal lines with their kind."""

    unit: str = "step"
    bands: tuple[Band, ...] = ()
    limits: tuple[tuple[float, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()  # kind and text of each entry of the legend
    moment: tuple[float, str] | None = None  # a vertical line and its words
    truth: bool = False  # values are false and true
    whole: bool = False  # values are whole numbers


PLAIN = ChartFacts()


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    since: float = 0.0,
    loop: float | None = None,
    facts: ChartFacts = PLAIN,
) -> str:
    """One chart as SVG; what lies before x = `since` is shaded as history."""
    drawn = draw_line_chart(title, series, since=since, loop=loop, facts=facts)
    return "" if drawn is None else render_svg(drawn)


def draw_line_chart(
    title: str,
    series: Sequence[Series],
    *,
    since: float = 0.0,
    loop: float | None = None,
    facts: ChartFacts = PLAIN,
) -> Drawing | None:
    """One chart; `loop`: where the run returns to. None: there is nothing to draw."""
    shown = [
        Series(s.label, tuple(p for p in s.points if isfinite(p[1])), s.classes, s.crossed) for s in series
    ]
    points = [p for s in shown for p in s.points]
    if not points:
        return None
    moments = [facts.moment[0]] if facts.moment is not None else []
    across = _padded_range([*(x for x, _ in points), *moments], 0.0)
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, across, _value_range(points, facts))
    shapes: list[Shape] = [
        *_draw_history(frame, since),
        *_draw_bands(frame, facts),
        *_draw_grid(frame, facts),
        *_draw_limits(frame, facts),
    ]
    for number, one in enumerate(shown):
        drawn = tuple(_draw_series(one, LINE_COLOURS[number % len(LINE_COLOURS)], frame, facts.unit))
        shapes += [Group(one.classes, drawn)] if one.classes else drawn
    if loop is not None:
        shapes += _draw_loop(frame, loop, max(x for x, _ in points))
    if facts.moment is not None:
        shapes += _draw_moment(frame, *facts.moment)
    legend, left = _draw_legend(shown, facts)
    return Drawing(WIDTH, HEIGHT, (*shapes, *legend, _draw_title(title, left)), title)


def _value_range(points: Sequence[tuple[float, float]], facts: ChartFacts) -> tuple[float, float]:
    """All values, the limits that are near them, and some room."""
    if facts.truth:
        return -0.25, 1.25
    values = [y for _, y in points]
    low, high = min(values), max(values)
    if facts.whole and high - low < 8:
        near = [limit for limit, _ in facts.limits if low - 8 <= limit <= high + 8]
        return min(low, *near, high) - 0.7, max(high, *near, low) + 0.7
    room = NEAR * (high - low) or inf
    near = [limit for limit, _ in facts.limits if low - room <= limit <= high + room]
    return _padded_range([*values, *near], 0.12 if near else 0.08)


def _padded_range(values: Sequence[float], margin: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * margin if high > low else max(abs(high) * 0.1, 1e-6)
    return low - room, high + room


def _draw_history(frame: Frame, since: float) -> Iterator[Shape]:
    if since > frame.across[0]:
        yield Rectangle(LEFT, TOP, frame.x(since) - LEFT, HEIGHT - TOP - BOTTOM, PAST)
        yield Text(LEFT + 4, TOP + 12, "before the run", colour=INK)


def _draw_bands(frame: Frame, facts: ChartFacts) -> Iterator[Shape]:
    low, high = frame.along
    for band in facts.bands:
        bottom, top = max(band.low, low), min(band.high, high)
        if bottom < top:
            above, below = frame.y(top), frame.y(bottom)
            yield Rectangle(LEFT, above, WIDTH - RIGHT - LEFT, below - above, FILLS[band.kind])


def _draw_limits(frame: Frame, facts: ChartFacts) -> Iterator[Shape]:
    """Dashed lines, with their numbers on the right where there is room for them."""
    above = -inf
    for limit, kind in sorted(facts.limits, reverse=True):
        if not frame.along[0] <= limit <= frame.along[1]:
            continue
        y = frame.y(limit)
        yield Polyline(((LEFT, y), (WIDTH - RIGHT, y)), EDGES[kind], 1.2, (6, 3))
        if y < above + 11:
            continue
        above = y
        yield Text(WIDTH - RIGHT + 9, y + 4, f"{limit:.5g}", colour=EDGES[kind])


def _draw_grid(frame: Frame, facts: ChartFacts) -> Iterator[Shape]:
    right = WIDTH - RIGHT
    for value in (0.0, 1.0) if facts.truth else tick_values(*frame.along, whole=facts.whole):
        y = frame.y(value)
        yield Polyline(((LEFT, y), (right, y)), GRID)
        text = ("false", "true")[round(value)] if facts.truth else f"{value:.6g}"
        yield Text(LEFT - 6, y + 4, text, anchor="end", colour=INK)
    below = HEIGHT - BOTTOM + 15
    for value in tick_values(*frame.across, whole=facts.unit == "step"):
        yield Text(frame.x(value), below, f"{value:.6g}", anchor="middle", colour=INK)
    yield Text(LEFT - 12, below, facts.unit, anchor="end", colour=INK)


def _draw_series(one: Series, colour: str, frame: Frame, unit: str) -> Iterator[Shape]:
    told = one.label if len(one.points) > MOST_MARKS else ""
    yield Polyline(tuple(frame.place(*point) for point in one.points), colour, 1.6, title=told)
    marked = one.points if len(one.points) <= MOST_MARKS else ()
    for step, value in marked:
        yield Mark(
            *frame.place(step, value),
            colour,
            f"{one.label}: {value:.9g} at {unit} {step:g}",
            size=2.4 if len(marked) > 30 else 3,
        )
    if one.crossed:
        yield Mark(*frame.place(*one.points[-1]), colour, f"{one.label}: violated", "cross", 5)


def _draw_loop(frame: Frame, loop: float, last: float) -> Iterator[Shape]:
    y, start, end = HEIGHT - BOTTOM + 3, frame.x(loop), frame.x(last)
    yield Polyline(((start, y), (end, y)), LOOP, 3)
    yield Text((start + end) / 2, HEIGHT - 3, "for ever", anchor="middle", colour=INK)


def _draw_moment(frame: Frame, when: float, words: str) -> Iterator[Shape]:
    """A dotted vertical line; its words stand below the numbers, on the side that has room for them."""
    x = frame.x(when)
    yield Polyline(((x, TOP), (x, HEIGHT - BOTTOM)), TITLE, 1, (2, 3))
    left = x - LEFT > (WIDTH - RIGHT - LEFT) / 2
    yield Text(x if left else max(x - 4, LEFT), HEIGHT - 3, words, anchor="end" if left else "start")


def _draw_title(title: str, room: float) -> Text:
    """Not into the legend: what has no room there ends in an ellipsis."""
    most = max(8, int((room - LEFT) / 7.2))
    return Text(
        LEFT, 16, title if len(title) <= most else f"{title[: most - 1]}…", 13, colour=TITLE, bold=True
    )


def _draw_legend(series: Sequence[Series], facts: ChartFacts) -> tuple[list[Shape], float]:
    """Entries from the right; and where they begin."""
    entries = [(FILLS[kind], words) for kind, words in facts.words]
    if len(series) > 1 and not series[0].classes:  # else a page names the lines elsewhere
        lines = enumerate(series)
        entries = [*((LINE_COLOURS[n % len(LINE_COLOURS)], one.label) for n, one in lines), *entries]
    x, shapes = float(WIDTH - RIGHT), list[Shape]()
    for colour, words in reversed(entries):
        if x - text_width(words) - 22 < LEFT + 130:
            break
        x -= text_width(words) + 22
        shapes += [Rectangle(x, 8, 10, 10, colour), Text(x + 14, 17, words, colour=INK)]
    return shapes, x
