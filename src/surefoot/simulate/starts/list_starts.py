"""All values that a block of whole numbers and truth values can start with, as columns.

Names get their values one after another. A conjunct is looked at as soon as all its names have values, a
linear one also before: the names that are still open may only take it so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import SurefootError
from surefoot.simulate.starts.start_cases import Atom, Block, Box, Case, bounds_of_kind, is_whole_kind
from surefoot.term.columns import compile_columns
from surefoot.term.interval import Scalar
from surefoot.term.term import Op, free_names
from surefoot.term.value_types import Arithmetic, Bool

MOST_LISTED = 1_000_000
_MOST_TRIED = 1_000_000  # rows at once
_SMALL = 2**40  # whole numbers that sums of which fit into 64 bits


def list_block(
    block: Block, arithmetic: Arithmetic, cases: Sequence[Case] = ()
) -> dict[str, NDArray[Any]] | None:
    """Every start of the block once; None where there are too many, or real numbers.

    Without cases only where there are few combinations of values at all.
    """
    if not all(map(is_whole_kind, block.kinds.values())):
        return None
    everything = Case({name: bounds_of_kind(kind) for name, kind in block.kinds.items()})
    ranges = _joint_ranges(block.kinds, cases or [everything])
    if ranges is None or (not cases and prod(map(len, ranges.values())) > _MOST_TRIED):
        return None
    cases = cases or [everything]
    names = sorted(block.kinds, key=lambda n: len(ranges[n]))
    atoms = cases[0].atoms if len(cases) == 1 else ()
    checks: dict[str, list[Any]] = {n: [] for n in names}
    for part in block.conjuncts:
        checks[max(free_names(part), key=names.index)].append(part)
    table: dict[str, NDArray[Any]] = {}
    count = 1
    for number, name in enumerate(names):
        values = np.arange(ranges[name].start, ranges[name].stop, dtype=np.int64)
        if count * len(values) > _MOST_TRIED:
            return None
        table = {n: np.repeat(column, len(values)) for n, column in table.items()}
        new = np.tile(values, count)
        table[name] = new.astype(np.bool_) if isinstance(block.kinds[name], Bool) else new
        count = len(new)
        kept = _may_still_hold(table, count, atoms, cases[0].box, set(names[number + 1 :]))
        if checks[name]:
            try:
                found = compile_columns(checks[name], block.kinds, arithmetic)(table, count)
            except SurefootError:
                return None
            for column, lost in zip(found.columns, found.lost, strict=True):
                kept &= column & ~lost
        table = {n: column[kept] for n, column in table.items()}
        count = int(kept.sum())
    return table if count <= MOST_LISTED else None


def _joint_ranges(kinds: Mapping[str, Scalar], cases: Sequence[Case]) -> dict[str, range] | None:
    found: dict[str, range] = {}
    for name in kinds:
        lows, highs = ([getattr(c.box[name], end) for c in cases] for end in ("low", "high"))
        if None in lows or None in highs or max(map(abs, [*lows, *highs])) > _SMALL:
            return None
        found[name] = range(int(min(lows)), int(max(highs)) + 1)
        if len(found[name]) > _MOST_TRIED:
            return None
    return found


def _may_still_hold(
    table: Mapping[str, NDArray[Any]], count: int, atoms: Sequence[Atom], box: Box, unset: set[str]
) -> NDArray[np.bool_]:
    """By what the linear comparisons can still become, in doubles with some room."""
    kept = np.ones(count, dtype=np.bool_)
    for atom in atoms:
        low = high = np.full(count, float(atom.form.constant))
        size = abs(float(atom.form.constant))
        for name, c in atom.form.coefficients:
            factor, ends = float(c), [float(b) for b in (box[name].low, box[name].high) if b is not None]
            size += abs(factor) * max(map(abs, ends))
            if name in unset:
                low, high = low + min(factor * e for e in ends), high + max(factor * e for e in ends)
            else:
                low, high = low + factor * table[name], high + factor * table[name]
        room = 1e-12 * size
        kept &= low <= room
        if atom.op is Op.EQ:
            kept &= high >= -room
    return kept
