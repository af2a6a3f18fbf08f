"""Cells in a run directory: what was found of each, so that a later call goes on where one was ended.

Nothing that is read back is believed: cells that an earlier run has followed go into the certificate as they
are, and the checker follows them again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from surefoot.engines.reach.certificate_tree import options_to_json, way_to_json
from surefoot.engines.reach.flowpipe import share_shown
from surefoot.engines.reach.invariant_search import ClosedRegion, add_closed_regions
from surefoot.engines.reach.search import Cell, CellSearch, halve_cell
from surefoot.engines.reach.start_regions import Region
from surefoot.engines.reach.tubes import Key
from surefoot.engines.reach.walk import Failure
from surefoot.engines.reach.walk_options import WalkOptions
from surefoot.errors import InvalidProblem
from surefoot.formats.output_file import write_file
from surefoot.problem.problem import Problem
from surefoot.work.fingerprint import content_fingerprint
from surefoot.work.run_directory import RunDirectory, RunRecord

FORMAT = 2  # to be raised whenever records become others
OWNER = "problem"  # the file that says whose cells are in a folder
BEGIN, CELLS, CLOSED = 0, 1, 2  # kinds of records
LIMIT = 1000  # of the numbers in options


class SavedCells:
    """A run directory for one question about one problem."""

    def __init__(self, folder: Path, problem: Problem, given: object, resume: bool) -> None:
        owner = content_fingerprint((FORMAT, problem.environment, problem.policy))
        self._claim_folder(folder, owner)
        self.closed: tuple[ClosedRegion, ...] = ()  # as far as they were recalled
        self.directory = RunDirectory(folder, content_fingerprint((FORMAT, problem, given)), resume)

    def _claim_folder(self, folder: Path, owner: str) -> None:
        """Properties of a problem share a folder; another problem has no place in it."""
        name = folder / OWNER
        try:
            known = name.read_bytes() if name.exists() else None
        except OSError as why:
            raise InvalidProblem(
                f"`{name}` cannot be read: {why.strerror}", fix="choose another folder"
            ) from None
        if known is None:
            folder.mkdir(parents=True, exist_ok=True)
            write_file(name, owner + "\n")
        elif known.strip() != owner.encode():
            what = f"`{folder}` has the cells of another problem"
            raise InvalidProblem(what, fix="choose another folder, or remove it")

    def __enter__(self) -> SavedCells:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.directory.close()

    def note_begin(self, search: CellSearch, attempt: int) -> None:
        """From here on with these options, and without what was found before."""
        self._append(BEGIN, {**options_to_json(search.usual), "attempt": attempt})

    def note_cells(self, search: CellSearch, cells: Sequence[Cell]) -> None:
        self._append(CELLS, [_cell_to_record(cell, search.usual) for cell in cells])

    def note_closed(self, closed: Sequence[ClosedRegion]) -> None:
        """Regions that are no starts, behind those of the starts, with their trees."""
        self._append(CLOSED, [[_box_to_record(one.region), one.tree] for one in closed])

    def _append(self, kind: int, data: object) -> None:
        text = json.dumps(data, separators=(",", ":")).encode()
        self.directory.append((kind,), (np.frombuffer(text, dtype=np.int8),))

    def recall(self, search: CellSearch) -> int | None:
        """Put back what is known of cells; which attempt it is of, or None where nothing is recorded."""
        try:
            found = [_read_record(record) for record in self.directory.records]
            begins = [place for place, (kind, _) in enumerate(found) if kind == BEGIN]
            if not begins:
                return None
            first = found[begins[-1]][1]
            attempt = _count(first["attempt"])
            order, taylor, pieces = (_count(first[name], 1) for name in ("order", "taylor", "pieces"))
            search.usual = WalkOptions(order, taylor, pieces, _count(first.get("halvings", 0)))
            search.options = search.usual
            waiting = {cell.key: cell for cell in search.waiting}
            for kind, entries in found[begins[-1] + 1 :]:
                if kind == CLOSED:
                    self.closed = tuple(_read_closed(search, *entry) for entry in entries)
                    add_closed_regions(search, self.closed)
                    continue
                for entry in entries:
                    _put_back(search, waiting, entry)
        except (KeyError, TypeError, ValueError, IndexError, RecursionError, ZeroDivisionError):
            what = f"`{self.directory.file_name}` has no cells of this question"
            raise InvalidProblem(what, fix="remove it, or choose another folder") from None
        search.waiting = list(waiting.values())
        search.recalled = float(share_shown(search))
        return attempt


def _cell_to_record(cell: Cell, usual: WalkOptions) -> list[Any]:
    place = [cell.region, cell.path]
    if cell.outside:
        return [*place, "outside"]
    if cell.tree is not None:
        return [*place, "done", way_to_json(cell.tree, cell.options, usual)]
    assert cell.failure is not None
    return [*place, "failed", cell.split, str(cell.failure.time), cell.failure.why]


def _box_to_record(region: Region) -> dict[str, list[str]]:
    return {name: [str(low), str(high)] for name, (low, high) in region.box.items()}


def _read_closed(search: CellSearch, box: dict[str, list[str]], tree: Any) -> ClosedRegion:
    ends = {name: (Fraction(box[name][0]), Fraction(box[name][1])) for name in search.walk.loop.variables}
    if any(low > high for low, high in ends.values()):
        raise ValueError
    return ClosedRegion(Region(ends, start=False), tree)


def _read_record(record: RunRecord) -> tuple[int, Any]:
    (kind,), (text,) = record.key, record.arrays
    if kind not in (BEGIN, CELLS, CLOSED) or text.dtype != np.int8:
        raise ValueError
    return kind, json.loads(text.tobytes())


def _count(value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LIMIT:
        raise ValueError
    return value


def _put_back(search: CellSearch, waiting: dict[Key, Cell], entry: Any) -> None:
    """What was found of a cell that waits; its halves wait instead of it."""
    region, path, fate, *rest = entry
    cell = waiting.pop((region, path))
    match fate, rest:
        case "outside", []:
            cell.outside = True
        case "done", [list() as way]:
            cell.way = way
        case "failed", [int(split), str(time), str(why)]:
            cell.failure = Failure(Fraction(time), why)
            if split >= 0:
                if not cell.low[split] < cell.high[split]:
                    raise ValueError
                waiting |= {half.key: half for half in halve_cell(cell, split)}
            else:
                search.stuck.append(cell)
        case _:
            raise ValueError
    search.followed += 1
