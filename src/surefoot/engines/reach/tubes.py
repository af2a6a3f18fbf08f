"""What cells pass through, kept for pictures: boxes over slots of time, joined where there are too many.

A slot is a part of a control period (a power of two of them fits, as sub-steps do), or some periods or steps.
Nothing is decided by what is kept here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.elementary_range import Array, Range
from surefoot.engines.reach.flow_step import FlowSystem, SubStep
from surefoot.engines.reach.form_series import bounds_of
from surefoot.errors import Unsupported
from surefoot.reductions.closed_loop import ClosedLoop
from surefoot.reductions.loop_question import LoopQuestion
from surefoot.term.linear import LinearForm, linearise_term, scale_form, term_from_linear
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term

MOST_SLOTS = 256
FINEST = 8  # slots of a period
OF_A_WIDTH = 24  # slots, before they get wider, where runs have no last moment
HELD = 2_000_000  # numbers that are kept at a time
MOST_QUANTITIES = 8
SLACK = 1e-12  # for what floats round here, relative


@dataclass(frozen=True, slots=True, eq=False)
class TubeGrid:
    """Names of what is kept (variables, then linear quantities over them), and the slots of time."""

    variables: tuple[str, ...]
    quantities: tuple[str, ...]
    matrix: Array  # (quantities, variables)
    edges: tuple[Fraction, ...]  # where slots begin, and where the last one ends
    steps: bool

    @property
    def slots(self) -> int:
        return len(self.edges) - 1

    @property
    def rows(self) -> int:
        return len(self.variables) + len(self.quantities)

    @property
    def most_tubes(self) -> int:
        return max(8, HELD // (2 * self.slots * self.rows))

    def slots_between(self, begin: Fraction, end: Fraction) -> range:
        """Those that an interval touches; the end of an interval belongs to the slot before it."""
        first = bisect_right(self.edges, begin) - 1
        last = first if self.steps or end <= begin else bisect_left(self.edges, end) - 1
        return range(first, min(max(first, last) + 1, self.slots))

    def ends_of(self, first: int, last: int) -> tuple[Fraction, Fraction]:
        """When a row of slots begins and ends; in steps, its first and its last one."""
        end = self.edges[last + 1]
        return self.edges[first], end - 1 if self.steps else end

    def bound_state(self, forms: Array) -> Range:
        """At one moment (cells, rows)."""
        low, high = bounds_of(forms)
        if not len(self.quantities):
            return low, high
        more = np.einsum("qv,cvm->cqm", self.matrix, forms)
        more[..., -1] = np.abs(forms[..., -1]) @ np.abs(self.matrix).T
        down, up = _widen(*bounds_of(more))
        return np.concatenate([low, down], 1), np.concatenate([high, up], 1)

    def bound_sub_step(
        self, system: FlowSystem, step: SubStep, taylor: int, first: Array, last: Array
    ) -> Range:
        """Between pairs of its times (cells, pairs, rows): Horner on the coefficients of its series."""
        nodes, size = system.variables, np.abs(self.matrix)
        forms = step.series.forms[nodes, :taylor]  # (variables, orders, cells, …)
        least, most = bounds_of(forms, step.series.spread[nodes, :taylor])
        low, high = step.rest.at(nodes, taylor)
        enclosed = step.rest.at(nodes)
        error = step.error.T
        if len(self.quantities):
            own = np.tensordot(self.matrix, forms[..., :-1], 1)
            by = np.abs(own[..., 1:]).sum(-1) + np.tensordot(size, np.abs(forms[..., -1]), 1)
            least, most = np.concatenate([least, own[..., 0] - by]), np.concatenate([most, own[..., 0] + by])
            low, high = self._with_sums(low, high)
            enclosed, error = self._with_sums(*enclosed), np.concatenate([error, size @ error])
        first, last = first[:, None, None], last[:, None, None]
        for k in range(taylor - 1, -1, -1):
            low, high = np.minimum(low * first, low * last), np.maximum(high * first, high * last)
            low, high = least[:, k] + low, most[:, k] + high
        low, high = np.fmax(low, enclosed[0]) - error, np.fmin(high, enclosed[1]) + error
        low, high = _widen(low, high)  # (pairs, rows, cells)
        return np.moveaxis(low, 2, 0), np.moveaxis(high, 2, 0)

    def _with_sums(self, low: Array, high: Array) -> Range:
        """Ends of intervals (variables, cells), then those of the quantities over them."""
        middle, half = self.matrix @ (0.5 * (low + high)), np.abs(self.matrix) @ (0.5 * (high - low))
        return np.concatenate([low, middle - half]), np.concatenate([high, middle + half])


def _widen(low: Array, high: Array) -> Range:
    by = SLACK * (np.abs(low) + np.abs(high))
    return low - by, high + by


def plan_tubes(loop: ClosedLoop, question: LoopQuestion, most_periods: int) -> TubeGrid:
    """The slots for a question."""
    steps = loop.derivatives is None
    if question.until is None:
        edges = _widening_slots(loop.period, most_periods, steps)
    else:
        edges = _equal_slots(loop.period, max(1, ceil(question.until / loop.period)), steps)
    forms = list(dict.fromkeys(f for t in (question.bad, question.goal) if t is not None for f in _sums(t)))
    forms = [f for f in forms if all(name in loop.kinds for name, _ in f.coefficients)][:MOST_QUANTITIES]
    matrix = np.array(
        [[float(dict(f.coefficients).get(v, 0)) for v in loop.variables] for f in forms], dtype=np.float64
    ).reshape(len(forms), len(loop.variables))
    names = tuple(show_term(term_from_linear(f)) for f in forms)
    return TubeGrid(loop.variables, names, matrix, tuple(edges), steps)


def _equal_slots(period: Fraction, periods: int, steps: bool) -> list[Fraction]:
    if steps:
        width = Fraction(ceil((periods + 1) / MOST_SLOTS))
        return [k * width for k in range(ceil((periods + 1) / width) + 1)]
    if periods > MOST_SLOTS:
        several = ceil(periods / MOST_SLOTS)
        return [k * several * period for k in range(ceil(periods / several) + 1)]
    parts = 1
    while parts < FINEST and 2 * parts * periods <= MOST_SLOTS:
        parts *= 2
    return [k * period / parts for k in range(parts * periods + 1)]


def _widening_slots(period: Fraction, most_periods: int, steps: bool) -> list[Fraction]:
    """Where nothing says how long runs are followed: some of a width, then as many of twice the width."""
    edges, width = [Fraction(0)], Fraction(1) if steps else 2 * period / FINEST
    while edges[-1] <= most_periods * period:
        edges += [edges[-1] + k * width for k in range(1, OF_A_WIDTH + 1)]
        width *= 2
    return edges


def _sums(term: Term) -> list[LinearForm]:
    """What is compared in a condition, where it is a sum over several variables; the first one counts 1."""
    if not isinstance(term, Apply):
        return []
    if term.op not in (Op.LE, Op.LT, Op.EQ):
        return [form for part in term.args for form in _sums(part)] if term.op is not Op.ITE else []
    try:
        form = linearise_term(term.args[0] - term.args[1])
    except Unsupported:
        return []
    if len(form.coefficients) < 2:
        return []
    scaled = scale_form(form, 1 / form.coefficients[0][1])
    return [LinearForm(scaled.coefficients)]


class TubeRecorder:
    """The tubes of the cells of one walk."""

    def __init__(self, grid: TubeGrid, cells: int) -> None:
        self.grid = grid
        shape = (cells, grid.slots, grid.rows)
        self.low, self.high = np.full(shape, np.inf), np.full(shape, -np.inf)

    def add(self, cells: NDArray[np.intp], slots: range, bounds: Range) -> None:
        """Bounds (rows, slots, names) of what belongs to these cells."""
        inside = slice(slots.start, slots.stop)
        if len(np.unique(cells)) == len(cells):
            self.low[cells, inside] = np.minimum(self.low[cells, inside], bounds[0])
            self.high[cells, inside] = np.maximum(self.high[cells, inside], bounds[1])
        else:
            np.minimum.at(self.low[:, inside], cells, bounds[0])
            np.maximum.at(self.high[:, inside], cells, bounds[1])

    def add_states(self, cells: NDArray[np.intp], moment: Fraction, forms: Array) -> None:
        low, high = self.grid.bound_state(forms)
        fine = np.isfinite(low).all(1) & np.isfinite(high).all(1)
        slots = self.grid.slots_between(moment, moment)
        if len(slots):
            self.add(cells[fine], slots, (low[fine, None], high[fine, None]))

    def add_sub_step(
        self,
        cells: NDArray[np.intp],
        times: tuple[Fraction, Fraction],
        system: FlowSystem,
        step: SubStep,
        taylor: int,
    ) -> None:
        """Slot by slot, so that a long sub-step does not look wider than it is."""
        (begin, end), edges = times, self.grid.edges
        slots = self.grid.slots_between(begin, end)
        if not len(slots):
            return
        first = np.array([float(max(begin, edges[s]) - begin) for s in slots]) * (1 - SLACK)
        last = np.array([float(min(end, edges[s + 1]) - begin) for s in slots]) * (1 + SLACK)
        with np.errstate(all="ignore"):
            low, high = self.grid.bound_sub_step(system, step, taylor, first, last)
        fine = step.good & np.isfinite(low).all((1, 2)) & np.isfinite(high).all((1, 2))
        self.add(cells[fine], slots, (low[fine], high[fine]))


Key = tuple[int, int]  # region, and path in the tree of its halves: 1, then 0 or 1 for each half


@dataclass(slots=True, eq=False)
class Tube:
    low: Array  # (slots, rows); nothing where low > high
    high: Array

    def join(self, other: Tube) -> None:
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)


@dataclass(slots=True, eq=False)
class TubeStore:
    """Tubes of cells that are done (joined with their neighbours where they are many) and of failed ones."""

    grid: TubeGrid
    done: dict[Key, Tube] = field(default_factory=dict)
    failed: dict[Key, Tube] = field(default_factory=dict)
    followed: set[Key] = field(default_factory=set)  # halves whose other half was not
    deepest: int | None = None  # halvings of the starts by which tubes are told apart

    def keep_done(self, key: Key, tube: Tube) -> None:
        key = key if self.deepest is None else ancestor_at(key, self.deepest)
        if (known := self.done.get(key)) is not None:
            known.join(tube)
            return
        self.done[key] = tube
        while len(self.done) > self.grid.most_tubes and any(path > 1 for _, path in self.done):
            self._join_deepest()

    def _join_deepest(self) -> None:
        self.deepest = max(depth_of(key) for key in self.done) - 1
        before, self.done = self.done, {}
        for key, tube in before.items():
            place = ancestor_at(key, self.deepest)
            if place in self.done:
                self.done[place].join(tube)
            else:
                self.done[place] = tube

    def keep_failed(self, key: Key, tube: Tube) -> None:
        if len(self.failed) < self.grid.most_tubes:
            self.failed[key] = tube

    def note_half(self, key: Key) -> None:
        """A cell was followed: when its other half was too, nothing is left of the cell that both were."""
        region, path = key
        self.failed.pop(key, None)
        if (region, path ^ 1) in self.followed:
            self.followed.discard((region, path ^ 1))
            self.failed.pop((region, path >> 1), None)
        else:
            self.followed.add(key)

    def clear(self) -> None:
        self.done.clear()
        self.failed.clear()
        self.followed.clear()
        self.deepest = None


def depth_of(key: Key) -> int:
    return key[1].bit_length() - 1


def ancestor_at(key: Key, depth: int) -> Key:
    return key[0], key[1] >> max(0, depth_of(key) - depth)


def join_tubes(tubes: Sequence[Tube]) -> Tube:
    """A new tube around all of these."""
    return Tube(np.minimum.reduce([t.low for t in tubes]), np.maximum.reduce([t.high for t in tubes]))
