"""Racetrack with the end-cell collision check of policy predicate abstraction, on any map.

The car has a position and a velocity; an action changes the velocity and moves the car. Only the cell where
it ends is looked at: wall or outside is a crash, a goal cell the end of the race.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import location_name
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
)
from surefoot.term.value_types import Int

ACCELERATIONS = tuple((ax, ay) for ax in (-1, 0, 1) for ay in (-1, 0, 1))
X, Y, DX, DY = (Var(n) for n in ("x", "y", "dx", "dy"))
CRASHED, FINISHED = Var(location_name("car", "crashed")), Var(location_name("car", "finished"))
SMALL = ("xxxxxg", "s....g", "s..x.g", "xxxxxx")


def label(ax: int, ay: int) -> str:
    return f"accelerate({ax}, {ay})"


def limited(value: Term, most: int) -> Term:
    return Apply(Op.MAX, (Const(-most), Apply(Op.MIN, (Const(most), value))))


def environment(rows: Sequence[str], starts: Sequence[tuple[int, int, int, int]], speed: int) -> Environment:
    width, height = len(rows[0]), len(rows)
    cells = array_term(*(array_term(*(".sgx".index(c) for c in row)) for row in rows))
    edges: list[Edge] = []
    for ax, ay in ACCELERATIONS:
        dx, dy = limited(DX + ax, speed), limited(DY + ay, speed)
        x, y = X + dx, Y + dy
        inside = conjunction_of((x >= 0, x <= width - 1, y >= 0, y <= height - 1))
        cell = cells[y][x]
        moved = tuple(Update(v, t) for v, t in ((X, x), (Y, y), (DX, dx), (DY, dy)))
        cases = (
            ("drive", inside & (cell <= 1), moved),
            ("finished", inside & equal(cell, 2), moved),
            ("crashed", ~inside | equal(cell, 3), ()),
        )
        for place, guard, updates in cases:
            made = (Outcome(updates=updates, target=place),)
            edges.append(Edge("drive", label(ax, ay), guard, outcomes=made))
    kinds = (Int(0, width - 1), Int(0, height - 1), Int(-speed, speed), Int(-speed, speed))
    variables = tuple(Variable(v.name, k) for v, k in zip((X, Y, DX, DY), kinds, strict=True))
    at = [conjunction_of(tuple(equal(v, c) for v, c in zip((X, Y, DX, DY), s, strict=True))) for s in starts]
    car = Component("car", tuple(edges), ("drive", "crashed", "finished"), ("drive",))
    return Environment("end-cells", variables, disjunction_of(tuple(at)), (car,))


def race(
    rows: Sequence[str], starts: Sequence[tuple[int, int, int, int]], network: Network, speed: int = 5
) -> Problem:
    """The car must not crash; the network reads y, x, dy, dx."""
    actions = tuple(label(ax, ay) for ax, ay in ACCELERATIONS)
    policy = NeuralPolicy(network, (Y, X, DY, DX), actions)
    return Problem("race", environment(rows, starts, speed), policy, Never(CRASHED))


def slow_driver() -> Network:
    """Keeps the velocity (1, 0): of nine scores the one for the right change of both is the largest."""
    rows, biases = [], []
    for ax, ay in ACCELERATIONS:  # -(ax + dx - 1)^2 - (ay + dy)^2 without what is common to all actions
        rows.append([0, 0, -2 * ay, -2 * ax])
        biases.append(2 * ax - ax * ax - ay * ay)
    return dense_network([(rows, biases)])
