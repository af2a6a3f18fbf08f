"""Piecewise-linear networks as Z3 equations over exact rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.directed_rounding import BoxArray as Range
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.query.bounds import Box, linear_range
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
    low = np.array([_round_towards(a, -np.inf) for a, _ in ends])
    high = np.array([_round_towards(b, np.inf) for _, b in ends])
    found = linear_bounds(call.network, low, high).values
    return found if all(np.isfinite(r.low).all() and np.isfinite(r.high).all() for r in found) else None


def _round_towards(value: Fraction, side: float) -> float:
    """The number itself, or the next float on that side."""
    near = float(value)
    outside = near < value if side > 0 else near > value
    return float(np.nextafter(near, side)) if outside else near


def assert_call(
    z3: Any,
    context: Any,
    solver: Any,
    call: NetworkCall,
    names: Mapping[str, Any],
    number: int,
    known: tuple[Range, ...] | None = None,
) -> None:
    """Tie a call's output quantities to its inputs; `number` keeps the names of its inner values apart.

    `known`: bounds of every value of the network. They are asserted, and decide ReLUs of one sign.
    """
    inputs = [term_to_z3(z3, context, t, names) for t in call.inputs]
    for meaning in inputs:
        solver.add(meaning.defined)
    values: list[list[Any]] = [[z3.ToReal(m.value) if m.value.is_int() else m.value for m in inputs]]
    for position, node in enumerate(call.network.nodes):
        if isinstance(node, Affine):
            # A constant per output: substituting sums into sums would grow without limit.
            fresh = [z3.FreshReal(f"call{number}.{position}", ctx=context) for _ in node.bias]
            for constant, total in zip(
                fresh, _affine_sums(z3, context, node, values[node.source]), strict=True
            ):
                solver.add(constant == total)
            if known is not None:
                ends = zip(known[position + 1].low.tolist(), known[position + 1].high.tolist(), strict=True)
                for constant, (low, high) in zip(fresh, ends, strict=True):
                    solver.add(
                        constant >= z3_rational(z3, context, low), constant <= z3_rational(z3, context, high)
                    )
            values.append(fresh)
        elif isinstance(node, Activation) and node.shape is Shape.RELU and known is not None:
            around = zip(
                values[node.source],
                known[node.source].low.tolist(),
                known[node.source].high.tolist(),
                strict=True,
            )
            values.append([_encode_relu(z3, context, x, low, high) for x, low, high in around])
        else:
            values.append(_encode_node(z3, context, node, values))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        if extra:
            solver.add(names[name] - value <= z3_rational(z3, context, extra))
            solver.add(value - names[name] <= z3_rational(z3, context, extra))
        else:
            solver.add(names[name] == value)


def z3_rational(z3: Any, context: Any, value: float | Fraction) -> Any:
    """An exact number; a weight that is none is refused."""
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError):
        raise InvalidProblem("the network has a weight that is not a finite number") from None
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}", ctx=context)


def _affine_sums(z3: Any, context: Any, node: Affine, inputs: list[Any]) -> list[Any]:
    totals = []
    for weights, bias in zip(node.weights.tolist(), node.bias.tolist(), strict=True):
        parts = [z3_rational(z3, context, w) * x for w, x in zip(weights, inputs, strict=True) if w]
        totals.append(
            z3.Sum(*parts, z3_rational(z3, context, bias)) if parts else z3_rational(z3, context, bias)
        )
    return totals


def _encode_node(z3: Any, context: Any, node: Node, values: list[list[Any]]) -> list[Any]:
    match node:
        case Elementwise(source, kind, constant):
            pairs = zip(values[source], constant.tolist(), strict=True)
            return [_with_constant(x, kind, z3_rational(z3, context, c)) for x, c in pairs]
        case Activation(source, shape, parameters):
            limits = [z3_rational(z3, context, p) for p in parameters]
            return [_encode_activation(z3, context, x, shape, limits) for x in values[source]]
        case Combine(left, right, Pairing.ADD):
            return [x + y for x, y in zip(values[left], values[right], strict=True)]
        case Combine(left, right, Pairing.MAXIMUM):
            return [z3.If(x >= y, x, y) for x, y in zip(values[left], values[right], strict=True)]
        case Combine(left, right, Pairing.MULTIPLY):
            return [x * y for x, y in zip(values[left], values[right], strict=True)]
        case Combine(_, _, Pairing.DIVIDE):
            raise Unsupported(
                "a quotient of two values is not piecewise linear", fix="use a solver for quotients"
            )
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(several):
            return [x for s in several for x in values[s]]
        case _:
            raise AssertionError("affine nodes are handled where constants are made")


def _with_constant(x: Any, kind: Constant, constant: Any) -> Any:
    match kind:
        case Constant.ADD:
            return x + constant
        case Constant.MULTIPLY:
            return x * constant
        case Constant.DIVIDE:
            return x / constant


def _encode_relu(z3: Any, context: Any, x: Any, low: float, high: float) -> Any:
    zero = z3_rational(z3, context, 0.0)
    return x if low >= 0 else zero if high <= 0 else z3.If(x > 0, x, zero)


def _encode_activation(z3: Any, context: Any, x: Any, shape: Shape, parameters: list[Any]) -> Any:
    zero = z3_rational(z3, context, 0.0)
    match shape:
        case Shape.RELU:
            return z3.If(x > 0, x, zero)
        case Shape.LEAKY_RELU:
            return z3.If(x < 0, parameters[0] * x, x)
        case Shape.CLIP:
            low, high = parameters
            above = z3.If(x < low, low, x)
            return z3.If(above > high, high, above)
        case Shape.TANH | Shape.SIGMOID:
            raise Unsupported(
                f"{shape.value} is not piecewise linear", fix="use a solver for smooth activations"
            )
