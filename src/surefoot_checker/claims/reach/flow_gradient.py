"""How fast the values of a flow's operations change with its inputs: partial derivatives over intervals.

By the mean value theorem they bound what a value changes between any two points of the box.
"""

from __future__ import annotations

from collections.abc import Sequence

from .flow_program import Node
from .interval import Interval, IntervalArithmetic

Gradient = dict[int, Interval]  # by input; others are 0


def enclose_gradients(
    nodes: Sequence[Node],
    arithmetic: IntervalArithmetic,
    values: Sequence[Interval],
    choices: dict[int, int],
    rough: frozenset[int],
    inputs: Sequence[int],
) -> list[Gradient]:
    """Of every operation that is not rough, with respect to these inputs; `values`, `choices` and `rough` as
    `enclose_values` gives them."""
    one = arithmetic.enclose_number(1)
    found: list[Gradient] = []
    for number, node in enumerate(nodes):
        word = node[0]
        if word == "input":
            found.append({number: one} if number in inputs else {})
        elif word == "number" or number in rough:
            found.append({})
        elif word in ("abs", "min", "max", "ite"):
            found.append(_branch_gradient(node, arithmetic, choices[number], found))
        elif word in ("+", "-"):
            left, right = found[node[1]], found[node[2]]
            right = right if word == "+" else {i: arithmetic.negate(x) for i, x in right.items()}
            found.append(_add_gradients(arithmetic, left, right))
        elif word == "*":
            left = _multiply_gradient(arithmetic, found[node[1]], values[node[2]])
            found.append(
                _add_gradients(
                    arithmetic, left, _multiply_gradient(arithmetic, found[node[2]], values[node[1]])
                )
            )
        elif word == "/":  # q = a / b: (a' - q b') / b
            steep = _multiply_gradient(arithmetic, found[node[2]], arithmetic.negate(values[number]))
            rest = _add_gradients(arithmetic, found[node[1]], steep)
            found.append(_multiply_gradient(arithmetic, rest, arithmetic.reciprocal(values[node[2]])))
        else:
            slope = _slope(node, arithmetic, values, number)
            found.append(_multiply_gradient(arithmetic, found[node[1]], slope))
    return found


def _add_gradients(arithmetic: IntervalArithmetic, x: Gradient, y: Gradient) -> Gradient:
    found = dict(x)
    for i, part in y.items():
        found[i] = arithmetic.add(found[i], part) if i in found else part
    return found


def _multiply_gradient(arithmetic: IntervalArithmetic, x: Gradient, by: Interval) -> Gradient:
    return {i: arithmetic.multiply(part, by) for i, part in x.items()}


def _branch_gradient(
    node: Node, arithmetic: IntervalArithmetic, taken: int, found: Sequence[Gradient]
) -> Gradient:
    if node[0] != "abs":
        place: int = node[1 + (node[0] == "ite") + taken]
        return found[place]
    inner = found[node[1]]
    return inner if taken == 0 else {i: arithmetic.negate(x) for i, x in inner.items()}


def _slope(node: Node, arithmetic: IntervalArithmetic, values: Sequence[Interval], number: int) -> Interval:
    """Of an operation of one part."""
    x, own, one = values[node[1]], values[number], arithmetic.enclose_number(1)
    match node[0]:
        case "scale":
            return arithmetic.scale(one, node[2], node[3])
        case "negate":
            return arithmetic.negate(one)
        case "square":
            return arithmetic.scale(x, 2, 1)
        case "exp":
            return own
        case "log":
            return arithmetic.reciprocal(x)
        case "sqrt":
            return arithmetic.reciprocal(arithmetic.scale(own, 2, 1))
        case "sin":
            return arithmetic.apply("cos", x)
        case "cos":
            return arithmetic.negate(arithmetic.apply("sin", x))
        case "tan":
            return arithmetic.add(one, arithmetic.square(own))
        case "tanh":
            return arithmetic.subtract(one, arithmetic.square(own))
        case "atan of":
            return arithmetic.reciprocal(values[node[2]])
    inverse = arithmetic.reciprocal(values[node[2]])
    return inverse if node[0] == "asin of" else arithmetic.negate(inverse)
