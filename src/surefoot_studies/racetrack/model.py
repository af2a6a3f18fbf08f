"""The car on a track as a network of synchronised automata (Deep Statistical Model Checking, section 4).

`car` accelerates and learns what became of it, `road` moves it cell by cell along the segment, `check` looks
each cell up on the map. One decision is followed by two micro-steps per cell and a final one.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Operand,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
    term_from_python,
)
from surefoot.term.value_types import Int
from surefoot_studies.racetrack.track import FREE, GOAL, START, WALL, Track

ACCELERATIONS = tuple((ax, ay) for ax in (-1, 0, 1) for ay in (-1, 0, 1))  # edge k of `car` is number k
SLIP = Fraction(1, 5)
X, Y, DX, DY = Var("car_x"), Var("car_y"), Var("car_dx"), Var("car_dy")


def racetrack_environment(
    track: Track, slip: Fraction = SLIP, largest_speed: int = 5, anywhere: bool = False
) -> Environment:
    """The car on a track; with probability `slip` an acceleration has no effect.

    Starts: velocity 0 on a start cell, or with `anywhere` on any cell that is neither wall nor goal.
    """
    speed = Int(-largest_speed, largest_speed)
    column, row = Int(-1, track.width), Int(-1, track.height)
    kinds = {"car_x": column, "car_y": row, "car_dx": speed, "car_dy": speed}
    kinds |= {"start_x": column, "start_y": row, "cells": Int(0, largest_speed)}
    at_rest = tuple(equal(Var(n), 0) for n in ("car_dx", "car_dy", "start_x", "start_y", "cells"))
    somewhere = on_cell_kinds(track, START, FREE) if anywhere else on_cell_kinds(track, START)
    return Environment(
        name=f"racetrack-{track.name}",
        variables=tuple(Variable(name, kind) for name, kind in kinds.items()),
        initial=conjunction_of((*at_rest, somewhere)),
        components=(_car_component(slip, largest_speed), _road_component(), _check_component(track)),
        synchronisations=(
            Synchronisation(("accelerate", "accelerate", None), "accelerate"),
            Synchronisation((None, "move", "move"), "move"),
            Synchronisation((None, "free", "free"), "free"),
            Synchronisation(("crash", "crash", "crash"), "crash"),
            Synchronisation(("goal", "goal", "goal"), "goal"),
            Synchronisation(("valid", "valid", None), "valid"),
        ),
    )


def _car_component(slip: Fraction, largest_speed: int) -> Component:
    """Nine accelerations in `drive`, then one of three answers."""

    def faster(velocity: Var, change: int) -> Update:
        bounded = minimum_term(maximum_term(velocity + change, -largest_speed), largest_speed)
        return Update(velocity, bounded)

    accelerations = tuple(
        Edge(
            "drive",
            "accelerate",
            outcomes=(
                Outcome(
                    Const(1 - slip), (faster(DX, ax), faster(DY, ay)), (("decisions", Const(1)),), "wait"
                ),
                Outcome(Const(slip), (), (("decisions", Const(1)),), "wait"),
            ),
        )
        for ax, ay in ACCELERATIONS
    )
    answers = tuple(
        Edge("wait", answer, outcomes=(Outcome(target=location),))
        for answer, location in (("valid", "drive"), ("crash", "crashed"), ("goal", "finished"))
    )
    return Component("car", (*accelerations, *answers), ("drive", "wait", "crashed", "finished"), ("drive",))


def _road_component() -> Component:
    """Cell k of n on the way is start + floor(k * d/n + 1/2), where n is the larger of |dx| and |dy|."""
    cells, length = Var("cells"), maximum_term(absolute_term(DX), absolute_term(DY))

    def reached_cell(start: Var, velocity: Var) -> Term:
        return start + Apply(Op.FLOOR, ((cells + 1) * (velocity / length) + Fraction(1, 2),))

    set_off = (Update(Var("start_x"), X), Update(Var("start_y"), Y))
    advance = (
        Update(cells, cells + 1),
        Update(X, reached_cell(Var("start_x"), DX)),
        Update(Y, reached_cell(Var("start_y"), DY)),
    )
    # Forgetting where a finished movement began keeps equal situations equal states.
    forget = tuple(Update(Var(n), Const(0)) for n in ("start_x", "start_y", "cells"))
    return Component(
        "road",
        (
            Edge("still", "accelerate", outcomes=(Outcome(updates=set_off, target="moving"),)),
            Edge("moving", "move", cells < length, outcomes=(Outcome(updates=advance, target="arrived"),)),
            Edge("arrived", "free", outcomes=(Outcome(target="moving"),)),
            Edge("arrived", "crash", outcomes=(Outcome(updates=forget, target="still"),)),
            Edge("arrived", "goal", outcomes=(Outcome(updates=forget, target="still"),)),
            Edge("moving", "valid", cells >= length, outcomes=(Outcome(updates=forget, target="still"),)),
        ),
        ("still", "moving", "arrived"),
        ("still",),
    )


def _check_component(track: Track) -> Component:
    """Looks up the cell that the car has reached; outside the map counts as wall."""
    cell = constant_table(track.cells)[Y][X]
    inside = (X >= 0) & (track.width > X) & (Y >= 0) & (track.height > Y)
    done = (Outcome(target="idle"),)
    return Component(
        "check",
        (
            Edge("idle", "move", outcomes=(Outcome(target="look"),)),
            Edge("look", "crash", ~inside | equal(cell, WALL), outcomes=done),
            Edge("look", "goal", inside & equal(cell, GOAL), outcomes=done),
            Edge("look", "free", inside & ~equal(cell, WALL) & ~equal(cell, GOAL), outcomes=done),
        ),
        ("idle", "look"),
        ("idle",),
    )


def on_cell_kinds(track: Track, *kinds: int) -> Term:
    """The car is on a cell of one of these kinds: a union of rectangles."""
    return disjunction_of(
        tuple(
            conjunction_of((left <= X, right >= X, top <= Y, bottom >= Y))
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


def constant_table(rows: tuple[tuple[int, ...], ...]) -> Apply:
    """A constant two-dimensional array, indexed [y][x]."""
    return array_term(*(array_term(*row) for row in rows))


def minimum_term(left: Operand, right: Operand) -> Apply:
    return Apply(Op.MIN, (term_from_python(left), term_from_python(right)))


def maximum_term(left: Operand, right: Operand) -> Apply:
    return Apply(Op.MAX, (term_from_python(left), term_from_python(right)))


def absolute_term(value: Term) -> Apply:
    return Apply(Op.ABS, (value,))
