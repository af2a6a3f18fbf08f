"""Panels of lines (SVG): numbers over a parameter, linear or logarithmic, with time-outs as arrows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log10

from surefoot import api

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 40
HEAD, STEP = 26, 14  # of the title, and of a line of the legend
COLOURS = ("#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#117a8b", "#5d6d7e", "#943126", "#2e4053")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


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
    wide, high = WIDTH * min(columns, len(panels)), sum(heights) + HEAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
        _text_svg(12, 19, title, size=15),
    ]
    for above, row in zip(accumulate(heights, initial=HEAD), rows, strict=False):
        for column, panel in enumerate(row):
            parts += [f'<g transform="translate({WIDTH * column} {above})">', *_panel_svg(panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel_svg(panel: LinePanel) -> list[str]:
    points = [p for line in panel.lines for p in (*line.points, *line.late)]
    if not points:
        return [_text_svg(LEFT, 20, panel.title)]
    values = [_scale_value(y, panel) for _, y in points]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    across = (min(x for x, _ in points), max(x for x, _ in points))
    frame = api.Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, across, (low - room, high + room))
    parts = [
        _text_svg(LEFT, 20, panel.title, size=13),
        f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text_svg((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, panel.across, anchor="middle"),
        _text_svg(8, TOP - 6, panel.along),
    ]
    for value in api.tick_values(*frame.across):
        parts.append(_text_svg(frame.x(value), HEIGHT - BOTTOM + 15, f"{value:g}", size=10, anchor="middle"))
    for value in api.tick_values(*frame.along, whole=panel.logarithmic and high - low > 1.5):
        shown = f"{float(f'{10**value:.2g}'):g}" if panel.logarithmic else f"{value:g}"
        parts.append(_text_svg(LEFT - 5, frame.y(value) + 4, shown, size=10, anchor="end"))
    names, kinds = _names_and_kinds(panel)
    for line in panel.lines:
        parts += _line_svg(
            line, panel, frame, *_line_style(names.index(line.name), kinds.index(line.kind), names)
        )
    for number, (mark, words) in enumerate(_legend_entries(panel)):
        y = TOP + STEP * number
        parts.append(f'<g transform="translate({WIDTH - RIGHT + 8} {y})">{mark}</g>')
        parts.append(_text_svg(WIDTH - RIGHT + 30, y + 4, words, size=10))
    return parts


def _names_and_kinds(panel: LinePanel) -> tuple[list[str], list[str]]:
    names, kinds = (
        dict.fromkeys(which) for which in zip(*((n.name, n.kind) for n in panel.lines), strict=True)
    )
    return list(names), list(kinds)


def _line_style(name: int, kind: int, names: Sequence[str]) -> tuple[str, str]:
    """Colour and dash; where all lines have one name, kinds have colours too."""
    return COLOURS[(name if len(names) > 1 else kind) % len(COLOURS)], DASHES[kind % len(DASHES)]


def _legend_entries(panel: LinePanel) -> list[tuple[str, str]]:
    """Marks with words: for every name and, if there are several, for every kind; and the arrow."""
    if not panel.lines:
        return []
    names, kinds = _names_and_kinds(panel)
    several, found = len(names) > 1, list[tuple[str, str]]()
    if several or len(kinds) == 1:
        found += [(_stroke_svg(*_line_style(n, 0, names)), name) for n, name in enumerate(names)]
    if len(kinds) > 1:
        dashes = [_line_style(0, n, names) for n in range(len(kinds))]
        drawn = [_stroke_svg("#444444" if several else colour, dash) for colour, dash in dashes]
        found += [(mark, kind or "default") for mark, kind in zip(drawn, kinds, strict=True)]
    if any(line.late for line in panel.lines):
        found.append(
            (f'<path d="{_arrow_path(9, 0)}" fill="white" stroke="#444444"/>', "stopped: at least so much")
        )
    return found


def _stroke_svg(colour: str, dash: str) -> str:
    return f'<path d="M0 0 h18" stroke-width="1.6" stroke="{colour}" stroke-dasharray="{dash}"/>'


def _scale_value(value: float, panel: LinePanel) -> float:
    return log10(max(value, 1e-3)) if panel.logarithmic else value


def _line_svg(line: DataLine, panel: LinePanel, frame: api.Frame, colour: str, dash: str) -> list[str]:
    parts = []
    for piece in _split_at_gaps(line):
        path = " ".join(
            f"{x:.1f},{y:.1f}" for x, y in (frame.place(x, _scale_value(y, panel)) for x, y in piece)
        )
        style = f'fill="none" stroke="{colour}" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{path}" {style}/>')
    for over, value in line.points:
        x, y = frame.place(over, _scale_value(value, panel))
        told = api.escape_html(f"{line.label}: {value:.6g} at {over:g}")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"><title>{told}</title></circle>'
        )
    for over, value in line.late:
        shape = _arrow_path(*frame.place(over, _scale_value(value, panel)))
        told = api.escape_html(f"{line.label}: no end within {value:.6g} at {over:g}")
        parts.append(f'<path d="{shape}" fill="white" stroke="{colour}"><title>{told}</title></path>')
    return parts


def _split_at_gaps(line: DataLine) -> list[list[tuple[float, float]]]:
    """The points in runs that nothing interrupts."""
    breaks = sorted({*line.gaps, *(x for x, _ in line.late)})
    found: dict[int, list[tuple[float, float]]] = {}
    for point in sorted(line.points):
        found.setdefault(bisect(breaks, point[0]), []).append(point)
    return list(found.values())


def _arrow_path(x: float, y: float) -> str:
    return f"M{x - 4:.1f} {y + 3:.1f} L{x:.1f} {y - 5:.1f} L{x + 4:.1f} {y + 3:.1f} Z"


def _text_svg(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    style = f'font-size="{size}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{api.escape_html(text)}</text>'
