"""A race track for simulators: one environment, to be written as JANI and as PRISM, and a network for it.

A car accelerates, a checker moves along its way cell by cell; about five steps belong to each decision. The
network (4-64-64-9) learns to follow a hand-made driver, which takes a few seconds.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int

TRACK = """\
############################GGGG
############################....
############################....
############################....
############################....
................................
................................
................................
................................
####............................
########........................
############....................
""".splitlines()
WIDTH, HEIGHT, FASTEST = len(TRACK[0]), len(TRACK), 5
START = (0, 6)
SLIP = Fraction(1, 5)
ACCELERATIONS = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1))
LABELS = tuple(f"accelerate_{k}" for k in range(9))
OBSERVED = ("x", "y", "vx", "vy")
X, Y, VX, VY, CELL, CX, CY, STATUS = (Var(n) for n in (*OBSERVED, "cell", "cx", "cy", "status"))
CRASHED, FINISHED = 1, 2


def _rectangles(letter: str) -> list[tuple[int, int, int, int]]:
    """The cells with this letter, as (left, right, top, bottom)."""
    found: list[tuple[int, int, int, int]] = []
    for y, row in enumerate(TRACK):
        starts = [x for x in range(WIDTH) if row[x] == letter and (x == 0 or row[x - 1] != letter)]
        for left in starts:
            right = left
            while right + 1 < WIDTH and row[right + 1] == letter:
                right += 1
            above = next((r for r in found if r[:2] == (left, right) and r[3] == y - 1), None)
            if above is not None:
                found.remove(above)
            found.append((left, right, y if above is None else above[2], y))
    return found


def _inside(rectangles: list[tuple[int, int, int, int]]) -> Term:
    return disjunction_of(tuple((a <= CX) & (b >= CX) & (c <= CY) & (d >= CY) for a, b, c, d in rectangles))


def _larger(left: Term, right: Term) -> Term:
    return Apply(Op.MAX, (left, right))


def environment(anywhere: bool = False) -> Environment:
    """One start, or all cells of the road. With probability SLIP an acceleration has no effect."""
    off = disjunction_of((CX < 0, CX >= WIDTH, CY < 0, CY >= HEIGHT))
    wall, goal = off | _inside(_rectangles("#")), ~off & _inside(_rectangles("G"))
    length = _larger(_larger(VX, 0 - VX), _larger(VY, 0 - VY))

    def reached(start: Var, speed: Var) -> Term:
        return start + Apply(Op.FLOOR, (CELL * speed / length + Fraction(1, 2),))

    def clear(target: str) -> tuple[Outcome, ...]:
        return (Outcome(updates=tuple(Update(v, Const(0)) for v in (CELL, CX, CY)), target=target),)

    def accelerate(x: int, y: int) -> tuple[Outcome, ...]:
        changed = tuple(Update(v, v + a) for v, a in ((VX, x), (VY, y)) if a)
        return Outcome(Const(1 - SLIP), changed, target="wait"), Outcome(Const(SLIP), (), target="wait")

    car = [
        Edge("drive", label, _slow_enough(x, y), outcomes=accelerate(x, y))
        for label, (x, y) in zip(LABELS, ACCELERATIONS, strict=True)
    ]
    arrive = (Outcome(updates=(Update(X, CX), Update(Y, CY)), target="drive"),)
    car.append(Edge("wait", "valid", outcomes=arrive))
    for label, status in (("crash", CRASHED), ("goal", FINISHED)):
        car.append(
            Edge("wait", label, outcomes=(Outcome(updates=(Update(STATUS, Const(status)),), target="end"),))
        )
    set_off = (Update(CELL, Const(1)), Update(CX, X), Update(CY, Y))
    checker = [Edge("idle", label, outcomes=(Outcome(updates=set_off, target="move"),)) for label in LABELS]
    checker += [
        Edge(
            "move",
            None,
            length >= CELL,
            outcomes=(
                Outcome(updates=(Update(CX, reached(X, VX)), Update(CY, reached(Y, VY))), target="look"),
            ),
        ),
        Edge("move", "valid", length < CELL, outcomes=clear("idle")),
        Edge("look", "crash", wall, outcomes=clear("idle")),
        Edge("look", "goal", goal, outcomes=clear("idle")),
        Edge(
            "look", None, ~wall & ~goal, outcomes=(Outcome(updates=(Update(CELL, CELL + 1),), target="move"),)
        ),
    ]
    kinds = {"x": Int(0, WIDTH - 1), "y": Int(0, HEIGHT - 1), "vx": _speed(), "vy": _speed()}
    kinds |= {"cell": Int(0, FASTEST + 1), "cx": Int(-FASTEST, WIDTH + FASTEST)}
    kinds |= {"cy": Int(-FASTEST, HEIGHT + FASTEST), "status": Int(0, 2)}
    at_rest = tuple(equal(Var(n), 0) for n in kinds if n not in ("x", "y"))
    places = [(x, y) for y, row in enumerate(TRACK) for x, letter in enumerate(row) if letter == "."]
    start = disjunction_of(tuple(equal(X, x) & equal(Y, y) for x, y in (places if anywhere else [START])))
    together = (*LABELS, "valid", "crash", "goal")
    return Environment(
        "race",
        tuple(Variable(n, k) for n, k in kinds.items()),
        conjunction_of((*at_rest, start)),
        (
            Component("car", tuple(car), ("drive", "wait", "end"), ("drive",)),
            Component("checker", tuple(checker), ("idle", "move", "look"), ("idle",)),
        ),
        synchronisations=tuple(Synchronisation((a, a), a) for a in together),
    )


def _speed() -> Int:
    return Int(-FASTEST, FASTEST)


def _slow_enough(x: int, y: int) -> Term:
    limits = [(v + a <= FASTEST) if a > 0 else (v + a >= -FASTEST) for v, a in ((VX, x), (VY, y)) if a]
    return conjunction_of(tuple(limits))


def driver(state: NDArray[np.float64]) -> int:
    """To the right along the middle of the road, then up; slowly enough to stop before the end."""
    x, y, vx, vy = state
    wanted_x = 3 if x < 16 else 2 if x < 24 else 1 if x < 29 else -1 if x > 30 else 0
    wanted_y = float(np.sign(6 - y)) if x < 27 else (-2 if y > 4 else -1)
    return int((np.sign(wanted_x - vx) + 1) * 3 + np.sign(wanted_y - vy) + 1)


def network(seed: int = 1, rounds: int = 3000) -> Network:
    """Gradient descent (Adam) on the driver's choices."""
    generator = np.random.default_rng(seed)
    axes = (range(WIDTH), range(HEIGHT), range(-3, 5), range(-4, 4))
    states = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 4).astype(float)
    wanted = np.array([driver(s) for s in states])
    scale = np.array([WIDTH, HEIGHT, 4.0, 4.0])
    sizes = (4, 64, 64, 9)
    weights = [generator.normal(size=(b, a)) * (2 / a) ** 0.5 for a, b in pairwise(sizes)]
    parameters = [*weights, *(np.zeros(b) for b in sizes[1:])]
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
    for step in range(1, rounds + 1):
        some = generator.integers(0, len(states), 512)
        gradients = _gradients(parameters, states[some] / scale, wanted[some])
        for p, g, (m, v) in zip(parameters, gradients, moments, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= 0.003 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    parameters[0] = parameters[0] / scale
    return dense_network(
        [
            (w.astype(np.float32), b.astype(np.float32))
            for w, b in zip(parameters[:3], parameters[3:], strict=True)
        ]
    )


def _gradients(
    p: list[NDArray[np.float64]], x: NDArray[np.float64], wanted: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Of the cross entropy of softmax outputs."""
    values = [x]
    for k in range(3):
        total = values[-1] @ p[k].T + p[3 + k]
        values.append(np.maximum(total, 0) if k < 2 else total)
    share = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
    delta = share / share.sum(axis=1, keepdims=True)
    delta[np.arange(len(x)), wanted] -= 1
    delta /= len(x)
    found: list[NDArray[np.float64]] = [np.zeros(0)] * 6
    for k in (2, 1, 0):
        found[k], found[3 + k] = delta.T @ values[k], delta.sum(axis=0)
        delta = (delta @ p[k]) * (values[k] > 0)
    return found


def policy(net: Network) -> NeuralPolicy:
    return NeuralPolicy(net, tuple(Var(n) for n in OBSERVED), LABELS)
