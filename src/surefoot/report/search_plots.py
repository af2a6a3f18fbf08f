"""The questions of a search as pictures, the verdict as colour and shape.

One has the values against the seconds that each took, one the values against what was found there, and one
the tipping points of several policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from surefoot.report.drawing.frame import LINE_COLOURS, Frame, axes_line
from surefoot.report.drawing.shapes import Drawing, Mark, Polyline, Rectangle, Shape, Text
from surefoot.report.drawing.svg_file import render_svg
from surefoot.term.printer import show_term
from surefoot.term.term import Const
from surefoot.verdict.artifact import TippingPoint, Trial

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 56, 56
LANE = 44  # height of the marks with one answer
INK = "#000000"
COLOURS = {"proved": "#1a7f37", "refuted": "#cf222e", "vacuous": "#6e7781", "unknown": "#9a6700"}


def bounds_svg(
    title: str, across: str, along: str, found: Sequence[tuple[str, Sequence[tuple[float, float, float]]]]
) -> str:
    """Per label a bar from low to high at each x, given as (x, low, high); both axes are logarithmic."""
    points = [p for _, line in found for p in line]
    xs, ys = [log(p[0]) for p in points], [log(y) for p in points for y in p[1:]]
    inside = (LEFT + 20, WIDTH - RIGHT - 20, TOP + 10, HEIGHT - BOTTOM - 10)
    frame = Frame(*inside, (min(xs), max(xs)), (min(ys), max(ys)))
    whole = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, frame.across, frame.along)
    shapes: list[Shape] = [
        Text(LEFT, 20, title, 14, colour=INK),
        axes_line(whole),
        Text(WIDTH - RIGHT, HEIGHT - BOTTOM + 34, across, 12, "end", INK),
        Text(LEFT - 60, TOP - 8, along, 12, colour=INK),
    ]
    for x in sorted({p[0] for p in points}):
        shapes.append(Text(frame.x(log(x)), HEIGHT - BOTTOM + 18, f"{x:.4g}", 12, "middle", INK))
    for y in sorted({min(p[1] for p in points), max(p[2] for p in points)}):
        shapes.append(Text(LEFT - 6, frame.y(log(y)) + 4, f"{y:.4g}", 12, "end", INK))
    for number, (label, line) in enumerate(found):
        colour = LINE_COLOURS[number % len(LINE_COLOURS)]
        shapes += _draw_bars(label, line, frame, colour)
        shapes.append(Text(LEFT + 10, TOP + 14 * (number + 1), label, 12, colour=colour))
    return render_svg(Drawing(WIDTH, HEIGHT, tuple(shapes), title))


def _draw_bars(
    label: str, line: Sequence[tuple[float, float, float]], frame: Frame, colour: str
) -> Iterator[Shape]:
    yield Polyline(tuple(frame.place(log(x), log(high)) for x, _, high in line), colour)
    for x, low, high in line:
        ends = frame.place(log(x), log(low)), frame.place(log(x), log(high))
        yield Polyline(ends, colour, 5, title=f"{label}: between {low:.6g} and {high:.6g} at {x:.6g}")


def tipping_point_svg(found: TippingPoint) -> str:
    """One mark per question; the gap between the last proved and the first refuted value is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    slowest = max(t.seconds for t in found.trials) or 1.0
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, (low, high), (0.0, slowest))
    below = HEIGHT - BOTTOM + 18
    shapes: list[Shape] = [
        Text(LEFT, 24, found.statement, 15, colour=INK),
        *_draw_gap(found, frame),
        axes_line(frame),
        Text(LEFT, below, f"{low:.6g}", 12, colour=INK),
        Text(WIDTH - RIGHT, below, f"{high:.6g}", 12, "end", INK),
        Text(LEFT - 6, TOP + 4, f"{slowest:.2g} s", 12, "end", INK),
        Text(LEFT - 6, HEIGHT - BOTTOM, "0 s", 12, "end", INK),
        *(_trial_mark(t, *frame.place(float(t.value), t.seconds)) for t in found.trials),
        *_draw_legend(found),
    ]
    return render_svg(Drawing(WIDTH, HEIGHT, tuple(shapes), found.statement))


def verdicts_svg(found: TippingPoint) -> str:
    """The bound from left to right, a lane for each kind of answer; the gap is shaded."""
    values = [float(t.value) for t in found.trials]
    low, high = min(values), max(values)
    lanes = [answer for answer in COLOURS if any(t.answer == answer for t in found.trials)]
    bottom = TOP + LANE * len(lanes)
    frame = Frame(LEFT + 20, WIDTH - RIGHT - 20, TOP, bottom, (low, high), (0.0, 1.0))
    shapes: list[Shape] = [
        *_draw_gap(found, frame),
        axes_line(Frame(LEFT, WIDTH - RIGHT, TOP, bottom, frame.across, frame.along)),
        *(Text(frame.x(v), bottom + 18, f"{v:.6g}", 12, "middle", INK) for v in sorted({low, high})),
    ]
    for number, answer in enumerate(lanes):
        y = TOP + LANE * (number + 0.5)
        shapes.append(Text(LEFT - 8, y + 4, answer, 12, "end", COLOURS[answer]))
        shapes += [_trial_mark(t, frame.x(float(t.value)), y) for t in found.trials if t.answer == answer]
    return render_svg(Drawing(WIDTH, bottom + 30, tuple(shapes), found.statement))


def _draw_gap(found: TippingPoint, frame: Frame) -> Iterator[Shape]:
    if found.proved is None or found.refuted is None:
        return
    ends = sorted(float(t.value) for t in (found.proved, found.refuted))
    left, right = (frame.x(end) for end in ends)
    yield Rectangle(left, TOP, max(1.0, right - left), frame.bottom - TOP, "#54aeff")
    yield Text((left + right) / 2, TOP - 6, f"{ends[0]:.6g} … {ends[1]:.6g}", 12, "middle", INK)


def _trial_mark(trial: Trial, x: float, y: float) -> Mark:
    """A disc for a proof, a cross for a violation, a ring for anything else."""
    title = f"{show_term(Const(trial.value))}: {trial.answer}, {trial.seconds:.2f} s"
    match trial.answer:
        case "proved":
            return Mark(x, y, COLOURS[trial.answer], title, "disc", 4)
        case "refuted":
            return Mark(x, y, COLOURS[trial.answer], title, "cross", 4)
        case _:
            return Mark(x, y, COLOURS[trial.answer], title, "ring", 4)


def _draw_legend(found: TippingPoint) -> Iterator[Shape]:
    for number, answer in enumerate(dict.fromkeys(t.answer for t in found.trials)):
        count = sum(t.answer == answer for t in found.trials)
        yield Text(LEFT + 120 * number, HEIGHT - 12, f"{answer}: {count}", 12, colour=COLOURS[answer])
