"""Line charts as SVG text, without any library: values over the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from surefoot.report.drawing.frame import Frame, tick_values
from surefoot.visible import escape_html

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 26, 30
COLOURS = ("#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#117a8b", "#5d6d7e", "#943126", "#2e4053")


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
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape_html(title)}">']
    parts.append(f'<text x="{LEFT}" y="16" class="title">{escape_html(title)}</text>')
    parts += _draw_history(frame, since)
    parts += _draw_grid(frame)
    for number, one in enumerate(shown):
        parts += _draw_series(one, COLOURS[number % len(COLOURS)], frame)
    if loop is not None:
        parts += _draw_loop(frame, loop, max(x for x, _ in points))
    parts += _draw_legend(shown)
    return "".join([*parts, "</svg>"])


def _padded_range(values: Sequence[float], margin: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * margin if high > low else max(abs(high) * 0.1, 1e-6)
    return low - room, high + room


def _draw_history(frame: Frame, since: float) -> list[str]:
    if since <= frame.across[0]:
        return []
    width = frame.x(since) - LEFT
    return [
        f'<rect x="{LEFT}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" class="past"/>',
        f'<text x="{LEFT + 4}" y="{TOP + 12}" class="tick">before the run</text>',
    ]


def _draw_grid(frame: Frame) -> list[str]:
    parts = []
    for value in tick_values(*frame.along):
        y = frame.y(value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="tick end">{value:.6g}</text>')
    for value in tick_values(*frame.across, whole=True):
        x = frame.x(value)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" class="tick middle">{value:g}</text>')
    parts.append(f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM + 15}" class="tick end">step</text>')
    return parts


def _draw_series(one: Series, colour: str, frame: Frame) -> list[str]:
    spots = [(*frame.place(x, y), x, y) for x, y in one.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in spots)
    marks = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
        f"<title>{escape_html(one.label)}: {value:.9g} at step {step:g}</title></circle>"
        for x, y, step, value in spots
    )
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>', *marks]


def _draw_loop(frame: Frame, loop: float, last: float) -> list[str]:
    y, start, end = HEIGHT - BOTTOM + 3, frame.x(loop), frame.x(last)
    return [
        f'<line x1="{start:.1f}" x2="{end:.1f}" y1="{y}" y2="{y}" class="loop"/>',
        f'<text x="{(start + end) / 2:.1f}" y="{HEIGHT - 3}" class="tick middle">for ever</text>',
    ]


def _draw_legend(series: Sequence[Series]) -> list[str]:
    if len(series) < 2:
        return []
    parts, x = [], WIDTH - RIGHT
    for number, one in reversed(list(enumerate(series))):
        x -= 7 * len(one.label) + 22
        if x < LEFT + 150:
            break
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 13}" y="17" class="tick">{escape_html(one.label)}</text>')
    return parts
