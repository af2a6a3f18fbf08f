"""Systems with more states than can be looked at, and networks that read every variable."""

from __future__ import annotations

from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import Term, Var, conjunction_of, equal
from surefoot.term.value_types import Int

FIRST, SECOND, HEAT, CLOCK = (Var(n) for n in ("first", "second", "heat", "clock"))
PLACE, SPEED, LOAD, TIME = (Var(n) for n in ("place", "speed", "load", "time"))


def tanks(bad: Term, *, eager: bool = False) -> Problem:
    """Two tanks, 8 * 10^12 states: fill or drain one of them, or wait; heat and clock do what they like.

    A tank is filled while it is below 500 and drained above 600; the eager network fills the first one up to
    1600, which is too much.
    """
    limit = 1600.0 if eager else 500.0
    levels = ("fill first", "drain first", "fill second", "drain second", "wait")
    rows = [[-1, 0, 0, 0], [1, 0, 0, 0], [0, -1, 0, 0], [0, 1, 0, 0], [0, 0, 0.001, 0.001]]
    network = dense_network(
        [
            (rows, [limit, -600.0 if not eager else -1700.0, 500.0, -600.0, 0.0]),
            ([[1.0 if i == j else 0.0 for j in range(5)] for i in range(5)], [0.0, 0.0, 0.0, 0.0, 0.5]),
        ]
    )
    changes = {
        "fill first": {FIRST: FIRST + 7},
        "drain first": {FIRST: FIRST - 9},
        "fill second": {SECOND: SECOND + 5},
        "drain second": {SECOND: SECOND - 6},
        "wait": {},
    }
    free = (Choice("warming", Int(0, 2000)),)
    edges = tuple(
        Edge(
            action=label,
            guard=(FIRST >= 9) & (FIRST <= 1990) & (SECOND >= 6) & (SECOND <= 1990),
            chosen=free,
            outcomes=(
                Outcome(
                    updates=(
                        *(Update(v, t) for v, t in changes[label].items()),
                        Update(HEAT, Var("warming")),
                        Update(CLOCK, 1000 - CLOCK),
                    )
                ),
            ),
        )
        for label in levels
    )
    kinds = (Int(0, 2000), Int(0, 2000), Int(0, 2000), Int(0, 1000))
    variables = tuple(Variable(v.name, k) for v, k in zip((FIRST, SECOND, HEAT, CLOCK), kinds, strict=True))
    start = (FIRST >= 100) & (FIRST <= 400) & (SECOND >= 100) & (SECOND <= 300)
    world = Environment("tanks", variables, start, (Component("plant", edges),))
    policy = NeuralPolicy(network, (FIRST, SECOND, HEAT, CLOCK), levels)
    return Problem("tanks", world, policy, Never(bad))


def braking(bad: Term, *, late: bool = False) -> Problem:
    """A wagon on a line of 10^6 places: it must not pass the end; load and time are read too.

    Speed up, coast or brake by one; the network brakes as soon as the place is beyond some line.
    """
    line = 999_990.0 if late else 900_000.0
    network = dense_network(
        [
            ([[1, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0.0001, 0.0001]], [-line, line, -5.0]),
            ([[0, 1, -900000.0], [0, 0, 0], [1, 0, 0]], [0.0, 1.0, 0.5]),
        ]
    )
    changes = {"speed up": SPEED + 1, "coast": SPEED, "brake": SPEED - 1}
    guards = {"speed up": SPEED <= 4, "coast": SPEED >= 0, "brake": SPEED >= 1}
    edges = [
        Edge(
            action=label,
            guard=guards[label],
            outcomes=(
                Outcome(updates=(Update(SPEED, v), Update(PLACE, PLACE + v), Update(TIME, 1000 - TIME))),
            ),
        )
        for label, v in changes.items()
    ]
    edges.append(Edge(action="brake", guard=equal(SPEED, 0)))
    edges.append(Edge(action="speed up", guard=SPEED >= 5))
    kinds = (Int(0, 1_000_100), Int(0, 5), Int(0, 1000), Int(0, 1000))
    variables = tuple(Variable(v.name, k) for v, k in zip((PLACE, SPEED, LOAD, TIME), kinds, strict=True))
    first = 999_000 if late else 0
    start = (first <= PLACE) & (first + 900 >= PLACE) & equal(SPEED, 0)
    world = Environment("braking", variables, start, (Component("wagon", tuple(edges)),))
    policy = NeuralPolicy(network, (PLACE, SPEED, LOAD, TIME), ("speed up", "coast", "brake"))
    return Problem("braking", world, policy, Never(bad))


def waiting_room() -> Problem:
    """A walker on a line of 10^7 places: it waits between 500,000 and 700,000, and walks on everywhere else.

    From below it never comes to 900,000; preconditions of that, seven places apart, lead to 700,000.
    """
    network = dense_network([([[1], [-1]], [-600_000, 600_000]), ([[1, 1], [0, 0]], [-100_000, 0])])
    edges = (
        Edge(action="go", guard=PLACE <= 9_000_000, outcomes=(Outcome(updates=(Update(PLACE, PLACE + 7),)),)),
        Edge(action="stay"),
    )
    world = Environment(
        "waiting room", (Variable("place", Int(0, 10_000_000)),), PLACE <= 1000, (Component("walker", edges),)
    )
    policy = NeuralPolicy(network, (PLACE,), ("go", "stay"))
    return Problem("waiting room", world, policy, Never(PLACE >= 900_000))


def piles(bad: Term) -> Problem:
    """Nine piles, each with a state that locks it if it is 1 or 3: more than 10^24 states.

    The network takes from the highest pile that is neither empty nor locked, from the last one only if there
    is no other. The pile before it is locked.
    """
    heights, locks = ([Var(f"{name}{i}") for i in range(9)] for name in ("pile", "lock"))
    edges = tuple(
        Edge(
            action=f"take{i}",
            guard=(height >= 1) & ~equal(lock, 1) & ~equal(lock, 3),
            outcomes=(Outcome(updates=(Update(height, height - 1),)),),
        )
        for i, (height, lock) in enumerate(zip(heights, locks, strict=True))
    )
    rows = [[1.0 if i == j and i < 8 else 0.0 for j in range(18)] for i in range(9)]
    network = dense_network([(rows, [0.0] * 8 + [-1.0])])
    kinds = {**{h: Int(0, 200) for h in heights}, **{k: Int(0, 5) for k in locks}}
    start = conjunction_of(
        (
            *(h <= 2 for h in heights[:8]),
            equal(heights[8], 100),
            *(equal(k, 1 if k is locks[7] else 0) for k in locks),
        )
    )
    variables = tuple(Variable(v.name, kind) for v, kind in kinds.items())
    world = Environment("piles", variables, start, (Component("table", edges),))
    actions = tuple(f"take{i}" for i in range(9))
    policy = NeuralPolicy(network, tuple(kinds), actions, Choose.ARGMAX_APPLICABLE)
    return Problem("piles", world, policy, Never(bad))
