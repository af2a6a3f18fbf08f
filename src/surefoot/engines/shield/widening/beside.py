"""Rules of two speeds, each with a polyhedron beside the unsafe states that it stays in (linear systems)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.encode.barrier import System
from surefoot.engines.barrier.closed import closed_set
from surefoot.engines.barrier.domain import inner_limits
from surefoot.engines.barrier.plane import Plane, Unproved, plane
from surefoot.engines.barrier.polyhedron.loop import HalfSpace, Loop, loop_of
from surefoot.engines.barrier.polyhedron.recursion import largest_closed
from surefoot.engines.barrier.polyhedron.search import in_units, polynomials_of
from surefoot.engines.barrier.polyhedron.slow import slow_rows
from surefoot.engines.barrier.sampled import Floats
from surefoot.engines.shield.gains import Gain
from surefoot.engines.shield.linear import Linear
from surefoot.engines.shield.synthesis import Branch
from surefoot.engines.shield.widening.sides import separating
from surefoot.engines.shield.widening.speeds import all_gains, fastest
from surefoot.engines.shield.widening.trial import Moving, Piece, linear_rows
from surefoot.work.budget import Budget

SAMPLE = 1000  # of the visited states: gains and boxes are chosen by them
EACH = 2  # rules for each side
MOST_ROWS = 8  # for each variable
UNCLIPPED = 0.998  # of the states: where a rule needs no control beyond an end
WITHIN = 0.999  # of the room that a control has
ROOMY = 2.0  # times the box of the states: some networks go on and on
Ends = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A rule with a set that is closed as floats see it; the rows are in the units of the plane."""

    where: Plane
    loop: Loop
    rows: tuple[HalfSpace, ...]
    piece: Piece

    def proved(self, budget: Budget) -> Branch | None:
        nobody = [(False, False)] * len(self.loop.gain)
        rows = polynomials_of(self.where, self.loop, self.rows)
        try:
            return Branch(self.where.then, closed_set(self.where, rows, None, nobody, True, budget))
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


def beside(system: System, moving: Moving, visited: Floats, budget: Budget) -> list[Candidate]:
    """For each side of the unsafe states the rules whose sets contain most of what the network visits."""
    linear = linear_with(system, moving)
    gains = all_gains(linear.state, linear.control)
    states = np.random.default_rng(budget.seed).permutation(visited)[:SAMPLE]
    found: list[tuple[int, _Idea]] = []
    for sides in separating(system) if any(gains) else ():
        inside = states[np.all([row.margins(states) >= 0 for row in sides], axis=0)] if sides else states
        if budget.spent() or not len(inside):
            continue
        ideas = [
            _idea(linear, moving, gain, sides, box)
            for gain, box in _rules(system, linear, gains, inside, sides)
        ]
        counted = [(int(idea.contains(visited).sum()), idea) for idea in ideas]
        found += sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])[:EACH]
    ordered = sorted(found, key=lambda pair: -pair[0])
    made = [_made(system, idea, budget) for _, idea in ordered if not budget.spent()]
    return [one for one in made if one is not None]


def linear_with(system: System, moving: Moving) -> Linear:
    """The system with the ends of its controls; disturbances are in the middle."""
    ends = [[float(low or 0), float(high or 0)] for _, low, high in system.controls]
    least, most = np.array(ends, dtype=np.float64).T
    return Linear(moving.state, moving.control, moving.drift, least, most)


def _rules(
    system: System, linear: Linear, gains: list[list[Floats]], states: Floats, sides: Sequence[HalfSpace]
) -> Iterator[tuple[Gain, Ends]]:
    """Rules towards the middle of the states and towards the one that is furthest from the limits."""
    points = [np.median(states, axis=0)]
    if sides:
        points.append(states[np.argmax(np.min([row.margins(states) for row in sides], axis=0))])
    seen: list[Floats] = []
    for point in points:
        rest = linear.resting(point)
        if rest is None or any(float(row.margins(rest[0])) <= 0 for row in sides):
            continue
        if any(np.allclose(rest[0], other) for other in seen):
            continue
        seen.append(rest[0])
        box = _box(system, linear, np.vstack([states, rest[0]]), rest[0])
        room = ((linear.least - rest[1]) * WITHIN, (linear.most - rest[1]) * WITHIN)
        for matrix in fastest(gains, room, states - rest[0], UNCLIPPED):
            yield Gain(matrix, rest[1] - matrix @ rest[0]), box


def _box(system: System, linear: Linear, states: Floats, rest: Floats) -> Ends:
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


def _idea(linear: Linear, moving: Moving, gain: Gain, sides: tuple[HalfSpace, ...], box: Ends) -> _Idea:
    loop = Loop(linear.state, linear.control, moving.noise, linear.drift, gain.matrix, gain.offset,
                linear.least, linear.most, moving.widest)  # fmt: skip
    first = [*sides, *loop.between(), *_walls(box)]
    rows = [*first, *slow_rows(loop, first, linear.control.shape[1])]
    return _Idea(gain, sides, box, np.array([r.normal for r in rows]), np.array([r.offset for r in rows]))


def _made(system: System, idea: _Idea, budget: Budget) -> Candidate | None:
    """None: the recursion does not come to an end, or has too many rows."""
    count = len(system.variables)
    domain = tuple((Fraction(float(a)), Fraction(float(b))) for a, b in zip(*idea.box, strict=True))
    where = plane(system, idea.gain.terms(system), domain)
    loop = loop_of(where)
    if loop is None:
        return None
    centres, units = (np.array([float(u[i]) for u in where.units[:count]]) for i in (0, 1))
    first = [HalfSpace(r.normal * units, r.offset - float(r.normal @ centres)) for r in idea.sides]
    first += loop.between()
    box = in_units(where, domain)
    first += slow_rows(loop, [*first, *_walls(box)], len(system.controls))
    rest = loop.resting()
    rows = largest_closed(box, first, lambda r: [loop.before(r)], (rest, rest), MOST_ROWS * count, budget)
    if isinstance(rows, str):
        return None
    return Candidate(where, loop, tuple(rows), _piece(idea, rows, loop, (centres, units)))


def _walls(box: Ends) -> list[HalfSpace]:
    """The sides of a box."""
    pairs = ((1.0, box[1]), (-1.0, box[0]))
    return [HalfSpace(sign * unit, float(sign * end[i])) for sign, end in pairs
            for i, unit in enumerate(np.eye(len(box[0])))]  # fmt: skip


def _piece(idea: _Idea, rows: Sequence[HalfSpace], loop: Loop, scale: tuple[Floats, Floats]) -> Piece:
    """With about the margins that the shield will have."""
    centres, units = scale
    normals = np.array([row.normal / units for row in rows]).reshape(-1, len(units))
    offsets = np.array([row.offset for row in rows]) + normals @ centres
    far = np.abs(loop.noise) @ loop.widest * units
    margin = float((np.abs(normals) @ far).max(initial=0.0))
    gain, (low, high) = idea.gain, idea.box

    def controls(states: Floats) -> Floats:
        return np.clip(gain.controls(states), loop.least, loop.most)

    return Piece(low, high, linear_rows(normals, offsets), (low + far, high - far, margin), controls)
