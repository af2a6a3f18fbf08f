"""Twice on purpose: what `bounds/` does with packed integers, once more with fractions and plain loops.

Written from sections 4 to 6 of docs/certificates.md. A value is a list of fractions, a box two such lists. No
function here rounds, so whatever the checker claims about a node must be implied by what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from tests.checker.meaning import tanh

from surefoot_checker.bounds.case_problem import CallInput, GraphValue
from surefoot_checker.kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    JoinNode,
    PickNode,
)

Box = tuple[list[Fraction], list[Fraction]]
Interval = tuple[Fraction, Fraction]
# The slopes of the sources, and a constant.
Plane = tuple[tuple[Fraction, ...], Fraction]

UNIT = Fraction(1, 1 << 24)
TINY = Fraction(1, 1 << 126)


def apply_activation(kind: str, parameters: Sequence[float], x: Fraction) -> Fraction:
    exact = [Fraction(p) for p in parameters]
    match kind:
        case "relu":
            return max(x, Fraction(0))
        case "leaky_relu":
            return x if x > 0 else exact[0] * x
        case "clip":
            return min(max(x, exact[0]), exact[1])
        case "tanh":
            return _saturating_tanh(x)
        case _:
            return (1 + _saturating_tanh(x / 2)) / 2


def _saturating_tanh(x: Fraction) -> Fraction:
    """Within 10^-60; decimal numbers have no exponentials of huge ones."""
    return Fraction(1 if x > 0 else -1) if abs(x) > 100 else tanh(x)


def apply_pair(kind: str, x: Fraction, y: Fraction) -> Fraction:
    match kind:
        case "add" | "sum":
            return x + y
        case "multiply" | "product":
            return x * y
        case "maximum":
            return max(x, y)
        case _:
            return x / y


def evaluate_value(value: GraphValue, values: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """A value from those before it, in real numbers."""
    node = value.node
    if isinstance(node, CallInput):
        return [
            constant + sum((c * values[v][i] for v, i, c in row), Fraction(0))
            for row, constant in zip(node.rows, node.constants, strict=True)
        ]
    read = [values[s] for s in value.sources]
    match node:
        case AffineNode():
            found = []
            for row, bias in enumerate(node.bias):
                total = Fraction(bias)
                for column in range(node.columns):
                    total += Fraction(node.weights[row * node.columns + column]) * read[0][column]
                found.append(total)
            return found
        case ElementwiseNode(_, kind, constant):
            return [apply_pair(kind, x, Fraction(c)) for x, c in zip(read[0], constant, strict=True)]
        case ActivationNode(_, kind, parameters):
            return [apply_activation(kind, parameters, x) for x in read[0]]
        case CombineNode(_, _, kind):
            return [apply_pair(kind, x, y) for x, y in zip(*read, strict=True)]
        case PickNode(_, indices):
            return [read[0][i] for i in indices]
        case JoinNode():
            return [x for part in read for x in part]
    raise AssertionError(node)


def image_interval(value: GraphValue, boxes: Sequence[Box]) -> list[Interval]:
    """Between which numbers the entries lie where everything before is in its box: the tightest there are."""
    node = value.node
    if isinstance(node, CallInput):
        rows = [
            ([(c, boxes[v][0][i], boxes[v][1][i]) for v, i, c in row], constant)
            for row, constant in zip(node.rows, node.constants, strict=True)
        ]
        return [weighted_interval(row, constant) for row, constant in rows]
    read = [list(zip(*boxes[s], strict=True)) for s in value.sources]
    match node:
        case AffineNode():
            found = []
            for row, bias in enumerate(node.bias):
                weights = node.weights[row * node.columns : (row + 1) * node.columns]
                terms = [(Fraction(w), *ends) for w, ends in zip(weights, read[0], strict=True)]
                found.append(weighted_interval(terms, Fraction(bias)))
            return found
        case ElementwiseNode(_, kind, constant):
            both = zip(read[0], constant, strict=True)
            return [_hull([apply_pair(kind, x, Fraction(c)) for x in ends]) for ends, c in both]
        case ActivationNode(_, kind, parameters):
            return [_activation_image(kind, parameters, *ends) for ends in read[0]]
        case CombineNode(_, _, kind):
            pairs = zip(*read, strict=True)
            return [_hull([apply_pair(kind, x, y) for x in left for y in right]) for left, right in pairs]
        case PickNode(_, indices):
            return [read[0][i] for i in indices]
        case JoinNode():
            return [ends for part in read for ends in part]
    raise AssertionError(node)


def weighted_interval(terms: Sequence[tuple[Fraction, Fraction, Fraction]], constant: Fraction) -> Interval:
    least = most = constant
    for weight, low, high in terms:
        least += weight * (low if weight > 0 else high)
        most += weight * (high if weight > 0 else low)
    return least, most


def _activation_image(kind: str, parameters: Sequence[float], low: Fraction, high: Fraction) -> Interval:
    places = [low, high, *([Fraction(0)] if low < 0 < high else [])]
    return _hull([apply_activation(kind, parameters, x) for x in places])


def _hull(numbers: Sequence[Fraction]) -> Interval:
    return min(numbers), max(numbers)


def rounding_radii(value: GraphValue, boxes: Sequence[Box]) -> list[Fraction]:
    """The table of section 4: how far a float32 result may be from the exact function."""
    node = value.node
    sizes = [max(abs(low), abs(high)) for low, high in image_interval(value, boxes)]
    rounded = [UNIT * size + TINY for size in sizes]
    match node:
        case AffineNode():
            return [
                growth(node.columns + 1) * total + 4 * (node.columns + 1) * TINY
                for total in partial_sums(value, boxes)
            ]
        case CallInput():
            return [Fraction(0) if alone else r for r, alone in zip(rounded, node.single, strict=True)]
        case ElementwiseNode() | ActivationNode(kind="leaky_relu"):
            return rounded
        case CombineNode(kind="sum" | "product" | "quotient"):
            return rounded
        case ActivationNode(kind="tanh"):
            inputs = [max(abs(x), abs(y)) for x, y in zip(*boxes[value.sources[0]], strict=True)]
            return [4 * (min(size, Fraction(1)) / (1 << 23) + TINY) for size in inputs]
        case ActivationNode(kind="sigmoid"):
            return [4 * (Fraction(1, 1 << 23) + TINY)] * value.width
    return [Fraction(0)] * value.width


def growth(count: int) -> Fraction:
    return count * UNIT / (1 - count * UNIT)


def partial_sums(value: GraphValue, boxes: Sequence[Box]) -> list[Fraction]:
    """sum |w||x| + |b| of an affine value."""
    node, (low, high) = value.node, boxes[value.sources[0]]
    assert isinstance(node, AffineNode)
    found = []
    for row, bias in enumerate(node.bias):
        total = abs(Fraction(bias))
        for column in range(node.columns):
            weight = Fraction(node.weights[row * node.columns + column])
            total += abs(weight) * max(abs(low[column]), abs(high[column]))
        found.append(total)
    return found


def substitute_backward(
    values: Sequence[GraphValue],
    radii: Mapping[int, Sequence[Fraction]],
    lines: Mapping[int, Sequence[tuple[Plane, Plane]]],
    form: Mapping[tuple[int, int], Fraction],
    constant: Fraction,
) -> tuple[list[Fraction], Fraction]:
    """A linear form over value 0 below the one given; `lines` has planes below and above for each entry."""
    left = dict(form)
    for v in range(len(values) - 1, 0, -1):
        for i in range(values[v].width):
            factor = left.pop((v, i), Fraction(0))
            if not factor:
                continue
            if v in radii:
                constant -= abs(factor) * radii[v][i]
            if v in lines:
                slopes, level = lines[v][i][0 if factor > 0 else 1]
                terms = [(s, i, slope) for s, slope in zip(values[v].sources, slopes, strict=True)]
            else:
                terms, level = linear_entry(values, v, i)
            constant += factor * level
            for s, j, slope in terms:
                left[s, j] = left.get((s, j), Fraction(0)) + factor * slope
    return [left.get((0, i), Fraction(0)) for i in range(values[0].width)], constant


def linear_entry(
    values: Sequence[GraphValue], v: int, i: int
) -> tuple[list[tuple[int, int, Fraction]], Fraction]:
    """An entry of a linear node as a sum of (value, entry, coefficient), and a constant."""
    value = values[v]
    one = Fraction(1)
    match value.node:
        case CallInput() as mix:
            return list(mix.rows[i]), mix.constants[i]
        case AffineNode() as node:
            row = node.weights[i * node.columns : (i + 1) * node.columns]
            return [(value.sources[0], j, Fraction(w)) for j, w in enumerate(row)], Fraction(node.bias[i])
        case ElementwiseNode(_, "add", constant):
            return [(value.sources[0], i, one)], Fraction(constant[i])
        case ElementwiseNode(_, kind, constant):
            return [(value.sources[0], i, apply_pair(kind, one, Fraction(constant[i])))], Fraction(0)
        case CombineNode(kind="sum"):
            return [(s, i, one) for s in value.sources], Fraction(0)
        case PickNode(_, indices):
            return [(value.sources[0], indices[i], one)], Fraction(0)
        case JoinNode():
            for s in value.sources:
                if i < values[s].width:
                    return [(s, i, one)], Fraction(0)
                i -= values[s].width
    raise AssertionError(value.node)


def minimise_over_box(vector: Sequence[Fraction], constant: Fraction, box: Box) -> Fraction:
    return weighted_interval(list(zip(vector, *box, strict=True)), constant)[0]


def best_smooth_constants(kind: str, slope: Fraction, low: Fraction, high: Fraction) -> Interval:
    """The least and the largest f(x) - slope x for low <= x <= high, within 10^-50."""
    stretch = 1 if kind == "tanh" else 2  # sigmoid x = (1 + tanh(x / 2)) / 2
    steepness = slope * stretch * stretch  # of tanh at x / stretch
    places = [low, high]
    if 0 < steepness < 1:
        with localcontext() as context:
            context.prec = 80
            root = (1 - Decimal(steepness.numerator) / Decimal(steepness.denominator)).sqrt()
            peak = Fraction(((1 + root) / (1 - root)).ln() / 2) * stretch
        places += [x for x in (-peak, peak) if low <= x <= high]
    return _hull([apply_activation(kind, (), x) - slope * x for x in places])
