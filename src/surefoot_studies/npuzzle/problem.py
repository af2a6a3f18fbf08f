"""N-puzzle: does the policy solve the puzzle without moving tile 1 to where the board is worn?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import STALLED
from surefoot.term.term import Term, Var, disjunction_of
from surefoot_studies.assets import shipped_model, shipped_network
from surefoot_studies.npuzzle.model import (
    Board,
    board_condition,
    boards_near_solved,
    empty_cell_moves,
    jam_condition,
)

WIDTH, HEIGHT, MARKED = 3, 3, 4
SHUFFLED = 10  # moves; as far as the policy was trained


def _npuzzle_problem(bad: Term, starts: Term | None = None) -> Problem:
    """Never `bad`, from every board that is at most ten moves away from solved, or from others."""
    world = shipped_model("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}")
    if starts is not None:
        world = replace(world, initial=starts)
    seen = tuple(Var(v.name) for v in world.variables)
    policy = NeuralPolicy(
        shipped_network("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}"), seen, tuple(empty_cell_moves(WIDTH))
    )
    return Problem(f"npuzzle/{WIDTH}x{HEIGHT}", world, policy, Never(bad))


def _near_solved(most: int) -> Term:
    """All boards that are at most so many moves away from solved."""
    return _any_board(tuple(boards_near_solved(WIDTH, HEIGHT, MARKED, most)))


def _any_board(several: tuple[Board, ...]) -> Term:
    return disjunction_of(tuple(board_condition(board) for board in several))


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "jams": lambda: _npuzzle_problem(jam_condition(WIDTH)),
    "jams-shuffled-more": lambda: _npuzzle_problem(jam_condition(WIDTH), _near_solved(SHUFFLED + 4)),
    "stalls": lambda: _npuzzle_problem(Var(STALLED)),
}
