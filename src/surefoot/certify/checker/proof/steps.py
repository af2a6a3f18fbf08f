"""What each step of a proof does to a state (docs/certificates.md, section 5).

`advance` changes a state, or returns its two parts. It raises `Refused` if the step does not show what it
claims, `NotShown` if more precision might help. In a void state everything is true, so only the form of what
decides about the life of sets is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from ..bounds.backward import entry_form, least
from ..bounds.box import exact_ends, narrow_box, separate_box
from ..bounds.exact import evaluate, holds
from ..bounds.forward import interval
from ..bounds.rows import MANY, row_forms
from ..bounds.state import Grid, State
from ..number import BadCertificate, Refused, integer, items, ratio
from .multipliers import add_cut, exactly_summed, read_slopes, summed

Parts = tuple[State, State]


class NotShown(Refused):
    """A bound was not good enough, perhaps for want of precision."""


def advance(grid: Grid, state: State, step: list[Any], trusted: bool = False) -> Parts | None:
    """Do one step. `trusted`: that sets are dropped has been shown before."""
    kind, count = step[0] if step else None, len(step) - 1
    if kind == "forward" and count in (1, 2):
        _forward(grid, state, step[1], step[count])
    elif kind == "drop" and count == 2:
        sets = _sets(grid, step[1])
        if not (state.void or trusted) and summed(grid, state, sets, step[2])[0].minimum() <= 0:
            raise NotShown("the multipliers give no positive bound")
        state.alive &= ~_mask(sets)
    elif kind == "bound" and count == 2:
        _bound(grid, state, step[1], items(step[2], "bound"))
    elif kind == "split" and count == 3:
        return _split(grid, state, step[1], step[2], step[3])
    elif kind == "cut" and count == 1:
        _cut(grid, state, items(step[1], "cut"))
    elif kind == "slopes" and count == 3:
        v = _value(grid, step[1], 1)
        slopes = read_slopes(grid, v, step[2:])
        state.slopes[v] = slopes
        state.lines.pop(v, None)
    elif kind == "exact" and count == 2:
        sets = _sets(grid, step[1])
        if not (state.void or trusted):
            _exact(grid, state, sets, step[2])
        state.alive &= ~_mask(sets)
    elif kind == "point" and count == 1:
        sets = _sets(grid, step[1])
        if not (state.void or trusted):
            _point(grid, state, sets)
        state.alive &= ~_mask(sets)
    else:
        raise BadCertificate(f"no such step: {str(kind)[:40]} with {count} arguments")
    return None


def _sets(grid: Grid, data: object) -> list[int]:
    sets = items(data, "sets")
    if not sets:
        raise BadCertificate("a step about no set")
    return [integer(s, 0, len(grid.problem.sets) - 1, "set") for s in sets]


def _mask(sets: Sequence[int]) -> int:
    return sum(1 << s for s in set(sets))


def _value(grid: Grid, data: object, least: int) -> int:
    return integer(data, least, len(grid.values) - 1, "value")


def _forward(grid: Grid, state: State, first: object, last: object) -> None:
    begin, end = _value(grid, first, 1), _value(grid, last, 1)
    for v in range(begin, end + 1):
        if not state.void:
            state.narrow(grid, v, *interval(grid, state, v))


def _bound(grid: Grid, state: State, value: object, entries: list[Any]) -> None:
    v = _value(grid, value, 0)
    if state.void:
        return
    low, high = state.low[v].copy(), state.high[v].copy()
    rows = [_row(entry, len(low) - 1) for entry in entries]
    for (i, side, *_), minimum in zip(rows, _minima(grid, state, v, rows), strict=True):
        found = minimum >> grid.bits
        if side:
            high[i] = min(high[i], -found)
        else:
            low[i] = max(low[i], found)
    _narrow(grid, state, v, low, high)


def _minima(grid: Grid, state: State, v: int, rows: list[list[Any]]) -> Iterator[int]:
    """What backward substitution finds: many rows together, or one by one."""
    together = None
    if len(rows) >= MANY and not grid.is_linear[v]:
        together = row_forms(grid, state, v, [(i, side) for i, side, *_ in rows])
    if together is not None and all(len(row) == 2 for row in rows):
        box = separate_box(grid, state, together.place)
        if box is not None:
            yield from together.minima(box)
            return
    forms = together.forms() if together is not None else None
    for place, (i, side, *price) in enumerate(rows):
        form = forms[place] if forms is not None else entry_form(grid, state, v, i, side)
        if price:
            add_cut(form, price[0])
        yield form.minimum()


def _row(data: object, last: int) -> list[Any]:
    """An entry, a side, and perhaps a multiplier of the cut; or twice the entry plus the side."""
    if type(data) is int:
        both = integer(data, 0, 2 * last + 1, "entry and side")
        return [both >> 1, both & 1]
    parts = items(data, "bound")
    if len(parts) not in (2, 3):
        raise BadCertificate("bound: an entry has two or three numbers")
    integer(parts[0], 0, last, "entry")
    integer(parts[1], 0, 1, "side")
    return parts


def _split(grid: Grid, state: State, value: object, entry: object, place: object) -> Parts:
    v = _value(grid, value, 0)
    i = integer(entry, 0, grid.values[v].width - 1, "entry")
    first, second = state, state.copy()
    if state.void:
        return first, second
    # Both ends outward: on every grid a part contains the whole part of the exact threshold. Rounded the same
    # way, parts closed on different grids would leave out what lies between two roundings.
    above, below = ratio(place, "threshold")
    start, end = (above << grid.bits) // below, -((-above << grid.bits) // below)
    if v == 0 and grid.problem.variables[i].kind == "integer":
        end = start >> grid.bits << grid.bits
        start = end + grid.one
    low, high = state.low[v].copy(), state.high[v].copy()
    state_low, state_high = low[i], high[i]
    low[i], high[i] = max(state_low, start), min(state_high, end)
    _narrow(grid, second, v, low, second.high[v])
    _narrow(grid, first, v, first.low[v], high)
    if v == 0 and grid.problem.variables[i].kind == "real" and start < end:
        exact = Fraction(above, below)  # not on the grid
        if second.low[0][i] == start > state_low:
            second.exact_low[i] = exact
        if first.high[0][i] == end < state_high:
            first.exact_high[i] = exact
    return first, second


def _narrow(grid: Grid, state: State, v: int, low: list[int], high: list[int]) -> None:
    if v:
        state.narrow(grid, v, low, high)
    else:
        narrow_box(grid, state, low, high)


def _cut(grid: Grid, state: State, entries: list[Any]) -> None:
    """Shrink the box to the hull of what the inequalities leave of it for each living set."""
    seen, boxes = 0, []
    inequality: tuple[list[int], int, int] | None = None
    for entry in entries:
        parts = items(entry, "cut")
        if len(parts) != 2:
            raise BadCertificate("cut: an entry is a list of sets and multipliers")
        sets = _sets(grid, parts[0])
        seen |= _mask(sets)
        if state.void:
            continue
        form, shift = summed(grid, state, sets, parts[1])
        vector, constant = form.substituted()
        if state.alive & _mask(sets):
            boxes.append(_left(state, vector, constant))
        if not state.alive & ~_mask(sets):
            inequality = vector, constant, shift
    if state.void or state.alive & ~seen:
        return  # some living set leaves everything
    remaining = [box for box in boxes if box is not None]
    if not remaining:
        state.void = True
        return
    low, high = remaining[0]
    if len(remaining) > 1:
        low = [min(ends) for ends in zip(*(box[0] for box in remaining), strict=True)]
        high = [max(ends) for ends in zip(*(box[1] for box in remaining), strict=True)]
    if inequality is not None:
        state.cut = inequality
    narrow_box(grid, state, low, high)


def _left(state: State, vector: list[int], constant: int) -> tuple[list[int], list[int]] | None:
    """The box of all points of the box with vector . x + constant <= 0; None if there is none.

    Each term is at most what is left when all others are as small as they can be.
    """
    excess = constant + least(state, vector)
    if excess > 0:
        return None
    low, high = state.low[0].copy(), state.high[0].copy()
    for i, c in enumerate(vector):
        if c > 0:
            high[i] = min(high[i], -((excess - c * low[i]) // c))
        elif c < 0:
            low[i] = max(low[i], (c * high[i] - excess) // c)
    return low, high


def _exact(grid: Grid, state: State, sets: Sequence[int], multipliers: object) -> None:
    bound, strict = exactly_summed(grid, state, sets, multipliers)
    if bound < 0 or (bound == 0 and not strict):
        raise NotShown("the multipliers give no positive bound")


def _point(grid: Grid, state: State, sets: Sequence[int]) -> None:
    if grid.float32:
        raise Refused("`point` says nothing about float32 arithmetic")
    low, high = exact_ends(grid, state)
    if low != high:
        raise Refused("the free variables are not fixed")
    values = evaluate(grid.problem, low)
    true = {place for place, atom in enumerate(grid.problem.atoms) if holds(atom, values)}
    for s in sets:
        if grid.problem.sets[s] <= true:
            raise Refused(f"set {s} is satisfied")
