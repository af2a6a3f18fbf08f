"""The states of the reachable abstract states as boxes: what a checker has to go through.

Boxes are halved along their longest side until most of a box is inside; then they are few, and going through
them means looking at few states that do not belong to the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.refinement import TableAbstraction
from surefoot.term.reserved_names import location_key
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import AbstractInvariant, Box

SHARE = 0.6  # of a box that is not halved any more
FEW = 32  # states of a box that is not worth halving
MOST = 5_000_000  # states that a checker goes through


def closed_set_from_table(found: TableAbstraction, graph: AbstractGraph) -> AbstractInvariant | None:
    """The reachable abstract states with boxes around all of their states; None: these are too many."""
    table = found.table
    kept = np.zeros(len(found.parts), dtype=np.bool_)
    kept[found.reached.states] = True
    inside = kept[found.parts.cell]
    shape = tuple(map(len, table.ranges))
    begins = [r.start for r in table.ranges]
    boxes = [
        tuple((begin + low, begin + high) for begin, (low, high) in zip(begins, box, strict=True))
        for box in boxes_of(inside.reshape(shape))
    ]
    if sum(prod(high - low + 1 for low, high in box) for box in boxes) > MOST:
        return None
    several = [c for c in table.dynamics.problem.environment.components if len(c.locations) > 1]
    scalars = [location_key(c.name) for c in several]
    states = []
    for cell, state in zip(found.reached.states.tolist(), graph.states, strict=True):
        member = table.state(int(found.parts.member[cell]))
        states.append((tuple(member[s] for s in scalars), state.values))
    return AbstractInvariant(graph.predicates, tuple(states), tuple(boxes))


def boxes_of(inside: Mask) -> Iterator[Box]:
    """Boxes (first and last index along each axis), no two with a common place, that cover a set."""
    todo = [(inside, (0,) * inside.ndim)]
    while todo:
        part, corner = todo.pop()
        where = [np.flatnonzero(part.any(axis=_other_axes(part.ndim, axis))) for axis in range(part.ndim)]
        if not all(w.size for w in where):
            continue
        ends = [(int(w[0]), int(w[-1])) for w in where]
        part = part[tuple(slice(a, b + 1) for a, b in ends)]
        corner = tuple(c + a for c, (a, _) in zip(corner, ends, strict=True))
        count = int(part.sum())
        if count >= SHARE * part.size or part.size <= FEW:
            yield tuple((c, c + side - 1) for c, side in zip(corner, part.shape, strict=True))
            continue
        axis = int(np.argmax(part.shape))
        middle = part.shape[axis] // 2
        first, second = np.split(part, [middle], axis=axis)
        further = tuple(c + middle * (a == axis) for a, c in enumerate(corner))
        todo += [(second, further), (first, corner)]


def _other_axes(count: int, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(count) if a != axis)
