"""Panels of lines (SVG): numbers over a parameter, linear or logarithmic, with time-outs as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from surefoot.report.drawing.frame import Frame, ticks

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 40
COLOURS = ("#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#117a8b", "#5d6d7e", "#943126", "#2e4053")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y), those without an answer apart; lines of one `colour` or `dash` belong together."""

    label: str
    points: tuple[tuple[float, float], ...]
    late: tuple[tuple[float, float], ...] = ()  # at least so much: drawn as arrows upwards
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True, slots=True)
class LinePanel:
    title: str
    across: str
    along: str
    lines: tuple[Line, ...]
    logarithmic: bool = False


def lines_svg(title: str, panels: Sequence[LinePanel], columns: int = 2) -> str:
    """All panels in rows of so many."""
    rows = -(-len(panels) // columns)
    wide, high = WIDTH * min(columns, len(panels)), HEIGHT * rows + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
        _text(12, 19, title, size=15),
    ]
    for number, panel in enumerate(panels):
        x, y = WIDTH * (number % columns), 26 + HEIGHT * (number // columns)
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: LinePanel) -> list[str]:
    points = [p for line in panel.lines for p in (*line.points, *line.late)]
    if not points:
        return [_text(LEFT, 20, panel.title)]
    values = [_scaled(y, panel) for _, y in points]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    across = (min(x for x, _ in points), max(x for x, _ in points))
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, across, (low - room, high + room))
    parts = [
        _text(LEFT, 20, panel.title, size=13),
        f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, panel.across, anchor="middle"),
        _text(8, TOP - 6, panel.along),
    ]
    for value in ticks(*frame.across):
        parts.append(_text(frame.x(value), HEIGHT - BOTTOM + 15, f"{value:g}", size=10, anchor="middle"))
    for value in ticks(*frame.along, whole=panel.logarithmic and high - low > 1.5):
        shown = f"{10**value:.2g}" if panel.logarithmic else f"{value:g}"
        parts.append(_text(LEFT - 5, frame.y(value) + 4, shown, size=10, anchor="end"))
    for number, line in enumerate(panel.lines):
        parts += _line(line, panel, frame)
        style = f'stroke="{COLOURS[line.colour % len(COLOURS)]}" stroke-dasharray="{DASHES[line.dash % 4]}"'
        y = TOP + 14 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 8} {y} h18" stroke-width="1.6" {style}/>')
        parts.append(_text(WIDTH - RIGHT + 30, y + 4, line.label, size=10))
    return parts


def _scaled(value: float, panel: LinePanel) -> float:
    return log10(max(value, 1e-3)) if panel.logarithmic else value


def _line(line: Line, panel: LinePanel, frame: Frame) -> list[str]:
    colour = COLOURS[line.colour % len(COLOURS)]
    spots = [(*frame.place(x, _scaled(y, panel)), x, y) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in spots)
    dash = DASHES[line.dash % len(DASHES)]
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-dasharray="{dash}"/>']
    for x, y, over, value in spots:
        told = escape(f"{line.label}: {value:.6g} at {over:g}")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"><title>{told}</title></circle>'
        )
    for over, value in line.late:
        x, y = frame.place(over, _scaled(value, panel))
        told = escape(f"{line.label}: no end within {value:.6g} at {over:g}")
        shape = f"M{x - 4:.1f} {y + 3:.1f} L{x:.1f} {y - 5:.1f} L{x + 4:.1f} {y + 3:.1f} Z"
        parts.append(f'<path d="{shape}" fill="white" stroke="{colour}"><title>{told}</title></path>')
    return parts


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
