"""One sub-step of a differential equation: Taylor series in time with a validated remainder.

Lohner's scheme on affine forms (Moore 1966; Berz and Makino 1998 call it a Taylor model of first order): an
enclosure E of all states of the sub-step by Picard's operator, coefficients 0 … K - 1 at the state as forms,
and coefficient K over E as an interval. Controls are constant. What the environment chooses may change at any
time: the middle of its range goes along, and the rest is bounded by Gronwall's inequality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import decide_condition
from surefoot.engines.reach.decision_forms import StateTerms, arithmetic_nodes
from surefoot.engines.reach.elementary_range import LEAST, Array, Range
from surefoot.engines.reach.form_series import (
    FormSeries,
    bounds_of,
    combine_forms,
    extend_forms,
    spread_of,
    start_forms,
)
from surefoot.engines.reach.interval_series import (
    IntervalSeries,
    extend_intervals,
    start_intervals,
)
from surefoot.engines.reach.term_levels import (
    ChoiceGroup,
    ListedCondition,
    SwitchGroup,
    TermLevels,
    arrange_levels,
    compared_nodes,
)
from surefoot.reductions.closed_loop import ClosedLoop
from surefoot.term.term import Term

Mask = NDArray[np.bool_]
TRIES = 12  # to enclose a sub-step
STEP = 2.0**-52


@dataclass(frozen=True, slots=True, eq=False)
class FlowJacobian:
    """Nodes of df/dx and df/dw, in levels that begin with the nodes of the system."""

    levels: TermLevels
    by_state: NDArray[np.intp]  # (variables, variables)
    by_chosen: NDArray[np.intp]
    any_sign: int


@dataclass(frozen=True, slots=True, eq=False)
class FlowSystem:
    """x' = f(x, u, w): nodes of the derivatives and of the names they read."""

    levels: TermLevels
    variables: NDArray[np.intp]  # nodes of the state
    controls: NDArray[np.intp]
    chosen: NDArray[np.intp]
    derivatives: NDArray[np.intp]
    chosen_low: Array
    chosen_high: Array
    jacobian: FlowJacobian | None = None  # where something is chosen


@dataclass(slots=True, eq=False)
class SubStep:
    """What is known after a sub-step; rows where `good` is not set are worthless."""

    forms: Array  # of the state at its end
    enclosure: Range  # (cells, variables): of all states in it
    series: FormSeries  # at its beginning
    rest: IntervalSeries  # over the enclosure
    error: Array  # (cells, variables): radius that disturbances add to all of it
    remainder: Array  # (cells, variables): radius of the last term
    good: Mask
    length: float


def measure_remainder(step: SubStep) -> float:
    """What a series leaves out, relative to the spread of the variable: the most of all rows that count."""
    if not step.good.any():
        return np.inf
    spread = spread_of(step.forms[step.good])
    floor = 1e-9 * (1 + np.abs(step.forms[step.good, :, 0]))
    return float((step.remainder[step.good] / np.maximum(spread, floor)).max())


def take_sub_step(system: FlowSystem, state: Array, controls: Array, length: float, order: int) -> SubStep:
    """From forms of the state (cells, variables, …) and of the controls over the same symbols."""
    cells, count, width = state.shape
    box, held = bounds_of(state), bounds_of(controls)
    with np.errstate(all="ignore"):
        enclosure, good = enclose_sub_step(system, box, held, length)
        rest = _series_over(system, enclosure, held, order)
        signs, smooth = decide_switches(system.levels, rest)
        smooth &= _keep_choices(system, enclosure, held)
        good &= smooth
        series = start_forms(system.levels, order, cells, width - 2)
        series.set(system.variables, 0, np.moveaxis(state, 1, 0))
        series.set(system.controls, 0, np.moveaxis(controls, 1, 0))
        middle = np.zeros((len(system.chosen), cells, width))
        middle[..., 0] = (0.5 * (system.chosen_low + system.chosen_high))[:, None]
        series.set(system.chosen, 0, middle)
        for k in range(order - 1):
            extend_forms(series, k, signs)
            slopes = series.forms[system.derivatives, k] / (k + 1)
            size = np.abs(slopes[..., 0]) + spread_of(slopes)
            slopes[..., -1] += size * STEP
            series.set(system.variables, k + 1, slopes)
        powers = np.array([[length**k for k in range(order)]])
        coefficients = series.forms[system.variables]  # (variables, orders, cells, width)
        moved = np.moveaxis(coefficients, 1, 0).reshape(order, -1, width)
        spread = np.moveaxis(series.spread[system.variables], 1, 0).reshape(order, -1)
        forms = combine_forms(powers, moved, spread, None)[0].reshape(count, cells, width)
        low, high = rest.at(system.variables, order)
        reach = length**order
        centre, radius = 0.5 * (low + high) * reach, 0.5 * (high - low) * reach
        radius = radius + (np.abs(low) + np.abs(high)) * ((8 + order) * STEP * reach) + LEAST
        error = _disturbance_error(system, enclosure, held, length)
        forms[..., 0] += centre
        forms[..., -1] += radius + error + (np.abs(forms[..., 0]) * STEP)
        good &= np.isfinite(forms).all(axis=(0, 2)) & np.isfinite(radius).all(0)
    return SubStep(np.moveaxis(forms, 0, 1), enclosure, series, rest, error.T, radius.T, good, length)


def enclose_sub_step(system: FlowSystem, box: Range, held: Range, length: float) -> tuple[Range, Mask]:
    """E with box + [0, length] f(E) inside E (Picard), and where there is one."""
    low, high = box
    guess = _picard_image(system, box, box, held, length)
    good = np.zeros(len(low), bool)
    for attempt in range(TRIES):
        by = (0.05 + 0.1 * attempt) * (guess[1] - guess[0]) + 1e-12 * (
            1 + np.abs(guess[0]) + np.abs(guess[1])
        )
        wide = np.minimum(guess[0] - by, low), np.maximum(guess[1] + by, high)
        image = _picard_image(system, box, wide, held, length)
        inside = np.asarray(
            ((image[0] >= wide[0]) & (image[1] <= wide[1]) & np.isfinite(image[1] - image[0])).all(1)
        )
        fresh = inside & ~good
        if attempt == 0:
            found = (
                np.where(inside[:, None], image[0], wide[0]),
                np.where(inside[:, None], image[1], wide[1]),
            )
        else:
            found = (
                np.where(fresh[:, None], image[0], found[0]),
                np.where(fresh[:, None], image[1], found[1]),
            )
        good |= inside
        if good.all():
            break
        guess = image
    return found, good


def _picard_image(system: FlowSystem, box: Range, over: Range, held: Range, length: float) -> Range:
    series = start_intervals(system.levels, 1, len(box[0]))
    _set_names(system, series, over, held)
    extend_intervals(series, 0)
    low, high = series.at(system.derivatives)
    down, up = np.minimum(low.T * length, 0.0), np.maximum(high.T * length, 0.0)
    down, up = box[0] + down * (1 + 2 * STEP), box[1] + up * (1 + 2 * STEP)
    return down - np.abs(down) * STEP - LEAST, up + np.abs(up) * STEP + LEAST


def _set_names(
    system: FlowSystem, series: IntervalSeries, box: Range, held: Range, chosen: Range | None = None
) -> None:
    least, most = (system.chosen_low, system.chosen_high) if chosen is None else chosen
    for nodes, ends in ((system.variables, box), (system.controls, held)):
        series.low[nodes, 0], series.high[nodes, 0] = ends[0].T, ends[1].T
    series.low[system.chosen, 0], series.high[system.chosen, 0] = least[:, None], most[:, None]


def _series_over(system: FlowSystem, enclosure: Range, held: Range, order: int) -> IntervalSeries:
    series = start_intervals(system.levels, order + 1, len(enclosure[0]))
    middle = 0.5 * (system.chosen_low + system.chosen_high)
    _set_names(system, series, enclosure, held, (middle, middle))
    for k in range(order):
        extend_intervals(series, k)
        low, high = series.at(system.derivatives, k)
        off = (np.abs(low) + np.abs(high)) * STEP
        series.low[system.variables, k + 1] = (low - off) / (k + 1)
        series.high[system.variables, k + 1] = (high + off) / (k + 1)
    return series


def _keep_choices(system: FlowSystem, enclosure: Range, held: Range) -> Mask:
    """Cells in which no choice depends on what the environment chooses: it would change all at once."""
    cells = len(enclosure[0])
    known = np.ones(cells, bool)
    choices = [group for group in system.levels.groups if isinstance(group, ChoiceGroup)]
    if not choices or not len(system.chosen):
        return known
    series = start_intervals(system.levels, 1, cells)
    _set_names(system, series, enclosure, held)
    extend_intervals(series, 0)
    for group in choices:
        yes, no = decide_condition(group.test, series.at, cells)
        known &= yes | no
    return known


def decide_switches(levels: TermLevels, rest: IntervalSeries) -> tuple[Array | None, Mask]:
    """The signs of |x| and of choices, and the cells in which all of them are known."""
    cells = rest.low.shape[-1]
    if levels.smooth:
        return None, np.ones(cells, bool)
    signs, known = np.ones((levels.count, cells)), np.ones(cells, bool)
    for group in levels.groups:
        if isinstance(group, SwitchGroup):
            low, high = rest.at(group.arguments)
            signs[group.nodes] = np.where(low >= 0, 1.0, -1.0)
            known &= ((low >= 0) | (high <= 0)).all(0)
        elif isinstance(group, ChoiceGroup):
            yes, no = decide_condition(group.test, rest.at, cells)
            signs[group.nodes] = np.where(yes, 1.0, -1.0)
            known &= yes | no
    return signs, known


def _disturbance_error(system: FlowSystem, enclosure: Range, held: Range, length: float) -> Array:
    """Z with |x - y| <= Z, where y' = f(y, u, middle): length (J Z + D) <= Z; (variables, cells)."""
    count, cells = len(system.variables), len(enclosure[0])
    if system.jacobian is None:
        return np.zeros((count, cells))
    jacobian = system.jacobian
    series = start_intervals(jacobian.levels, 1, cells)
    _set_names(system, series, enclosure, held)
    series.low[jacobian.any_sign, 0], series.high[jacobian.any_sign, 0] = -1.0, 1.0
    extend_intervals(series, 0)
    size = np.maximum(np.abs(series.low[:, 0]), np.abs(series.high[:, 0]))
    middle = 0.5 * (system.chosen_low + system.chosen_high)  # perhaps not quite the middle
    half = np.maximum(system.chosen_high - middle, middle - system.chosen_low) * (1 + 4 * STEP)
    slopes = size[jacobian.by_state]  # (variables, variables, cells)
    drive = (size[jacobian.by_chosen] * half[None, :, None]).sum(1) * (1 + 8 * STEP)
    # what is driven by others alone never gets beyond its own image unless all are driven a little more
    more = drive + 0.25 * drive.max(0) + LEAST
    guess = length * more
    image, good = guess, np.zeros(cells, bool)
    for _ in range(2 * TRIES):
        image = length * ((slopes * guess[None]).sum(1) + drive) * (1 + (count + 8) * STEP)
        good = np.asarray((image <= guess).all(0))
        if good.all():
            break
        guess = np.maximum(guess, length * ((slopes * guess[None]).sum(1) + more))
    error: Array = np.where(good[None], image, np.nan)
    return error


def bound_over_time(
    forms: FormSeries,
    rest: IntervalSeries,
    nodes: NDArray[np.intp],
    order: int,
    times: tuple[float, float],
    *,
    closely: bool = False,
) -> Range:
    """Bounds of nodes from one time of a sub-step to another (nodes, cells).

    By Horner's scheme in time, by what they are over the enclosure, and `closely` by their values at both
    times.
    """
    low, high = _bound_polynomial(_list_bounds(forms, rest, nodes, order), times)
    if closely and order >= 2:
        down, up = _bound_by_ends(forms, rest, nodes, order, times)
        low, high = np.fmax(low, down), np.fmin(high, up)
    least, most = rest.at(nodes)
    return np.fmax(low, least), np.fmin(high, most)


def _list_bounds(forms: FormSeries, rest: IntervalSeries, nodes: NDArray[np.intp], order: int) -> list[Range]:
    """Of all coefficients in time; the last one over the whole sub-step."""
    own = [bounds_of(forms.forms[nodes, k], forms.spread[nodes, k]) for k in range(order)]
    return [*own, rest.at(nodes, order)]


def _bound_polynomial(coefficients: Sequence[Range], times: tuple[float, float]) -> Range:
    first, last = times
    low, high = coefficients[-1]
    for down, up in reversed(coefficients[:-1]):
        low, high = np.minimum(low * first, low * last), np.maximum(high * first, high * last)
        off = (np.abs(low) + np.abs(high)) * STEP
        low, high = down + (low - off), up + (high + off)
        off = (np.abs(low) + np.abs(high)) * STEP + LEAST
        low, high = low - off, high + off
    return low, high


def _bound_by_ends(
    forms: FormSeries, rest: IntervalSeries, nodes: NDArray[np.intp], order: int, times: tuple[float, float]
) -> Range:
    """The line between the values at both times, and how far from it: at most an eighth of the square of the
    time between them times the second derivative, whose coefficients are (k + 2) (k + 1) c_(k+2)."""
    bent = []
    for k, (low, high) in enumerate(_list_bounds(forms, rest, nodes, order)[2:]):
        low, high = (k + 1) * (k + 2) * low, (k + 1) * (k + 2) * high
        bent.append((low - (np.abs(low) * STEP + LEAST), high + (np.abs(high) * STEP + LEAST)))
    least, most = _bound_polynomial(bent, times)
    share = (times[1] - times[0]) ** 2 / 8 * (1 + 8 * STEP)
    (a, b), (c, d) = (_bound_moment(forms, rest, nodes, order, time) for time in times)
    low = np.minimum(a, c) - share * np.maximum(most, 0.0)
    high = np.maximum(b, d) + share * np.maximum(-least, 0.0)
    off = (np.abs(low) + np.abs(high)) * 4 * STEP + LEAST
    return low - off, high + off


def _bound_moment(
    forms: FormSeries, rest: IntervalSeries, nodes: NDArray[np.intp], order: int, time: float
) -> Range:
    """Coefficients are added as forms."""
    powers = np.array([time**k for k in range(order)])
    found = np.tensordot(powers, forms.forms[nodes, :order], (0, 1))
    sizes = np.abs(forms.forms[nodes, :order, :, 0]) + forms.spread[nodes, :order]
    total = np.tensordot(powers, sizes, (0, 1))
    low, high = rest.at(nodes, order)
    low, high, power = np.minimum(low, 0.0), np.maximum(high, 0.0), time**order
    off = (8 + 4 * order) * STEP * (total + power * (np.abs(low) + np.abs(high))) + LEAST
    down, up = bounds_of(found)
    return down + power * low - off, up + power * high + off


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCondition:
    """A condition on the state, over nodes of its own: at moments, and over sub-steps."""

    condition: ListedCondition
    terms: StateTerms
    nodes: NDArray[np.intp]  # that decide it

    def decide(self, state: Array) -> tuple[Mask, Mask]:
        low, high = self.terms.bound(state)
        return decide_condition(self.condition, lambda n: (low[n], high[n]), len(state))

    def decide_over(
        self, step: SubStep, system: FlowSystem, taylor: int, times: tuple[float, float]
    ) -> tuple[Mask, Mask]:
        """From one time of a sub-step to another: Taylor coefficients of what is compared, Horner in time."""
        cells, width = len(step.good), step.series.forms.shape[-1]
        levels, names = self.terms.levels, self.terms.variables
        forms = start_forms(levels, taylor, cells, width - 2)
        rest = start_intervals(levels, taylor + 1, cells)
        with np.errstate(all="ignore"):
            for k in range(taylor + 1):
                rest.low[names, k], rest.high[names, k] = step.rest.at(system.variables, k)
                if k == 0:
                    rest.low[names, 0] -= step.error.T
                    rest.high[names, 0] += step.error.T
                extend_intervals(rest, k)
            signs, _ = decide_switches(levels, rest)  # where one is not known `rest` has no value
            for k in range(taylor):
                own = step.series.forms[system.variables, k].copy()
                if k == 0:
                    own[..., -1] += step.error.T
                forms.set(names, k, own)
                extend_forms(forms, k, signs)
            place = {int(n): i for i, n in enumerate(self.nodes)}
            holds, fails = np.zeros((2, cells), bool)
            for closely in (False, True):
                low, high = bound_over_time(forms, rest, self.nodes, taylor, times, closely=closely)
                ends = {n: (low[i], high[i]) for n, i in place.items()}
                holds, fails = decide_condition(self.condition, ends.__getitem__, cells)
                if (holds | fails).all():
                    break
        return holds, fails


def watch_condition(loop: ClosedLoop, term: Term) -> WatchedCondition:
    nodes = arithmetic_nodes(loop)
    names = np.array([nodes.name(v) for v in loop.variables], dtype=np.intp)
    condition = nodes.condition(term)
    compared = np.array(sorted(set(compared_nodes(condition))), dtype=np.intp)
    return WatchedCondition(condition, StateTerms(arrange_levels(nodes), names), compared)
