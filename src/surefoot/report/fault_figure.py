"""Pictures of faults: how often each decision occurs, and where in a plane of two variables they lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isfinite, sqrt
from typing import Any

from surefoot.problem.problem import Problem
from surefoot.report.drawing.frame import LINE_COLOURS, Frame, axes_line, tick_values
from surefoot.report.drawing.shapes import (
    Drawing,
    Mark,
    Polyline,
    Rectangle,
    Shape,
    Text,
    shift_shapes,
    text_width,
)
from surefoot.report.fault_text import picked_words, safe_words, state_words, telling_names
from surefoot.term.lexer import shorten_text
from surefoot.term.value_types import Int, Real
from surefoot.verdict.fault import CountedFault, FaultTable
from surefoot.verdict.sentences import count_noun

MOST_BARS = 16
BAR, GAP, LABELS, BARS, HEAD = 18, 8, 330, 260, 44
PLANE, LEFT, TOP, BOTTOM, RIGHT = 340, 64, 44, 46, 170
MOST_WIDER = 6  # times what is drawn: so wide an axis may be
INK = "#1b2631"


def draw_faults(problem: Problem, table: FaultTable) -> Drawing:
    """Bars of the most frequent decisions; beside them the plane, if there are two variables to draw over."""
    bars, size = _draw_bars(problem, table.decisions[:MOST_BARS], telling_names(table))
    shapes, width, height = list(bars), size[0], size[1]
    if (plane := _draw_plane(problem, table.decisions)) is not None:
        shapes += shift_shapes(plane, width, 0)
        width, height = width + LEFT + PLANE + RIGHT, max(height, TOP + PLANE + BOTTOM)
    told = f"faults of {count_noun(table.runs, 'violating run')}"
    return Drawing(width, height, tuple(shapes), told)


def _draw_bars(
    problem: Problem, decisions: Sequence[CountedFault], names: frozenset[str] | None
) -> tuple[list[Shape], tuple[int, int]]:
    most = max((c.count for c in decisions), default=1)
    shapes: list[Shape] = [Text(12, 20, "How often each decision is the fault", 14, colour=INK, bold=True)]
    for place, counted in enumerate(decisions):
        y = HEAD + place * (BAR + GAP)
        words = (
            f"{state_words(problem.environment, counted.fault.state, names)}: {picked_words(counted.fault)}"
        )
        shapes.append(Text(LABELS, y + 13, shorten_text(words.replace("`", ""), 52), 10, "end", INK))
        length = max(1.0, BARS * counted.count / most)
        shapes.append(Rectangle(LABELS + 8, y, length, BAR, "#c0392b"))
        shapes.append(Text(LABELS + 14 + length, y + 13, str(counted.count), 11, colour=INK))
    return shapes, (LABELS + BARS + 60, HEAD + len(decisions) * (BAR + GAP) + 20)


def _draw_plane(problem: Problem, decisions: Sequence[CountedFault]) -> list[Shape] | None:
    """Where they lie, over the two variables in which they differ most; None: there are no two numbers."""
    names = _plane_names(problem, decisions)
    if names is None:
        return None
    x, y = names
    points = [(_number(c.fault.state[x]), _number(c.fault.state[y])) for c in decisions]
    if not all(isfinite(v) for point in points for v in point):
        return None
    across, along = (_axis_ends(problem, name, [p[i] for p in points]) for i, name in enumerate(names))
    frame = Frame(LEFT, LEFT + PLANE, TOP, TOP + PLANE, across, along)
    shapes: list[Shape] = [
        Text(LEFT, 20, "Where the faults lie", 14, colour=INK, bold=True),
        axes_line(frame),
    ]
    shapes += _draw_ticks(frame, x, y)
    picks = [w for w, _ in Counter(_pick_class(c) for c in decisions).most_common()]
    most = max(c.count for c in decisions)
    for counted, point in sorted(zip(decisions, points, strict=True), key=lambda one: -one[0].count):
        colour = LINE_COLOURS[min(picks.index(_pick_class(counted)), len(LINE_COLOURS) - 1)]
        title = (
            f"{count_noun(counted.count, 'run')}: {state_words(problem.environment, counted.fault.state)}; "
            f"chosen {picked_words(counted.fault)}; instead {safe_words(counted.fault)}"
        )
        size = 3 + 8 * sqrt(counted.count / most) if most > 1 else 4
        shapes.append(Mark(*frame.place(*point), colour, title, "ring" if most > 1 else "disc", size))
    shapes += _draw_legend(picks)
    return shapes


def _draw_ticks(frame: Frame, x: str, y: str) -> Iterator[Shape]:
    for value in tick_values(*frame.across, whole=frame.across[1] - frame.across[0] > 2):
        yield Text(frame.x(value), TOP + PLANE + 15, f"{value:g}", 10, "middle", INK)
    for value in tick_values(*frame.along, whole=frame.along[1] - frame.along[0] > 2):
        yield Text(LEFT - 5, frame.y(value) + 4, f"{value:g}", 10, "end", INK)
    yield Text(LEFT + PLANE / 2, TOP + PLANE + 34, x, 12, "middle", INK)
    yield Text(max(4, LEFT - text_width(y, 12)), TOP - 8, y, 12, colour=INK)


def _draw_legend(picks: Sequence[str]) -> Iterator[Shape]:
    for number, words in enumerate(picks[: len(LINE_COLOURS)]):
        y = TOP + 16 * number
        yield Polyline(((LEFT + PLANE + 14, y), (LEFT + PLANE + 28, y)), LINE_COLOURS[number], 4)
        yield Text(LEFT + PLANE + 34, y + 4, shorten_text(words, 22), 10, colour=INK)


def _pick_class(counted: CountedFault) -> str:
    """The colour of a decision: the action that was picked; controls have one colour."""
    if any(a.controls for a in counted.fault.chosen):
        return "controls"
    return picked_words(counted.fault).replace("`", "")


def _plane_names(problem: Problem, decisions: Sequence[CountedFault]) -> tuple[str, str] | None:
    """The two numbers of a state in which faults have most different values."""
    if len(decisions) < 2:
        return None
    different: list[tuple[int, int, str]] = []
    for place, variable in enumerate(problem.environment.variables):
        values = [c.fault.state[variable.name] for c in decisions]
        if all(isinstance(v, int | float | Fraction) and not isinstance(v, bool) for v in values):
            different.append((-len(set(values)), place, variable.name))
    chosen = sorted(sorted(different)[:2], key=lambda one: one[1])
    return (chosen[0][2], chosen[1][2]) if len(chosen) == 2 else None


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _axis_ends(problem: Problem, name: str, values: Sequence[float]) -> tuple[float, float]:
    """All values that the variable may have, unless what is drawn is a small part of them."""
    low, high = min(values), max(values)
    match next(v.kind for v in problem.environment.variables if v.name == name):
        case Int(first, last) | Real(first, last) if first is not None and last is not None:
            if last - first <= MOST_WIDER * max(high - low, 1):
                low, high = _number(first), _number(last)
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room
