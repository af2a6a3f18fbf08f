"""The car on a track as a network of synchronised automata (Deep Statistical Model Checking, section 4).

`car` accelerates and learns what became of it, `road` moves it cell by cell along the segment, `check` looks
each cell up on the map. One decision is followed by two micro-steps per cell and a final one.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot import api
from surefoot_studies.racetrack.track import FREE, GOAL, START, WALL, Track
from surefoot_studies.terms import maximum_term, minimum_term

ACCELERATIONS = tuple((ax, ay) for ax in (-1, 0, 1) for ay in (-1, 0, 1))  # edge k of `car` is number k
SLIP = Fraction(1, 5)
X, Y, DX, DY = api.Var("car_x"), api.Var("car_y"), api.Var("car_dx"), api.Var("car_dy")


def racetrack_environment(
    track: Track, slip: Fraction = SLIP, largest_speed: int = 5, anywhere: bool = False
) -> api.EnvironmentData:
    """The car on a track; with probability `slip` an acceleration has no effect.

    Starts: velocity 0 on a start cell, or with `anywhere` on any cell that is neither wall nor goal.
    """
    speed = api.Int(-largest_speed, largest_speed)
    column, row = api.Int(-1, track.width), api.Int(-1, track.height)
    kinds = {"car_x": column, "car_y": row, "car_dx": speed, "car_dy": speed}
    kinds |= {"start_x": column, "start_y": row, "cells": api.Int(0, largest_speed)}
    at_rest = tuple(api.equal(api.Var(n), 0) for n in ("car_dx", "car_dy", "start_x", "start_y", "cells"))
    somewhere = on_cell_kinds(track, START, FREE) if anywhere else on_cell_kinds(track, START)
    return api.EnvironmentData(
        name=f"racetrack-{track.name}",
        variables=tuple(api.Variable(name, kind) for name, kind in kinds.items()),
        initial=api.conjunction_of((*at_rest, somewhere)),
        components=(_car_component(slip, largest_speed), _road_component(), _check_component(track)),
        synchronisations=(
            api.Synchronisation(("accelerate", "accelerate", None), "accelerate"),
            api.Synchronisation((None, "move", "move"), "move"),
            api.Synchronisation((None, "free", "free"), "free"),
            api.Synchronisation(("crash", "crash", "crash"), "crash"),
            api.Synchronisation(("goal", "goal", "goal"), "goal"),
            api.Synchronisation(("valid", "valid", None), "valid"),
        ),
    )


def _car_component(slip: Fraction, largest_speed: int) -> api.Component:
    """Nine accelerations in `drive`, then one of three answers."""

    def faster(velocity: api.Var, change: int) -> api.Update:
        bounded = minimum_term(maximum_term(velocity + change, -largest_speed), largest_speed)
        return api.Update(velocity, bounded)

    accelerations = tuple(
        api.Edge(
            "drive",
            "accelerate",
            outcomes=(
                api.Outcome(
                    api.Const(1 - slip),
                    (faster(DX, ax), faster(DY, ay)),
                    (("decisions", api.Const(1)),),
                    "wait",
                ),
                api.Outcome(api.Const(slip), (), (("decisions", api.Const(1)),), "wait"),
            ),
        )
        for ax, ay in ACCELERATIONS
    )
    answers = tuple(
        api.Edge("wait", answer, outcomes=(api.Outcome(target=location),))
        for answer, location in (("valid", "drive"), ("crash", "crashed"), ("goal", "finished"))
    )
    return api.Component(
        "car", (*accelerations, *answers), ("drive", "wait", "crashed", "finished"), ("drive",)
    )


def _road_component() -> api.Component:
    """Cell k of n on the way is start + floor(k * d/n + 1/2), where n is the larger of |dx| and |dy|."""
    cells, length = api.Var("cells"), maximum_term(absolute_term(DX), absolute_term(DY))

    def reached_cell(start: api.Var, velocity: api.Var) -> api.Term:
        return start + api.Apply(api.Op.FLOOR, ((cells + 1) * (velocity / length) + Fraction(1, 2),))

    set_off = (api.Update(api.Var("start_x"), X), api.Update(api.Var("start_y"), Y))
    advance = (
        api.Update(cells, cells + 1),
        api.Update(X, reached_cell(api.Var("start_x"), DX)),
        api.Update(Y, reached_cell(api.Var("start_y"), DY)),
    )
    # Forgetting where a finished movement began keeps equal situations equal states.
    forget = tuple(api.Update(api.Var(n), api.Const(0)) for n in ("start_x", "start_y", "cells"))
    return api.Component(
        "road",
        (
            api.Edge("still", "accelerate", outcomes=(api.Outcome(updates=set_off, target="moving"),)),
            api.Edge(
                "moving", "move", cells < length, outcomes=(api.Outcome(updates=advance, target="arrived"),)
            ),
            api.Edge("arrived", "free", outcomes=(api.Outcome(target="moving"),)),
            api.Edge("arrived", "crash", outcomes=(api.Outcome(updates=forget, target="still"),)),
            api.Edge("arrived", "goal", outcomes=(api.Outcome(updates=forget, target="still"),)),
            api.Edge(
                "moving", "valid", cells >= length, outcomes=(api.Outcome(updates=forget, target="still"),)
            ),
        ),
        ("still", "moving", "arrived"),
        ("still",),
    )


def _check_component(track: Track) -> api.Component:
    """Looks up the cell that the car has reached; outside the map counts as wall."""
    cell = constant_table(track.cells)[Y][X]
    inside = (X >= 0) & (track.width > X) & (Y >= 0) & (track.height > Y)
    done = (api.Outcome(target="idle"),)
    return api.Component(
        "check",
        (
            api.Edge("idle", "move", outcomes=(api.Outcome(target="look"),)),
            api.Edge("look", "crash", ~inside | api.equal(cell, WALL), outcomes=done),
            api.Edge("look", "goal", inside & api.equal(cell, GOAL), outcomes=done),
            api.Edge("look", "free", inside & ~api.equal(cell, WALL) & ~api.equal(cell, GOAL), outcomes=done),
        ),
        ("idle", "look"),
        ("idle",),
    )


def on_cell_kinds(track: Track, *kinds: int) -> api.Term:
    """The car is on a cell of one of these kinds: a union of rectangles."""
    return api.disjunction_of(
        tuple(
            api.conjunction_of((left <= X, right >= X, top <= Y, bottom >= Y))
            for left, top, right, bottom in cover_by_rectangles(track, *kinds)
        )
    )


def cover_by_rectangles(track: Track, *kinds: int) -> tuple[tuple[int, int, int, int], ...]:
    """Rectangles (left, top, right, bottom) that cover these cells and no other, none of them twice."""
    todo = set(track.places(*kinds))
    found = []
    for y in range(track.height):
        for x in range(track.width):
            if (x, y) not in todo:
                continue
            right = x
            while (right + 1, y) in todo:
                right += 1
            bottom = y
            while all((i, bottom + 1) in todo for i in range(x, right + 1)):
                bottom += 1
            todo -= {(i, j) for i in range(x, right + 1) for j in range(y, bottom + 1)}
            found.append((x, y, right, bottom))
    return tuple(found)


def constant_table(rows: tuple[tuple[int, ...], ...]) -> api.Apply:
    """A constant two-dimensional array, indexed [y][x]."""
    return api.array_term(*(api.array_term(*row) for row in rows))


def absolute_term(value: api.Term) -> api.Apply:
    return api.Apply(api.Op.ABS, (value,))
