"""The largest set that a linear system never leaves (Gilbert and Tan, IEEE TAC 1991; with disturbances:
Kolmanovsky and Gilbert, Mathematical Problems in Engineering 1998).

To the half-spaces that states shall stay in those are added from which one step leads into them whatever the
disturbance, and those from which a step leads into these, until none of the new ones cuts anything off. What
is left is closed under steps, and it contains every set within the first half-spaces that is. Each new
half-space is made a little smaller, which leaves room for rounding in the proofs, and in the end those are
left out that the others imply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from surefoot.engines.barrier.float_system import Floats
from surefoot.engines.barrier.polyhedron.linear_loop import HalfSpace
from surefoot.solvers.halfspaces import HalfSpaces
from surefoot.verdict.verdict import Reason, Refused
from surefoot.work.budget import Budget

TIGHTER = 1e-9  # of the width of the box, in each step
IMPLIED = 1e-12
NOTHING = 1e-14  # coefficients that are left out
SPARE = 4  # times as many rows may come up as are wanted in the end


def maximal_admissible_set(
    box: tuple[Floats, Floats],
    first: Sequence[HalfSpace],
    before: Callable[[HalfSpace], list[HalfSpace]],
    starts: tuple[Floats, Floats],
    most: int,
    budget: Budget,
) -> list[HalfSpace] | Refused:
    """The half-spaces beside the box; or why there are none. The starts, a box too, have to be in all."""
    size = len(box[0])
    reach = np.maximum(np.abs(box[0]), np.abs(box[1]))
    spaces = HalfSpaces(size)
    sides = [HalfSpace(sign * unit, float(sign * end[i])) for sign, end in ((1.0, box[1]), (-1.0, box[0]))
             for i, unit in enumerate(np.eye(size))]  # fmt: skip
    for side in sides:
        spaces.add(side.normal, side.offset)
    rows: list[HalfSpace] = []
    waiting = [*first]
    newest = [*sides]
    while waiting or newest:
        cut: list[HalfSpace] = []
        for row in (*waiting, *(earlier for later in newest for earlier in before(later))):
            if budget.is_spent():
                return Refused(Reason.TIMEOUT, "the time is over")
            tight = _tighten_row(row, reach)
            if tight is None:
                continue
            bound = spaces.upper_bound(tight.normal)
            if bound is not None and bound[0] < -1 - TIGHTER:
                return Refused(Reason.INCOMPLETE, "no state stays in the limits")
            if bound is not None and bound[0] <= tight.offset:
                continue
            if _support_value(tight, starts) > tight.offset:
                return Refused(
                    Reason.INCOMPLETE,
                    "the largest polyhedron that no step leaves does not contain the starts",
                )
            spaces.add(tight.normal, tight.offset)
            cut.append(tight)
            if len(rows) + len(cut) > SPARE * most:
                return Refused(Reason.INCOMPLETE, f"a polyhedron has more than {SPARE * most} rows")
        rows += cut
        waiting, newest = [], cut
        budget.progress(f"barrier: a polyhedron of {len(rows)} rows")
    return _remove_redundant_rows(spaces, rows, len(sides), most, budget)


def _tighten_row(row: HalfSpace, reach: Floats) -> HalfSpace | None:
    """Scaled so that the normal is at most 1 over the box; None: nothing is cut off."""
    size = float(np.abs(row.normal) @ reach)
    if size <= NOTHING * max(1.0, abs(row.offset)):
        return None if row.offset > 0 else HalfSpace(np.zeros(len(reach)), -2.0)
    normal = np.where(np.abs(row.normal) * reach > NOTHING * size, row.normal / size, 0.0)
    return HalfSpace(normal, row.offset / size - TIGHTER)


def _support_value(row: HalfSpace, starts: tuple[Floats, Floats]) -> float:
    return float(np.where(row.normal > 0, row.normal * starts[1], row.normal * starts[0]).sum())


def _remove_redundant_rows(
    spaces: HalfSpaces, rows: Sequence[HalfSpace], first: int, most: int, budget: Budget
) -> list[HalfSpace] | Refused:
    """Without the rows that others imply, the oldest first."""
    kept = []
    for index, row in enumerate(rows):
        if budget.is_spent():
            return Refused(Reason.TIMEOUT, "the time is over")
        spaces.set_excluded(first + index, True)
        bound = spaces.upper_bound(row.normal)
        if bound is None or bound[0] > row.offset + IMPLIED:
            spaces.set_excluded(first + index, False)
            kept.append(row)
    if len(kept) > most:
        return Refused(Reason.INCOMPLETE, f"the polyhedron has {len(kept)} rows, more than {most}")
    return kept
