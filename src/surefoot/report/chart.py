"""Line charts as SVG text, without any library: values over the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

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
    across, along = _scale([x for x, _ in points], 0.0), _scale([y for _, y in points], 0.08)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts.append(f'<text x="{LEFT}" y="16" class="title">{escape(title)}</text>')
    parts += _history(across, since)
    parts += _grid(across, along)
    for number, one in enumerate(shown):
        parts += _line(one, COLOURS[number % len(COLOURS)], across, along)
    if loop is not None:
        parts += _return(across, loop, max(x for x, _ in points))
    parts += _legend(shown)
    return "".join([*parts, "</svg>"])


def _scale(values: Sequence[float], margin: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * margin if high > low else max(abs(high) * 0.1, 1e-6)
    return low - room, high + room


def _x(value: float, across: tuple[float, float]) -> float:
    return LEFT + (value - across[0]) / (across[1] - across[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, along: tuple[float, float]) -> float:
    return HEIGHT - BOTTOM - (value - along[0]) / (along[1] - along[0]) * (HEIGHT - TOP - BOTTOM)


def _history(across: tuple[float, float], since: float) -> list[str]:
    if since <= across[0]:
        return []
    width = _x(since, across) - LEFT
    return [
        f'<rect x="{LEFT}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" class="past"/>',
        f'<text x="{LEFT + 4}" y="{TOP + 12}" class="tick">before the run</text>',
    ]


def _grid(across: tuple[float, float], along: tuple[float, float]) -> list[str]:
    parts = []
    for value in ticks(*along):
        y = _y(value, along)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="tick end">{value:.6g}</text>')
    for value in ticks(*across, whole=True):
        x = _x(value, across)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" class="tick middle">{value:g}</text>')
    parts.append(f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM + 15}" class="tick end">step</text>')
    return parts


def ticks(low: float, high: float, *, whole: bool = False) -> tuple[float, ...]:
    """At most eight round numbers between low and high; `whole`: integers only."""
    step = 10.0 ** floor(log10(max(high - low, 1e-300)))
    while (high - low) / step < 3:
        step /= 2
    while (high - low) / step > 8:
        step *= 2
    step = max(1.0, round(step)) if whole else step
    first = -floor(-low / step)
    return tuple(n * step for n in range(first, floor(high / step) + 1))


def _line(one: Series, colour: str, across: tuple[float, float], along: tuple[float, float]) -> list[str]:
    spots = [(_x(x, across), _y(y, along), x, y) for x, y in one.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in spots)
    marks = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
        f"<title>{escape(one.label)}: {value:.9g} at step {step:g}</title></circle>"
        for x, y, step, value in spots
    )
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>', *marks]


def _return(across: tuple[float, float], loop: float, last: float) -> list[str]:
    y, start, end = HEIGHT - BOTTOM + 3, _x(loop, across), _x(last, across)
    return [
        f'<line x1="{start:.1f}" x2="{end:.1f}" y1="{y}" y2="{y}" class="loop"/>',
        f'<text x="{(start + end) / 2:.1f}" y="{HEIGHT - 3}" class="tick middle">for ever</text>',
    ]


def _legend(series: Sequence[Series]) -> list[str]:
    if len(series) < 2:
        return []
    parts, x = [], WIDTH - RIGHT
    for number, one in reversed(list(enumerate(series))):
        x -= 7 * len(one.label) + 22
        if x < LEFT + 150:
            break
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 13}" y="17" class="tick">{escape(one.label)}</text>')
    return parts
