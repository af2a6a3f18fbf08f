"""Where everything is in the picture of a figure: panels in rows, the curve above them, scales below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefoot.report.drawing.frame import Frame, tick_values
from surefoot.report.drawing.shapes import (
    Cells,
    Drawing,
    Mark,
    Polyline,
    Rectangle,
    Shape,
    Text,
    shift_shapes,
    text_width,
)
from surefoot.report.drawing.svg_file import MOST_TITLES
from surefoot.report.heatmap.cells import Axis, Point
from surefoot.report.heatmap.colours import INFINITE, OUTSIDE, UNKNOWN, Scale, colour_map
from surefoot.report.heatmap.heat_figure import (
    Figure,
    Panel,
    SpecialCell,
    cell_text,
    drawn_number,
    place_text,
    short_number,
    shown_numbers,
    special_kind,
    special_kinds,
)
from surefoot.report.heatmap.learning_curve import Curve
from surefoot.report.run_table import format_number

LARGEST_CELL = 30
ROOM = {1: 640, 2: 450}  # pixels for a map, by how many are beside each other
LEAST_ROOM = 330
HEAD, FOOT, GAP, RIGHT = 32, 34, 18, 10
LEGEND, BAR = 300, 12  # width and height of the bar of colours
CURVE = (520, 150)
SPECIAL: dict[SpecialCell, tuple[str, str]] = {
    "no start here": (OUTSIDE, ""),
    "unknown": (UNKNOWN, "?"),
    "infinite": (INFINITE, "∞"),
    "wide interval": (UNKNOWN, "~"),
}
LINE_COLOUR = "#28588f"


@dataclass(frozen=True, slots=True)
class PlacedPanel:
    """A panel's picture, and where its cells are in it: so that a page can tell which one was clicked."""

    drawing: Drawing
    left: int
    top: int
    size: int


def draw_figure(figure: Figure) -> Drawing:
    """The whole figure as one picture."""
    shapes: list[Shape] = [Text(10, 20, figure.title, 14, bold=True)]
    width, y = text_width(figure.title, 14) + 20, 28
    for note in figure.notes:
        y += 15
        shapes.append(Text(10, y, note))
        width = max(width, text_width(note) + 20)
    y += 12
    if figure.curve is not None:
        chart = curve_drawing(figure.curve)
        shapes += shift_shapes(chart.shapes, 10, y)
        width, y = max(width, chart.width + 20), y + chart.height + GAP
    placed = [panel_drawing(figure, panel) for panel in figure.panels]
    for row in _panel_rows(placed, figure.columns):
        x = 10
        for one in row:
            shapes += shift_shapes(one.drawing.shapes, x, y)
            x += one.drawing.width + GAP
        width, y = max(width, x), y + max(one.drawing.height for one in row) + GAP
    for unit in figure.scales:
        bar = legend_drawing(figure, unit)
        shapes += shift_shapes(bar.shapes, 10, y)
        width, y = max(width, bar.width + 20), y + bar.height
    return Drawing(width, y + 4, tuple(shapes))


def _panel_rows(placed: list[PlacedPanel], columns: int) -> Iterator[list[PlacedPanel]]:
    for first in range(0, len(placed), columns):
        yield placed[first : first + columns]


def panel_drawing(figure: Figure, panel: Panel, *, titles: bool = True) -> PlacedPanel:
    """One heat map with its heading and its axes; `titles`: cells tell what they are."""
    map = panel.map
    columns, rows = len(map.x.values), map.rows
    room = ROOM.get(min(figure.columns, len(figure.panels)), LEAST_ROOM)
    size = max(1, min(LARGEST_CELL, room // columns, max(room // rows, 6)))
    labels = [format_number(v) for v in map.y.values] if map.y is not None else []
    left = max(_map_margin(labels), 12)
    order = list(range(rows)) if figure.down else list(reversed(range(rows)))
    width, height = columns * size, rows * size
    shapes: list[Shape] = [
        Text(0, 11, panel.title, 12, bold=True),
        _draw_cells(figure, panel, left, size, order, titles and columns * rows <= MOST_TITLES),
        *_draw_frame(left, HEAD, width, height),
        *_draw_x_labels(map.x, left, HEAD + height, size),
    ]
    if map.y is not None:
        shapes += _draw_y_labels(map.y, left, size, order)
        shapes.append(Text(0, HEAD - 6, map.y.name, 10))
    whole = max(left + width + RIGHT, text_width(panel.title, 12), left + text_width(map.x.name) + RIGHT)
    return PlacedPanel(Drawing(whole, HEAD + height + FOOT, tuple(shapes)), left, HEAD, size)


def _draw_cells(figure: Figure, panel: Panel, left: int, size: int, order: list[int], titled: bool) -> Cells:
    """The cells from the uppermost row to the lowest."""
    map, scale, inside = panel.map, figure.scales[panel.unit], panel.map.places()
    paint, signs, titles = [], [], []
    for row in order:
        here = [inside.get((column, row)) for column in range(len(map.x.values))]
        kinds = [special_kind(figure, panel.unit, c) for c in here]
        shown = [drawn_number(figure, panel.unit, c) for c in here]
        paint.append(
            tuple(
                scale.colour(s) if s is not None else SPECIAL[k or "unknown"][0]
                for k, s in zip(kinds, shown, strict=True)
            )
        )
        signs.append(tuple("" if k is None else SPECIAL[k][1] for k in kinds))
        if titled:
            told = (
                f"{place_text(map, column, row)}: no start" if c is None else cell_text(figure, panel, c)
                for column, c in enumerate(here)
            )
            titles.append(tuple(told))
    return Cells(left, HEAD, size, tuple(paint), tuple(signs), tuple(titles))


def _map_margin(labels: list[str]) -> int:
    return max((text_width(label) + 8 for label in labels), default=0)


def _draw_frame(x: int, y: int, width: int, height: int) -> tuple[Shape, ...]:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y))
    return (Polyline(tuple((float(a), float(b)) for a, b in corners), "#888888"),)


def _label_step(count: int, size: int, room: int) -> int:
    """Label one of so many values, so that labels do not touch."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if step * size >= room:
            return step
    return max(1, count)


def _label_positions(values: Sequence[Point], step: int) -> list[int]:
    """Where labels stand: at multiples of the step, if the values are whole numbers."""
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
    return [i for i, v in enumerate(values) if (v if whole else i) % step == 0]


def _draw_x_labels(axis: Axis, left: int, bottom: int, size: int) -> list[Shape]:
    labels = [format_number(v) for v in axis.values]
    step = _label_step(len(labels), size, max(text_width(label) for label in labels) + 6)
    shapes: list[Shape] = [
        Text(left + i * size + size // 2, bottom + 13, labels[i], 10, "middle")
        for i in _label_positions(axis.values, step)
    ]
    return [*shapes, Text(left, bottom + 27, axis.name, 10)]


def _draw_y_labels(axis: Axis, left: int, size: int, order: list[int]) -> list[Shape]:
    step = _label_step(len(order), size, 12)
    shown = set(_label_positions(axis.values, step))
    return [
        Text(left - 4, HEAD + place * size + size // 2 + 4, format_number(axis.values[row]), 10, "end")
        for place, row in enumerate(order)
        if row in shown
    ]


def legend_drawing(figure: Figure, unit: str) -> Drawing:
    """The bar of colours with numbers, and what the other colours mean."""
    scale = figure.scales[unit]
    top, left = 18, 10
    every_colour = colour_map()
    shapes: list[Shape] = [Text(0, 11, _scale_words(figure, unit, scale), 11)]
    shapes += [
        Rectangle(left + i, top, min(3, LEGEND - i), BAR, every_colour[i * len(every_colour) // LEGEND])
        for i in range(0, LEGEND, 2)
    ]
    shapes += [
        Text(left + round(scale.position(t) * LEGEND), top + BAR + 12, short_number(t), 10, "middle")
        for t in scale.ticks()
    ]
    x = left + LEGEND + 24
    for words in special_kinds(figure, unit):
        colour, sign = SPECIAL[words]
        shapes.append(Rectangle(x, top, BAR, BAR, colour))
        shapes += _draw_frame(x, top, BAR, BAR)
        shapes.append(Text(x + BAR // 2, top + BAR - 2, sign, 10, "middle"))
        shapes.append(Text(x + BAR + 5, top + BAR - 2, words, 10))
        x += BAR + 15 + text_width(words)
    return Drawing(max(x, text_width(unit) + 20), top + BAR + 24, tuple(shapes))


def _scale_words(figure: Figure, unit: str, scale: Scale) -> str:
    numbers = shown_numbers(figure, unit)
    if not numbers:
        return unit
    told = f"{unit}: from {short_number(min(numbers))} to {short_number(max(numbers))}"
    beyond = min(numbers) < scale.low or max(numbers) > scale.high
    return f"{told}; what is beyond the scale has its last colour" if beyond else told


def curve_drawing(curve: Curve) -> Drawing:
    """The curve with a vertical line at each checkpoint."""
    width, height = CURVE
    left, right, top, bottom = 64, width - 20, 24, height - 34
    xs = [p[0] for p in curve.points] + [x for x, _ in curve.marks]
    ys = [p[1] for p in curve.points]
    frame = Frame(left, right, top, bottom, (min(xs), max(xs)), (min(ys), max(ys)))
    shapes: list[Shape] = [Text(0, 11, f"{curve.y} over {curve.x}", 12, bold=True)]
    for y in tick_values(*frame.along) if max(ys) > min(ys) else ys[:1]:
        at = frame.y(y)
        shapes.append(Polyline(((left, at), (right, at)), "#dddddd"))
        shapes.append(Text(left - 6, round(at) + 4, f"{y:.6g}", 10, "end"))
    for x in tick_values(*frame.across) if max(xs) > min(xs) else xs[:1]:
        shapes.append(Text(round(frame.x(x)), bottom + 14, f"{x:.6g}", 10, "middle"))
    for x, _ in curve.marks:
        at = frame.x(x)
        shapes.append(Polyline(((at, top), (at, bottom)), "#bb7700"))
    shapes.append(Polyline(tuple(frame.place(*p) for p in curve.points), LINE_COLOUR, 2))
    shapes += [
        Mark(*frame.place(*_nearest_point(curve, x)), "#bb7700", f"{name} at {x:g}")
        for x, name in curve.marks
    ]
    shapes.append(Text(left, bottom + 28, f"{curve.x}; upright lines: the checkpoints below", 10))
    return Drawing(width, height, tuple(shapes))


def _nearest_point(curve: Curve, x: float) -> tuple[float, float]:
    """The point of the curve at a checkpoint."""
    return x, min(curve.points, key=lambda p: abs(p[0] - x))[1]
