"""Piecewise-linear networks as Z3 equations over exact rationals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.directed_rounding import BoxArray as Range
from surefoot.query.bounds import Box, linear_range, rounded_down, rounded_up
from surefoot.query.network_constraints import ChoiceWriter, Factor, Place, exact_weight, write_network
from surefoot.query.query import NetworkCall
from surefoot.solvers.z3.term_encoding import term_to_z3
from surefoot.term.linear import linearise_term


def neuron_bounds(call: NetworkCall, box: Box) -> tuple[Range, ...] | None:
    """Rigorous bounds of every value of the network for the box of a query; None where an input has none."""
    try:
        inputs = [linear_range(linearise_term(t), box) for t in call.inputs]
    except Unsupported:
        return None
    ends = [(low, high) for low, high in inputs if low is not None and high is not None and low <= high]
    if len(ends) < len(inputs):
        return None
    low = np.array([rounded_down(a) for a, _ in ends])
    high = np.array([rounded_up(b) for _, b in ends])
    found = linear_bounds(call.network, low, high)
    return found if all(np.isfinite(r.low).all() and np.isfinite(r.high).all() for r in found) else None


class _Z3Writer(ChoiceWriter[Any]):
    """`known`: bounds of every value of the network. They are asserted, and decide ReLUs of one sign."""

    def __init__(
        self, z3: Any, context: Any, solver: Any, number: int, known: tuple[Range, ...] | None
    ) -> None:
        self.z3, self.context, self.solver, self.call = z3, context, solver, number
        self.known = None if known is None else [(r.low.tolist(), r.high.tolist()) for r in known]

    def _rational(self, value: Factor) -> Any:
        return z3_rational(self.z3, self.context, value)

    def affine(self, inputs: Sequence[tuple[float, Any]], bias: float, place: Place) -> Any:
        fresh = self.z3.FreshReal(f"call{self.call}.{place[0] - 1}", ctx=self.context)
        self.solver.add(fresh == self.combine(inputs, bias, place))
        if self.known is not None:
            low, high = (ends[place[1]] for ends in self.known[place[0]])
            self.solver.add(fresh >= self._rational(low), fresh <= self._rational(high))
        return fresh

    def combine(self, parts: Sequence[tuple[Factor, Any]], constant: Factor, place: Place | None) -> Any:
        terms = [x if factor == 1 else self._rational(factor) * x for factor, x in parts]
        if constant or not terms:
            terms.append(self._rational(constant))
        return terms[0] if len(terms) == 1 else self.z3.Sum(*terms)

    def choose(self, x: Any, relation: str, y: Any, then: Any, otherwise: Any) -> Any:
        return self.z3.If(x < y if relation == "<" else x >= y, then, otherwise)

    def relu(self, x: Any, source: Place | None) -> Any:
        if self.known is not None and source is not None:
            low, high = (ends[source[1]] for ends in self.known[source[0]])
            if low >= 0 or high <= 0:
                return x if low >= 0 else self._rational(0)
        return super().relu(x, source)


def assert_call(
    z3: Any,
    context: Any,
    solver: Any,
    call: NetworkCall,
    names: Mapping[str, Any],
    number: int,
    known: tuple[Range, ...] | None = None,
) -> None:
    """Tie a call's output quantities to its inputs; `number` keeps the names of its inner values apart."""
    inputs = [term_to_z3(z3, context, t, names) for t in call.inputs]
    for meaning in inputs:
        solver.add(meaning.defined)
    first = [z3.ToReal(m.value) if m.value.is_int() else m.value for m in inputs]
    outputs = write_network(call.network, first, _Z3Writer(z3, context, solver, number, known))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, outputs, slack, strict=True):
        if extra:
            solver.add(names[name] - value <= z3_rational(z3, context, extra))
            solver.add(value - names[name] <= z3_rational(z3, context, extra))
        else:
            solver.add(names[name] == value)


def z3_rational(z3: Any, context: Any, value: float | Fraction) -> Any:
    """An exact number; a weight that is none is refused."""
    exact = exact_weight(value)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}", ctx=context)
