"""Rigorous ranges of all quantities of a lowered query and of all values of its networks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.exact import exact_outputs
from surefoot.network.interval import interval_bounds
from surefoot.query.bounds import (
    Interval,
    declared_box,
    integer_variable_names,
    intersect_intervals,
    is_empty,
    linear_range,
    rounded_down,
    rounded_up,
    tighten_box,
)
from surefoot.query.formula import Formula
from surefoot.query.query import NetworkCall, Query
from surefoot.term.linear import linearise_term


@dataclass(frozen=True, slots=True)
class QueryRanges:
    box: dict[str, Interval]
    networks: tuple[tuple[BoxArray, ...], ...]  # per call, the bounds of every value of its network


def bound_quantities(
    query: Query, formulas: tuple[Formula, ...], *, quick: bool = False
) -> QueryRanges | None:
    """Ranges that hold every solution; None if there is none. `quick`: intervals rather than linear bounds.

    `Unsupported` names a quantity without bound that feeds a network.
    """
    whole = integer_variable_names(query.quantities)
    start = declared_box(query.quantities)
    if any(is_empty(b) for b in start.values()):
        return None
    box = tighten_box(start, formulas, whole)
    found: dict[int, tuple[BoxArray, ...]] = {}
    waiting = list(enumerate(query.calls))
    while waiting and box is not None:
        postponed = []
        for number, call in waiting:
            inputs = [linear_range(linearise_term(t), box) for t in call.inputs]
            if any(low is None or high is None for low, high in inputs):
                postponed.append((number, call))
                continue
            found[number] = _bound_network(call, inputs, quick)
            _note_outputs(call, _output_ranges(call, inputs, found[number][-1]), box)
            if any(is_empty(box[name]) for name in call.outputs):
                return None
            box = tighten_box(box, formulas, whole)
            if box is None:
                return None
        if box is not None and len(postponed) == len(waiting):
            raise _unbounded_input(postponed[0][1], box)
        waiting = postponed
    return None if box is None else QueryRanges(box, tuple(found[i] for i in range(len(query.calls))))


def _bound_network(call: NetworkCall, inputs: list[Interval], quick: bool) -> tuple[BoxArray, ...]:
    low = np.array([rounded_down(i[0]) for i in inputs])
    high = np.array([rounded_up(i[1]) for i in inputs])
    boxes = interval_bounds(call.network, low, high) if quick else linear_bounds(call.network, low, high)
    if not all(np.isfinite(b.low).all() and np.isfinite(b.high).all() for b in boxes):
        raise Unsupported("a network overflows on the box of its inputs", fix="give tighter bounds for them")
    return boxes


def _output_ranges(call: NetworkCall, inputs: list[Interval], last: BoxArray) -> list[Interval]:
    """The ranges of the outputs; where every input is fixed, their exact values."""
    point = [low for low, high in inputs if low is not None and low == high]
    if len(point) == len(inputs):
        return [(value, value) for value in exact_outputs(call.network, point)]
    ends = zip(last.low.tolist(), last.high.tolist(), strict=True)
    return [(Fraction(low), Fraction(high)) for low, high in ends]


def _note_outputs(call: NetworkCall, outputs: list[Interval], box: dict[str, Interval]) -> None:
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, (low, high), extra in zip(call.outputs, outputs, slack, strict=True):
        assert low is not None
        assert high is not None
        box[name] = intersect_intervals(box[name], (low - extra, high + extra))


def _unbounded_input(call: NetworkCall, box: dict[str, Interval]) -> Unsupported:
    for term in call.inputs:
        for name, _ in linearise_term(term).coefficients:
            if None in box[name]:
                return Unsupported(
                    f"`{name}` has no bounds, and a network reads it",
                    fix=f"give a lower and an upper bound for `{name}`",
                )
    raise AssertionError("an unbounded expression has an unbounded quantity")
