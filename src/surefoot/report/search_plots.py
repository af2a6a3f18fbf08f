"""The questions of a search as pictures (SVG), the verdict as colour and shape.

One has the values against the seconds that each took, one the values against what was found there, and one
the tipping points of several policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from surefoot.report.drawing.frame import Frame
from surefoot.term.printer import show_term
from surefoot.term.term import Const
from surefoot.verdict.artifact import TippingPoint, Trial
from surefoot.visible import escape_html

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 56, 56
LANE = 44  # height of the marks with one answer
COLOURS = {"proved": "#1a7f37", "refuted": "#cf222e", "vacuous": "#6e7781", "unknown": "#9a6700"}
LINES = ("#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#117a8b", "#5d6d7e", "#943126", "#2e4053")


def bounds_svg(
    title: str, across: str, along: str, found: Sequence[tuple[str, Sequence[tuple[float, float, float]]]]
) -> str:
    """Per label a bar from low to high at each x, given as (x, low, high); both axes are logarithmic."""
    points = [p for _, line in found for p in line]
    xs, ys = [log(p[0]) for p in points], [log(y) for p in points for y in p[1:]]
    inside = (LEFT + 20, WIDTH - RIGHT - 20, TOP + 10, HEIGHT - BOTTOM - 10)
    frame = Frame(*inside, (min(xs), max(xs)), (min(ys), max(ys)))

    def place(x: float, y: float) -> tuple[float, float]:
        return frame.place(log(x), log(y))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text_svg(LEFT, 20, title, size=14),
        f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text_svg(WIDTH - RIGHT, HEIGHT - BOTTOM + 34, across, anchor="end"),
        _text_svg(LEFT - 60, TOP - 8, along),
    ]
    for x in sorted({p[0] for p in points}):
        parts.append(_text_svg(place(x, 1.0)[0], HEIGHT - BOTTOM + 18, f"{x:.4g}", anchor="middle"))
    for y in sorted({min(p[1] for p in points), max(p[2] for p in points)}):
        parts.append(_text_svg(LEFT - 6, place(1.0, y)[1] + 4, f"{y:.4g}", anchor="end"))
    for number, (label, line) in enumerate(found):
        parts += _bars_svg(label, line, place, LINES[number % len(LINES)])
        parts.append(_text_svg(LEFT + 10, TOP + 14 * (number + 1), label, colour=LINES[number % len(LINES)]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bars_svg(
    label: str,
    line: Sequence[tuple[float, float, float]],
    place: Callable[[float, float], tuple[float, float]],
    colour: str,
) -> list[str]:
    tops = " ".join("{:.1f},{:.1f}".format(*place(x, high)) for x, _, high in line)
    parts = [f'<polyline points="{tops}" fill="none" stroke="{colour}"/>']
    for x, low, high in line:
        (right, bottom), (_, top) = place(x, low), place(x, high)
        parts.append(
            f'<path d="M{right:.1f} {bottom:.1f} V{top:.1f}" stroke="{colour}" stroke-width="5">'
            f"<title>{escape_html(label)}: between {low:.6g} and {high:.6g} at {x:.6g}</title></path>"
        )
    return parts


def tipping_point_svg(found: TippingPoint) -> str:
    """One mark per question; the gap between the last proved and the first refuted value is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    slowest = max(t.seconds for t in found.trials) or 1.0
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, (low, high), (0.0, slowest))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text_svg(LEFT, 24, found.statement, size=15),
        *_gap_svg(found, frame, HEIGHT - TOP - BOTTOM),
        f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text_svg(LEFT, HEIGHT - BOTTOM + 18, f"{low:.6g}"),
        _text_svg(WIDTH - RIGHT, HEIGHT - BOTTOM + 18, f"{high:.6g}", anchor="end"),
        _text_svg(LEFT - 6, TOP + 4, f"{slowest:.2g} s", anchor="end"),
        _text_svg(LEFT - 6, HEIGHT - BOTTOM, "0 s", anchor="end"),
        *(_trial_mark(t, *frame.place(float(t.value), t.seconds)) for t in found.trials),
        *_legend_svg(found),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def verdicts_svg(found: TippingPoint) -> str:
    """The bound from left to right, a lane for each kind of answer; the gap is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    lanes = [answer for answer in COLOURS if any(t.answer == answer for t in found.trials)]
    bottom = TOP + LANE * len(lanes)
    frame = Frame(LEFT + 20, WIDTH - RIGHT - 20, TOP, bottom, (low, high), (0.0, 1.0))

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {bottom + 30}" role="img" aria-label="{escape_html(found.statement)}">',
        *_gap_svg(found, frame, bottom - TOP),
        f'<path d="M{LEFT} {TOP} V{bottom} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text_svg(frame.x(low), bottom + 18, f"{low:.6g}", anchor="middle"),
    ]
    if high > low:
        parts.append(_text_svg(frame.x(high), bottom + 18, f"{high:.6g}", anchor="middle"))
    for number, answer in enumerate(lanes):
        y = TOP + LANE * (number + 0.5)
        parts.append(_text_svg(LEFT - 8, y + 4, answer, anchor="end", colour=COLOURS[answer]))
        parts += [_trial_mark(t, frame.x(float(t.value)), y) for t in found.trials if t.answer == answer]
    return "\n".join([*parts, "</svg>"])


def _gap_svg(found: TippingPoint, frame: Frame, height: int) -> list[str]:
    if found.proved is None or found.refuted is None:
        return []
    left, right = sorted(frame.x(float(t.value)) for t in (found.proved, found.refuted))
    size = f'width="{max(1.0, right - left):.2f}" height="{height}"'
    ends = sorted(float(t.value) for t in (found.proved, found.refuted))
    words = f"{ends[0]:.6g} … {ends[1]:.6g}"
    return [
        f'<rect x="{left:.2f}" y="{TOP}" {size} fill="#54aeff"/>',
        _text_svg((left + right) / 2, TOP - 6, words, anchor="middle"),
    ]


def _trial_mark(trial: Trial, x: float, y: float) -> str:
    """A disc for a proof, a cross for a violation, a ring for anything else."""
    colour = COLOURS[trial.answer]
    title = (
        f"<title>{escape_html(show_term(Const(trial.value)))}: {trial.answer}, {trial.seconds:.2f} s</title>"
    )
    if trial.answer == "refuted":
        path = f"M{x - 4:.2f} {y - 4:.2f} l8 8 m0 -8 l-8 8"
        return f'<path d="{path}" stroke="{colour}" stroke-width="2">{title}</path>'
    fill = colour if trial.answer == "proved" else "white"
    return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4" fill="{fill}" stroke="{colour}">{title}</circle>'


def _legend_svg(found: TippingPoint) -> list[str]:
    lines, x = [], float(LEFT)
    for answer in dict.fromkeys(t.answer for t in found.trials):
        count = sum(t.answer == answer for t in found.trials)
        lines.append(_text_svg(x, HEIGHT - 12, f"{answer}: {count}", colour=COLOURS[answer]))
        x += 120
    return lines


def _text_svg(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", colour: str = "black"
) -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{x:.2f}" y="{y:.2f}" {style}>{escape_html(text)}</text>'
