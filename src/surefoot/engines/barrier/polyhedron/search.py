"""A polyhedron for one rule of a linear system, with its proofs.

First it is asked to lie where no control is beyond an end: there the loop is linear, and the recursion gives
the largest one. If it does not contain the starts, controls may be clipped: the half-spaces before one are
then chosen among those that are safe for every case of the controls, which need not be the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from surefoot.engines.barrier.domain import enumerate_domains
from surefoot.engines.barrier.float_system import Floats
from surefoot.engines.barrier.invariant_set import InvariantSet, prove_invariant_set
from surefoot.engines.barrier.polyhedron.admissible_set import maximal_admissible_set
from surefoot.engines.barrier.polyhedron.linear_loop import (
    HalfSpace,
    LinearLoop,
    linear_loop,
    safe_half_spaces,
)
from surefoot.engines.barrier.scaled_system import Range, ScaledSystem, Unproved, scale_system
from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.term import Term
from surefoot.verdict.verdict import Reason, Refused
from surefoot.work.budget import Budget

MOST_CLIPPED = 3  # controls: every one has three cases
RUNS, STEPS, KEPT = 64, 300, 4096  # simulated, to see where runs from the starts go
FLATTER = 1e-3  # rows are scaled by at most so much


def search_polyhedron(
    system: ControlSystem, then: tuple[Term, ...], most: int, budget: Budget, *, tested: bool
) -> InvariantSet | Refused:
    """A closed set that contains all starts, with at most so many rows for each variable; or why not."""
    trouble = "the system or the rule is not linear"
    for domain in enumerate_domains(system, then, budget):
        where = scale_system(system, then, domain)
        loop = linear_loop(where)
        if loop is None:
            return Refused(Reason.INCOMPLETE, trouble)
        seen = _simulate_states(loop, box_in_units(where, system.initial), budget.seed)
        safe = safe_half_spaces(where, seen)
        if safe is None:
            return Refused(Reason.INCOMPLETE, "the unsafe states are not described by linear comparisons")
        for clipped in (False, True) if _can_clip(loop) else (False,):
            rows = _barrier_rows(where, loop, safe, seen if clipped else None, most, budget)
            if isinstance(rows, Refused):
                trouble = rows.detail
            else:
                reached = [(clipped and low is not None, clipped and high is not None)
                           for _, low, high in system.controls]  # fmt: skip
                try:
                    return prove_invariant_set(where, rows, system.initial, reached, tested, budget)
                except Unproved as why:
                    trouble = f"a polyhedron was found in floats, but not proved: {why}"
            if budget.is_spent():
                return Refused(Reason.TIMEOUT, trouble)
    return Refused(Reason.INCOMPLETE, trouble)


def _can_clip(loop: LinearLoop) -> bool:
    return 0 < len(loop.gain) <= MOST_CLIPPED and bool(np.isfinite([loop.least, loop.most]).any())


def box_in_units(where: ScaledSystem, box: Sequence[Range]) -> tuple[Floats, Floats]:
    """A box of states in the units of the plane."""
    low, high = (
        np.array([float((r[i] - centre) / unit) for r, (centre, unit) in zip(box, where.units, strict=False)])
        for i in (0, 1)
    )
    return low, high


def _simulate_states(loop: LinearLoop, starts: tuple[Floats, Floats], seed: int) -> Floats:
    """States of runs with disturbances at their ends, and the corners and insides of the starts."""
    generator = np.random.default_rng(seed)
    low, high = starts
    states = generator.uniform(low, high, (RUNS, len(low)))
    states[: RUNS // 2] = np.where(generator.random((RUNS // 2, len(low))) < 0.5, low, high)
    found = [states]
    for _ in range(STEPS):
        noise = np.where(generator.random((RUNS, len(loop.widest))) < 0.5, loop.widest, -loop.widest)
        states = loop.step(states, noise)
        if not np.all(np.isfinite(states)) or float(np.abs(states).max()) > 1e6:
            break
        found.append(states)
    rows = np.vstack(found)
    return rows[:: max(1, len(rows) // KEPT)]


def _barrier_rows(
    where: ScaledSystem,
    loop: LinearLoop,
    safe: Sequence[HalfSpace],
    seen: Floats | None,
    most: int,
    budget: Budget,
) -> list[Polynomial] | Refused:
    """`seen`: states to choose by if controls may be clipped; None: they may not."""

    def before(row: HalfSpace) -> list[HalfSpace]:
        return [loop.before(row)] if seen is None else loop.before_clipped(row, seen)

    box, starts = box_in_units(where, where.domain), box_in_units(where, where.system.initial)
    first = [*safe, *(loop.between() if seen is None else ())]
    limit = most * len(where.states)
    found = maximal_admissible_set(box, first, before, starts, limit, budget)
    if isinstance(found, Refused):
        return found
    return rows_to_polynomials(where, loop, found)


def rows_to_polynomials(
    where: ScaledSystem, loop: LinearLoop, found: Sequence[HalfSpace]
) -> list[Polynomial]:
    """The rows of the barrier; what disturbances change is the same in each of them."""
    if not found:  # the whole box is closed
        return [where.constant(-1)]
    shaken = np.abs(loop.noise) @ loop.widest
    moved = np.array([float(np.abs(row.normal) @ shaken) for row in found])
    # A shield leaves the same room in every row for what disturbances change: as much as each needs.
    scales = np.maximum(moved, FLATTER * moved.max()) if moved.max() > 0 else np.ones(len(moved))
    return [_row_polynomial(where, row, moved.max() / s if moved.max() > 0 else 1.0)
            for row, s in zip(found, scales, strict=True)]  # fmt: skip


def _row_polynomial(where: ScaledSystem, row: HalfSpace, scale: float) -> Polynomial:
    """normal * z - offset, which is at most 0 inside."""
    total = where.constant(Fraction(-row.offset * scale))
    for index, value in enumerate(row.normal):
        if value:
            total = total + polynomial_from_variable(index, where.size).times(Fraction(float(value) * scale))
    return total
