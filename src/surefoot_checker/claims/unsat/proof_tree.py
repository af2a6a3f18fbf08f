"""Going through the steps of a case: every state is closed, and nothing is left over.

The steps stand in preorder, so a stack of parts that wait is all that is needed. Bounds are computed on a
coarse grid. Where a step is not shown that way, the steps that led to its state are done again on a finer
grid, from the root, and then the step; the walk goes on from the coarse state. Where that happens too often,
the whole case is done on the finer grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...bounds.case_problem import CaseProblem
from ...bounds.subdomain import AffineKernel, Contents, PrecisionGrid, SubdomainState
from ...bounds.variable_box import root_state
from ...kernel.strict_json import BadCertificate, Refused, expect_list
from .proof_steps import NotShown, apply_proof_step

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
    problem: CaseProblem, steps: list[Any], kernels: dict[Contents, AffineKernel], count: ProofCount
) -> None:
    """Refuse unless the steps show that no point of the problem satisfies a set."""
    for first in range(len(PRECISIONS)):
        grids = [PrecisionGrid(problem, bits, kernels, coarse) for bits, coarse in PRECISIONS[first:]]
        here = ProofCount()
        try:
            _walk_tree(grids, steps, here)
        except _TooCoarse:
            continue
        count.steps += here.steps
        count.states += here.states
        count.repeated += here.repeated
        return
    raise AssertionError("the finest grid has no finer one")


def _walk_tree(grids: list[PrecisionGrid], steps: list[Any], count: ProofCount) -> None:
    waiting: list[tuple[SubdomainState, Path]] = [(_root_or_refine(grids), None)]
    place = 0
    while waiting:
        state, path = waiting.pop()
        while state.alive:
            if place == len(steps):
                raise Refused("the steps end before all states are closed")
            step = expect_list(steps[place], f"step {place}")
            try:
                parts = _apply_or_refine(grids, state, step, path, count)
            except (Refused, BadCertificate) as error:
                raise type(error)(f"step {place} ({str(step[:1])[1:-1]}): {error}") from None
            place += 1
            if parts is not None:
                waiting += [(parts[1], (path, step, 1)), (parts[0], (path, step, 0))]
                break
            path = (path, step, 0)
        else:
            count.states += 1
    if place < len(steps):
        raise Refused(f"step {place} follows when all states are closed")
    count.steps = place


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
