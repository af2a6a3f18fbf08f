"""Bounds of batches of boxes by machine code, as sheets: a row for every box, a column for every entry."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.back_substitution import Planes
from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.solvers.native.relu_chain.backward import backward_functions
from surefoot.solvers.native.relu_chain.forward import forward_functions
from surefoot.solvers.native.relu_chain.layer_tables import ALL, ReluChain, address_of
from surefoot.solvers.native.relu_chain.llvm_builder import (
    DECLARED,
    SHEETS,
    AscentArray,
    LayerWord,
    TableField,
)
from surefoot.solvers.native.relu_chain.slope_ascent import climb_functions
from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir

WORTH = 0.05  # a bound that gains less than this part of the width is not taken over
Words: TypeAlias = dict[TableField, int | Array | NDArray[np.bool_]]  # of the table; an array is its address


@dataclass(frozen=True, slots=True, eq=False)
class BoundArrays(BatchRecord):
    """What is known about a batch of boxes."""

    chain: ReluChain
    low: Array
    high: Array
    below: Array
    above: Array
    constant: Array
    cost: Array
    real: Array
    radius: Array
    used_low: NDArray[np.bool_]
    used_high: NDArray[np.bool_]

    def box(self, value: int) -> BoxArray:
        at = self.chain.columns[value]
        return BoxArray(self.low[:, at], self.high[:, at])

    def inheritance(self) -> BoxArray:
        """What holds for all parts of the boxes, and is not found by intervals alone."""
        chosen = self.chain.bounded
        return BoxArray(np.where(chosen, self.low, -np.inf), np.where(chosen, self.high, np.inf))

    def with_bounds(
        self, value: int, box: BoxArray, low: NDArray[np.bool_], high: NDArray[np.bool_]
    ) -> BoundArrays:
        """The same with another box for a layer, for its parts; `low`, `high`: what is still in use."""
        changed = {"low": box.low, "high": box.high, "used_low": low, "used_high": high}
        arrays = {name: getattr(self, name).copy() for name in changed}
        for name, part in changed.items():
            arrays[name][:, self.chain.columns[value]] = part
        return replace(self, **arrays)

    def all_linear(self) -> NDArray[np.bool_]:
        """Per box, whether no ReLU is open."""
        is_open = (self.low < 0.0) & (self.high > 0.0) & self.chain.bent
        return np.asarray(~is_open.any(axis=1))

    def open_relus(self) -> int:
        """How many of the first box are open."""
        return int(np.count_nonzero((self.low[0] < 0.0) & (self.high[0] > 0.0) & self.chain.bent))

    def in_reals(self) -> BoundArrays:
        """Without the rounding of float32."""
        return replace(self, cost=self.real)


_NAMES = tuple(name for name in BoundArrays.__dataclass_fields__ if name != "chain")


@lru_cache(maxsize=1)
def load_chain_functions() -> dict[str, Callable[[int], int]] | None:
    """The functions in machine code; None where it cannot be had."""
    functions = (*backward_functions(), *forward_functions(WORTH), *climb_functions())
    text = "\n".join([DECLARED, *(f.text() for f in functions), ""])
    try:
        code = compile_llvm_ir(text, cache_folder(), 2)
    except (ImportError, OSError, RuntimeError) as error:
        logging.getLogger(__name__).info("no machine code: %s", error)
        return None
    names = ("bound", "below", "climb")
    return {name: partial(_call_function, code, code.function(name)) for name in names}


def _call_function(code: Machine, function: Callable[[int], int], table: int) -> int:
    """The code must live as long as its functions."""
    return function(table)


def _run_function(name: str, chain: ReluChain, boxes: int, fields: Words) -> None:
    """Call a function with these words."""
    functions, table = load_chain_functions(), chain.table.copy()
    assert functions is not None
    table[TableField.BOXES] = boxes
    for field, given in fields.items():
        table[field] = given if isinstance(given, int) else address_of(given)
    functions[name](address_of(table))


def bound_chain_boxes(
    chain: ReluChain, box: BoxArray, known: Mapping[int, BoxArray], substitutes: bool
) -> BoundArrays:
    """Bounds of all layers; where a number leaves the range of float64 they say nothing."""
    boxes, inputs = len(box.low), box.low.shape[1]
    sheets = np.empty((len(SHEETS), boxes, chain.width))
    sheets[:, :, : chain.records[0, LayerWord.PADDED]] = 0.0
    sheets[0, :, :inputs], sheets[1, :, :inputs] = box.low, box.high
    used = np.zeros((2, boxes, chain.width), dtype=np.bool_)
    return _compute_bound_arrays(chain, sheets, used, known, substitutes, 1)


def replace_layer_box(
    sheet: BoundArrays, value: int, box: BoxArray, low: NDArray[np.bool_], high: NDArray[np.bool_]
) -> BoundArrays:
    """The same with another box for a layer and what follows from it; `low`, `high`: what is still in use."""
    sheets = np.stack([getattr(sheet, name) for name in _NAMES[: len(SHEETS)]])
    used = np.stack([sheet.used_low, sheet.used_high])
    at, ends = sheet.chain.columns[value], vacuous_box(sheet.chain, len(sheet.low))
    used[0][:, at], used[1][:, at] = low, high
    ends.low[:, at], ends.high[:, at] = box.low, box.high
    start = 1 + sheet.chain.values.index(value)
    return _compute_bound_arrays(sheet.chain, sheets, used, {ALL: ends}, False, start)


def _compute_bound_arrays(
    chain: ReluChain,
    sheets: Array,
    used: NDArray[np.bool_],
    known: Mapping[int, BoxArray],
    substitutes: bool,
    start: int,
) -> BoundArrays:
    at, step = address_of(sheets), sheets.strides[0]
    fields: Words = {field: at + i * step for i, field in enumerate(SHEETS)}
    at, step = address_of(used), used.strides[0]
    fields |= {TableField.USED_LOW: at, TableField.USED_HIGH: at + step}
    fields |= {TableField.SUBSTITUTES: int(substitutes), TableField.START: start}
    if known:
        whole = known[ALL]
        low, high = np.ascontiguousarray(whole.low), np.ascontiguousarray(whole.high)
        fields |= {TableField.KNOWN_LOW: low, TableField.KNOWN_HIGH: high}
    _run_function("bound", chain, sheets.shape[1], fields)
    if not np.isfinite(sheets[:2]).all():
        sheets[0] = np.nan_to_num(sheets[0], nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
        sheets[1] = np.nan_to_num(sheets[1], nan=np.inf, posinf=np.inf, neginf=np.inf)
    return BoundArrays(chain, *sheets, *used)


def vacuous_box(chain: ReluChain, boxes: int) -> BoxArray:
    """Bounds that say nothing."""
    shape = (boxes, chain.width)
    return BoxArray(np.full(shape, -np.inf), np.full(shape, np.inf))


def replace_lower_slopes(sheet: BoundArrays, slopes: Array) -> BoundArrays:
    """The same with these slopes below open ReLUs."""
    movable = (sheet.low < 0.0) & (sheet.high > 0.0)
    return replace(sheet, below=np.where(movable, slopes, sheet.below))


def chain_planes_below(
    sheet: BoundArrays, rows: Array, trace: Array | None = None
) -> tuple[Array, Array, Array]:
    """Coefficients and constants of planes below rows of the last layer, and their least values.

    Rows of shape (1 or boxes, rows, entries of the last layer); `trace` is filled with what meets the ReLUs.
    """
    boxes, count = len(sheet.low), rows.shape[1]
    wide, inputs = (int(sheet.chain.records[i, LayerWord.WIDTH]) for i in (-1, 0))
    if rows.shape[2] != wide or len(rows) not in (1, boxes):
        raise ValueError(f"rows of shape {rows.shape} for {boxes} boxes and {wide} outputs")
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    planes, (constants, least) = np.empty((boxes, count, inputs)), np.empty((2, boxes, count))
    fields = _relaxation_fields(sheet, sheet.below) | {
        TableField.ROWS: rows,
        TableField.ROW_COUNT: count,
        TableField.ROW_STEP: count * wide if len(rows) > 1 else 0,
        TableField.PLANES: planes,
        TableField.CONSTANTS: constants,
        TableField.LEAST: least,
    }
    if trace is not None:
        fields[TableField.TRACE] = trace
    _run_function("below", sheet.chain, boxes, fields)
    if not np.isfinite(least).all():
        lost = ~np.isfinite(least)
        planes[lost], constants[lost], least[lost] = 0.0, -np.inf, -np.inf
    return planes, constants, least


def _relaxation_fields(sheet: BoundArrays, below: Array) -> Words:
    return {
        TableField.LOW: sheet.low,
        TableField.HIGH: sheet.high,
        TableField.BELOW: below,
        TableField.ABOVE: sheet.above,
        TableField.CONSTANT: sheet.constant,
        TableField.COST: sheet.cost,
    }


@dataclass(frozen=True, slots=True, eq=False)
class BestPlane:
    """Per box: the plane, its minimum, the row of multipliers over the outputs, and where to split."""

    plane: Planes
    value: Array
    height: Array  # the minimum but for all roundings
    row: Array
    slopes: dict[int, Array]  # of the functions below ReLUs that the plane rests on, by value
    gain: Array  # per input, how much a narrower input would straighten


def ascend_chain_slopes(
    sheet: BoundArrays, rows: Array, shares: Array, scales: Array, steps: int
) -> BestPlane:
    """Ascend from shares of some rows, (boxes, rows) of them with their scales."""
    chain = sheet.chain
    boxes, inputs = len(sheet.low), int(chain.records[0, LayerWord.WIDTH])
    rows, shares = np.ascontiguousarray(rows), np.array(shares)
    scales = np.ascontiguousarray(np.broadcast_to(scales, shares.shape))
    none = np.full(boxes, -np.inf)
    found = BestPlane(
        Planes(np.zeros((boxes, 1, inputs)), none[:, None]),
        none.copy(),
        none.copy(),
        (shares * scales) @ rows,
        {ALL: sheet.below.copy()},
        np.zeros((boxes, inputs)),
    )
    fields = _relaxation_fields(sheet, found.slopes[ALL]) | {
        TableField.ROWS: rows,
        TableField.ROW_COUNT: len(rows),
        TableField.SHARES: shares,
        TableField.SCALES: scales,
        TableField.STEPS: steps,
        TableField.MULTIPLIERS: found.row,
        TableField.PLANES: found.plane.coefficients,
        TableField.CONSTANTS: found.plane.constant,
        TableField.LEAST: found.value,
        TableField.HEIGHTS: found.height,
        TableField.GAINS: found.gain,
        TableField.WORK: np.empty((len(AscentArray), chain.width)),
    }
    _run_function("climb", chain, boxes, fields)
    return found
