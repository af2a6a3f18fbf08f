"""A condition in a plane: the pairs of values of two names for which it holds, all others being given.

Where it is linear in the two names its area is cut out exactly, as convex polygons; elsewhere it is looked at
point by point. Whole numbers are the middles of squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.report.violation.condition_parts import Interval, constant_term, read_literal
from surefoot.term.columns import Column, compile_columns
from surefoot.term.evaluate import evaluate_term
from surefoot.term.linear import LinearForm
from surefoot.term.normal_form import fold_condition
from surefoot.term.term import Term, free_names
from surefoot.term.traverse import substitute_names
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, ValueType

Point: TypeAlias = tuple[float, float]
Area: TypeAlias = tuple[Point, ...]  # the corners of a convex polygon
MOST_AREAS = 400
COLUMNS, ROWS = 160, 120  # points that are looked at, at most


@dataclass(frozen=True, slots=True)
class PlaneView:
    """The part of the plane that is drawn; `whole`: whose values are whole numbers."""

    names: tuple[str, str]
    across: Interval
    along: Interval
    whole: tuple[bool, bool]

    def corners(self) -> Area:
        (x0, x1), (y0, y1) = self.across, self.along
        return (x0, y0), (x1, y0), (x1, y1), (x0, y1)


@dataclass(frozen=True, slots=True)
class PlaneRegion:
    """Where a condition holds; `exact`: the areas are, and not only the points that were looked at."""

    areas: tuple[Area, ...]
    exact: bool


def plane_region(
    condition: Term,
    view: PlaneView,
    given: Mapping[str, Any],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
) -> PlaneRegion:
    """The area of a condition over the names of the view, with these values of all others."""
    others = free_names(condition) - set(view.names)
    values = {name: constant_term(given[name]) for name in others}
    cut = substitute_names(condition, {n: v for n, v in values.items() if v is not None})
    if all(not isinstance(kinds[n], Array | Bool) for n in free_names(cut)) and not any(view.whole):
        try:
            return PlaneRegion(_exact_areas(cut, view, kinds, arithmetic), True)
        except Unsupported:
            pass
    return PlaneRegion(_sampled_areas(cut, view, given, kinds, arithmetic), False)


def _exact_areas(
    condition: Term, view: PlaneView, kinds: Mapping[str, ValueType], arithmetic: Arithmetic
) -> tuple[Area, ...]:
    everything: tuple[Area, ...] = (view.corners(),)

    def literal(term: Term, sign: bool) -> tuple[Area, ...]:
        part = read_literal(term, sign, kinds)
        if not free_names(part.quantity.term):  # the same everywhere
            return everything if _is_true(term, arithmetic) is sign else ()
        if part.quantity.linear is None:
            raise Unsupported("not linear")
        form = part.quantity.linear
        return tuple(a for i in part.intervals if len(a := _clip_between(view, view.corners(), form, i)) > 1)

    def conjoin(parts: Sequence[tuple[Area, ...]]) -> tuple[Area, ...]:
        found = everything
        for part in parts:
            found = tuple(a for one in found for other in part if len(a := _intersect_areas(one, other)) > 1)
            _check_number(found)
        return found

    def disjoin(parts: Sequence[tuple[Area, ...]]) -> tuple[Area, ...]:
        return _check_number(tuple(area for part in parts for area in part))

    return fold_condition(
        condition, True, literal, conjoin, disjoin, is_truth=lambda term: is_truth_value(term, kinds)
    )


def _check_number(areas: tuple[Area, ...]) -> tuple[Area, ...]:
    if len(areas) > MOST_AREAS:
        raise Unsupported("too many areas")
    return areas


def _is_true(term: Term, arithmetic: Arithmetic) -> bool:
    try:
        return bool(evaluate_term(term, dict.fromkeys(free_names(term), 0), arithmetic))
    except InvalidProblem:
        return False


def _clip_between(view: PlaneView, area: Area, form: LinearForm, ends: Interval) -> Area:
    """The part of an area in which a linear form is between these ends."""
    factors = dict(form.coefficients)
    a, b = (float(factors.get(name, 0)) for name in view.names)
    low, high = (end - float(form.constant) for end in ends)
    if low > -inf:
        area = clip_area(area, a, b, low)
    return clip_area(area, -a, -b, -high) if high < inf else area


def clip_area(area: Area, a: float, b: float, least: float) -> Area:
    """The part where a*x + b*y is at least so much (Sutherland and Hodgman)."""
    found: list[Point] = []
    heights = [a * x + b * y - least for x, y in area]
    for number, (here, height) in enumerate(zip(area, heights, strict=True)):
        before, previous = area[number - 1], heights[number - 1]
        if (height >= 0) != (previous >= 0):
            share = previous / (previous - height)
            found.append(
                (before[0] + share * (here[0] - before[0]), before[1] + share * (here[1] - before[1]))
            )
        if height >= 0:
            found.append(here)
    return tuple(point for n, point in enumerate(found) if point != found[n - 1] or len(found) == 1)


def _intersect_areas(one: Area, other: Area) -> Area:
    """Both are convex, with their corners in the order of the clock or against it; two are a line."""
    if len(other) < 3:
        one, other = other, one
    turn = 1.0 if _signed_area(other) > 0 else -1.0
    for number, (x1, y1) in enumerate(other):
        x0, y0 = other[number - 1]
        a, b = -(y1 - y0) * turn, (x1 - x0) * turn
        one = clip_area(one, a, b, a * x0 + b * y0)
        if len(one) < 2:
            return ()
    return one


def _signed_area(area: Area) -> float:
    return sum(
        area[n - 1][0] * y - x * area[n - 1][1] for n, (x, y) in enumerate(area)
    )  # twice the area, positive against the clock


def _sampled_areas(
    condition: Term,
    view: PlaneView,
    given: Mapping[str, Any],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
) -> tuple[Area, ...]:
    """Squares around the points at which it holds, joined along rows."""
    xs, wide = _sample_points(view.across, COLUMNS, view.whole[0])
    ys, high = _sample_points(view.along, ROWS, view.whole[1])
    count = len(xs) * len(ys)
    names: dict[str, Column] = {}
    for name in free_names(condition) - set(view.names):
        names[name] = _constant_column(given[name], kinds[name], count)
    for name, values, whole in (
        (view.names[0], np.tile(xs, len(ys)), view.whole[0]),
        (view.names[1], np.repeat(ys, len(xs)), view.whole[1]),
    ):
        kind = kinds[name]
        names[name] = values >= 0.5 if isinstance(kind, Bool) else values
        if whole and isinstance(kind, Int):
            names[name] = np.rint(values).astype(np.int64)
    used = {n: kinds[n] for n in names}
    try:
        found = compile_columns([condition], used, arithmetic)(names, count)
    except SurefootError:
        return ()
    holds = np.broadcast_to(found.columns[0] & ~found.lost[0], count).reshape(len(ys), len(xs))
    areas: list[Area] = []
    for y, row in zip(ys, holds, strict=True):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            x0, x1 = xs[first] - wide / 2, xs[last - 1] + wide / 2
            y0, y1 = y - high / 2, y + high / 2
            areas.append(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))
    return tuple(areas)


def _sample_points(ends: Interval, most: int, whole: bool) -> tuple[np.ndarray[Any, Any], float]:
    """Points in the middle of equal pieces, and how long those are."""
    low, high = ends
    if whole and high - low <= 4 * most:
        return np.arange(np.ceil(low), np.floor(high) + 1), 1.0
    size = (high - low) / most
    return low + (np.arange(most) + 0.5) * size, size


def _constant_column(value: Any, kind: ValueType, count: int) -> Column:
    entry = np.array(value, dtype=np.float64 if not _holds_whole(kind) else None)
    return np.broadcast_to(entry, (count, *entry.shape))


def _holds_whole(kind: ValueType) -> bool:
    while isinstance(kind, Array):
        kind = kind.element
    return isinstance(kind, Bool | Int)
