"""How finely sets are followed, and how that changes from period to period."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_PIECES = 64  # sub-steps of a period
MOST_HALVINGS, MOST_PARTS = 8, 4096  # of what a network sees: of one cell, and parts of all together


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """How finely sets are followed: symbols per variable, order of series, sub-steps of a period,
    and how often the set that a network sees is halved."""

    order: int = 12
    taylor: int = 4
    pieces: int = 1
    halvings: int = 0
    least_pieces: int = 1


def adapt_pieces(options: WalkOptions, remainder: float, tolerance: float | None) -> WalkOptions:
    """More sub-steps where what series leave out is large for the sets, fewer where it is very small."""
    if tolerance is None:
        return options
    if remainder > 4 * tolerance and options.pieces < MOST_PIECES:
        return replace(options, pieces=2 * options.pieces)
    if remainder < tolerance / 500 and options.pieces >= 2 * options.least_pieces:
        return replace(options, pieces=options.pieces // 2)
    return options


def adapt_halvings(options: WalkOptions, looseness: float, rows: int, loosest: float | None) -> WalkOptions:
    """More parts for networks where their outputs are loose, fewer where they are not."""
    if loosest is None:
        return options
    room = rows * 2 ** (options.halvings + 1) <= MOST_PARTS
    if looseness > loosest and options.halvings < MOST_HALVINGS and room:
        return replace(options, halvings=options.halvings + 1)
    if looseness < loosest / 4 and options.halvings:
        return replace(options, halvings=options.halvings - 1)
    return options
