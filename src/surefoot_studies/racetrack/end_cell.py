"""The simplified Racetrack of policy predicate abstraction: only the cell where a movement ends is looked at.

One automaton over position and velocity. In `drive` one of nine accelerations changes the velocity, within
its limit, and moves the car by it; in `moved` the new cell decides. What a cell is stands in guards as unions
of rectangles, so that every condition is a combination of linear constraints over the four variables.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.racetrack.model import ACCELERATIONS, DX, DY, X, Y, on_cell_kinds
from surefoot_studies.racetrack.policies import racetrack_policy
from surefoot_studies.racetrack.track import FREE, GOAL, START, WALL, Track, shipped_track
from surefoot_studies.terms import maximum_term, minimum_term

CRASHED = api.Var(api.location_name("car", "crashed"))
WIDTHS = (16, 24, 32, 64)  # of the two hidden layers of the networks that are shipped
Speeds: TypeAlias = tuple[int, int]  # largest in the direction of x and of y


def end_cell_environment(
    track: Track, start: api.Term | None = None, slip: Fraction = Fraction(0), largest_speed: int | Speeds = 5
) -> api.EnvironmentData:
    """`start`: a condition over car_x, car_y, car_dx, car_dy; default: at rest on the start line."""
    limits = (largest_speed, largest_speed) if isinstance(largest_speed, int) else largest_speed
    sides = (track.width, track.height)
    column, row = (
        api.Int(-limit, side - 1 + limit) for side, limit in zip(sides, limits, strict=True)
    )  # a crashed car may be outside
    across, down = (api.Int(-limit, limit) for limit in limits)
    kinds = {"car_x": column, "car_y": row, "car_dx": across, "car_dy": down}
    line = on_cell_kinds(track, START) & api.equal(DX, 0) & api.equal(DY, 0)
    return api.EnvironmentData(
        name=f"racetrack-end-cell-{track.name}",
        variables=tuple(api.Variable(name, kind) for name, kind in kinds.items()),
        initial=line if start is None else start,
        components=(_car_component(track, slip, limits),),
    )


def _car_component(track: Track, slip: Fraction, limits: Speeds) -> api.Component:
    def faster(velocity: api.Var, change: int, limit: int) -> api.Term:
        return minimum_term(maximum_term(velocity + change, -limit), limit) if change else velocity

    def move_updates(ax: int, ay: int) -> tuple[api.Update, ...]:
        dx, dy = faster(DX, ax, limits[0]), faster(DY, ay, limits[1])
        return api.Update(DX, dx), api.Update(DY, dy), api.Update(X, X + dx), api.Update(Y, Y + dy)

    def outcomes(ax: int, ay: int) -> tuple[api.Outcome, ...]:
        taken = api.Outcome(api.Const(1 - slip), move_updates(ax, ay), target="moved")
        return (taken, api.Outcome(api.Const(slip), move_updates(0, 0), target="moved")) if slip else (taken,)

    accelerations = tuple(
        api.Edge("drive", "accelerate", outcomes=outcomes(ax, ay)) for ax, ay in ACCELERATIONS
    )
    right, bottom = track.width - 1, track.height - 1
    outside = api.disjunction_of((X < 0, right < X, Y < 0, bottom < Y))
    free, goal, wall = (
        on_cell_kinds(track, FREE, START),
        on_cell_kinds(track, GOAL),
        outside | on_cell_kinds(track, WALL),
    )
    ends = ((free, "drive"), (goal, "finished"), (wall, "crashed"))
    answers = tuple(
        api.Edge("moved", None, guard, outcomes=(api.Outcome(target=end),)) for guard, end in ends
    )
    return api.Component(
        "car", (*accelerations, *answers), ("drive", "moved", "crashed", "finished"), ("drive",)
    )


def end_cell_problem(
    width: int = 16,
    start: api.Term | None = None,
    unsafe: api.Term = CRASHED,
    track: Track | None = None,
    largest_speed: int | Speeds = 5,
) -> api.Problem:
    """Does the network with two hidden layers of this width avoid `unsafe` from every state of `start`?"""
    where = track or shipped_track("small")
    network = shipped_network("racetrack", f"end-cell-{width}")
    policy = racetrack_policy(network, where)
    environment = end_cell_environment(where, start, largest_speed=largest_speed)
    return api.Problem(f"racetrack/end-cell-{width}", environment, policy, api.Never(unsafe))


def start_states(states: tuple[tuple[int, int, int, int], ...]) -> api.Term:
    """The condition of being in one of these states (car_x, car_y, car_dx, car_dy)."""
    names = (X, Y, DX, DY)
    return api.disjunction_of(
        tuple(
            api.conjunction_of(tuple(api.equal(n, v) for n, v in zip(names, s, strict=True))) for s in states
        )
    )
