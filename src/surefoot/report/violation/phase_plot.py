"""Runs in the plane of two variables: where they start, which way they go, and what is bad there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, hypot, inf, isfinite
from typing import Any

from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.window import windows_of
from surefoot.report.drawing.frame import LINE_COLOURS, Frame, tick_values
from surefoot.report.drawing.shapes import (
    Drawing,
    Group,
    Mark,
    Polygon,
    Polyline,
    Rectangle,
    Shape,
    Text,
    text_width,
)
from surefoot.report.run_chart import EDGES, FILLS, GRID, INK, NEAR, TITLE
from surefoot.report.run_table import format_number
from surefoot.report.violation.condition_parts import (
    Interval,
    intersect_intervals,
    kinds_of_names,
    split_condition,
)
from surefoot.report.violation.drawn_run import (
    DrawnRun,
    moment_of,
    names_of_conditions,
    watched_conditions,
)
from surefoot.report.violation.plane_region import Area, PlaneRegion, PlaneView, plane_region
from surefoot.report.violation.time_panels import bounded_parts, decisive_quantities
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import Term, Var, free_names, split_target
from surefoot.term.value_types import Bool, Int, Real, ValueType
from surefoot.visible import escape_html

LEFT, TOP, RIGHT, BOTTOM = 76, 44, 20, 74
ACROSS, ALONG = 520, 340  # of the plane
START_FILL, START_EDGE = "#d6e4f5", "#1f5fa8"
MARGIN = 0.06
NEAR_STARTS = 8  # times the width of the runs: starts that are farther away are not in the picture
MOST_NAMED = 12  # values that are told in words


@dataclass(frozen=True, slots=True)
class PhasePlot:
    drawing: Drawing
    words: tuple[str, ...]  # what has to be known to read it


def draw_phase_plot(problem: Problem, runs: Sequence[DrawnRun]) -> PhasePlot | None:
    """The plane of the two most telling variables; None where fewer than two change."""
    axes = choose_axes(problem, runs)
    if axes is None:
        return None
    conditions = watched_conditions(problem)
    kinds = kinds_of_names(problem, sorted({*names_of_conditions(conditions), *axes}))
    view = _choose_view(problem, runs, axes, kinds)
    frame = Frame(LEFT, LEFT + ACROSS, TOP, TOP + ALONG, view.across, view.along)
    regions, words = _find_regions(problem, runs[0], view, kinds)
    shapes: list[Shape] = []
    for kind, region in regions:
        shapes += _draw_region(frame, region, kind)
    shapes += _draw_axes(frame, axes, view)
    for number, run in enumerate(runs):
        drawn = tuple(_draw_run(problem, run, axes, frame, LINE_COLOURS[number % len(LINE_COLOURS)]))
        shapes += [Group(run.classes, drawn)] if run.classes else drawn
    shapes += _draw_legend(regions, runs)
    title = f"{axes[1]} over {axes[0]}"
    shapes.append(Text(8, 16, title, 13, colour=TITLE, bold=True))
    drawing = Drawing(LEFT + ACROSS + RIGHT, TOP + ALONG + BOTTOM, tuple(shapes), f"phase plot: {title}")
    return PhasePlot(drawing, words)


def choose_axes(problem: Problem, runs: Sequence[DrawnRun]) -> tuple[str, str] | None:
    """Two names whose values change: of the decisive parts, of the condition, then what moves with them."""
    environment, names = problem.environment, list[str]()
    deciding = decisive_quantities(problem, runs[0])
    parts = [part for part, _ in bounded_parts(problem)]
    parts.sort(key=lambda p: p.quantity.term not in deciding)
    for part in parts:
        names += sorted(free_names(part.quantity.term), key=lambda n: _place_of(environment, n))
    past = {n for window in windows_of(environment) for n in window.names}
    others = [n for name in names for n in _names_moved_by(environment, name)]
    others += [v.name for v in environment.variables]
    names += [n for n in others if n not in past]
    found = [n for n in dict.fromkeys(names) if _changes(n, runs, environment)]
    return (found[0], found[1]) if len(found) > 1 else None


def _place_of(environment: Environment, name: str) -> int:
    declared = [v.name for v in environment.variables]
    return declared.index(name) if name in declared else len(declared)


def _names_moved_by(environment: Environment, name: str) -> list[str]:
    """Variables that the next value of this one is made of."""
    found: list[Term] = []
    if environment.flow is not None:
        found += [term for target, term in environment.flow.derivatives if target == name]
    for component in environment.components:
        for edge in component.edges:
            for outcome in edge.outcomes:
                found += [u.value for u in outcome.updates if split_target(u.target)[0] == name]
    own = {v.name for v in environment.variables}
    seen = dict.fromkeys(n for term in found for n in sorted(free_names(term)) if n in own and n != name)
    return list(seen)


def _changes(name: str, runs: Sequence[DrawnRun], environment: Environment) -> bool:
    kind = next((v.kind for v in environment.variables if v.name == name), Real())
    if isinstance(kind, Bool) or location_parts(name) is not None:
        return False
    values = [v for run in runs for v in run.values_of(Var(name), environment.arithmetic) if isfinite(v)]
    return len(set(values)) > 1 and not any(isinstance(n.get(name), bool) for r in runs for n in r.names[:1])


def _choose_view(
    problem: Problem, runs: Sequence[DrawnRun], axes: tuple[str, str], kinds: Mapping[str, ValueType]
) -> PlaneView:
    whole = [isinstance(kinds[n], Int) for n in axes]
    ranges = [_axis_range(problem, runs, name, kinds) for name in axes]
    ranges = [
        (low - 0.7, high + 0.7) if w else (low, high) for (low, high), w in zip(ranges, whole, strict=True)
    ]
    return PlaneView(axes, ranges[0], ranges[1], (whole[0], whole[1]))


def _axis_range(
    problem: Problem, runs: Sequence[DrawnRun], name: str, kinds: Mapping[str, ValueType]
) -> Interval:
    """All runs, the start values and the thresholds near them, with some room."""
    environment = problem.environment
    values = [v for run in runs for v in run.values_of(Var(name), environment.arithmetic) if isfinite(v)]
    low, high = min(values), max(values)
    limits = [t for p, _ in bounded_parts(problem) if p.quantity.name == name for t in p.thresholds]
    for near, times in ((_start_range(problem, name, kinds), NEAR_STARTS), (limits, NEAR)):
        room = times * (high - low)
        values += [v for v in near if low - room <= v <= high + room]
        low, high = min(values), max(values)
    if isinstance(kinds[name], Int):
        return low, high
    margin = (high - low) * MARGIN or 1.0
    return low - margin, high + margin


def _start_range(problem: Problem, name: str, kinds: Mapping[str, ValueType]) -> tuple[float, ...]:
    """The ends of the start values of a variable, as far as its own conditions say."""
    kind = kinds[name]
    found: tuple[Interval, ...] = ((-inf, inf),)
    if isinstance(kind, Int | Real):
        found = (
            (-inf if kind.low is None else float(kind.low), inf if kind.high is None else float(kind.high)),
        )
    for part in split_condition(problem.environment.initial, kinds):
        if part.quantity.name == name:
            found = intersect_intervals(found, part.intervals)
    if isinstance(kind, Int):
        found = tuple(
            (ceil(low), floor(high)) if isfinite(high - low) else (low, high) for low, high in found
        )
    return tuple(v for interval in found for v in interval if isfinite(v))


def _find_regions(
    problem: Problem, run: DrawnRun, view: PlaneView, kinds: Mapping[str, ValueType]
) -> tuple[list[tuple[str, PlaneRegion]], tuple[str, ...]]:
    """Starts, and what is bad or good at the moment of the violation; and what is to be said about them."""
    environment = problem.environment
    own = {v.name for v in environment.variables}
    starts = free_names(environment.initial)
    all_kinds = {**kinds_of_names(problem, sorted(starts)), **kinds}
    found: list[tuple[str, PlaneRegion]] = []
    words: list[str] = []
    if set(view.names) & starts and run.names[0] and set(view.names) <= own:
        inside = _inside_kinds(environment, view.names)
        first = environment.initial & inside if inside is not None else environment.initial
        region = plane_region(first, view, run.names[0], all_kinds, environment.arithmetic)
        if region.areas:
            found.append(("starts", region))
        others = sorted((starts - set(view.names)) & own, key=lambda n: _place_of(environment, n))
        moving = [n for n in others if _start_is_open(problem, n, all_kinds)]
        if moving and region.areas:
            words.append(
                f"Starts are drawn for {_values_text(moving, run.names[0])}, as at the start of the run."
            )
    for one in watched_conditions(problem):
        others = sorted(free_names(one.condition) - set(view.names), key=lambda n: _place_of(environment, n))
        if not free_names(one.condition) & set(view.names):
            continue  # it says nothing about the plane
        if any(n not in own and location_parts(n) is None for n in others):
            words.append(f"Where it is {one.kind} depends on what the policy does there, and is not drawn.")
            continue
        region = plane_region(one.condition, view, run.names[-1], all_kinds, environment.arithmetic)
        if not region.areas:
            continue
        found.append((one.kind, region))
        what = "The bad region" if one.kind == "bad" else "The goal"
        if others:
            at = "at the end of the run"
            words.append(f"{what} is drawn for {_values_text(others, run.names[-1])}, as {at}.")
        if not region.exact and not all(view.whole):
            words.append(f"{what} is drawn by points that were looked at: its edge is not exact.")
    return found, tuple(words)


def _inside_kinds(environment: Environment, names: Sequence[str]) -> Term | None:
    """That variables have values of their kinds."""
    found: Term | None = None
    for variable in environment.variables:
        if variable.name in names and isinstance(variable.kind, Int | Real):
            for end, below in ((variable.kind.low, True), (variable.kind.high, False)):
                if end is not None:
                    own = Var(variable.name)
                    limit = own >= end if below else own <= end
                    found = limit if found is None else found & limit
    return found


def _start_is_open(problem: Problem, name: str, kinds: Mapping[str, ValueType]) -> bool:
    return len(set(_start_range(problem, name, kinds))) > 1


def _values_text(names: Sequence[str], values: Mapping[str, Any]) -> str:
    said = [f"{name} = {_short_value(values[name])}" for name in names[:MOST_NAMED] if name in values]
    return ", ".join(said) + (", …" if len(names) > MOST_NAMED else "")


def _short_value(value: Any) -> str:
    if isinstance(value, tuple) and len(value) > 6:
        return f"an array of {len(value)}"
    return f"{float(value):.6g}" if not isinstance(value, bool | int | tuple) else format_number(value)


def _draw_region(frame: Frame, region: PlaneRegion, kind: str) -> Iterator[Shape]:
    fill, edge = (START_FILL, START_EDGE) if kind == "starts" else (FILLS[kind], EDGES[kind])
    placed = [tuple(frame.place(*corner) for corner in area) for area in region.areas]
    if not region.exact:
        placed = [_overlap(area) for area in placed]
    for area in placed:
        if len(area) > 2:
            yield Polygon(area, fill)
    if region.exact:
        for area in placed:
            yield Polyline((*area, area[0]), edge, 0.8, (4, 3) if kind == "starts" else ())


def _overlap(area: Area) -> Area:
    """A little higher, so that no gap shows between rows."""
    (x0, y0), (x1, _), (_, y1), _ = area
    return (x0, y0 + 0.4), (x1, y0 + 0.4), (x1, y1), (x0, y1)


def _draw_axes(frame: Frame, axes: tuple[str, str], view: PlaneView) -> Iterator[Shape]:
    bottom, right = TOP + ALONG, LEFT + ACROSS
    corners = ((LEFT, TOP), (right, TOP), (right, bottom), (LEFT, bottom), (LEFT, TOP))
    for value in tick_values(*frame.across, whole=view.whole[0]):
        x = frame.x(value)
        yield Polyline(((x, TOP), (x, bottom)), GRID, 0.6)
        yield Text(x, bottom + 15, f"{value:.6g}", anchor="middle", colour=INK)
    for value in tick_values(*frame.along, whole=view.whole[1]):
        y = frame.y(value)
        yield Polyline(((LEFT, y), (right, y)), GRID, 0.6)
        yield Text(LEFT - 6, y + 4, f"{value:.6g}", anchor="end", colour=INK)
    yield Polyline(corners, INK)
    yield Text((LEFT + right) / 2, bottom + 32, axes[0], 12, "middle", TITLE)
    yield Text(8, TOP - 8, axes[1], 12, colour=TITLE)


def _draw_run(
    problem: Problem, run: DrawnRun, axes: tuple[str, str], frame: Frame, colour: str
) -> Iterator[Shape]:
    arithmetic = problem.environment.arithmetic
    xs, ys = (run.values_of(Var(name), arithmetic) for name in axes)
    known = [(t, x, y) for t, x, y in zip(run.times, xs, ys, strict=True) if isfinite(x) and isfinite(y)]
    path = [frame.place(x, y) for _, x, y in known]
    if not path:
        return
    yield Polyline(tuple(path), colour, 1.6, title=run.label)
    if len(path) <= 60 and _path_length(path) > 12 * len(path):
        for (t, x, y), (left, top) in zip(known, path, strict=True):
            yield Mark(left, top, colour, f"{axes[0]} = {x:.6g}, {axes[1]} = {y:.6g} at {t:g}", size=2)
    yield from _draw_arrows(path, colour)
    yield Mark(*path[0], colour, "start", "ring", 4.5)
    if moment_of(problem, run) is not None:
        yield Mark(*path[-1], colour, "violated", "cross", 5.5)


def _path_length(path: Sequence[tuple[float, float]]) -> float:
    return sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(path))


def _draw_arrows(path: Sequence[tuple[float, float]], colour: str) -> Iterator[Shape]:
    """The direction of time: at three places of the way, if it is long enough."""
    lengths = [hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(path)]
    whole = sum(lengths)
    if whole < 30:
        return
    wanted, gone = [0.25 * whole, 0.5 * whole, 0.8 * whole] if whole > 120 else [0.5 * whole], 0.0
    for (a, b), length in zip(pairwise(path), lengths, strict=True):
        while wanted and length and gone + length >= wanted[0]:
            share = (wanted.pop(0) - gone) / length
            x, y = a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
            dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
            tip, foot = (x + 6 * dx, y + 6 * dy), (x - 4 * dx, y - 4 * dy)
            sides = (foot[0] - 4 * dy, foot[1] + 4 * dx), (foot[0] + 4 * dy, foot[1] - 4 * dx)
            yield Polygon((tip, *sides), colour)
        gone += length


def _draw_legend(regions: Sequence[tuple[str, PlaneRegion]], runs: Sequence[DrawnRun]) -> Iterator[Shape]:
    entries = [
        (START_FILL if kind == "starts" else FILLS[kind], kind) for kind, region in regions if region.areas
    ]
    if len(runs) > 1:
        entries += [(LINE_COLOURS[n % len(LINE_COLOURS)], run.label) for n, run in enumerate(runs)]
    x, y = float(LEFT), float(TOP + ALONG + 50)
    marks: list[tuple[Shape, str]] = [(Rectangle(0, -9, 10, 10, colour), text) for colour, text in entries]
    marks += [(Mark(5, -4, INK, "", "ring", 4), "start"), (Mark(5, -4, INK, "", "cross", 4), "end")]
    for mark, text in marks:
        width = text_width(text) + 30
        if x + width > LEFT + ACROSS + RIGHT:
            x, y = float(LEFT), y + 15
            if y > TOP + ALONG + BOTTOM - 4:
                return
        yield _shift_one(mark, x, y)
        yield Text(x + 15, y, text, colour=INK)
        x += width


def _shift_one(shape: Shape, right: float, down: float) -> Shape:
    match shape:
        case Rectangle(x, y, width, height, fill):
            return Rectangle(x + right, y + down, width, height, fill)
        case Mark(x, y, colour, title, form, size):
            return Mark(x + right, y + down, colour, title, form, size)
        case _:
            return shape


def phase_plot_caption(plot: PhasePlot) -> str:
    """What has to be known to read the picture, as HTML."""
    return f"<p>{escape_html(' '.join(plot.words))}</p>" if plot.words else ""
