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

from surefoot import api

HAND, TABLE, FIRST = 0, 1, 2  # positions; FIRST + j: on block j
EMPTY, ON_TABLE = api.Var("hand_empty"), api.Var("on_table")
Changes = dict[api.Var, api.Term]
Tower = tuple[int, ...]  # the position of every block


def _block_position(number: int) -> api.Var:
    return api.Var(f"block_{number}")


def _clear_flag(number: int) -> api.Var:
    return api.Var(f"clear_{number}")


def block_actions(count: int) -> tuple[str, ...]:
    return ("choose_table", *(f"choose_block_{i}" for i in range(count)))


def blocksworld_environment(count: int, room: int, failing: Fraction = Fraction(1, 4)) -> api.EnvironmentData:
    """Starts: every arrangement with an empty hand and at most `room` blocks on the table."""
    kinds = {EMPTY.name: api.Int(0, 1), ON_TABLE.name: api.Int(0, count)}
    kinds |= {_block_position(i).name: api.Int(0, count + 1) for i in range(count)}
    kinds |= {_clear_flag(i).name: api.Int(0, 1) for i in range(count)}
    starts = [tower_state(t) for t in enumerate_towers(count) if t.count(TABLE) <= room]
    return api.EnvironmentData(
        name=f"blocksworld-{count}",
        variables=tuple(api.Variable(name, kind) for name, kind in kinds.items()),
        initial=api.disjunction_of(
            tuple(api.conjunction_of(tuple(api.equal(api.Var(n), v) for n, v in s.items())) for s in starts)
        ),
        components=(api.Component("hand", tuple(_block_edges(count, failing))),),
    )


def _block_edges(count: int, failing: Fraction) -> Iterator[api.Edge]:
    for i in range(count):
        taken: Changes = {
            EMPTY: api.Const(0),
            _block_position(i): api.Const(HAND),
            _clear_flag(i): api.Const(0),
        }
        free = (EMPTY >= 1, _clear_flag(i) >= 1)
        below: list[tuple[int, Changes]] = [(TABLE, {ON_TABLE: ON_TABLE - 1})]
        below += [(FIRST + j, {_clear_flag(j): api.Const(1)}) for j in range(count) if j != i]
        for place, change in below:
            guard = api.conjunction_of((*free, api.equal(_block_position(i), place)))
            yield _block_edge(f"choose_block_{i}", guard, {**taken, **change}, failing)
        put: Changes = {EMPTY: api.Const(1), _clear_flag(i): api.Const(1)}
        held = (EMPTY <= 0, api.equal(_block_position(i), HAND))
        down = {**put, _block_position(i): api.Const(TABLE), ON_TABLE: ON_TABLE + 1}
        yield _block_edge("choose_table", api.conjunction_of(held), down, Fraction(0))
        for j in range(count):
            if j != i:
                guard = api.conjunction_of((*held, _clear_flag(j) >= 1))
                onto = {**put, _block_position(i): api.Const(FIRST + j), _clear_flag(j): api.Const(0)}
                yield _block_edge(f"choose_block_{j}", guard, onto, Fraction(0))


def _block_edge(action: str, guard: api.Term, changes: Changes, failing: Fraction) -> api.Edge:
    done = api.Outcome(api.Const(1 - failing), tuple(api.Update(v, t) for v, t in changes.items()))
    outcomes = (done, api.Outcome(api.Const(failing), ())) if failing else (done,)
    return api.Edge(action=action, guard=guard, outcomes=outcomes)


def enumerate_towers(count: int) -> Iterator[Tower]:
    """All arrangements in which no block is in the hand."""
    for places in product(range(TABLE, count + FIRST), repeat=count):
        below = [p for p in places if p >= FIRST]
        if len(set(below)) == len(below) and all(_stands_on_table(places, i) for i in range(count)):
            yield places


def _stands_on_table(places: Tower, number: int) -> bool:
    """Does one come down to the table from this block?"""
    for _ in places:
        if places[number] == TABLE:
            return True
        number = places[number] - FIRST
    return False


def tower_state(places: Tower) -> dict[str, int]:
    """The values of all variables, the hand being empty."""
    state = {EMPTY.name: 1, ON_TABLE.name: places.count(TABLE)}
    state |= {_block_position(i).name: p for i, p in enumerate(places)}
    return state | {_clear_flag(i).name: int(FIRST + i not in places) for i in range(len(places))}
