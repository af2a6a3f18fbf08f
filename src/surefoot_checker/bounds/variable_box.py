"""The box of the free variables: bounds rounded outward to the grid, or inward to what a variable can be."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from operator import gt

from ..kernel.float32 import float32_above
from ..kernel.strict_json import Refused
from .case_problem import CaseProblem
from .interval_propagation import may_overflow, propagate_interval
from .subdomain import PrecisionGrid, SubdomainState


def root_state(grid: PrecisionGrid) -> SubdomainState:
    """The whole search space: the bounds of the variables, all other values by interval arithmetic."""
    if grid.root is not None:
        return grid.root.copy()
    problem, count = grid.problem, len(grid.values)
    lows, highs = _exact_bounds(problem)
    low = [floor(x * grid.one) for x in lows]
    high = [ceil(x * grid.one) for x in highs]
    state = SubdomainState(
        [low] * count,
        [high] * count,
        (1 << len(problem.sets)) - 1,
        [None if x * grid.one == a else x for x, a in zip(lows, low, strict=True)],
        [None if x * grid.one == a else x for x, a in zip(highs, high, strict=True)],
    )
    state.void = any(map(gt, lows, highs))
    if state.void:
        return state
    for v in range(1, count):
        state.low[v], state.high[v] = propagate_interval(grid, state, v)
        if grid.float32 and may_overflow(grid, state, v):
            raise Refused(f"value {v} may leave the float32 range")
    grid.root = state.copy()
    return state


def separate_box(
    grid: PrecisionGrid, state: SubdomainState, place: int
) -> tuple[list[int], list[int]] | None:
    """The box of a value whose entries depend on one free variable each, from the bounds of these now.

    Over it a linear function has the minimum that it has over the box of the free variables, but for
    rounding. None: the value is of another kind.
    """
    if not grid.is_separate[place]:
        return None
    if place == 0:
        return state.low[0], state.high[0]
    found = state.boxes.get(place)
    if found is None:
        now = state.copy()
        now.radii = {}  # those known may be of a part whose other parts have the same box
        source = grid.values[place].sources[0] if grid.values[place].sources else 0
        box = separate_box(grid, state, source)
        assert box is not None
        now.low[source], now.high[source] = box
        found = state.boxes[place] = propagate_interval(grid, now, place)
    return found


def _exact_bounds(problem: CaseProblem) -> tuple[list[Fraction], list[Fraction]]:
    """The bounds of the free variables, moved inward to numbers that a variable can be."""
    lows, highs = [], []
    for variable in problem.variables:
        assert variable.low is not None
        assert variable.high is not None
        lows.append(round_inward(variable.low, variable.kind))
        highs.append(-round_inward(-variable.high, variable.kind))
    return lows, highs


def round_inward(low: Fraction, kind: str) -> Fraction:
    """The least number of this kind that is not below `low`."""
    if kind == "integer":
        return Fraction(ceil(low))
    return float32_above(low) if kind == "float32" else low


def narrow_box(grid: PrecisionGrid, state: SubdomainState, low: list[int], high: list[int]) -> None:
    """Bounds of value 0 that hold as well as those known; where they change, they are moved inward."""
    least, most = state.low[0].copy(), state.high[0].copy()
    exact_low, exact_high = state.exact_low.copy(), state.exact_high.copy()
    above = [i for i, (a, b) in enumerate(zip(low, least, strict=True)) if a > b]
    below = [i for i, (a, b) in enumerate(zip(high, most, strict=True)) if a < b]
    for i in above:
        least[i], exact_low[i] = _round_grid_inward(grid, low[i], grid.problem.variables[i].kind), None
    for i in below:
        most[i], exact_high[i] = -_round_grid_inward(grid, -high[i], grid.problem.variables[i].kind), None
    for i in above + below:
        start, stop = exact_low[i], exact_high[i]
        if start is not None and start * grid.one > most[i]:
            state.void = True
        if stop is not None and stop * grid.one < least[i]:
            state.void = True
    state.low[0], state.high[0] = least, most
    state.exact_low, state.exact_high = exact_low, exact_high
    state.invalidate_value(grid, 0)


def _round_grid_inward(grid: PrecisionGrid, low: int, kind: str) -> int:
    """The least number of this kind, on the grid, that is not below: as `inward`.

    A float32 number has 24 digits, and is a whole number of 2^-149, which is a finer unit than the grid's
    unless that has more places.
    """
    if kind == "real":
        return low
    spare = grid.bits if kind == "integer" else max(abs(low).bit_length() - 24, grid.bits - 149, 0)
    return -(-low >> spare) << spare


def exact_ends(grid: PrecisionGrid, state: SubdomainState) -> tuple[list[Fraction], list[Fraction]]:
    """The exact bounds of value 0."""
    low = [
        Fraction(a, grid.one) if x is None else x for x, a in zip(state.exact_low, state.low[0], strict=True)
    ]
    high = [
        Fraction(a, grid.one) if x is None else x
        for x, a in zip(state.exact_high, state.high[0], strict=True)
    ]
    return low, high
