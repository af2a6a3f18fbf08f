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

from surefoot.engines.predicates.symbolic.clause_index import ClauseIndex
from surefoot.engines.predicates.symbolic.cubes import Cube, Point
from surefoot.query.formula import AnyOf, LinearAtom

MOST_CASES = 4096  # of one question; beyond that it counts as possible
AT_ONCE = 8  # of these
MOST_HARD = 16  # cubes of one question that are divided because the solver leaves them open


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether some point satisfies a cube: `possible` unless it is refuted; a point where one was found."""

    possible: bool
    point: Point | None


IMPOSSIBLE, OPEN = Reply(False, None), Reply(True, None)
Ask: TypeAlias = Callable[[Sequence[Cube]], list[Reply]]  # about cubes without clauses


def case_by_case(cubes: Sequence[Cube], index: ClauseIndex, ask: Ask, ask_points: Ask) -> list[Reply]:
    """One reply for each cube; `ask_points`: about cubes that have a single point.

    The cases of one question are gone through depth first, so that a point is found soon if there is one;
    those of all questions are asked together.
    """
    replies, made, hard = [IMPOSSIBLE] * len(cubes), [0] * len(cubes), [0] * len(cubes)
    stacks = [[cube] for cube in cubes]
    while any(stacks):
        now = [(number, cube) for number, stack in enumerate(stacks) for cube in stack[-AT_ONCE:]]
        for stack in stacks:
            del stack[-AT_ONCE:]
        told = ask([replace(cube, clauses=()) for _, cube in now])
        found: list[tuple[int, Cube, Point]] = []
        for (number, cube), reply in zip(now, told, strict=True):
            if reply.possible and cube.clauses and reply.point is not None:
                found.append((number, cube, reply.point))
            elif reply.possible and cube.clauses and hard[number] < MOST_HARD:
                hard[number] += 1
                stacks[number] += index.split(cube, min(cube.clauses, key=_clause_size))
            elif reply.possible and replies[number].point is None:
                replies[number] = reply
        for (number, cube, point), clause in zip(
            found, _violated_clauses(found, index, ask_points), strict=True
        ):
            if clause is None:
                replies[number] = Reply(True, point)
                continue
            made[number] += len(clause.parts)
            if made[number] <= MOST_CASES:
                stacks[number] += index.split(cube, clause)
            elif replies[number].point is None:
                replies[number] = OPEN
        for number, reply in enumerate(replies):
            if reply.point is not None or made[number] > MOST_CASES:
                stacks[number].clear()
    return replies


def _clause_size(clause: AnyOf) -> int:
    return len(clause.parts)


def _violated_clauses(
    found: Sequence[tuple[int, Cube, Point]], index: ClauseIndex, ask_points: Ask
) -> list[AnyOf | None]:
    """For each cube a clause that its point violates, one with few parts; None: it satisfies all of them.

    Where the outputs decide they are asked about, all at once; so the clause may be one that is satisfied.
    """
    open_clauses: list[list[AnyOf]] = []
    alone: list[Cube | None] = []  # the cube in its point, with what is demanded of the outputs there
    told = index.unsettled([(cube.clauses, point) for _, cube, point in found])
    for (_, cube, point), rests in zip(found, told, strict=True):
        rows = [rest for _, rest in rests if isinstance(rest, LinearAtom)]
        box = {**cube.box, **{n: (v, v) for n, v in point.items()}}  # bounds of outputs stay
        open_clauses.append([c for c, _ in rests])
        alone.append(Cube(box, (*cube.rows, *rows)) if rows and len(rows) == len(rests) else None)
    replies = iter(ask_points([c for c in alone if c is not None]))
    agreed = [c is not None and next(replies).point is not None for c in alone]
    return [
        None if agrees or not clauses else min(clauses, key=_clause_size)
        for clauses, agrees in zip(open_clauses, agreed, strict=True)
    ]
