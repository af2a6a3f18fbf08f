"""Solutions near points that look good in floats, confirmed exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from time import monotonic

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.query.query import Query, Sat
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.compiled_query import CompiledQuery
from surefoot.solvers.native.falsify.gradient_attack import (
    atom_values_at,
    attack_whole_box,
    descend_atom_violation,
    formula_violation,
    replace_nan_violations,
    sample_solution,
    snap_to_input_domain,
)
from surefoot.solvers.native.falsify.milp_points import enumerate_milp_points
from surefoot.solvers.native.falsify.piece_corners import enumerate_piece_corners
from surefoot.solvers.native.witness import (
    assignment_from_columns,
    column_values,
    nearest_input_point,
    satisfies_within_enclosure,
)
from surefoot.term.evaluate import Undefined

_TRIES = 4  # candidates of a batch that are evaluated exactly
_DOWNHILL = 32  # candidates of a batch that are moved downhill
_MANY = 64  # candidates of a batch from which on they are moved further
_POLISH = 10  # steps by which a solution is moved inside
_INSIDE = 1e-3  # of the largest atom: from there on a solution is not moved
_EDGES = 2  # best points, and sets, for which corners are computed
_ALMOST = 1e-3  # of the largest atom: a point that fails by less is near a solution, if there is one
_DIGITS = (None, 12, 6)  # to which a corner is rounded: the program's own rounding may miss a tie


@dataclass(frozen=True, slots=True, eq=False)
class FalsificationTask:
    """What is needed to look for solutions of one compiled query."""

    query: Query
    problem: CompiledQuery
    sets: tuple[tuple[int, ...], ...]
    deadline: float
    random: np.random.Generator

    @property
    def slack(self) -> list[int]:
        """The inputs that stand for the slack of an output."""
        own = {quantity.name for quantity in self.problem.quantities}
        return [i for i, name in enumerate(self.problem.names) if name not in own]


def find_by_sampling(g: FalsificationTask) -> Sat | None:
    """A solution near one of some points, before anything is bounded."""
    point = sample_solution(g.problem, g.random)
    return None if point is None else _solution_inside(g, point)


def find_by_attack(g: FalsificationTask, thorough: bool) -> Sat | None:
    """A solution that gradient descent from many points of the box finds."""
    if not g.sets:  # nothing holds in the box, which is not all there is (`curtailed`)
        return None
    tried: list[Sat | None] = []  # the last one ends the attack if it is a solution

    def enough(points: Array, worst: Array) -> bool:
        best = int(np.argmin(worst))
        if worst[best] <= 0 and len(tried) < _TRIES:
            tried.append(_solution_inside(g, points[best]))
        return (bool(tried) and tried[-1] is not None) or monotonic() > g.deadline

    points, worst = attack_whole_box(g.problem, g.sets, g.random, enough, thorough)
    found = tried[-1] if tried else None
    return found or _first_solution(g, points, worst) or _find_at_corners(g, points, worst)


def find_by_milp(g: FalsificationTask, found: NetworkBounds, bends: range) -> Sat | None:
    """A solution that a mixed-integer program finds; `bends`: how many neurons may be undecided."""
    for point in enumerate_milp_points(g.problem, found, g.sets[:_EDGES], bends):
        if (answer := confirm_solution_exactly(g, point)) is not None or monotonic() > g.deadline:
            return answer
    return None


def find_among_points(g: FalsificationTask, points: Array, downhill: bool) -> Sat | None:
    """A solution among points that the bounds found worst, or a few steps downhill from the best of them."""
    points = snap_to_input_domain(g.problem, points)
    worst = replace_nan_violations(formula_violation(g.problem, atom_values_at(g.problem, points)))
    answer = _first_solution(g, points, worst)
    if answer is not None or not downhill:
        return answer
    best = points[np.argsort(worst, kind="stable")[: max(_DOWNHILL, len(points) // 2)]]
    low, high = g.problem.low, g.problem.high
    steps = 8 if len(points) < _MANY else 20  # next to bounds of many boxes it costs nothing
    return _first_solution(
        g, *descend_atom_violation(g.problem, g.sets, best, low, high, steps=steps, first_rate=0.02)
    )


def _find_at_corners(g: FalsificationTask, points: Array, worst: Array) -> Sat | None:
    """A solution at a corner of the linear piece in which the best point lies, if that is almost one."""
    low, high = g.problem.low, g.problem.high
    with np.errstate(all="ignore"):
        size = np.abs(forward_values(g.problem.network, points)[-1]).max(initial=0.0)
    for point, off in zip(points[:_EDGES], worst[:_EDGES], strict=False):
        if not off <= _ALMOST * size:
            continue
        for several in g.sets[:_EDGES]:
            for corner in enumerate_piece_corners(g.problem, several, point):
                rounded = [corner if d is None else np.round(corner, d) for d in _DIGITS]
                for near in np.unique(np.clip(rounded, low, high), axis=0):
                    if (answer := confirm_solution_exactly(g, near)) is not None:
                        return answer
                if monotonic() > g.deadline:
                    return None
    return None


def _first_solution(g: FalsificationTask, points: Array, worst: Array) -> Sat | None:
    """The first of the best candidates that is a solution."""
    for index in np.argsort(worst, kind="stable")[:_TRIES]:
        if worst[index] <= 0 and (answer := _solution_inside(g, points[index])) is not None:
            return answer
    return None


def _solution_inside(g: FalsificationTask, point: Array) -> Sat | None:
    """A solution near a point that satisfies the formula in floats, as far inside as a few steps find.

    A witness well inside also survives float32 inference, so slack is used only where there is no other.
    """
    problem = g.problem
    outputs = atom_values_at(problem, snap_to_input_domain(problem, point[None]))
    room = _INSIDE * float(np.abs(outputs).max(initial=0.0))
    is_inside = bool(formula_violation(problem, outputs)[0] < -room)
    if is_inside and not g.slack and (answer := confirm_solution_exactly(g, point)) is not None:
        return answer
    low, high = problem.low.copy(), problem.high.copy()
    low[g.slack] = high[g.slack] = 0.0
    start = np.clip(point, low, high)
    jitter = 1e-3 * (high - low) * (g.random.random((16, len(low))) - 0.5)
    jitter[0] = 0.0
    points, worst = descend_atom_violation(
        problem,
        g.sets,
        np.clip(start + jitter, low, high),
        low,
        high,
        steps=_POLISH,
        first_rate=0.03,
        enough=lambda best, worst: bool(worst.min() < -room),
    )
    best = int(np.argmin(worst))
    answer = confirm_solution_exactly(g, points[best]) if worst[best] <= 0 else None
    return answer or confirm_solution_exactly(g, point)


def confirm_solution_exactly(g: FalsificationTask, point: Array | list[Fraction]) -> Sat | None:
    """A solution if the point, moved to where the inputs can be, satisfies the query exactly."""
    try:
        values = column_values(g.problem, nearest_input_point(g.problem, list(point)))
    except Undefined:
        return None
    assignment = assignment_from_columns(g.problem, values)
    return Sat(assignment) if satisfies_within_enclosure(g.query, assignment) else None
