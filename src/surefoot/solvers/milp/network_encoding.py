"""Piecewise-linear networks as rows of a mixed-integer program.

An entry is a float expression over columns. An affine layer gets a column per output; a ReLU whose sign is
not settled by the bounds gets a column and a 0-1 column. Weights are float32, so rows are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from surefoot.network.directed_rounding import BoxArray
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.query.network_constraints import Factor, Place, ReluWriter, write_network
from surefoot.query.query import NetworkCall
from surefoot.solvers.milp.program import MixedIntegerProgram
from surefoot.term.linear import LinearForm, linearise_term


@dataclass(frozen=True, slots=True)
class _AffineExpression:
    """Sum of coefficient times column, plus a constant; low and high bound its value."""

    low: float
    high: float
    constant: float = 0.0
    entries: dict[int, float] = field(default_factory=dict)


class _MilpWriter(ReluWriter[_AffineExpression]):
    def __init__(self, program: MixedIntegerProgram, bounds: Sequence[BoxArray]) -> None:
        self.program = program
        self.ends = [(box.low.tolist(), box.high.tolist()) for box in bounds]

    def _ends(self, place: Place) -> tuple[float, float]:
        low, high = self.ends[place[0]]
        return low[place[1]], high[place[1]]

    def affine(
        self, inputs: Sequence[tuple[float, _AffineExpression]], bias: float, place: Place
    ) -> _AffineExpression:
        total = self.combine(inputs, bias, place)
        if not total.entries:
            return total
        column = self.program.column(total.low, total.high)
        total.entries[column] = -1.0
        self.program.row(-total.constant, -total.constant, total.entries)
        return _AffineExpression(total.low, total.high, 0.0, {column: 1.0})

    def combine(
        self, parts: Sequence[tuple[Factor, _AffineExpression]], constant: Factor, place: Place | None
    ) -> _AffineExpression:
        entries: dict[int, float] = {}
        total = float(constant)
        for factor, x in parts:
            total += float(factor * x.constant)
            for column, coefficient in x.entries.items():
                entries[column] = entries.get(column, 0.0) + _product(factor, coefficient)
        low, high = self._ends(place) if place is not None else _sum_range(parts, constant)
        return _AffineExpression(low, high, total, entries)

    def relu(self, x: _AffineExpression, source: Place | None) -> _AffineExpression:
        if x.low >= 0:
            return x
        if x.high <= 0:
            return _AffineExpression(0.0, 0.0)
        program = self.program
        column, phase = program.column(0.0, x.high), program.column(0.0, 1.0, whole=True)
        minus = {c: -v for c, v in x.entries.items()}
        program.row(x.constant, inf, minus | {column: 1.0})  # y >= x
        program.row(-inf, x.constant - x.low, minus | {column: 1.0, phase: -x.low})  # y <= x - low*(1-d)
        program.row(-inf, 0.0, {column: 1.0, phase: -x.high})  # y <= high*d
        return _AffineExpression(0.0, x.high, 0.0, {column: 1.0})


def _product(factor: Factor, coefficient: float) -> float:
    """Rounded once: a factor that is no float is a quotient."""
    return float(factor * Fraction(coefficient)) if isinstance(factor, Fraction) else factor * coefficient


def _sum_range(parts: Sequence[tuple[Factor, _AffineExpression]], constant: Factor) -> tuple[float, float]:
    """Bounds of a sum, rounded outward."""
    low = high = Fraction(constant)
    for factor, x in parts:
        ends = sorted((Fraction(factor) * Fraction(x.low), Fraction(factor) * Fraction(x.high)))
        low, high = low + ends[0], high + ends[1]
    return rounded_down(low), rounded_up(high)


def encode_milp_call(program: MixedIntegerProgram, call: NetworkCall, bounds: Sequence[BoxArray]) -> None:
    """Rows that tie a call's output quantities to its inputs."""
    writer = _MilpWriter(program, bounds)
    inputs = [
        _encode_input(program, linearise_term(t), low, high)
        for t, low, high in zip(call.inputs, *writer.ends[0], strict=True)
    ]
    outputs = write_network(call.network, inputs, writer)
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, outputs, slack, strict=True):
        own = program.names[name]
        entries = {**value.entries, own: value.entries.get(own, 0.0) - 1.0}
        room = rounded_up(extra)
        program.row(-room - value.constant, room - value.constant, entries)


def _encode_input(
    program: MixedIntegerProgram, linear: LinearForm, low: float, high: float
) -> _AffineExpression:
    """A column of its own unless the input is just a quantity: its row may need rounding."""
    if len(linear.coefficients) == 1 and linear.coefficients[0][1] == 1 and not linear.constant:
        return _AffineExpression(low, high, 0.0, {program.names[linear.coefficients[0][0]]: 1.0})
    column = program.column(low, high)
    slip = rounded_up(program.slip(linear))
    entries = {program.names[n]: float(c) for n, c in linear.coefficients} | {column: -1.0}
    program.row(rounded_down(-linear.constant) - slip, rounded_up(-linear.constant) + slip, entries)
    return _AffineExpression(low, high, 0.0, {column: 1.0})
