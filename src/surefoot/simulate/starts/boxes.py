"""Values of single scalars within bounds: uniform where there are two, spread where there are not."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.simulate.batch.model import value_at_share
from surefoot.simulate.starts.sample_case import Values
from surefoot.simulate.starts.start_cases import Bounds, Box
from surefoot.term.interval import Scalar
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

UNIFORM_BITS = 32  # of a real number within its range, in exact arithmetic
_CORNERS = 0.4  # share of the rows of a box of which some coordinates are at an end
_MOST_RANGE = 2**62


def draw_box(
    box: Box,
    kinds: Mapping[str, Scalar],
    arithmetic: Arithmetic,
    count: int,
    rng: np.random.Generator,
    corners: bool,
) -> Values:
    extreme = rng.random(count) < (_CORNERS if corners else 0.0)
    found: Values = {}
    for name, kind in kinds.items():
        bounds = box[name]
        column = draw_between(bounds, kind, arithmetic, count, rng)
        for end, is_open in ((bounds.low, bounds.low_open), (bounds.high, bounds.high_open)):
            if corners and end is not None and not is_open:
                column = _put_end(column, extreme & (rng.random(count) < 0.45), end, kind, arithmetic)
        found[name] = column
    return found


def _put_end(
    column: NDArray[Any], rows: NDArray[np.bool_], end: Fraction, kind: Scalar, arithmetic: Arithmetic
) -> NDArray[Any]:
    if (
        isinstance(kind, Real)
        and arithmetic is Arithmetic.EXACT
        and not kind.float32
        and Fraction(float(end)) != end
    ):
        column = column.astype(object)
        column[rows] = end
    elif not isinstance(kind, Real) or Fraction(float(end)) == end:
        column = column.copy()
        column[rows] = (
            bool(end) if isinstance(kind, Bool) else int(end) if isinstance(kind, Int) else float(end)
        )
    return column


def draw_between(
    bounds: Bounds, kind: Scalar, arithmetic: Arithmetic, count: int, rng: np.random.Generator
) -> NDArray[Any]:
    low, high = bounds.low, bounds.high
    if low is not None and bounds.is_point():
        return constant_column(low, kind, arithmetic, count)
    match kind:
        case Bool():
            return rng.random(count) < 0.5
        case Int() if low is not None and high is not None:
            if max(abs(low), abs(high)) > _MOST_RANGE:
                raise Unsupported("integers of more than 62 bits are not drawn", fix="bound them")
            return rng.integers(int(low), int(high), size=count, endpoint=True)
        case Int():
            whole = Int(None if low is None else int(low), None if high is None else int(high))
            return np.asarray(value_at_share(whole, rng.random(count)))
        case Real(_, _, float32):
            if low is None or high is None:
                spread = value_at_share(Real(low, high, float32), rng.random(count))
                return np.asarray(spread)
            return _draw_real(low, high, float32, arithmetic, count, rng)
    raise Unsupported("arrays are drawn by their elements")


def constant_column(value: Fraction, kind: Scalar, arithmetic: Arithmetic, count: int) -> NDArray[Any]:
    if isinstance(kind, Bool):
        return np.full(count, bool(value))
    if isinstance(kind, Int):
        return np.full(count, int(value), dtype=np.int64)
    if arithmetic is Arithmetic.EXACT and Fraction(float(value)) != value:
        return np.full(count, value, dtype=object)
    return np.full(count, float(value))


def _draw_real(
    low: Fraction, high: Fraction, float32: bool, arithmetic: Arithmetic, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Uniformly; in exact arithmetic of numbers with few binary digits, if there are any in the range."""
    first, last = float(low), float(high)
    column = first + (last - first) * rng.random(count)
    column = round_to_grid(column, last - first, float32, arithmetic)
    return np.clip(column, _inner(low, up=True), _inner(high, up=False))


def round_to_grid(
    column: NDArray[np.float64], width: float, float32: bool, arithmetic: Arithmetic
) -> NDArray[np.float64]:
    """Numbers with few binary digits after the first of the width; doubles stay as they are."""
    if arithmetic is Arithmetic.EXACT and width > 0:
        grid = 2.0 ** (np.floor(np.log2(width)) - UNIFORM_BITS)
        column = np.rint(column / grid) * grid
    return column.astype(np.float32).astype(np.float64) if float32 else column


def _inner(end: Fraction, *, up: bool) -> float:
    near = float(end)
    if near == end or (near > end) is up:
        return near
    return float(np.nextafter(near, np.inf if up else -np.inf))


def box_volume(box: Box, kinds: Mapping[str, Scalar]) -> Fraction | None:
    total = Fraction(1)
    for name, kind in kinds.items():
        low, high = box[name].low, box[name].high
        if low is None or high is None:
            return None
        total *= high - low if isinstance(kind, Real) else high - low + 1
    return total


def rows_in_box(values: Values, box: Box, kinds: Mapping[str, Scalar]) -> NDArray[np.bool_]:
    inside = np.ones(len(next(iter(values.values()))), dtype=np.bool_)
    for name in kinds:
        column = values[name].astype(np.float64)
        low, high = box[name].low, box[name].high
        inside &= (low is None or column >= float(low)) & (high is None or column <= float(high))
    return inside
