"""Is a box inside a union of boxes? Decided exactly, by cutting it at the sides of the others."""

from __future__ import annotations

from collections.abc import Sequence

from ...kernel.problem import Box
from ...kernel.strict_json import Refused

MOST_PIECES = 200_000


def is_box_covered(boxes: Sequence[Box], wanted: Box) -> bool:
    """Every point of `wanted` is in one of the boxes (all of them closed)."""
    pieces, left = 0, [wanted]
    for box in boxes:
        rest: list[Box] = []
        for piece in left:
            rest += _subtract_box(piece, box)
            pieces += 1
            if pieces > MOST_PIECES:
                raise Refused("the boxes of the starts are too many")
        left = rest
    return not left


def _subtract_box(piece: Box, box: Box) -> list[Box]:
    """Closed boxes whose union contains what is in `piece` and not in `box`, within `piece`.

    A cut goes through a side of `box`; a piece of which only the side itself is left over is dropped.
    """
    if any(low > above or high < below for (low, high), (below, above) in zip(piece, box, strict=True)):
        return [piece]
    found, rest = [], list(piece)
    for i, ((low, high), (below, above)) in enumerate(zip(piece, box, strict=True)):
        if low < below:
            found.append((*rest[:i], (low, below), *rest[i + 1 :]))
        if high > above:
            found.append((*rest[:i], (above, high), *rest[i + 1 :]))
        rest[i] = (max(low, below), min(high, above))
    return [tuple(box) for box in found]
