"""Blocks on a table with little room, as in PlaJA's benchmarks: one hand, one block at a time.

`block_i` says where block i is: 0 in the hand, 1 on the table, 2 + j on block j. `clear_i` and `hand_empty`
follow from these; they are variables so that every guard is a conjunction of bounds. `choose_block_i` takes
block i into the empty hand, or puts what the hand holds on block i; `choose_table` puts it on the table.
Taking hold may fail: then nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from surefoot.problem.environment import Component, Edge, Environment, Int, Outcome, Update, Variable
from surefoot.problem.term import Const, Term, Var, conjunction, disjunction, equal

HAND, TABLE, FIRST = 0, 1, 2  # positions; FIRST + j: on block j
EMPTY, ON_TABLE = Var("hand_empty"), Var("on_table")
Tower = tuple[int, ...]  # the position of every block


def block(number: int) -> Var:
    return Var(f"block_{number}")


def clear(number: int) -> Var:
    return Var(f"clear_{number}")


def actions(count: int) -> tuple[str, ...]:
    return ("choose_table", *(f"choose_block_{i}" for i in range(count)))


def environment(count: int, room: int, failing: Fraction = Fraction(1, 4)) -> Environment:
    """Starts: every arrangement with an empty hand and at most `room` blocks on the table."""
    kinds = {EMPTY.name: Int(0, 1), ON_TABLE.name: Int(0, count)}
    kinds |= {block(i).name: Int(0, count + 1) for i in range(count)}
    kinds |= {clear(i).name: Int(0, 1) for i in range(count)}
    starts = [state_of(t) for t in towers(count) if t.count(TABLE) <= room]
    return Environment(
        name=f"blocksworld-{count}",
        variables=tuple(Variable(name, kind) for name, kind in kinds.items()),
        initial=disjunction(
            tuple(conjunction(tuple(equal(Var(n), v) for n, v in s.items())) for s in starts)
        ),
        components=(Component("hand", tuple(_edges(count, failing))),),
    )


def _edges(count: int, failing: Fraction) -> Iterator[Edge]:
    for i in range(count):
        taken: dict[Var, Term] = {EMPTY: Const(0), block(i): Const(HAND), clear(i): Const(0)}
        free = (EMPTY >= 1, clear(i) >= 1)
        below: list[tuple[int, dict[Var, Term]]] = [(TABLE, {ON_TABLE: ON_TABLE - 1})]
        below += [(FIRST + j, {clear(j): Const(1)}) for j in range(count) if j != i]
        for place, change in below:
            guard = conjunction((*free, equal(block(i), place)))
            yield _edge(f"choose_block_{i}", guard, {**taken, **change}, failing)
        put: dict[Var, Term] = {EMPTY: Const(1), clear(i): Const(1)}
        held = (EMPTY <= 0, equal(block(i), HAND))
        down = {**put, block(i): Const(TABLE), ON_TABLE: ON_TABLE + 1}
        yield _edge("choose_table", conjunction(held), down, Fraction(0))
        for j in range(count):
            if j != i:
                guard = conjunction((*held, clear(j) >= 1))
                onto = {**put, block(i): Const(FIRST + j), clear(j): Const(0)}
                yield _edge(f"choose_block_{j}", guard, onto, Fraction(0))


def _edge(action: str, guard: Term, changes: dict[Var, Term], failing: Fraction) -> Edge:
    done = Outcome(Const(1 - failing), tuple(Update(v, t) for v, t in changes.items()))
    outcomes = (done, Outcome(Const(failing), ())) if failing else (done,)
    return Edge(action=action, guard=guard, outcomes=outcomes)


def towers(count: int) -> Iterator[Tower]:
    """All arrangements in which no block is in the hand."""
    for places in product(range(TABLE, count + FIRST), repeat=count):
        below = [p for p in places if p >= FIRST]
        if len(set(below)) == len(below) and all(_stands(places, i) for i in range(count)):
            yield places


def _stands(places: Tower, number: int) -> bool:
    """Does one come down to the table from this block?"""
    for _ in places:
        if places[number] == TABLE:
            return True
        number = places[number] - FIRST
    return False


def state_of(places: Tower) -> dict[str, int]:
    """The values of all variables, the hand being empty."""
    state = {EMPTY.name: 1, ON_TABLE.name: places.count(TABLE)}
    state |= {block(i).name: p for i, p in enumerate(places)}
    return state | {clear(i).name: int(FIRST + i not in places) for i in range(len(places))}


def goal(count: int) -> Term:
    """One tower: block 0 on block 1, that on block 2, and so on down to the table."""
    built = [equal(block(i), FIRST + i + 1) for i in range(count - 1)]
    return conjunction((EMPTY >= 1, *built, equal(block(count - 1), TABLE)))
