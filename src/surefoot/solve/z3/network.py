"""Piecewise-linear networks as Z3 equations over exact rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
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
from surefoot.query.query import NetworkCall
from surefoot.solve.z3.terms import translate


def assert_call(
    z3: Any, context: Any, solver: Any, call: NetworkCall, names: Mapping[str, Any], number: int
) -> None:
    """Tie a call's output quantities to its inputs; `number` keeps the names of its inner values apart."""
    inputs = [translate(z3, context, t, names) for t in call.inputs]
    for meaning in inputs:
        solver.add(meaning.defined)
    values: list[list[Any]] = [[z3.ToReal(m.value) if m.value.is_int() else m.value for m in inputs]]
    for position, node in enumerate(call.network.nodes):
        if isinstance(node, Affine):
            # A constant per output: substituting sums into sums would grow without limit.
            fresh = [z3.FreshReal(f"call{number}.{position}", ctx=context) for _ in node.bias]
            for constant, total in zip(fresh, _sums(z3, context, node, values[node.source]), strict=True):
                solver.add(constant == total)
            values.append(fresh)
        else:
            values.append(_node(z3, context, node, values))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        if extra:
            solver.add(names[name] - value <= rational(z3, context, extra))
            solver.add(value - names[name] <= rational(z3, context, extra))
        else:
            solver.add(names[name] == value)


def rational(z3: Any, context: Any, value: float | Fraction) -> Any:
    """An exact number; a weight that is none is refused."""
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError):
        raise InvalidProblem("the network has a weight that is not a finite number") from None
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}", ctx=context)


def _sums(z3: Any, context: Any, node: Affine, inputs: list[Any]) -> list[Any]:
    totals = []
    for weights, bias in zip(node.weights.tolist(), node.bias.tolist(), strict=True):
        parts = [rational(z3, context, w) * x for w, x in zip(weights, inputs, strict=True) if w]
        totals.append(z3.Sum(*parts, rational(z3, context, bias)) if parts else rational(z3, context, bias))
    return totals


def _node(z3: Any, context: Any, node: Node, values: list[list[Any]]) -> list[Any]:
    match node:
        case Elementwise(source, kind, constant):
            pairs = zip(values[source], constant.tolist(), strict=True)
            return [_with_constant(x, kind, rational(z3, context, c)) for x, c in pairs]
        case Activation(source, shape, parameters):
            limits = [rational(z3, context, p) for p in parameters]
            return [_activation(z3, context, x, shape, limits) for x in values[source]]
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


def _activation(z3: Any, context: Any, x: Any, shape: Shape, parameters: list[Any]) -> Any:
    zero = rational(z3, context, 0.0)
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
