"""The sliding puzzle: tiles on a board, one cell empty; a tile beside it may move there.

Cells are numbered row by row with one number left out between rows (as in PlaJA's models), so that one cell
to the right is always one more and one down always `width + 1` more, and no row runs over into the next.
A move names the direction in which the empty cell goes; the tile there takes its place. Only the first tiles
may be marked: then the others are alike, and where they are is not told.
"""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.term.term import Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int

EMPTY = Var("empty")
Board = tuple[int, ...]  # the cell of the empty place, then that of every marked tile


def _tile_position(number: int) -> Var:
    return Var(f"tile_{number}")


def empty_cell_moves(width: int) -> dict[str, int]:
    """How far the empty cell goes."""
    return {"left": -1, "right": 1, "up": -(width + 1), "down": width + 1}


def _board_cells(width: int, height: int) -> tuple[int, ...]:
    return tuple(row * (width + 1) + column for row in range(height) for column in range(width))


def board_variables(marked: int) -> tuple[Var, ...]:
    """What a state consists of."""
    return EMPTY, *(_tile_position(i) for i in range(1, marked + 1))


def _solved_board(width: int, height: int, marked: int) -> Board:
    """Tiles in order, the last cell empty."""
    places = _board_cells(width, height)
    return places[-1], *places[:marked]


def npuzzle_environment(width: int, height: int, marked: int, starts: Term) -> Environment:
    places = _board_cells(width, height)
    variables = tuple(Variable(v.name, Int(0, places[-1])) for v in board_variables(marked))
    edges = tuple(_move_edges(width, height, marked))
    name = f"npuzzle-{width}x{height}-{marked}"
    return Environment(name, variables, starts, (Component("board", edges),))


def _move_edges(width: int, height: int, marked: int) -> Iterator[Edge]:
    places = _board_cells(width, height)
    for direction, change in empty_cell_moves(width).items():
        there = EMPTY + change
        for number in range(1, marked + 1):
            back = Update(_tile_position(number), _tile_position(number) - change)
            yield Edge(
                action=direction,
                guard=equal(_tile_position(number), there),
                outcomes=(Outcome(updates=(back, Update(EMPTY, there))),),
            )
        if marked < width * height - 1:
            inside = disjunction_of(tuple(equal(EMPTY, c) for c in places if c + change in places))
            others = conjunction_of(tuple(~equal(_tile_position(i), there) for i in range(1, marked + 1)))
            yield Edge(
                action=direction, guard=inside & others, outcomes=(Outcome(updates=(Update(EMPTY, there),)),)
            )


def board_condition(board: Board) -> Term:
    """The condition of being this board."""
    return conjunction_of(
        tuple(equal(v, c) for v, c in zip(board_variables(len(board) - 1), board, strict=True))
    )


def jam_condition(width: int) -> Term:
    """Tile 1 is in the middle of the second row, where the board is worn."""
    return equal(_tile_position(1), _worn_cell(width))


def _worn_cell(width: int) -> int:
    return width + 1 + width // 2


def boards_near_solved(width: int, height: int, marked: int, most: int) -> dict[Board, int]:
    """All boards that come to the solved one by so many moves at most without a jam, and how many."""
    found = {_solved_board(width, height, marked): 0}
    wave = list(found)
    for distance in range(1, most + 1):
        following: list[Board] = []
        for board in wave:
            for after in neighbour_boards(board, width, height).values():
                if after not in found and after[1] != _worn_cell(width):
                    found[after] = distance
                    following.append(after)
        wave = following
    return found


def neighbour_boards(board: Board, width: int, height: int) -> dict[str, Board]:
    """The board after every move that is possible."""
    places, empty = set(_board_cells(width, height)), board[0]
    return {
        direction: tuple(_swap_cells(board, empty, empty + change))
        for direction, change in empty_cell_moves(width).items()
        if empty + change in places
    }


def _swap_cells(board: Board, empty: int, there: int) -> Iterator[int]:
    yield there
    for cell in board[1:]:
        yield empty if cell == there else cell
