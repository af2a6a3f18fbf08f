"""Questions with cases, divided only as far as it matters.

A policy that picks the best of the applicable actions says of every other action: it is not applicable, or
its output is not better. Multiplied out that is thousands of cases. Instead a cube is asked without its
clauses: if that is impossible no case is needed. A point that comes back is looked at with all clauses: if it
satisfies them it is an answer, otherwise the cube is divided by a clause that it violates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from surefoot.encode.interval import Kinds
from surefoot.engines.predicates.asked.conditions import divided, within
from surefoot.engines.predicates.asked.cubes import Cube, joined
from surefoot.engines.predicates.asked.foreign import Point
from surefoot.query.formula import All, AnyOf

MOST_CASES = 4096  # of one question; beyond that it counts as possible


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether some point satisfies a cube: `possible` unless it is refuted; a point where one was found."""

    possible: bool
    point: Point | None


IMPOSSIBLE, OPEN = Reply(False, None), Reply(True, None)
Ask: TypeAlias = Callable[[Sequence[Cube]], list[Reply]]  # about cubes without clauses


def case_by_case(cubes: Sequence[Cube], kinds: Kinds, ask: Ask, ask_points: Ask) -> list[Reply]:
    """One reply for each cube; `ask_points`: about cubes that have a single point."""
    replies, made = [IMPOSSIBLE] * len(cubes), [0] * len(cubes)
    waiting = [(n, c) for n, cube in enumerate(cubes) if (c := within(All(), cube, kinds)) is not None]
    while waiting:
        found: list[tuple[int, Cube, Point]] = []
        for (number, cube), reply in zip(waiting, ask([_bare(c) for _, c in waiting]), strict=True):
            if reply.possible and cube.clauses and reply.point is not None:
                found.append((number, cube, reply.point))
            elif reply.possible and replies[number].point is None:
                replies[number] = reply
        waiting = []
        for (number, cube, point), agrees in zip(found, _agreed(found, kinds, ask_points), strict=True):
            if agrees:
                replies[number] = Reply(True, point)
                continue
            parts = divided(cube, _violated(cube, point, kinds))
            made[number] += len(parts)
            if made[number] > MOST_CASES and replies[number].point is None:
                replies[number] = OPEN
            elif made[number] <= MOST_CASES:
                waiting += [(number, c) for part in parts if (c := within(*part, kinds)) is not None]
        waiting = [(n, c) for n, c in waiting if replies[n].point is None]
    return replies


def _bare(cube: Cube) -> Cube:
    return replace(cube, clauses=())


def _agreed(found: Sequence[tuple[int, Cube, Point]], kinds: Kinds, ask_points: Ask) -> list[bool]:
    """Which of these points satisfy the clauses of their cubes too."""
    alone = [_at(point, cube, kinds) for _, cube, point in found]
    replies = iter(ask_points([c for c in alone if c is not None]))
    return [c is not None and next(replies).point is not None for c in alone]


def _at(point: Point, cube: Cube, kinds: Kinds) -> Cube | None:
    """The cube in one point, where all that is left of a clause is about outputs; None: not that alone."""
    there = joined(Cube({n: (v, v) for n, v in point.items()}, ()), cube, kinds)
    settled = None if there is None else within(All(), there, kinds)
    return None if settled is None or settled.clauses else settled


def _violated(cube: Cube, point: Point, kinds: Kinds) -> AnyOf:
    """A clause that holds at the point only if the outputs say so: of these the one with fewest parts."""
    alone = _bare(cube)
    there = joined(Cube({n: (v, v) for n, v in point.items()}, ()), alone, kinds)
    doubtful = [c for c in cube.clauses if there is None or within(c, there, kinds) != there]
    return min(doubtful or cube.clauses, key=lambda c: len(c.parts))
