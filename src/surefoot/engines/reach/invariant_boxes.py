"""Boxes that runs may stay in for ever, proposed by looking at runs: where they go, and what is around that.

A proposal has one box for each combination of values that discrete variables have there. Runs from corners
and sides come back into it; where some do not, it grows to what they reach (as in Kleene's iteration, with a
widening). That they all do is shown, or not, by following it as a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np

from surefoot.engines.reach.conditions import Mask
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.flow_step import watch_condition
from surefoot.engines.reach.form_series import spread_of
from surefoot.engines.reach.start_regions import Region, list_constants
from surefoot.engines.reach.symbols import forms_of_box
from surefoot.engines.reach.walk import (
    Batch,
    LoopWalk,
    TreeNode,
    WalkRecord,
    take_period,
)
from surefoot.engines.reach.walk_options import WalkOptions

LONGEST_SAMPLE, ENOUGH, LONGEST_LOOP = 400, 60, 200  # periods of runs from starts, and from boxes
LEAST_PERIODS, SETS_LONGER, ROUND_LONGER = 4, 3.0, 1.25  # for which cells are followed, and than points
FEW_STARTS, MOST_STARTS, MOST_CORNERS, ON_SIDES = 24, 64, 64, 64  # points
MOST_BOXES = 64  # of one proposal
ROUNDS, ROUNDS_SOON, WIDENING, MARGIN = 24, 80, 0.2, 0.15  # of growth, relative to boxes
THINNEST = 1e-3  # a side, of where all runs are
SLOWEST = 0.02  # what runs that go round move in a period, of where they are in the end
WIDEST = 64.0  # how much wider boxes are than where runs end
EXACT = 2**30  # ends of what never changes are multiples of its inverse: numbers that a checker has
GROWN, GROWN_SOON = 8.0, 1000.0  # times what a box was at first; if runs have to be back soon
SOON = 1  # periods
FURTHEST, SLACK = 1.0, 0.03  # what boxes grow by to hold sets, of their sides
GRID = 2048  # steps of a side to which its ends are rounded
Values = tuple[float, ...]  # of the discrete variables


@dataclass(frozen=True, slots=True, eq=False)
class RunSampler:
    """Runs from single states, by the walk that follows sets.

    A point is followed for a period as a set; what networks round and what is chosen give that a width, and a
    random point of it is followed next. Nothing is decided by such runs.
    """

    walk: LoopWalk
    options: WalkOptions
    random: np.random.Generator
    stop: Callable[[], bool]

    def take_step(self, states: Array) -> tuple[Array, Mask]:
        """States after a period (not a number where a run ends, or has met its goal), and which failed."""
        forms = forms_of_box(states, states)
        record = WalkRecord(first_spread=spread_of(forms))
        rows = np.arange(len(states))
        batch = Batch(forms, rows, [TreeNode(0) for _ in rows])
        with np.errstate(all="ignore"):
            batch = take_period(self.walk, batch, Fraction(0), self.options, record)
        after, failed = np.full(states.shape, np.nan), np.zeros(len(states), bool)
        failed[list(record.failures)] = True
        order = self.random.permutation(len(batch.cell))
        forms = batch.forms[order]
        symbols = self.random.uniform(-1, 1, (len(order), forms.shape[-1] - 2))
        corners = self.random.random(len(order)) < 0.5
        symbols = np.where(corners[:, None], np.sign(symbols), symbols)
        values = forms[..., 0] + np.einsum("cvs,cs->cv", forms[..., 1:-1], symbols)
        whole = self.walk.discrete
        values[:, whole] = np.round(values[:, whole])
        after[batch.cell[order]] = values  # of several successors of a state one
        failed |= ~np.isnan(after[:, 0]) & ~np.isfinite(after).all(1)
        after[failed] = np.nan
        return after, failed

    def watch_nothing(self) -> RunSampler:
        """The same runs where no state counts as bad."""
        unwatched = replace(self.walk.question, since=Fraction(2**62))
        return replace(self, walk=replace(self.walk, question=unwatched, bad=None))

    def are_bad(self, states: Array) -> Mask:
        """Points that may be bad now, or are out of their range."""
        inside = (states >= self.walk.least) & (states <= self.walk.most)
        out: Mask = ~np.asarray(inside.all(1))
        if self.walk.bad is not None:
            forms = forms_of_box(states, states)
            out |= ~self.walk.bad.decide(forms)[1]
            if self.walk.goal is not None:
                out &= ~self.walk.goal.decide(forms)[0]
        return out

    def follow_runs(self, states: Array, periods: int) -> tuple[Array, Mask]:
        """States (periods + 1 at most, points, variables), and which points have failed."""
        found, failed = [states], self.are_bad(states)
        live = ~failed
        while len(found) <= periods and live.any() and not self.stop():
            after = np.full(states.shape, np.nan)
            after[live], gone = self.take_step(found[-1][live])
            failed[np.flatnonzero(live)[gone]] = True
            found.append(after)
            live = ~np.isnan(after[:, 0])
        return np.stack(found), failed


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """`low`, `high`: one row for each box, over all variables."""

    low: Array
    high: Array

    @property
    def radius(self) -> Array:
        return 0.5 * (self.high - self.low)

    def scale(self, factor: float, fixed: Mask) -> Boxes:
        centre, radius = 0.5 * (self.low + self.high), self.radius * factor
        return Boxes(np.where(fixed, self.low, centre - radius), np.where(fixed, self.high, centre + radius))


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    boxes: Boxes
    periods: int  # for which its cells are followed


@dataclass(frozen=True, slots=True, eq=False)
class StartRuns:
    """Runs from the starts: what proposals are made of."""

    states: Array  # (moments, points, variables)
    fixed: Mask  # variables that never change, and those that are discrete
    violated: bool


def draw_starts(sampler: RunSampler, regions: Sequence[Region], count: int) -> Array:
    """Points of the boxes of starts, half of them corners, without those that are surely no starts."""
    names = sampler.walk.loop.variables
    low = np.array([[float(r.box[v][0]) for v in names] for r in regions])
    high = np.array([[float(r.box[v][1]) for v in names] for r in regions])
    which = np.arange(count) % len(regions)
    if len(regions) > count:
        which = sampler.random.choice(len(regions), count, replace=False)
    share = sampler.random.random((count, len(names)))
    share = np.where(sampler.random.random((count, 1)) < 0.5, np.round(share), share)
    points: Array = low[which] + share * (high[which] - low[which])
    initial = watch_condition(sampler.walk.loop, sampler.walk.loop.initial)
    return points[~initial.decide(forms_of_box(points, points))[1]]


def do_starts_return(sampler: RunSampler, regions: Sequence[Region]) -> bool:
    """Do runs come back into a box of starts, as far as there is time to see?

    Sets do not where a variable that never changes has a range: its ends are rounded outward.
    """
    names = sampler.walk.loop.variables
    constants = np.flatnonzero(list_constants(sampler.walk.loop) & ~sampler.walk.discrete)
    if any(
        region.box[names[place]][0] < region.box[names[place]][1] for region in regions for place in constants
    ):
        return False
    boxes = [np.array([[float(end) for end in r.box[v]] for v in names]).T for r in regions]
    states = draw_starts(sampler, regions, FEW_STARTS)
    states = states[~sampler.are_bad(states)]
    for number in range(LONGEST_SAMPLE):
        if not len(states):
            break
        if sampler.stop():
            return number < ENOUGH
        states = sampler.take_step(states)[0]
        out = ~np.isnan(states[:, 0])
        for low, high in boxes:
            out &= ~((states >= low) & (states <= high)).all(1)
        states = states[out]
    return not len(states)


def sample_starts(sampler: RunSampler, regions: Sequence[Region], since: Fraction) -> StartRuns:
    """Nothing is bad before some time."""
    states = draw_starts(sampler, regions, MOST_STARTS)
    before, _ = sampler.watch_nothing().follow_runs(states, _count_periods(sampler, since))
    last = before[-1][~np.isnan(before[-1][:, 0])]
    runs, failed = sampler.follow_runs(last, LONGEST_SAMPLE)
    fixed = sampler.walk.discrete | list_constants(sampler.walk.loop)
    everything = np.full((len(before) - 1 + len(runs), *states.shape), np.nan)
    everything[: len(before) - 1] = before[:-1]
    everything[len(before) - 1 :, : len(last)] = runs
    return StartRuns(everything, fixed, bool(failed.any()))


def _count_periods(sampler: RunSampler, since: Fraction) -> int:
    return min(ceil(since / sampler.walk.loop.period), LONGEST_SAMPLE)


def propose_boxes(sampler: RunSampler, runs: StartRuns, tried: list[Boxes]) -> Iterator[Proposal | None]:
    """From those near to where runs end to wide ones; None where nothing new came of one."""
    everywhere = enclose_states(sampler, runs.states, runs.fixed, None)
    late = enclose_states(sampler, runs.states[len(runs.states) // 2 :], runs.fixed, everywhere)
    if everywhere is None or late is None:
        return
    for boxes, margin, longest, longer in _first_boxes(sampler, runs, late, everywhere):
        found = grow_boxes(sampler, boxes, runs.fixed, margin, longest)
        if found is not None and not any(_are_alike(found.boxes, other) for other in tried):
            tried.append(found.boxes)
            yield Proposal(found.boxes, max(LEAST_PERIODS, ceil(longer * found.periods)))
        else:
            yield None


def _first_boxes(
    sampler: RunSampler, runs: StartRuns, late: Boxes, everywhere: Boxes
) -> Iterator[tuple[Boxes, float, int, float]]:
    """Boxes to begin with, how far inside of them runs have to come back, when, and how much longer sets may
    take for it."""
    far, usual = LONGEST_LOOP, SETS_LONGER
    yield late.scale(1.1, runs.fixed), 0.0, far, usual
    yield everywhere.scale(1.05, runs.fixed), 0.0, SOON, usual
    yield late.scale(1.5, runs.fixed), MARGIN, far, usual
    yield everywhere.scale(1.05, runs.fixed), 0.0, far, usual
    wide = widen_while_good(sampler, late, runs.fixed)
    yield wide.scale(0.95, runs.fixed), 0.0, far, usual
    yield from ((boxes, MARGIN, far, ROUND_LONGER) for boxes in _list_sections(runs, late))
    for boxes, factor in ((late, 3), (wide, 0.6), (everywhere, 1.5), (late, 8), (wide, 0.3)):
        yield boxes.scale(factor, runs.fixed), 0.0, far, usual


def _list_sections(runs: StartRuns, late: Boxes) -> Iterator[Boxes]:
    """Small boxes across the way of runs that go round, where they go along an axis (Poincaré's sections)."""
    free = np.flatnonzero(~runs.fixed)
    states = runs.states[len(runs.states) // 2 :]
    if len(free) < 2 or len(states) < 3 or len(late.low) > 1:
        return
    now, change = states[:-1].reshape(-1, states.shape[-1]), np.diff(states, axis=0)
    moved = np.abs(change.reshape(now.shape))
    there = np.isfinite(moved).all(1)
    now, moved = now[there], moved[there]
    share = moved[:, free] / late.radius[0, free]
    if not len(now) or share.max() < SLOWEST:
        return
    along = share / np.maximum(share.sum(1, keepdims=True), 1e-300)
    for place in np.argsort(-along.max(0)):
        best = int(np.argmax(along[:, place] * (share[:, place] >= 0.5 * share[:, place].max())))
        size = np.maximum(0.75 * moved[best], THINNEST * late.radius[0])
        size = np.where(runs.fixed, 0.0, size)
        low, high = (
            np.where(runs.fixed, late.low[0], now[best]),
            np.where(runs.fixed, late.high[0], now[best]),
        )
        yield Boxes((low - size)[None], (high + size)[None])


def _are_alike(one: Boxes, other: Boxes) -> bool:
    if one.low.shape != other.low.shape:
        return False
    near = 0.02 * (one.radius + 1e-300)
    return bool((np.abs(one.low - other.low) <= near).all() and (np.abs(one.high - other.high) <= near).all())


def enclose_states(sampler: RunSampler, states: Array, fixed: Mask, around: Boxes | None) -> Boxes | None:
    """A box around all states with the same discrete values; no thinner than a part of what is `around`."""
    whole = sampler.walk.discrete
    rows = states.reshape(-1, states.shape[-1])
    rows = rows[np.isfinite(rows).all(1)]
    keys = np.unique(rows[:, whole], axis=0)
    if not len(rows) or len(keys) > MOST_BOXES:
        return None
    held = [rows[(rows[:, whole] == key).all(1)] for key in keys]
    low, high = np.array([h.min(0) for h in held]), np.array([h.max(0) for h in held])
    size = rows.max(0) - rows.min(0) if around is None else around.high.max(0) - around.low.min(0)
    least = THINNEST * np.where(size > 0, size, np.maximum(np.abs(rows).max(0), 1e-3))
    short = np.where(fixed, 0.0, np.maximum(least - 0.5 * (high - low), 0.0))
    return Boxes(low - short, high + short)


def widen_while_good(sampler: RunSampler, boxes: Boxes, fixed: Mask) -> Boxes:
    """As wide as it can be on all sides together, then on each, without states that are bad."""

    def good(candidate: Boxes) -> bool:
        return not sampler.are_bad(_points_of(sampler, candidate, fixed)).any()

    low, high = 1.0, 1.0
    while high < WIDEST and good(boxes.scale(high, fixed)):
        low, high = high, 2 * high
    for _ in range(6):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if good(boxes.scale(middle, fixed)) else (low, middle)
    found = boxes.scale(low, fixed)
    for place in np.flatnonzero(~fixed):
        for side in (0, 1):
            step = 4 * found.radius[:, place].max()
            for _ in range(6):
                ends = [found.low.copy(), found.high.copy()]
                ends[side][:, place] += step if side else -step
                if good(candidate := Boxes(ends[0], ends[1])):
                    found = candidate
                step /= 2
    return found


def grow_boxes(
    sampler: RunSampler, boxes: Boxes, fixed: Mask, margin: float = 0.0, longest: int = LONGEST_LOOP
) -> Proposal | None:
    """Boxes into which runs from their corners and sides come back; None where some run is bad before."""
    widest = (GROWN_SOON if longest <= SOON else GROWN) * boxes.radius
    for _ in range(ROUNDS_SOON if longest <= SOON else ROUNDS):
        if (boxes.radius > widest)[:, ~fixed].any():
            return None
        boxes = _round_boxes(sampler, boxes, fixed)
        points = _points_of(sampler, boxes, fixed)
        if sampler.are_bad(points).any():
            return None
        live, nearest = np.arange(len(points)), np.full(len(points), np.inf)
        best, box = points.copy(), np.zeros(len(points), dtype=np.intp)
        states, number = points, 0
        while len(live) and number < longest:
            if sampler.stop():
                return None
            states, failed = sampler.take_step(states)
            if failed.any():
                return None
            number += 1
            going = ~np.isnan(states[:, 0])
            states, live = states[going], live[going]
            beyond, which = _measure_beyond(sampler, boxes, states, fixed)
            nearer = beyond < nearest[live]
            nearest[live[nearer]], best[live[nearer]] = beyond[nearer], states[nearer]
            box[live[nearer]] = which[nearer]
            out = beyond > -margin
            states, live = states[out], live[out]
        if not len(live):
            return Proposal(boxes, number)
        low, high = boxes.low.copy(), boxes.high.copy()
        for point in live:
            if not np.isfinite(nearest[point]):
                return None  # other discrete values
            more = np.where(fixed, 0.0, WIDENING * boxes.radius[box[point]])
            own, state = box[point], best[point]
            inner = margin * boxes.radius[own]
            low[own] = np.where(state < boxes.low[own] + inner, np.minimum(low[own], state - more), low[own])
            high[own] = np.where(
                state > boxes.high[own] - inner, np.maximum(high[own], state + more), high[own]
            )
        boxes = Boxes(np.maximum(low, sampler.walk.least), np.minimum(high, sampler.walk.most))
    return None


def _measure_beyond(
    sampler: RunSampler, boxes: Boxes, states: Array, fixed: Mask
) -> tuple[Array, np.typing.NDArray[np.intp]]:
    """How far states are beyond the nearest box of their discrete values, relative to it; which that is."""
    whole, free = sampler.walk.discrete, ~fixed
    found = np.full((len(states), len(boxes.low)), np.inf)
    for number, (low, high) in enumerate(zip(boxes.low, boxes.high, strict=True)):
        same = (states[:, whole] == low[whole]).all(1)
        radius = np.maximum(0.5 * (high - low), 1e-300)
        over = np.maximum(low - states, states - high) / radius
        found[same, number] = over[same][:, free].max(1) if free.any() else 0.0
    if not len(states):
        return np.zeros(0), np.zeros(0, dtype=np.intp)
    return found.min(1), found.argmin(1)


def _points_of(sampler: RunSampler, boxes: Boxes, fixed: Mask) -> Array:
    """Corners and points of sides, of all boxes."""
    count = len(fixed)
    free = np.flatnonzero(~fixed)
    each = max(4, MOST_CORNERS // len(boxes.low))
    parts = []
    for low, high in zip(boxes.low, boxes.high, strict=True):
        if 2 ** len(free) <= each:
            ends = np.array(list(product((0.0, 1.0), repeat=len(free)))).reshape(-1, len(free))
        else:
            ends = np.round(sampler.random.random((each, len(free))))
        sides = sampler.random.random((max(4, ON_SIDES // len(boxes.low)), len(free)))
        if len(free):
            rows = np.arange(len(sides))
            place = sampler.random.integers(len(free), size=len(sides))
            sides[rows, place] = np.round(sides[rows, place])
        share = np.full((len(ends) + len(sides), count), 0.5)
        share[:, free] = np.concatenate([ends, sides])
        parts.append(low + share * (high - low))
    return np.concatenate(parts)


def _round_boxes(sampler: RunSampler, boxes: Boxes, fixed: Mask) -> Boxes:
    """Ends that are short numbers, outward but within declared ranges."""
    with np.errstate(all="ignore"):
        unit = 2.0 ** np.floor(np.log2(np.maximum(boxes.radius, 1e-300) / GRID))
        low, high = np.floor(boxes.low / unit) * unit, np.ceil(boxes.high / unit) * unit
    low = np.maximum(np.where(fixed, boxes.low, low), sampler.walk.least)
    high = np.minimum(np.where(fixed, boxes.high, high), sampler.walk.most)
    return Boxes(low, high)


def grow_to_sets(
    walk: LoopWalk, regions: Sequence[Region], reached: Sequence[tuple[int, Array, Array]]
) -> list[Region] | None:
    """Regions around sets that their cells reach (each next to one of them); None where they are far away."""
    exact = walk.discrete | list_constants(walk.loop)
    found = list(regions)
    for number, low, high in reached:
        box = dict(found[number].box)
        for place, name in enumerate(walk.loop.variables):
            least, most = box[name]
            size = float(most - least)
            if exact[place]:
                continue
            if not (
                low[place] > float(least) - FURTHEST * size and high[place] < float(most) + FURTHEST * size
            ):
                return None
            if low[place] < least:
                least = max(Fraction(float(low[place] - SLACK * size)), _lowest(walk, place))
            if high[place] > most:
                most = min(Fraction(float(high[place] + SLACK * size)), _highest(walk, place))
            box[name] = least, most
        found[number] = Region(box, start=False)
    return found


def _lowest(walk: LoopWalk, place: int) -> Fraction:
    end = float(walk.least[place])
    return Fraction(end) if np.isfinite(end) else Fraction(-(10**300))


def _highest(walk: LoopWalk, place: int) -> Fraction:
    end = float(walk.most[place])
    return Fraction(end) if np.isfinite(end) else Fraction(10**300)


def regions_of(walk: LoopWalk, proposal: Proposal, fixed: Mask, starts: Sequence[Region]) -> list[Region]:
    """Regions that are no starts; variables that never change have all values that starts have."""
    found = []
    for low, high in zip(proposal.boxes.low, proposal.boxes.high, strict=True):
        box = {}
        for place, name in enumerate(walk.loop.variables):
            if not fixed[place]:
                box[name] = Fraction(float(low[place])), Fraction(float(high[place]))
            elif walk.discrete[place]:
                box[name] = (Fraction(int(low[place])),) * 2
            else:
                least, most = min(r.box[name][0] for r in starts), max(r.box[name][1] for r in starts)
                box[name] = Fraction(floor(least * EXACT), EXACT), Fraction(ceil(most * EXACT), EXACT)
        found.append(Region(box, start=False))
    return found
