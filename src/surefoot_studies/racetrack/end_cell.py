"""The simplified Racetrack of policy predicate abstraction: only the cell where a movement ends is looked at.

One automaton over position and velocity. In `drive` one of nine accelerations changes the velocity, within
its limit, and moves the car by it; in `moved` the new cell decides. What a cell is stands in guards as unions
of rectangles, so that every condition is a combination of linear constraints over the four variables.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import location_name
from surefoot.term.term import Const, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int
from surefoot_studies.assets import shipped_network
from surefoot_studies.racetrack.model import (
    ACCELERATIONS,
    DX,
    DY,
    X,
    Y,
    maximum_term,
    minimum_term,
    on_cell_kinds,
)
from surefoot_studies.racetrack.policies import racetrack_policy
from surefoot_studies.racetrack.track import FREE, GOAL, START, WALL, Track, shipped_track

CRASHED = Var(location_name("car", "crashed"))
WIDTHS = (16, 24, 32, 64)  # of the two hidden layers of the networks that are shipped
Speeds: TypeAlias = tuple[int, int]  # largest in the direction of x and of y


def end_cell_environment(
    track: Track, start: Term | None = None, slip: Fraction = Fraction(0), largest_speed: int | Speeds = 5
) -> Environment:
    """`start`: a condition over car_x, car_y, car_dx, car_dy; default: at rest on the start line."""
    limits = (largest_speed, largest_speed) if isinstance(largest_speed, int) else largest_speed
    sides = (track.width, track.height)
    column, row = (
        Int(-limit, side - 1 + limit) for side, limit in zip(sides, limits, strict=True)
    )  # a crashed car may be outside
    across, down = (Int(-limit, limit) for limit in limits)
    kinds = {"car_x": column, "car_y": row, "car_dx": across, "car_dy": down}
    line = on_cell_kinds(track, START) & equal(DX, 0) & equal(DY, 0)
    return Environment(
        name=f"racetrack-end-cell-{track.name}",
        variables=tuple(Variable(name, kind) for name, kind in kinds.items()),
        initial=line if start is None else start,
        components=(_car_component(track, slip, limits),),
    )


def _car_component(track: Track, slip: Fraction, limits: Speeds) -> Component:
    def faster(velocity: Var, change: int, limit: int) -> Term:
        return minimum_term(maximum_term(velocity + change, -limit), limit) if change else velocity

    def move_updates(ax: int, ay: int) -> tuple[Update, ...]:
        dx, dy = faster(DX, ax, limits[0]), faster(DY, ay, limits[1])
        return Update(DX, dx), Update(DY, dy), Update(X, X + dx), Update(Y, Y + dy)

    def outcomes(ax: int, ay: int) -> tuple[Outcome, ...]:
        taken = Outcome(Const(1 - slip), move_updates(ax, ay), target="moved")
        return (taken, Outcome(Const(slip), move_updates(0, 0), target="moved")) if slip else (taken,)

    accelerations = tuple(Edge("drive", "accelerate", outcomes=outcomes(ax, ay)) for ax, ay in ACCELERATIONS)
    right, bottom = track.width - 1, track.height - 1
    outside = disjunction_of((X < 0, right < X, Y < 0, bottom < Y))
    free, goal, wall = (
        on_cell_kinds(track, FREE, START),
        on_cell_kinds(track, GOAL),
        outside | on_cell_kinds(track, WALL),
    )
    ends = ((free, "drive"), (goal, "finished"), (wall, "crashed"))
    answers = tuple(Edge("moved", None, guard, outcomes=(Outcome(target=end),)) for guard, end in ends)
    return Component("car", (*accelerations, *answers), ("drive", "moved", "crashed", "finished"), ("drive",))


def end_cell_problem(
    width: int = 16,
    start: Term | None = None,
    unsafe: Term = CRASHED,
    track: Track | None = None,
    largest_speed: int | Speeds = 5,
) -> Problem:
    """Does the network with two hidden layers of this width avoid `unsafe` from every state of `start`?"""
    where = track or shipped_track("small")
    network = shipped_network("racetrack", f"end-cell-{width}")
    policy = racetrack_policy(network, where)
    environment = end_cell_environment(where, start, largest_speed=largest_speed)
    return Problem(f"racetrack/end-cell-{width}", environment, policy, Never(unsafe))


def start_states(states: tuple[tuple[int, int, int, int], ...]) -> Term:
    """The condition of being in one of these states (car_x, car_y, car_dx, car_dy)."""
    names = (X, Y, DX, DY)
    return disjunction_of(
        tuple(conjunction_of(tuple(equal(n, v) for n, v in zip(names, s, strict=True))) for s in states)
    )
