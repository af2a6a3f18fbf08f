"""Half-spaces without unsafe states: what a convex set beside them may lie in."""

from __future__ import annotations

from itertools import combinations, islice, product

import numpy as np

from surefoot.engines.barrier.polyhedron.linear_loop import HalfSpace
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of, relaxed_dnf
from surefoot.term.term import Const, Term, Var

SHARES = (1 / 3, 1 / 2, 2 / 3)  # of the second of two comparisons
MOST = 64
AWAY = 1e-4  # from unsafe states, of the size of the offset


def separating_half_spaces(system: ControlSystem) -> list[tuple[HalfSpace, ...]]:
    """Choices of one half-space for each unsafe case, in the system's variables.

    All comparisons of a case hold at its states, and so does every sum of them: where one of them fails, or
    the sum of two, a state is safe. Limits of single variables are left out: boxes are within them. No choice
    if a comparison is not linear.
    """
    cases = []
    for case in relaxed_dnf(system.unsafe):
        if len(case) == 1 and _is_limit(*case[0]):
            continue
        rows = [_complement_half_space(system, left, right) for left, right in case]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or not known:
            return []
        cases.append(
            [
                HalfSpace(r.normal, r.offset - AWAY * (1 + abs(r.offset)))
                for r in (*known, *_corner_half_spaces(known))
            ]
        )
    return list(islice(product(*cases), MOST))


def _is_limit(left: Term, right: Term) -> bool:
    return isinstance(left, Var | Const) and isinstance(right, Var | Const)


def _complement_half_space(system: ControlSystem, left: Term, right: Term) -> HalfSpace | None:
    """Where the first is above the second, with its edge; of length 1."""
    count = len(system.variables)
    names = {name: polynomial_from_variable(i, count) for i, name in enumerate(system.variables)}
    gap = polynomial_of(right, names, count, system.rounded)
    gap = gap - polynomial_of(left, names, count, system.rounded)
    if gap.degree > 1:
        return None
    units = [tuple(int(i == j) for i in range(count)) for j in range(count)]
    normal = np.array([float(gap.terms.get(unit, 0)) for unit in units])
    size = float(np.linalg.norm(normal))
    return HalfSpace(normal / size, -float(gap.terms.get((0,) * count, 0)) / size) if size else None


def _corner_half_spaces(rows: list[HalfSpace]) -> list[HalfSpace]:
    """Half-spaces whose edges touch a corner of the unsafe states."""
    return [
        HalfSpace((1 - s) * one.normal + s * other.normal, (1 - s) * one.offset + s * other.offset)
        for one, other in combinations(rows, 2)
        if not np.allclose(one.normal, -other.normal)
        for s in SHARES
    ]
