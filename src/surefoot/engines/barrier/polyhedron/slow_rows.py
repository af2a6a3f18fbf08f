"""Half-spaces for loops of two speeds, where the recursion alone would add hundreds of rows.

A run that slows down comes to a limit only after many steps, and every one of them cuts something off. If the
loop has one fast and one slow speed, (A - fast) (A - slow) = 0, then every row h has a row w = h P, P being
the projection onto the slow directions, with w A = slow w and h A = fast h + (slow - fast) w. So h and w
together are closed: w says where the run would come to a stop. Rows of other loops are left to the recursion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.engines.barrier.float_system import Floats
from surefoot.engines.barrier.polyhedron.linear_loop import HalfSpace, LinearLoop

SAME = 1e-6  # how far h A may be from a combination of h and w, of the size of h
NOTHING = 1e-9  # of the size of h: a row without slow directions


def slow_rows(loop: LinearLoop, rows: Sequence[HalfSpace], count: int) -> list[HalfSpace]:
    """For each of the rows one of the slow directions, of which there are so many, if there is one."""
    matrix = loop.state + loop.control @ loop.gain
    values, vectors = np.linalg.eig(matrix)
    order = np.argsort(-np.abs(values))
    try:
        rest = loop.equilibrium()
        inverse = np.linalg.inv(vectors)
    except np.linalg.LinAlgError:
        return []
    slow = order[:count]
    projection: Floats = (vectors[:, slow] @ inverse[slow]).real
    found = []
    for row in rows:
        one = _slow_row(loop, matrix, row, row.normal @ projection, rest)
        if one is not None:
            found.append(one)
    return found


def _slow_row(
    loop: LinearLoop, matrix: Floats, row: HalfSpace, normal: Floats, rest: Floats
) -> HalfSpace | None:
    """The largest offset with which this normal keeps the row closed."""
    size = float(np.abs(row.normal).max())
    if float(np.abs(normal).max()) <= NOTHING * size:
        return None
    both, after = np.column_stack([row.normal, normal]), row.normal @ matrix
    shares = np.linalg.lstsq(both, after, rcond=None)[0]
    room = row.offset - float(row.normal @ rest)
    if float(np.abs(both @ shares - after).max()) > SAME * size or shares[1] <= 0:
        return None
    shaken = float(np.abs(row.normal @ loop.noise) @ loop.widest)
    offset = (room * (1 - float(shares[0])) - shaken) / float(shares[1])
    return HalfSpace(normal, offset + float(normal @ rest))
