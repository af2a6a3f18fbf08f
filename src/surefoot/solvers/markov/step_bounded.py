"""Values of so many steps, backwards from the last: float64 with a proved error, or integers.

Where all numbers are >= 0 errors stay relative: a step multiplies and adds numbers that are each off by a
factor 1 + u at most, u = 2^-53. With rewards below 0 they are relative to the largest that a run could pay
if every amount counted as its absolute value: a step adds as much to both, and an optimum of choices is off
by no more than the worst of them. Where a value is 0 is computed apart, with truth values alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Accumulate, Instant, MarkovAnswer, Optimise, Until
from surefoot.solvers.markov.bellman import MarkovUndecided, Precision
from surefoot.solvers.markov.integer_vectors import (
    IntegerVector,
    divide_to_floats,
    integer_weights,
    integer_zeros,
    round_to_integers,
    sum_rows,
)
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph

SCALE = 1 << 256
LEAST = 2.0**-900  # below it a float is not trusted to be relatively precise


@dataclass(frozen=True, slots=True, eq=False)
class _BackwardRecursion:
    """x_n = start; x_i = gate_i(optimum over choices of (costs + P x_(i + 1))), down to x_0."""

    optimise: Optimise
    count: int
    start: IntegerVector  # over `grain`
    costs: IntegerVector | None  # [choices]: over unit * grain
    gate: Callable[[int, NDArray[Any], Any], NDArray[Any]]  # (i, values, one): where the value is known
    grain: int
    shift: int = 0  # over `grain`: taken from the start, to be added again


def solve_step_bounded(
    graph: MarkovGraph, asked: Until | Accumulate | Instant, wish: Precision
) -> MarkovAnswer:
    steps = _build_recursion(graph, asked)
    unit = integer_weights(graph.markov).unit
    if wish.exact:
        return _exact_induction(graph, steps, unit, wish)
    values = _float_induction(graph, steps, unit)
    longest = int(np.diff(graph.markov.outcomes).max(initial=1))
    error = 4.0 * (steps.count + 1) * (longest + 4) * 2.0**-53
    if error > 0.5 or not np.isfinite(values).all():
        raise MarkovUndecided("too many steps for floating point")
    signed = steps.costs is not None and bool((steps.costs < 0).any())
    absolute = _absolute_costs(steps) if signed else steps
    sizes = _float_induction(graph, absolute, unit) if signed else values
    if not np.isfinite(sizes).all():
        raise MarkovUndecided("rewards are too large for floating point")
    positive = _positive_states(graph, absolute)
    centre = round_to_integers(values, SCALE * steps.grain)
    slack = round_to_integers(sizes * error * 1.01 + LEAST, SCALE * steps.grain) + 1
    low, high = centre - slack, centre + slack
    if not signed:
        low = np.maximum(low, 0)
    low[~positive] = 0
    high[~positive] = 0
    if isinstance(asked, Until):
        high = np.minimum(high, SCALE * steps.grain)
    lift = steps.shift * SCALE
    nothing = np.full(graph.markov.states, NEVER, dtype=np.int64)
    scale = SCALE * steps.grain
    return MarkovAnswer(low + lift, high + lift, scale, np.zeros(len(low), dtype=np.bool_), nothing)


def _build_recursion(graph: MarkovGraph, asked: Until | Accumulate | Instant) -> _BackwardRecursion:
    markov, count = graph.markov, asked.steps
    assert count is not None
    match asked:
        case Until(optimise, left, right, _, after):

            def until_gate(i: int, values: NDArray[Any], one: Any) -> NDArray[Any]:
                values[~left & ~right] = 0
                if i >= after:
                    values[right] = one
                else:
                    values[~left] = 0
                return values

            start = integer_zeros(markov.states)
            start[right] = 1
            return _BackwardRecursion(optimise, count, start, None, until_gate, 1)
        case Accumulate(optimise, rewards, until, _):
            given = integer_weights(markov, rewards)
            costs = sum_rows(given.weights * given.amounts, markov.outcomes)

            def goal_gate(i: int, values: NDArray[Any], one: Any) -> NDArray[Any]:
                values[until] = 0
                return values

            return _BackwardRecursion(
                optimise, count, integer_zeros(markov.states), costs, goal_gate, given.grain
            )
        case Instant(optimise, rewards, _):
            table = np.empty(markov.states, dtype=np.object_)
            table[:] = [markov.values[i] for i in rewards]
            grain = int(np.lcm.reduce([v.denominator for v in set(table)] or [1], dtype=np.object_))
            whole = np.empty(markov.states, dtype=np.object_)
            whole[:] = [int(v * grain) for v in table]
            least = min(whole, default=0)
            return _BackwardRecursion(
                optimise, count, whole - least, None, lambda i, values, one: values, grain, least
            )


def _absolute_costs(steps: _BackwardRecursion) -> _BackwardRecursion:
    """The largest sum that a run could pay if every amount were taken as its absolute value."""
    assert steps.costs is not None
    return replace(steps, optimise="max", costs=abs(steps.costs))


def _optimise_choices(
    graph: MarkovGraph, optimise: Optimise, per_choice: NDArray[Any], old: NDArray[Any]
) -> NDArray[Any]:
    """The best choice of each state; a state without any keeps what it has."""
    pointer = graph.markov.choices
    filled = pointer[:-1] < pointer[1:]
    new = old.copy()
    if filled.any():
        best = np.maximum if optimise == "max" else np.minimum
        new[filled] = best.reduceat(per_choice, pointer[:-1][filled])
    return new


def _float_induction(graph: MarkovGraph, steps: _BackwardRecursion, unit: int) -> NDArray[np.float64]:
    markov = graph.markov
    weights = divide_to_floats(integer_weights(markov).weights, unit)
    costs = 0.0 if steps.costs is None else divide_to_floats(steps.costs, unit * steps.grain)
    values = steps.gate(steps.count, divide_to_floats(steps.start, steps.grain), 1.0)
    for i in reversed(range(steps.count)):
        after = costs + sum_rows(weights * values[markov.targets], markov.outcomes)
        values = steps.gate(i, _optimise_choices(graph, steps.optimise, after, values), 1.0)
    return values


def _positive_states(graph: MarkovGraph, steps: _BackwardRecursion) -> NDArray[np.bool_]:
    """Where the value is not 0."""
    markov = graph.markov
    costs = None if steps.costs is None else steps.costs > 0
    values = steps.gate(steps.count, (steps.start > 0).astype(np.bool_), True)
    for i in reversed(range(steps.count)):
        after = np.logical_or.reduceat(values[markov.targets], markov.outcomes[:-1])
        after = after if costs is None else after | costs.astype(np.bool_)
        values = steps.gate(i, _optimise_choices(graph, steps.optimise, after, values), True)
    return cast(NDArray[np.bool_], values)


def _exact_induction(
    graph: MarkovGraph, steps: _BackwardRecursion, unit: int, wish: Precision
) -> MarkovAnswer:
    """Integers over grain * unit ** (number of steps so far)."""
    markov = graph.markov
    weights = integer_weights(markov).weights
    scale = 1
    values = steps.gate(steps.count, steps.start.copy(), scale)
    for i in reversed(range(steps.count)):
        if wish.seconds_left() <= 0:
            raise MarkovUndecided("the time is over")
        after = sum_rows(weights * values[markov.targets], markov.outcomes)
        if steps.costs is not None:
            after = after + steps.costs * scale
        scale *= unit
        values = steps.gate(i, _optimise_choices(graph, steps.optimise, after, values * unit), scale)
    exact = np.empty(markov.states, dtype=np.object_)
    exact[:] = [Fraction(v, scale * steps.grain) + Fraction(steps.shift, steps.grain) for v in values]
    nothing = np.full(markov.states, NEVER, dtype=np.int64)
    return MarkovAnswer(exact, exact, 1, np.zeros(len(exact), dtype=np.bool_), nothing)
