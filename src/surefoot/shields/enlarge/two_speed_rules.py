"""Rules of two speeds, each with a polyhedron beside the unsafe states that it stays in (linear systems).

A rule that stops where it is keeps a large set: all states from which it comes to a stop before a limit. Here
every direction of the closed loop has one of two speeds: K is the gain with which A + B K has the value
`slow` on the states that controls can make shrink by it alone, and `fast` on those of the other speed. This
is possible for at most two variables for each control.

A run that slows down comes to a limit only after many steps, and every one of them cuts something off: the
recursion alone would add hundreds of rows. If the loop has one fast and one slow speed,
(A - fast) (A - slow) = 0, then every row h has a row w = h P, P being the projection onto the slow
directions, with w A = slow w and h A = fast h + (slow - fast) w. So h and w together are closed: w says where
the run would come to a stop. Rows of other loops are left to the recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice, product

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from surefoot.engines.barrier.domain import inner_limits
from surefoot.engines.barrier.float_system import Floats
from surefoot.engines.barrier.invariant_set import prove_invariant_set
from surefoot.engines.barrier.polyhedron.admissible_set import maximal_admissible_set
from surefoot.engines.barrier.polyhedron.linear_loop import (
    HalfSpace,
    LinearLoop,
    coefficient_matrix,
    linear_loop,
)
from surefoot.engines.barrier.polyhedron.search import box_in_units, rows_to_polynomials
from surefoot.engines.barrier.scaled_system import ScaledSystem, Unproved, scale_system
from surefoot.reductions.barrier import ControlSystem, relaxed_dnf
from surefoot.shields.enlarge.float_shield import FloatRule, linear_rows
from surefoot.shields.linear_controllers import Gain
from surefoot.shields.linear_system import LinearSystem
from surefoot.shields.synthesis import ShieldRule
from surefoot.term.term import Const, Term, Var
from surefoot.verdict.verdict import Refused
from surefoot.work.budget import Budget

SAME = 1e-6  # how far h A may be from a combination of h and w, of the size of h
NOTHING = 1e-9  # of the size of h: a row without slow directions
SAMPLE = 1000  # of the visited states: gains and boxes are chosen by them
EACH = 2  # rules for each side
MOST_ROWS = 8  # for each variable
UNCLIPPED = 0.998  # of the states: where a rule needs no control beyond an end
WITHIN = 0.999  # of the room that a control has
ROOMY = 2.0  # times the box of the states: some networks go on and on
Ends = tuple[Floats, Floats]
FAST = tuple(float(x) for x in np.geomspace(0.9, 0.002, 32))  # how much of a distance a step takes away
SLOWER = (0.3, 0.1, 0.03, 0.01, 0.003)  # the slow speed, of the fast one
WORST = 1e9  # the condition of a matrix of directions
SHARES = (1 / 3, 1 / 2, 2 / 3)  # of the second of two comparisons
MOST_SIDES = 64  # choices of half-spaces beside the unsafe states
AWAY = 1e-4  # from unsafe states, of the size of the offset


def two_speed_gain(state: Floats, control: Floats, fast: float, slow: float) -> Floats | None:
    """The gain; None: there is none, or hardly."""
    count = len(state)
    slowly, fastly = (_eigen_directions(state, control, 1 - speed) for speed in (slow, fast))
    if slowly.shape[1] > count or slowly.shape[1] + fastly.shape[1] < count:
        return None
    both = np.hstack([slowly, fastly[:, : count - slowly.shape[1]]])
    if np.linalg.cond(both[:count]) > WORST:
        return None
    return np.linalg.solve(both[:count].T, both[count:].T).T.astype(np.float64)


def _eigen_directions(state: Floats, control: Floats, value: float) -> Floats:
    """Pairs of a state x and controls u, in columns, with A x + B u = value * x."""
    found: Floats = linalg.null_space(np.hstack([state - value * np.eye(len(state)), control]))
    return found


def two_speed_gains(state: Floats, control: Floats) -> list[list[Floats]]:
    """For each ratio of the speeds the gains, the fastest first."""
    found = [[two_speed_gain(state, control, fast, ratio * fast) for fast in FAST] for ratio in SLOWER]
    return [[gain for gain in several if gain is not None] for several in found]


def fastest_gains(
    gains: list[list[Floats]], room: tuple[Floats, Floats], states: Floats, wanted: float
) -> Iterator[Floats]:
    """For each ratio of the speeds the fastest gain that needs no control beyond `room` at most states.

    `states`: from the resting state; `room`: how far controls may be below and above what keeps it.
    """
    for several in gains:
        for gain in several:
            controls = states @ gain.T
            if float(((controls >= room[0]) & (controls <= room[1])).all(axis=1).mean()) >= wanted:
                yield gain
                break


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


def separating_half_spaces(system: ControlSystem) -> list[tuple[HalfSpace, ...]]:
    """Choices of one half-space for each unsafe case, in the system's variables.

    All comparisons of a case hold at its states, and so does every sum of them: where one of them fails, or
    the sum of two, a state is safe. Limits of single variables are left out: boxes are within them. No choice
    if a comparison is not linear.
    """
    cases = []
    for case in relaxed_dnf(system.unsafe):
        if len(case) == 1 and _is_variable_limit(*case[0]):
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
    return list(islice(product(*cases), MOST_SIDES))


def _is_variable_limit(left: Term, right: Term) -> bool:
    return isinstance(left, Var | Const) and isinstance(right, Var | Const)


def _complement_half_space(system: ControlSystem, left: Term, right: Term) -> HalfSpace | None:
    """Where the first is above the second, with its edge; of length 1."""
    gap = system.state_polynomial(right) - system.state_polynomial(left)
    if gap.degree > 1:
        return None
    offset, *normal = coefficient_matrix([gap], len(system.variables))[0]
    size = float(np.linalg.norm(normal))
    return HalfSpace(np.array(normal) / size, -float(offset) / size) if size else None


def _corner_half_spaces(rows: list[HalfSpace]) -> list[HalfSpace]:
    """Half-spaces whose edges touch a corner of the unsafe states."""
    return [
        HalfSpace((1 - s) * one.normal + s * other.normal, (1 - s) * one.offset + s * other.offset)
        for one, other in combinations(rows, 2)
        if not np.allclose(one.normal, -other.normal)
        for s in SHARES
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PolyhedralCandidate:
    """A rule with a set that is closed as floats see it; the rows are in the units of the plane."""

    where: ScaledSystem
    loop: LinearLoop
    rows: tuple[HalfSpace, ...]
    piece: FloatRule

    def prove_rule(self, budget: Budget) -> ShieldRule | None:
        nobody = [(False, False)] * len(self.loop.gain)
        rows = rows_to_polynomials(self.where, self.loop, self.rows)
        try:
            return ShieldRule(
                self.where.then, prove_invariant_set(self.where, rows, None, nobody, True, budget)
            )
        except Unproved:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class _Idea:
    """A rule and about the set that it has: normals * x <= offsets."""

    gain: Gain
    sides: tuple[HalfSpace, ...]
    box: Ends
    normals: Floats
    offsets: Floats

    def contains(self, states: Floats) -> NDArray[np.bool_]:
        return np.asarray((states @ self.normals.T <= self.offsets).all(axis=1))


def two_speed_candidates(
    system: ControlSystem, linear: LinearSystem, visited: Floats, budget: Budget
) -> list[PolyhedralCandidate]:
    """For each side of the unsafe states the rules whose sets contain most of what the network visits."""
    gains = two_speed_gains(linear.state, linear.control)
    states = np.random.default_rng(budget.seed).permutation(visited)[:SAMPLE]
    found: list[tuple[int, _Idea]] = []
    for sides in separating_half_spaces(system) if any(gains) else ():
        inside = states[np.all([row.margins(states) >= 0 for row in sides], axis=0)] if sides else states
        if budget.is_spent() or not len(inside):
            continue
        ideas = [
            _estimate_rule_set(linear, gain, sides, box)
            for gain, box in _enumerate_rules(system, linear, gains, inside, sides)
        ]
        counted = [(int(idea.contains(visited).sum()), idea) for idea in ideas]
        found += sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])[:EACH]
    ordered = sorted(found, key=lambda pair: -pair[0])
    made = [_close_under_steps(system, idea, budget) for _, idea in ordered if not budget.is_spent()]
    return [one for one in made if one is not None]


def _enumerate_rules(
    system: ControlSystem,
    linear: LinearSystem,
    gains: list[list[Floats]],
    states: Floats,
    sides: Sequence[HalfSpace],
) -> Iterator[tuple[Gain, Ends]]:
    """Rules towards the middle of the states and towards the one that is furthest from the limits."""
    points = [np.median(states, axis=0)]
    if sides:
        points.append(states[np.argmax(np.min([row.margins(states) for row in sides], axis=0))])
    seen: list[Floats] = []
    for point in points:
        rest = linear.equilibrium(point)
        if rest is None or any(float(row.margins(rest[0])) <= 0 for row in sides):
            continue
        if any(np.allclose(rest[0], other) for other in seen):
            continue
        seen.append(rest[0])
        box = _box_around_states(system, linear, np.vstack([states, rest[0]]), rest[0])
        room = ((linear.least - rest[1]) * WITHIN, (linear.most - rest[1]) * WITHIN)
        for matrix in fastest_gains(gains, room, states - rest[0], UNCLIPPED):
            yield Gain(matrix, rest[1] - matrix @ rest[0]), box


def _box_around_states(system: ControlSystem, linear: LinearSystem, states: Floats, rest: Floats) -> Ends:
    """Around the states; where states rest at one value only, as far on the other side of it."""
    low, high = states.min(axis=0), states.max(axis=0)
    far = np.maximum(np.maximum(rest - low, high - rest), 1e-6) * ROOMY
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-6) * ROOMY
    moves = np.linalg.norm(linear.resting_directions(), axis=1) > 1e-6
    low, high = np.where(moves, middle - half, rest - far), np.where(moves, middle + half, rest + far)
    for i, (least, most) in enumerate(inner_limits(system)):
        low[i] = low[i] if least is None else max(low[i], float(least))
        high[i] = high[i] if most is None else min(high[i], float(most))
    return low, high


def _estimate_rule_set(linear: LinearSystem, gain: Gain, sides: tuple[HalfSpace, ...], box: Ends) -> _Idea:
    loop = linear.loop(gain)
    first = [*sides, *loop.between(), *_box_half_spaces(box)]
    rows = [*first, *slow_rows(loop, first, linear.control.shape[1])]
    return _Idea(gain, sides, box, np.array([r.normal for r in rows]), np.array([r.offset for r in rows]))


def _close_under_steps(system: ControlSystem, idea: _Idea, budget: Budget) -> PolyhedralCandidate | None:
    """None: the recursion does not come to an end, or has too many rows."""
    count = len(system.variables)
    domain = tuple((Fraction(float(a)), Fraction(float(b))) for a, b in zip(*idea.box, strict=True))
    where = scale_system(system, idea.gain.terms(system), domain)
    loop = linear_loop(where)
    if loop is None:
        return None
    centres, units = (np.array([float(u[i]) for u in where.units[:count]]) for i in (0, 1))
    first = [HalfSpace(r.normal * units, r.offset - float(r.normal @ centres)) for r in idea.sides]
    first += loop.between()
    box = box_in_units(where, domain)
    first += slow_rows(loop, [*first, *_box_half_spaces(box)], len(system.controls))
    rest = loop.equilibrium()
    rows = maximal_admissible_set(
        box, first, lambda r: [loop.before(r)], (rest, rest), MOST_ROWS * count, budget
    )
    if isinstance(rows, Refused):
        return None
    return PolyhedralCandidate(where, loop, tuple(rows), _float_rule(idea, rows, loop, (centres, units)))


def _box_half_spaces(box: Ends) -> list[HalfSpace]:
    """The sides of a box."""
    pairs = ((1.0, box[1]), (-1.0, box[0]))
    return [HalfSpace(sign * unit, float(sign * end[i])) for sign, end in pairs
            for i, unit in enumerate(np.eye(len(box[0])))]  # fmt: skip


def _float_rule(
    idea: _Idea, rows: Sequence[HalfSpace], loop: LinearLoop, scale: tuple[Floats, Floats]
) -> FloatRule:
    """With about the margins that the shield will have."""
    centres, units = scale
    normals = np.array([row.normal / units for row in rows]).reshape(-1, len(units))
    offsets = np.array([row.offset for row in rows]) + normals @ centres
    far = np.abs(loop.noise) @ loop.widest * units
    margin = float((np.abs(normals) @ far).max(initial=0.0))
    gain, (low, high) = idea.gain, idea.box

    def controls(states: Floats) -> Floats:
        return np.clip(gain.controls(states), loop.least, loop.most)

    return FloatRule(low, high, linear_rows(normals, offsets), (low + far, high - far, margin), controls)
