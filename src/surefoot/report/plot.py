"""The questions of a search as pictures (SVG), the verdict as colour and shape.

One has the values against the seconds that each took, the other the values against what was found there.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from surefoot.problem.show import show
from surefoot.problem.term import Const
from surefoot.verdict.artifact import TippingPoint, Trial

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 56, 56
LANE = 44  # height of the marks with one answer
COLOURS = {"proved": "#1a7f37", "refuted": "#cf222e", "vacuous": "#6e7781", "unknown": "#9a6700"}


def tipping_point_svg(found: TippingPoint) -> str:
    """One mark per question; the gap between the last proved and the first refuted value is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    slowest = max(t.seconds for t in found.trials) or 1.0

    def across(value: float) -> float:
        room = WIDTH - LEFT - RIGHT
        return LEFT + room * ((value - low) / (high - low) if high > low else 0.5)

    def down(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / slowest

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, found.statement, size=15),
        *_gap(found, across, HEIGHT - TOP - BOTTOM),
        f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text(LEFT, HEIGHT - BOTTOM + 18, f"{low:.6g}"),
        _text(WIDTH - RIGHT, HEIGHT - BOTTOM + 18, f"{high:.6g}", anchor="end"),
        _text(LEFT - 6, TOP + 4, f"{slowest:.2g} s", anchor="end"),
        _text(LEFT - 6, HEIGHT - BOTTOM, "0 s", anchor="end"),
        *(_mark(t, across(float(t.value)), down(t.seconds)) for t in found.trials),
        *_legend(found),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def verdicts_svg(found: TippingPoint) -> str:
    """The bound from left to right, a lane for each kind of answer; the gap is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    lanes = [answer for answer in COLOURS if any(t.answer == answer for t in found.trials)]
    bottom = TOP + LANE * len(lanes)

    def across(value: float) -> float:
        return LEFT + 20 + (WIDTH - LEFT - RIGHT - 40) * ((value - low) / (high - low) if high > low else 0.5)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {bottom + 30}" role="img" aria-label="{escape(found.statement)}">',
        *_gap(found, across, bottom - TOP),
        f'<path d="M{LEFT} {TOP} V{bottom} H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        _text(across(low), bottom + 18, f"{low:.6g}", anchor="middle"),
    ]
    if high > low:
        parts.append(_text(across(high), bottom + 18, f"{high:.6g}", anchor="middle"))
    for number, answer in enumerate(lanes):
        y = TOP + LANE * (number + 0.5)
        parts.append(_text(LEFT - 8, y + 4, answer, anchor="end", colour=COLOURS[answer]))
        parts += [_mark(t, across(float(t.value)), y) for t in found.trials if t.answer == answer]
    return "\n".join([*parts, "</svg>"])


def _gap(found: TippingPoint, across: Callable[[float], float], height: int) -> list[str]:
    if found.proved is None or found.refuted is None:
        return []
    left, right = sorted(across(float(t.value)) for t in (found.proved, found.refuted))
    size = f'width="{max(1.0, right - left):.2f}" height="{height}"'
    ends = sorted(float(t.value) for t in (found.proved, found.refuted))
    words = f"{ends[0]:.6g} … {ends[1]:.6g}"
    return [
        f'<rect x="{left:.2f}" y="{TOP}" {size} fill="#54aeff"/>',
        _text((left + right) / 2, TOP - 6, words, anchor="middle"),
    ]


def _mark(trial: Trial, x: float, y: float) -> str:
    """A disc for a proof, a cross for a violation, a ring for anything else."""
    colour = COLOURS[trial.answer]
    title = f"<title>{escape(show(Const(trial.value)))}: {trial.answer}, {trial.seconds:.2f} s</title>"
    if trial.answer == "refuted":
        path = f"M{x - 4:.2f} {y - 4:.2f} l8 8 m0 -8 l-8 8"
        return f'<path d="{path}" stroke="{colour}" stroke-width="2">{title}</path>'
    fill = colour if trial.answer == "proved" else "white"
    return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4" fill="{fill}" stroke="{colour}">{title}</circle>'


def _legend(found: TippingPoint) -> list[str]:
    lines, x = [], float(LEFT)
    for answer in dict.fromkeys(t.answer for t in found.trials):
        count = sum(t.answer == answer for t in found.trials)
        lines.append(_text(x, HEIGHT - 12, f"{answer}: {count}", colour=COLOURS[answer]))
        x += 120
    return lines


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", colour: str = "black"
) -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{x:.2f}" y="{y:.2f}" {style}>{escape(text)}</text>'
