"""N-puzzle: does the policy solve the puzzle without moving tile 1 to where the board is worn?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot.problem.names import STALLED
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.term import Term, Var, disjunction
from surefoot.studies.assets import shipped, shipped_model
from surefoot.studies.npuzzle.model import Board, jammed, moves, near, placed

WIDTH, HEIGHT, MARKED = 3, 3, 4
SHUFFLED = 10  # moves; as far as the policy was trained


def problem(bad: Term, starts: Term | None = None) -> Problem:
    """Never `bad`, from every board that is at most ten moves away from solved, or from others."""
    world = shipped_model("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}")
    if starts is not None:
        world = replace(world, initial=starts)
    seen = tuple(Var(v.name) for v in world.variables)
    policy = NeuralPolicy(shipped("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}"), seen, tuple(moves(WIDTH)))
    return Problem(f"npuzzle/{WIDTH}x{HEIGHT}", world, policy, Never(bad))


def boards(most: int) -> Term:
    """All boards that are at most so many moves away from solved."""
    return _one_of(tuple(near(WIDTH, HEIGHT, MARKED, most)))


def _one_of(several: tuple[Board, ...]) -> Term:
    return disjunction(tuple(placed(board) for board in several))


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "jams": lambda: problem(jammed(WIDTH)),
    "jams-shuffled-more": lambda: problem(jammed(WIDTH), boards(SHUFFLED + 4)),
    "stalls": lambda: problem(Var(STALLED)),
}
