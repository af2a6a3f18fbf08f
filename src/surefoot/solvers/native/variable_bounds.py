"""Bounds of the free quantities of a query and of the outputs of its networks, exact and in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf, nextafter

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.directed_rounding import Array
from surefoot.network.float32_error import error_bounds
from surefoot.network.interval import interval_bounds
from surefoot.query.bounds import Interval, float32_near, linear_range
from surefoot.query.query import NetworkCall
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.value_types import Bool, Int, Real


class VariableBounds(dict[str, Interval]):
    """Bounds by name; those of outputs of networks are computed when they are first asked for."""

    def __init__(self, known: Mapping[str, Interval]) -> None:
        super().__init__(known)
        self.owners: dict[str, Callable[[], dict[str, Interval]]] = {}

    def __missing__(self, name: str) -> Interval:
        self.update(self.owners[name]())
        return self[name]


def round_bounds_inward(kind: Bool | Int | Real, bounds: Interval) -> Interval:
    """Bounds moved inward to numbers of the kind: whole ones, float32 ones."""
    low, high = bounds
    if isinstance(kind, Int):
        return (None if low is None else Fraction(ceil(low)), None if high is None else Fraction(floor(high)))
    if not isinstance(kind, Real) or not kind.float32:
        return bounds
    return (
        None if low is None else float32_near(low, up=True),
        None if high is None else float32_near(high, up=False),
    )


def bound_outputs(call: NetworkCall, room: VariableBounds, single: frozenset[str]) -> None:
    """The ranges of the raw outputs of a call, by intervals, for when they are asked for."""
    inputs = [linear_range(linearise_term(t), room) for t in call.inputs]
    for term, ends in zip(call.inputs, inputs, strict=True):
        if None in ends:
            name = next(n for n, _ in linearise_term(term).coefficients if None in room[n])
            raise Unsupported(
                f"`{name}` has no bounds, and a network reads it",
                fix=f"give a lower and an upper bound for `{name}`",
            )
    room.owners |= dict.fromkeys(call.outputs, partial(_output_ranges, call, inputs, single))


def _output_ranges(
    call: NetworkCall, inputs: Sequence[Interval], single: frozenset[str]
) -> dict[str, Interval]:
    low, high = float_box(inputs)
    values = interval_bounds(call.network, low, high)
    found, ranges = values[-1], {}
    errors = [0.0] * len(call.outputs)
    if call.float32:
        inexact = not all(single_variable_name(linearise_term(t)) in single for t in call.inputs)
        errors = error_bounds(call.network, low, high, input_rounding=inexact, values=values).tolist()
    for name, least, most, error in zip(
        call.outputs, found.low.tolist(), found.high.tolist(), errors, strict=True
    ):
        ranges[name] = (
            None if inf in (-least, error) else Fraction(least) - Fraction(error),
            None if inf in (most, error) else Fraction(most) + Fraction(error),
        )
    return ranges


def float_box(bounds: Sequence[Interval]) -> tuple[Array, Array]:
    """The bounds in float64, rounded outward; no bound is infinite."""
    low = np.array([_float_below(low) for low, _ in bounds], dtype=np.float64)
    high = np.array([-_float_below(None if high is None else -high) for _, high in bounds], dtype=np.float64)
    return low, high


def _float_below(value: Fraction | None) -> float:
    try:
        near = -inf if value is None else float(value)
    except OverflowError:
        return -inf
    if value is None or abs(near) >= 2.0**1023:
        return -inf
    top, bottom = near.as_integer_ratio()
    return near if top * value.denominator <= value.numerator * bottom else nextafter(near, -inf)


def single_variable_name(row: LinearForm) -> str | None:
    """The name that a row is, if it is nothing else."""
    if len(row.coefficients) != 1 or row.constant or row.coefficients[0][1] != 1:
        return None
    return row.coefficients[0][0]
