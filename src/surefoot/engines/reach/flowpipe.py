"""What a search knows, for people: which starts are shown, up to when all are, and boxes on their way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.search import Cell, CellSearch
from surefoot.engines.reach.tubes import Key, Tube, TubeGrid, ancestor_at, depth_of, join_tubes
from surefoot.engines.reach.walk import LATER, MAY_BE_BAD, Failure
from surefoot.verdict.artifact import Flowpipe, FlowpipePiece, FollowedStarts

MOST_PIECES, MOST_NUMBERS = 8_000, 60_000  # of a flowpipe that is told
MOST_OPEN = 250  # boxes of starts that are open; more are joined with their neighbours
DIGITS, FINEST = 7, 12  # of numbers that are told: digits that count, and digits after the point at most


def share_shown(search: CellSearch) -> Fraction:
    """Of the starts; a box of starts counts by its size, and all regions of starts count the same."""
    depths = Counter(cell.path.bit_length() - 1 for cell in search.open_cells)  # there may be 100,000 of them
    left = sum((Fraction(number, 1 << depth) for depth, number in depths.items()), Fraction(0))
    return 1 - left / max(sum(region.start for region in search.regions), 1)


def known_until(search: CellSearch, failure: Failure | None) -> Fraction | None:
    """Up to when a cell that failed is known to keep the property; None: not even at the start."""
    if failure is None or search.walk.bad is None:
        return None
    late = failure.why == MAY_BE_BAD and search.walk.flow is None  # the step itself may be bad
    until = failure.time - search.walk.loop.period if late else failure.time
    if until < 0 or (until == 0 and failure.why == MAY_BE_BAD and not late):
        return None
    return until


def last_failure(cell: Cell) -> Failure | None:
    return cell.failure if cell.failure is not None else cell.parent_failure


def all_known_until(search: CellSearch) -> Fraction | None:
    """Up to when all starts are known to keep the property."""
    found = [known_until(search, last_failure(cell)) for cell in search.open_cells]
    known = [moment for moment in found if moment is not None]
    return min(known) if known and len(known) == len(found) else None


def rank_search(search: CellSearch) -> tuple[Fraction, Fraction, int]:
    """What it knows: the share, then up to when all starts are known; then how many cells were followed."""
    until = None if search.done else all_known_until(search)
    return share_shown(search), Fraction(-1) if until is None else until, search.followed


def describe_search(search: CellSearch) -> str:
    """Which share of the starts is shown, and up to when all of them."""
    share, safe = share_shown(search), search.walk.bad is not None
    percent = f"{int(share * 1000) / 10:g}"  # rounded down: only all of them are 100 %
    words = [f"{percent} % of the starts are shown to {'keep it' if safe else 'reach it in time'}"]
    if (until := all_known_until(search)) is not None:
        words.append(
            f"all of them up to {'time' if search.walk.flow is not None else 'step'} {float(until):.6g}"
        )
    words.append(
        f"{len(search.open_cells):,} cells are open" if len(search.open_cells) != 1 else "1 cell is open"
    )
    if (why := describe_failures(search)) is not None:
        words.append(why)
    if search.recalled:
        words.append(f"{100 * search.recalled:.3g} % by the run directory, not followed again")
    return ", ".join(words)


def describe_failures(search: CellSearch) -> str | None:
    """Why cells are open, if it is something else than that they may be bad."""
    failures = map(last_failure, search.open_cells)
    reasons = Counter(f.why for f in failures if f is not None)
    if not reasons:
        return None
    ((most, _),) = reasons.most_common(1)
    return None if most in (MAY_BE_BAD, *LATER) else f"mostly as {most}"


def make_flowpipe(search: CellSearch) -> Flowpipe | None:
    """The boxes that were kept, at most so many: neighbours in time are joined where there are more."""
    store = search.tubes
    if store is None:
        return None
    starts: list[FollowedStarts] = []
    tubes: list[tuple[int, Tube]] = []
    held = {key for cell in search.open_cells for key in _ancestors(cell.key)}
    for key, tube in store.done.items():
        node = find_cell(search.roots[key[0]], key[1])
        tubes.append((len(starts), tube))
        starts.append(FollowedStarts(node.low, node.high, "mixed" if key in held else "done"))
    for key, parts in _join_open(_open_boxes(search)).items():
        node = parts[0].cell if len(parts) == 1 else find_cell(search.roots[key[0]], key[1])
        known = [known_until(search, part.failure) for part in parts]
        until = None if None in known else min(moment for moment in known if moment is not None)
        why = "; ".join(dict.fromkeys(part.failure.why for part in parts if part.failure is not None))
        if sets := [t for part in parts if (t := store.failed.get(part.tube)) is not None]:
            tubes.append((len(starts), join_tubes(sets)))
        starts.append(FollowedStarts(node.low, node.high, "open", until, why))
    question = search.walk.question
    return Flowpipe(
        store.grid.variables,
        store.grid.quantities,
        "step" if store.grid.steps else "time",
        tuple(starts),
        tuple(_make_pieces(store.grid, tubes)),
        share_shown(search),
        None if search.done else all_known_until(search),
        (
            _count_done([r for r, region in zip(search.roots, search.regions, strict=True) if region.start]),
            len(search.open_cells),
        ),
        question.until,
    )


def find_cell(root: Cell, path: int) -> Cell:
    """The node of a tree of halves."""
    node = root
    for bit in bin(path)[3:]:
        assert node.halves is not None
        node = node.halves[int(bit)]
    return node


def _ancestors(key: Key) -> Iterator[Key]:
    region, path = key
    while path:
        yield region, path
        path >>= 1


def _count_done(roots: Sequence[Cell]) -> int:
    count, left = 0, list(roots)
    while left:
        cell = left.pop()
        if cell.halves is not None:
            left += cell.halves
        else:
            count += cell.tree is not None or cell.way is not None
    return count


@dataclass(frozen=True, slots=True)
class _OpenBox:
    cell: Cell
    failure: Failure | None
    tube: Key  # under which its tube is kept


def _join_open(boxes: Sequence[_OpenBox]) -> dict[Key, list[_OpenBox]]:
    """By the cell that holds them: so that there are not too many."""
    deepest = max((depth_of(box.cell.key) for box in boxes), default=0)
    while True:
        found: dict[Key, list[_OpenBox]] = {}
        for box in boxes:
            found.setdefault(ancestor_at(box.cell.key, deepest), []).append(box)
        if len(found) <= MOST_OPEN or deepest <= 0:
            return found
        deepest -= 1


def _open_boxes(search: CellSearch) -> list[_OpenBox]:
    """Boxes of starts that are open; both halves of a cell are one box."""
    waiting = {cell.key: cell for cell in search.waiting}
    found: list[_OpenBox] = []
    for (region, path), cell in waiting.items():
        parent = region, path >> 1
        if path > 1 and (region, path ^ 1) in waiting:
            if path % 2 == 0:
                whole = find_cell(search.roots[region], path >> 1)
                found.append(_OpenBox(whole, cell.parent_failure, parent))
        else:
            found.append(_OpenBox(cell, cell.parent_failure, parent if path > 1 else cell.key))
    return found + [_OpenBox(cell, cell.failure, cell.key) for cell in search.stuck]


def _make_pieces(grid: TubeGrid, tubes: Sequence[tuple[int, Tube]]) -> Iterator[FlowpipePiece]:
    """Slot by slot, as far as slots differ; where that is too much several slots together."""
    if not tubes:
        return
    low, high = np.stack([t.low for _, t in tubes]), np.stack([t.high for _, t in tubes])
    first = last = np.arange(grid.slots)
    most = min(MOST_PIECES, max(1, MOST_NUMBERS // (2 * grid.rows)))
    while (low <= high).all(2).sum() > most and len(first) > 1:
        pairs = np.arange(0, len(first), 2)
        low, high = np.minimum.reduceat(low, pairs, axis=1), np.maximum.reduceat(high, pairs, axis=1)
        first, last = first[pairs], last[np.minimum(pairs + 1, len(last) - 1)]
    there = np.asarray((low <= high).all(2))
    same = np.zeros(there.shape, dtype=np.bool_)
    same[:, 1:] = ((low[:, 1:] == low[:, :-1]) & (high[:, 1:] == high[:, :-1])).all(2) & there[:, 1:]
    moments: dict[tuple[int, int], tuple[Fraction, Fraction]] = {}
    for (cell, tube), here, again, down, up in zip(tubes, there, same, low, high, strict=True):
        full = np.flatnonzero((tube.low <= tube.high).all(1))
        begins = np.flatnonzero(here & ~again)
        if not len(begins):
            continue
        least, most_values = _round_outward(down[begins], up=False), _round_outward(up[begins], up=True)
        for number, place in enumerate(begins):
            end = place
            while end + 1 < len(again) and again[end + 1]:
                end += 1
            span = int(first[place]), min(int(last[end]), int(full[-1]))
            if span not in moments:
                moments[span] = grid.ends_of(*span)
            box = tuple(least[number].tolist()), tuple(most_values[number].tolist())
            yield FlowpipePiece(*moments[span], cell, *box)


def _round_outward(values: NDArray[np.float64], *, up: bool) -> NDArray[np.float64]:
    """To a few digits, so that a file stays short: whole numbers over a power of ten."""
    size = np.abs(values)
    with np.errstate(all="ignore"):
        power = np.clip(DIGITS - 1 - np.floor(np.log10(size)), -300, FINEST)
        scale = 10.0 ** np.where(np.isfinite(power), power, FINEST)
        found: NDArray[np.float64] = (np.ceil if up else np.floor)(values * scale) / scale
        good = found >= values if up else found <= values
    return np.where(good & np.isfinite(found), found, values)
