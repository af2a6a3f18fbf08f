"""What each step of a proof does to a state (docs/certificates.md, section 5).

`advance` changes a state, or returns its two parts. It raises `Refused` if the step does not show what it
claims, `NotShown` if more precision might help. In a void state everything is true, so only the form of what
decides about the life of sets is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from ...bounds.back_substitution import box_minimum, entry_form
from ...bounds.case_problem import evaluate_exactly, sum_terms
from ...bounds.interval_propagation import propagate_interval
from ...bounds.row_batch import MANY, row_forms
from ...bounds.subdomain import PrecisionGrid, SubdomainState
from ...bounds.variable_box import exact_ends, narrow_box, separate_box
from ...kernel.query import holds_with_zero
from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_list, expect_ratio
from .multipliers import add_cut_multiple, bound_exact_sum, read_slopes, sum_inequalities

Parts = tuple[SubdomainState, SubdomainState]
_REFUTE = {"drop": 2, "exact": 2, "point": 1}  # steps that end the life of sets, and their arguments


class NotShown(Refused):
    """A bound was not good enough, perhaps for want of precision."""


def apply_proof_step(
    grid: PrecisionGrid, state: SubdomainState, step: list[Any], trusted: bool = False
) -> Parts | None:
    """Do one step. `trusted`: that sets are dropped has been shown before."""
    kind, count = step[0] if step else None, len(step) - 1
    if isinstance(kind, str) and _REFUTE.get(kind) == count:
        sets = _read_sets(grid, step[1])
        if not (state.void or trusted):
            _refute_sets(grid, state, kind, sets, *step[2:])
        state.alive &= ~_set_mask(sets)
    elif kind == "forward" and count in (1, 2):
        _propagate_forward(grid, state, step[1], step[count])
    elif kind == "bound" and count == 2:
        _apply_bounds(grid, state, step[1], expect_list(step[2], "bound"))
    elif kind == "split" and count == 3:
        return _split_subdomain(grid, state, step[1], step[2], step[3])
    elif kind == "divide" and count == 1:
        return _divide_sets(state, _set_mask(_read_sets(grid, step[1])))
    elif kind == "cut" and count == 1:
        _apply_cut(grid, state, expect_list(step[1], "cut"))
    elif kind == "slopes" and count == 3:
        v = _read_value(grid, step[1], 1)
        slopes = read_slopes(grid, v, step[2:])
        state.slopes[v] = slopes
        state.lines.pop(v, None)
    else:
        raise BadCertificate(f"no such step: {str(kind)[:40]} with {count} arguments")
    return None


def sets_left(step: list[Any], alive: int) -> int:
    """Of these sets, those that a step leaves alive if it is one that shows what it claims."""
    if isinstance(step[0], str) and _REFUTE.get(step[0]) == len(step) - 1 and type(step[1]) is list:
        return alive & ~_set_mask([s for s in step[1] if type(s) is int and 0 <= s < alive.bit_length()])
    return alive


def sets_of_parts(step: list[Any], alive: int) -> tuple[int, int] | None:
    """Of these sets, those that live in each part of a state that a step parts; None: it parts none."""
    if step[0] == "split":
        return alive, alive
    if step[0] == "divide" and len(step) == 2 and type(step[1]) is list:
        chosen = _set_mask([s for s in step[1] if type(s) is int and 0 <= s < alive.bit_length()])
        return alive & chosen, alive & ~chosen
    return None


def _read_sets(grid: PrecisionGrid, data: object) -> list[int]:
    sets = expect_list(data, "sets")
    if not sets:
        raise BadCertificate("a step about no set")
    return [expect_integer(s, 0, len(grid.problem.sets) - 1, "set") for s in sets]


def _set_mask(sets: Sequence[int]) -> int:
    return sum(1 << s for s in set(sets))


def _read_value(grid: PrecisionGrid, data: object, least: int) -> int:
    return expect_integer(data, least, len(grid.values) - 1, "value")


def _propagate_forward(grid: PrecisionGrid, state: SubdomainState, first: object, last: object) -> None:
    begin, end = _read_value(grid, first, 1), _read_value(grid, last, 1)
    for v in range(begin, end + 1):
        if not state.void:
            state.narrow(grid, v, *propagate_interval(grid, state, v))


def _apply_bounds(grid: PrecisionGrid, state: SubdomainState, value: object, entries: list[Any]) -> None:
    v = _read_value(grid, value, 0)
    if state.void:
        return
    low, high = state.low[v].copy(), state.high[v].copy()
    rows = [_read_row(entry, len(low) - 1) for entry in entries]
    for (i, side, *_), minimum in zip(rows, _row_minima(grid, state, v, rows), strict=True):
        found = minimum >> grid.bits
        if side:
            high[i] = min(high[i], -found)
        else:
            low[i] = max(low[i], found)
    _narrow_bounds(grid, state, v, low, high)


def _row_minima(grid: PrecisionGrid, state: SubdomainState, v: int, rows: list[list[Any]]) -> Iterator[int]:
    """What backward substitution finds: many rows together, or one by one."""
    together = row_forms(grid, state, v, [(i, side) for i, side, *_ in rows]) if len(rows) >= MANY else None
    if together is not None and all(len(row) == 2 for row in rows):
        box = separate_box(grid, state, together.place)
        if box is not None:
            yield from together.minima(box)
            return
    forms = None if together is None else together.forms()
    for place, (i, side, *price) in enumerate(rows):
        form = entry_form(grid, state, v, i, side) if forms is None else forms[place]
        if price:
            add_cut_multiple(form, price[0])
        yield form.minimum()


def _read_row(data: object, last: int) -> list[Any]:
    """An entry, a side, and perhaps a multiplier of the cut; or twice the entry plus the side."""
    if type(data) is int:
        both = expect_integer(data, 0, 2 * last + 1, "entry and side")
        return [both >> 1, both & 1]
    parts = expect_list(data, "bound")
    if len(parts) not in (2, 3):
        raise BadCertificate("bound: an entry has two or three numbers")
    expect_integer(parts[0], 0, last, "entry")
    expect_integer(parts[1], 0, 1, "side")
    return parts


def _split_subdomain(
    grid: PrecisionGrid, state: SubdomainState, value: object, entry: object, place: object
) -> Parts:
    v = _read_value(grid, value, 0)
    i = expect_integer(entry, 0, grid.values[v].width - 1, "entry")
    first, second = state, state.copy()
    if state.void:
        return first, second
    # Both ends outward: on every grid a part contains the whole part of the exact threshold. Rounded the same
    # way, parts closed on different grids would leave out what lies between two roundings.
    above, below = expect_ratio(place, "threshold")
    start, end = (above << grid.bits) // below, -((-above << grid.bits) // below)
    if v == 0 and grid.problem.variables[i].kind == "integer":
        end = start >> grid.bits << grid.bits
        start = end + grid.one
    low, high = state.low[v].copy(), state.high[v].copy()
    state_low, state_high = low[i], high[i]
    low[i], high[i] = max(state_low, start), min(state_high, end)
    _narrow_bounds(grid, second, v, low, second.high[v])
    _narrow_bounds(grid, first, v, first.low[v], high)
    if v == 0 and grid.problem.variables[i].kind == "real" and start < end:
        exact = Fraction(above, below)  # not on the grid
        if second.low[0][i] == start > state_low:
            second.exact_low[i] = exact
        if first.high[0][i] == end < state_high:
            first.exact_high[i] = exact
    return first, second


def _divide_sets(state: SubdomainState, chosen: int) -> Parts:
    """The same part of the search space twice: the chosen sets live in the first, all others in the second.

    A point that satisfies a living set satisfies it in one of the parts; whatever a state says is true of all
    points that satisfy one of its living sets, so it stays true where fewer live.
    """
    first, second = state, state.copy()
    first.alive &= chosen
    second.alive &= ~chosen
    return first, second


def _narrow_bounds(
    grid: PrecisionGrid, state: SubdomainState, v: int, low: list[int], high: list[int]
) -> None:
    if v:
        state.narrow(grid, v, low, high)
    else:
        narrow_box(grid, state, low, high)


def _apply_cut(grid: PrecisionGrid, state: SubdomainState, entries: list[Any]) -> None:
    """Shrink the box to the hull of what the inequalities leave of it for each living set."""
    seen, boxes = 0, []
    inequality: tuple[list[int], int, int] | None = None
    for entry in entries:
        parts = expect_list(entry, "cut", 2, "cut: an entry is a list of sets and multipliers")
        sets = _read_sets(grid, parts[0])
        seen |= _set_mask(sets)
        if state.void:
            continue
        form, shift = sum_inequalities(grid, state, sets, parts[1])
        vector, constant = form.substitute_all()
        if state.alive & _set_mask(sets):
            boxes.append(_cut_box(state, vector, constant))
        if not state.alive & ~_set_mask(sets):
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


def _cut_box(state: SubdomainState, vector: list[int], constant: int) -> tuple[list[int], list[int]] | None:
    """The box of all points of the box with vector . x + constant <= 0; None if there is none.

    Each term is at most what is left when all others are as small as they can be.
    """
    excess = constant + box_minimum(state, vector)
    if excess > 0:
        return None
    low, high = state.low[0].copy(), state.high[0].copy()
    for i, c in enumerate(vector):
        if c > 0:
            high[i] = min(high[i], -((excess - c * low[i]) // c))
        elif c < 0:
            low[i] = max(low[i], (c * high[i] - excess) // c)
    return low, high


def _refute_sets(
    grid: PrecisionGrid, state: SubdomainState, kind: str, sets: Sequence[int], multipliers: object = None
) -> None:
    """Refuse unless no point of the state satisfies all atoms of one of the sets."""
    if kind == "point":
        _check_point(grid, state, sets)
        return
    if kind == "drop":
        shown = sum_inequalities(grid, state, sets, multipliers)[0].minimum() > 0
    else:
        bound, strict = bound_exact_sum(grid, state, sets, multipliers)
        shown = bound > 0 or (bound == 0 and strict)
    if not shown:
        raise NotShown("the multipliers give no positive bound")


def _check_point(grid: PrecisionGrid, state: SubdomainState, sets: Sequence[int]) -> None:
    if grid.float32:
        raise Refused("`point` says nothing about float32 arithmetic")
    low, high = exact_ends(grid, state)
    if low != high:
        raise Refused("the free variables are not fixed")
    values = evaluate_exactly(grid.problem, low)
    true = set()
    for place, atom in enumerate(grid.problem.atoms):
        if holds_with_zero(atom.relation, sum_terms(atom.terms, atom.constant, values)):
            true.add(place)
    for s in sets:
        if grid.problem.sets[s] <= true:
            raise Refused(f"set {s} is satisfied")
