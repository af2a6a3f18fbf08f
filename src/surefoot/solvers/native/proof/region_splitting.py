"""Alternatives that concern different regions of the inputs: the box is split between them before the search.

Comparisons of single inputs give every set of atoms a box of its own. Where a threshold lies between such
boxes the state is split there and the sets on the other side are dropped; where none does, the box shrinks to
the hull of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from surefoot.network.batches import join_batches
from surefoot.network.directed_rounding import BoxArray
from surefoot.solvers.native.bounding.open_boxes import BoxDomains, round_boxes_to_grid
from surefoot.solvers.native.compiled_query import CompiledQuery
from surefoot.solvers.native.proof.proof_log import ProofLog
from surefoot.solvers.native.variable_definitions import float_below


@dataclass(frozen=True, slots=True)
class _InputBound:
    """A bound of an input, and the atom (with its sign) that says so."""

    value: Fraction
    atom: int
    sign: int


@dataclass(frozen=True, slots=True)
class _InputRegion:
    """The part of the box that a set of atoms leaves by comparisons of single inputs."""

    low: tuple[_InputBound | None, ...]
    high: tuple[_InputBound | None, ...]


def split_between_regions(ledger: ProofLog, root: BoxDomains) -> BoxDomains:
    """The parts of the root box, each with the sets that are alive in it."""
    regions = [_region_of_cube(ledger.problem, several) for several in ledger.goal.sets]
    if len(regions) < 2 or all(r == regions[0] for r in regions):
        return root
    parts: list[BoxDomains] = []
    _divide_box(ledger, regions, root, parts)
    return join_batches(parts) if parts else root.pick(slice(0, 0))


def _region_of_cube(problem: CompiledQuery, several: Sequence[int]) -> _InputRegion:
    place = {name: i for i, name in enumerate(problem.names)}
    low: list[_InputBound | None] = [None] * len(place)
    high: list[_InputBound | None] = [None] * len(place)
    for j in several:
        form = problem.forms[j]
        if len(form.coefficients) != 1 or form.coefficients[0][0] not in place:
            continue
        name, factor = form.coefficients[0]
        i, limit = place[name], -form.constant / factor
        upper, lower = high[i], low[i]
        if (factor > 0 or problem.equal[j]) and (upper is None or limit < upper.value):
            high[i] = _InputBound(limit, j, 1 if factor > 0 else -1)
        if (factor < 0 or problem.equal[j]) and (lower is None or limit > lower.value):
            low[i] = _InputBound(limit, j, 1 if factor < 0 else -1)
    return _InputRegion(tuple(low), tuple(high))


def _divide_box(
    ledger: ProofLog, regions: Sequence[_InputRegion], part: BoxDomains, parts: list[BoxDomains]
) -> None:
    node, box = int(part.node[0]), part.box
    alive = part.alive.copy()
    for number in np.flatnonzero(alive[0]).tolist():
        outside = _find_missed_bound(regions[number], box)
        if outside is not None:
            step = {"atoms": [[outside.atom, outside.sign]]}
            ledger.steps[node].append(["drop", [number], step])
            alive[0, number] = False
    if not alive.any():
        return
    here = np.flatnonzero(alive[0]).tolist()
    threshold = _find_threshold(ledger.problem, [regions[n] for n in here], box)
    if threshold is None:
        box = _shrink_to_hull(ledger, regions, node, here, box)
        parts.append(BoxDomains(box, part.known, alive, part.node, part.stubborn))
        return
    entry, value = threshold
    whole = bool(ledger.problem.whole[entry])
    numbers = ledger.split_node(node, ["split", 0, entry, int(value) if whole else value.hex()])
    left, right = BoxArray(box.low, box.high.copy()), BoxArray(box.low.copy(), box.high)
    left.high[0, entry], right.low[0, entry] = value, value + 1 if whole else value
    for half, number in zip((left, right), numbers, strict=True):
        place = np.array([number], dtype=np.int64)
        child = BoxDomains(round_boxes_to_grid(ledger.problem, half), part.known, alive, place, part.stubborn)
        _divide_box(ledger, regions, child, parts)


def _find_missed_bound(region: _InputRegion, box: BoxArray) -> _InputBound | None:
    """The atom by which a region misses the box, if it does."""
    for i, (lower, upper) in enumerate(zip(region.low, region.high, strict=True)):
        if lower is not None and lower.value > Fraction(box.high[0, i]):
            return lower
        if upper is not None and upper.value < Fraction(box.low[0, i]):
            return upper
    return None


def _find_threshold(
    problem: CompiledQuery, regions: Sequence[_InputRegion], box: BoxArray
) -> tuple[int, float] | None:
    """An input and a value between two groups of regions, of about equal size if possible."""
    best: tuple[int, int, float] | None = None
    for i in range(len(problem.names)):
        least, most = Fraction(box.low[0, i]), Fraction(box.high[0, i])
        spans = sorted((_bound_value(r.low[i], least), _bound_value(r.high[i], most)) for r in regions)
        reached = spans[0][1]
        for count, (start, end) in enumerate(spans[1:], start=1):
            middle = float((reached + start) / 2)
            value = float(floor(middle)) if problem.whole[i] else middle
            fits = reached < Fraction(value) + (1 if problem.whole[i] else 0) and Fraction(value) < start
            share = min(count, len(spans) - count)
            if reached < start and fits and reached <= Fraction(value) and (best is None or share > best[0]):
                best = (share, i, value)
            reached = max(reached, end)
    return None if best is None else best[1:]


def _bound_value(side: _InputBound | None, otherwise: Fraction) -> Fraction:
    return otherwise if side is None else side.value


def _shrink_to_hull(
    ledger: ProofLog, regions: Sequence[_InputRegion], node: int, here: Sequence[int], box: BoxArray
) -> BoxArray:
    """The box shrunk to the hull of all regions, one cut for every side that moves."""
    low, high = box.low.copy(), box.high.copy()
    for i in range(len(ledger.problem.names)):
        lower, upper = [regions[n].low[i] for n in here], [regions[n].high[i] for n in here]
        ends = [s.value for s in lower if s is not None]
        if len(ends) == len(here) and (least := float_below(min(ends))) > low[0, i]:
            low[0, i] = least
            ledger.steps[node].append(_hull_cut_step(here, lower))
        ends = [s.value for s in upper if s is not None]
        if len(ends) == len(here) and (most := -float_below(-max(ends))) < high[0, i]:
            high[0, i] = most
            ledger.steps[node].append(_hull_cut_step(here, upper))
    return round_boxes_to_grid(ledger.problem, BoxArray(low, high))


def _hull_cut_step(here: Sequence[int], sides: Sequence[_InputBound | None]) -> list[object]:
    entries: dict[tuple[int, int], list[int]] = {}
    for number, side in zip(here, sides, strict=True):
        assert side is not None
        entries.setdefault((side.atom, side.sign), []).append(number)
    return ["cut", [[sets, {"atoms": [[atom, sign]]}] for (atom, sign), sets in entries.items()]]
