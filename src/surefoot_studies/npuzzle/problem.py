"""N-puzzle: does the policy solve the puzzle without moving tile 1 to where the board is worn?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot import api
from surefoot_studies.assets import shipped_model, shipped_network
from surefoot_studies.npuzzle import model

WIDTH, HEIGHT, MARKED, TILES = 3, 3, 4, 8
SHUFFLED = 10  # moves; as far as the policy was trained


def _npuzzle_problem(bad: api.Term, starts: api.Term | None = None) -> api.Problem:
    """Never `bad`, from every board that is at most ten moves away from solved, or from others."""
    world = shipped_model("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}")
    if starts is not None:
        world = replace(world, initial=starts)
    seen = tuple(api.Var(v.name) for v in world.variables)
    policy = api.NeuralPolicy(
        shipped_network("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}"), seen, tuple(model.empty_cell_moves(WIDTH))
    )
    return api.Problem(f"npuzzle/{WIDTH}x{HEIGHT}", world, policy, api.Never(bad))


def _all_tiles_problem() -> api.Problem:
    """The same with all eight tiles marked; the policy looks at the first four and the empty cell alone."""
    boards = tuple(model.boards_near_solved(WIDTH, HEIGHT, TILES, SHUFFLED))
    world = model.npuzzle_environment(WIDTH, HEIGHT, TILES, _any_board(boards))
    network = shipped_network("npuzzle", f"puzzle-{WIDTH}x{HEIGHT}")
    moves = tuple(model.empty_cell_moves(WIDTH))
    policy = api.NeuralPolicy(network, model.board_variables(MARKED), moves)
    return api.Problem(f"npuzzle/{WIDTH}x{HEIGHT}-all", world, policy, api.Never(model.jam_condition(WIDTH)))


def _near_solved(most: int) -> api.Term:
    """All boards that are at most so many moves away from solved."""
    return _any_board(tuple(model.boards_near_solved(WIDTH, HEIGHT, MARKED, most)))


def _any_board(several: tuple[model.Board, ...]) -> api.Term:
    return api.disjunction_of(tuple(model.board_condition(board) for board in several))


PROBLEMS: dict[str, Callable[..., api.Problem]] = {
    "jams": lambda: _npuzzle_problem(model.jam_condition(WIDTH)),
    "jams-shuffled-more": lambda: _npuzzle_problem(model.jam_condition(WIDTH), _near_solved(SHUFFLED + 4)),
    "jams-all-tiles": _all_tiles_problem,
    "stalls": lambda: _npuzzle_problem(api.Var(api.STALLED)),
}
