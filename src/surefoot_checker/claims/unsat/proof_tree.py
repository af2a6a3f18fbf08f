"""Going through the steps of a case: every state is closed, and nothing is left over.

The steps stand in preorder, so a stack of parts that wait is all that is needed. Bounds are computed on a
coarse grid. Where a step is not shown that way, the steps that led to its state are done again on a finer
grid, from the root, and then the step; the walk goes on from the coarse state. Where that happens too often,
the whole case is done on the finer grid.

One of several processes looks at its share of the steps, and at what leads to them: which sets are left is
seen in the steps alone, so that it knows where the steps of a state end without following them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...bounds.case_problem import CaseProblem
from ...bounds.subdomain import AffineKernel, Contents, PrecisionGrid, SubdomainState
from ...bounds.variable_box import root_state
from ...kernel.share import WHOLE, StepShare
from ...kernel.strict_json import BadCertificate, Refused, expect_list
from .proof_steps import NotShown, apply_proof_step, sets_left, sets_of_parts

PRECISIONS = ((40, True), (40, False), (112, False))  # bits after the point, and whether weights have few
REPEATED = 30  # steps of a case that may be repeated on a finer grid
Path = tuple[Any, ...] | None  # (steps before, step, which part of a split)


@dataclass(slots=True)
class ProofCount:
    cases: int = 0
    steps: int = 0
    states: int = 0  # closed by dropping all their sets
    repeated: int = 0  # steps that needed the finer grid


class _TooCoarse(Exception):
    """Too many steps have to be repeated on a finer grid."""


def check_proof_tree(
    problem: CaseProblem,
    steps: list[Any],
    kernels: dict[Contents, AffineKernel],
    count: ProofCount,
    mine: StepShare | None = None,
) -> None:
    """Refuse unless the steps (those that are `mine`) show that no point of the problem satisfies a set."""
    mine = mine or StepShare(WHOLE, len(steps))
    ends = {} if mine.share == WHOLE else find_state_ends(steps, (1 << len(problem.sets)) - 1)
    for first in range(len(PRECISIONS)):
        grids = [PrecisionGrid(problem, bits, kernels, coarse) for bits, coarse in PRECISIONS[first:]]
        here = ProofCount()
        try:
            _walk_tree(grids, steps, here, mine, ends)
        except _TooCoarse:
            continue
        count.steps += here.steps
        count.states += here.states
        count.repeated += here.repeated
        return
    raise AssertionError("the finest grid has no finer one")


def find_state_ends(steps: list[Any], alive: int) -> dict[int, int]:
    """By the number of its first step, where the steps of a state and of its parts end.

    Nothing where that cannot be seen: then no state is passed over, and who looks at the steps says why.
    """
    found: dict[int, int] = {}
    place, waiting = 0, [(alive, -1)]  # sets of a state that begins, or the first step of one that ends
    while waiting:
        alive, first = waiting.pop()
        if first >= 0:
            found[first] = place
            continue
        first = place
        while alive:
            if place == len(steps) or type(steps[place]) is not list or not steps[place]:
                return {}
            step = steps[place]
            place += 1
            if (parts := sets_of_parts(step, alive)) is not None:
                waiting += [(0, first), (parts[1], -1), (parts[0], -1)]
                break
            alive = sets_left(step, alive)
        else:
            found[first] = place
    return found if place == len(steps) else {}


def _walk_tree(
    grids: list[PrecisionGrid], steps: list[Any], count: ProofCount, mine: StepShare, ends: dict[int, int]
) -> None:
    waiting: list[tuple[SubdomainState | int, Path]] = [(_root_or_refine(grids), None)]
    place = 0
    while waiting:
        state, path = waiting.pop()
        if isinstance(state, int):
            _check_end(ends, state, place)
            continue
        if not state.alive:
            count.states += mine.owns(max(0, place - 1))
            continue
        if place in ends and not mine.touches(place, ends[place]):
            place = ends[place]  # somebody else does
            continue
        first = place
        while state.alive:
            if place == len(steps):
                raise Refused("the steps end before all states are closed")
            step = expect_list(steps[place], f"step {place}")
            try:
                parts = _apply_or_refine(grids, state, step, path, count)
            except (Refused, BadCertificate) as error:
                raise type(error)(f"step {place} ({str(step[:1])[1:-1]}): {error}") from None
            count.steps += mine.owns(place)
            place += 1
            if parts is not None:
                waiting += [(first, None), (parts[1], (path, step, 1)), (parts[0], (path, step, 0))]
                break
            path = (path, step, 0)
        else:
            count.states += mine.owns(max(0, place - 1))
            _check_end(ends, first, place)
    if place < len(steps):
        raise Refused(f"step {place} follows when all states are closed")


def _check_end(ends: dict[int, int], first: int, place: int) -> None:
    """Whoever follows a state sees that it ends where the others, who pass it over, go on.

    Each step belongs to one share, which follows every state that has it: nobody passes over what all do.
    """
    if ends.get(first, place) != place:
        raise Refused(f"the steps of the state that begins with step {first} end elsewhere")


def _root_or_refine(grids: list[PrecisionGrid]) -> SubdomainState:
    """The root; on a coarse grid a divisor may be zero that is not zero on a finer one."""
    try:
        return root_state(grids[0])
    except Refused:
        if len(grids) > 1:
            raise _TooCoarse from None
        raise


def _apply_or_refine(
    grids: list[PrecisionGrid], state: SubdomainState, step: list[Any], path: Path, count: ProofCount
) -> tuple[SubdomainState, SubdomainState] | None:
    try:
        return apply_proof_step(grids[0], state, step)
    except NotShown:
        for grid in grids[1:]:
            try:
                apply_proof_step(grid, _replay_path(grid, path), step)
            except NotShown:
                continue
            count.repeated += 1
            if count.repeated > REPEATED:
                raise _TooCoarse from None
            return apply_proof_step(grids[0], state, step, trusted=True)
        raise


def _replay_path(grid: PrecisionGrid, path: Path) -> SubdomainState:
    """The state at the end of a path, on another grid."""
    steps = []
    while path is not None:
        path, step, part = path
        steps.append((step, part))
    state = root_state(grid)
    for step, part in reversed(steps):
        parts = apply_proof_step(grid, state, step, trusted=True)
        if parts is not None:
            state = parts[part]
    return state
