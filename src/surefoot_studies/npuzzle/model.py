"""The sliding puzzle: tiles on a board, one cell empty; a tile beside it may move there.

Cells are numbered row by row with one number left out between rows (as in PlaJA's models), so that one cell
to the right is always one more and one down always `width + 1` more, and no row runs over into the next.
A move names the direction in which the empty cell goes; the tile there takes its place. Only the first tiles
may be marked: then the others are alike, and where they are is not told.
"""

from __future__ import annotations

from collections.abc import Iterator

from surefoot import api

EMPTY = api.Var("empty")
Board = tuple[int, ...]  # the cell of the empty place, then that of every marked tile


def _tile_position(number: int) -> api.Var:
    return api.Var(f"tile_{number}")


def empty_cell_moves(width: int) -> dict[str, int]:
    """How far the empty cell goes."""
    return {"left": -1, "right": 1, "up": -(width + 1), "down": width + 1}


def _board_cells(width: int, height: int) -> tuple[int, ...]:
    return tuple(row * (width + 1) + column for row in range(height) for column in range(width))


def board_variables(marked: int) -> tuple[api.Var, ...]:
    """What a state consists of."""
    return EMPTY, *(_tile_position(i) for i in range(1, marked + 1))


def _solved_board(width: int, height: int, marked: int) -> Board:
    """Tiles in order, the last cell empty."""
    places = _board_cells(width, height)
    return places[-1], *places[:marked]


def npuzzle_environment(width: int, height: int, marked: int, starts: api.Term) -> api.EnvironmentData:
    places = _board_cells(width, height)
    variables = tuple(api.Variable(v.name, api.Int(0, places[-1])) for v in board_variables(marked))
    edges = tuple(_move_edges(width, height, marked))
    name = f"npuzzle-{width}x{height}-{marked}"
    return api.EnvironmentData(name, variables, starts, (api.Component("board", edges),))


def _move_edges(width: int, height: int, marked: int) -> Iterator[api.Edge]:
    places = _board_cells(width, height)
    for direction, change in empty_cell_moves(width).items():
        there = EMPTY + change
        for number in range(1, marked + 1):
            back = api.Update(_tile_position(number), _tile_position(number) - change)
            yield api.Edge(
                action=direction,
                guard=api.equal(_tile_position(number), there),
                outcomes=(api.Outcome(updates=(back, api.Update(EMPTY, there))),),
            )
        if marked < width * height - 1:
            inside = api.disjunction_of(tuple(api.equal(EMPTY, c) for c in places if c + change in places))
            others = api.conjunction_of(
                tuple(~api.equal(_tile_position(i), there) for i in range(1, marked + 1))
            )
            yield api.Edge(
                action=direction,
                guard=inside & others,
                outcomes=(api.Outcome(updates=(api.Update(EMPTY, there),)),),
            )


def board_condition(board: Board) -> api.Term:
    """The condition of being this board."""
    return api.conjunction_of(
        tuple(api.equal(v, c) for v, c in zip(board_variables(len(board) - 1), board, strict=True))
    )


def jam_condition(width: int) -> api.Term:
    """Tile 1 is in the middle of the second row, where the board is worn."""
    return api.equal(_tile_position(1), _worn_cell(width))


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
