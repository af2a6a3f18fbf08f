"""Moving a solution inward: with every whole number and choice fixed, what is left is a linear program.

Solvers answer with points on boundaries, which do not survive an exact check. Here strict comparisons get as
much room as they can, then the others, then the distance of freely chosen quantities from their bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from surefoot.query.formula import Relation
from surefoot.solvers.milp import highs
from surefoot.solvers.milp.program import MixedIntegerProgram, has_margin

_LARGEST_MARGIN = 0.05  # more is no safer, and would push quantities to their bounds
_LARGEST_INSET = 0.05  # part of its width by which a quantity keeps away from its bounds


def deepest_point(
    program: MixedIntegerProgram, values: list[float], inset: Iterable[str], *, seed: int, seconds: float
) -> list[float] | None:
    """The deepest point with the choices of this solution; None if there was no time or HiGHS found none."""
    inner = _fix_integers(program, values)
    strict, other = inner.column(0.0, _LARGEST_MARGIN), inner.column(0.0, _LARGEST_MARGIN)
    inside = inner.column(0.0, _LARGEST_INSET)
    for posted in program.posted:
        if has_margin(posted, program.is_whole) and posted.is_on(values):
            linear = posted.atom.linear
            entries = {program.names[n]: float(c) for n, c in linear.coefficients}
            entries[strict if posted.atom.relation is Relation.LT else other] = program.scale(linear)
            inner.row(-inf, -float(linear.constant), entries)
    for name in inset:
        column = program.names[name]
        low, high = program.low[column], program.high[column]
        if not program.is_whole(name) and 0 < high - low < inf:
            inner.row(low, inf, {column: 1.0, inside: low - high})
            inner.row(-inf, high, {column: 1.0, inside: high - low})
    goal = {strict: 1.0, other: 0.25, inside: 0.1}
    found = highs.solve_milp_program(inner, seed=seed, seconds=seconds, maximise=goal)
    return found.values if isinstance(found, highs.MilpSolution) else None


def _fix_integers(program: MixedIntegerProgram, values: list[float]) -> MixedIntegerProgram:
    """A copy without freedom of choice and without margins."""
    inner = MixedIntegerProgram(
        box=program.box,
        low=list(program.low),
        high=list(program.high),
        whole=[False] * len(program.whole),
        row_low=list(program.row_low),
        row_high=list(program.row_high),
        starts=list(program.starts),
        indices=list(program.indices),
        values=list(program.values),
        names=program.names,
    )
    for column, is_whole in enumerate(program.whole):
        if is_whole:
            inner.low[column] = inner.high[column] = float(round(values[column]))
    for margin in (program.strict_margin, program.other_margin):
        if margin is not None:
            inner.low[margin] = inner.high[margin] = 0.0
    return inner
